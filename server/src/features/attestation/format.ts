/** A document that is malformed. The message follows a JSON pointer and never repeats contents of the document. */
export class MalformedDocument extends Error {
  override readonly name = 'MalformedDocument';
}

/** Something that anyone who relies on the document must know. A fatal finding keeps the document from being verified. */
export interface Finding {
  readonly code: string;
  readonly message: string;
  readonly isFatal: boolean;
}

export function fatal(code: string, message: string): Finding {
  return { code, message, isFatal: true };
}

export function remark(code: string, message: string): Finding {
  return { code, message, isFatal: false };
}

export interface Validation {
  /** Whether the vendor of the format signed exactly this document, with certificates that are valid now. */
  readonly isSignatureValid: boolean;
  /** Whether the vendor signed exactly this document, with certificates that have only expired since. */
  readonly isExpired: boolean;
  /** Whether those certificates were valid at the time at which the document says it was made. */
  readonly wasSignatureValid: boolean;
  readonly findings: readonly Finding[];
}

/** What a document claims, whether or not it is true. */
export interface Evidence {
  /** Digests of what runs, in hexadecimal. */
  readonly measurements: Readonly<Record<string, string>>;
  readonly claims: Readonly<Record<string, unknown>>;
  carriesNonce(nonce: Uint8Array): boolean;
  carriesUserData(data: Uint8Array): boolean;
  validate(now: number): Promise<Validation>;
}

/** One kind of document. `read` throws `MalformedDocument`. */
export interface AttestationFormat {
  read(document: Uint8Array): Evidence;
}

/** For vendors whose signatures are not checked here: their documents count as unsigned, however good they look. */
export function unchecked(findings: readonly Finding[]): () => Promise<Validation> {
  const message = 'Signatures of this format are not checked, so the contents of the document are not proven.';
  const all = [fatal('signature_not_validated', message), ...findings];
  return async () => ({ isSignatureValid: false, isExpired: false, wasSignatureValid: false, findings: all });
}

/** Whether a field of fixed length holds this data, followed by zeros. */
export function isPadded(field: Uint8Array, data: Uint8Array): boolean {
  if (data.length === 0 || data.length > field.length) return false;
  return Buffer.from(field.buffer, field.byteOffset, data.length).equals(data) && isZero(field.subarray(data.length));
}

export function isZero(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0);
}
