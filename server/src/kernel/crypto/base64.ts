/** Decodes strictly, so that bytes have one spelling: standard base64 with padding (RFC 4648, 4) and no stray bits in the last character. */
export function decodeBase64(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : null;
}

export function base64Length(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
}
