import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;
const FORMAT = 1;
const HEADER_BYTES = 1 + 4;
export const SEALED_OVERHEAD_BYTES = HEADER_BYTES + IV_BYTES + TAG_BYTES;

/**
 * The location of a sealed value. It is authenticated with the ciphertext, so that a value moved to another tenant, table, row or version does not
 * open.
 */
export interface SealedLocation {
  tenantId: string;
  table: string;
  row: string;
  version?: number;
}

export class UnsealError extends Error {
  override readonly name = 'UnsealError';
  constructor() {
    super('a stored value cannot be decrypted: it was changed, moved, or encrypted with another key');
  }
}

/** `format(1) ‖ key version(4) ‖ iv(12) ‖ tag(16) ‖ ciphertext` */
export function seal(key: KeyObject, keyVersion: number, place: SealedLocation, plaintext: Uint8Array): Buffer {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, iv, { authTagLength: TAG_BYTES });
  const header = Buffer.allocUnsafe(HEADER_BYTES);
  header[0] = FORMAT;
  header.writeUInt32BE(keyVersion, 1);
  cipher.setAAD(associatedData(header, place));
  const body = cipher.update(plaintext);
  cipher.final();
  return Buffer.concat([header, iv, cipher.getAuthTag(), body]);
}

export function sealedKeyVersion(sealed: Uint8Array): number {
  if (sealed.length < SEALED_OVERHEAD_BYTES || sealed[0] !== FORMAT) throw new UnsealError();
  return Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength).readUInt32BE(1);
}

export function unseal(key: KeyObject, place: SealedLocation, sealed: Uint8Array): Buffer {
  sealedKeyVersion(sealed);
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
  const ivEnd = HEADER_BYTES + IV_BYTES;
  const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(HEADER_BYTES, ivEnd), { authTagLength: TAG_BYTES });
  decipher.setAAD(associatedData(bytes.subarray(0, HEADER_BYTES), place));
  decipher.setAuthTag(bytes.subarray(ivEnd, ivEnd + TAG_BYTES));
  try {
    const body = decipher.update(bytes.subarray(ivEnd + TAG_BYTES));
    decipher.final();
    return body;
  } catch {
    throw new UnsealError();
  }
}

/** Every part is preceded by its length, so that no two locations have the same bytes. */
function associatedData(header: Uint8Array, { tenantId, table, row, version }: SealedLocation): Buffer {
  const number = version === undefined ? '' : String(version);
  const text = `${tenantId.length}:${tenantId}${table.length}:${table}${row.length}:${row}${number.length}:${number}`;
  const data = Buffer.allocUnsafe(HEADER_BYTES + Buffer.byteLength(text));
  data.set(header);
  data.write(text, HEADER_BYTES, 'utf8');
  return data;
}
