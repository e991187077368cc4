/** The format of an envelope, as the service requires it: `zk:v1:<algo>:<kdf>:<salt>:<iv>:<ct>:<tag>`, bytes in base64url without padding. */

export const ALGORITHMS = {
  'aes-256-gcm': { ivBytes: 12 },
  'xchacha20-poly1305': { ivBytes: 24 },
} as const;
export type ZeroKnowledgeAlgorithm = keyof typeof ALGORITHMS;

export const DERIVATIONS = {
  argon2id: { saltBytesMin: 16, saltBytesMax: 16 },
  'hkdf-sha256': { saltBytesMin: 16, saltBytesMax: 64 },
} as const;
export type ZeroKnowledgeDerivation = keyof typeof DERIVATIONS;

export const TAG_BYTES = 16;
/** The maximum length of a value in the service; an envelope is stored as a value. */
export const ENVELOPE_LENGTH_MAX = 1_048_576;
const PARTS = 8;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

export interface Envelope {
  algorithm: ZeroKnowledgeAlgorithm;
  derivation: ZeroKnowledgeDerivation;
  salt: Uint8Array<ArrayBuffer>;
  iv: Uint8Array<ArrayBuffer>;
  ciphertext: Uint8Array<ArrayBuffer>;
  tag: Uint8Array<ArrayBuffer>;
}

/** The header is authenticated with the ciphertext: it holds everything the key derivation depends on. */
export function headerOf({ algorithm, derivation, salt }: Pick<Envelope, 'algorithm' | 'derivation' | 'salt'>): string {
  return `zk:v1:${algorithm}:${derivation}:${toBase64url(salt)}`;
}

export function writeEnvelope(envelope: Envelope): string {
  const { iv, ciphertext, tag } = envelope;
  return [headerOf(envelope), ...[iv, ciphertext, tag].map(toBase64url)].join(':');
}

/** Returns null for anything that is not exactly of that form. */
export function readEnvelope(text: string): Envelope | null {
  if (typeof text !== 'string' || text.length > ENVELOPE_LENGTH_MAX) return null;
  const parts = text.split(':', PARTS + 1);
  if (parts.length !== PARTS) return null;
  const [scheme, version, algorithm = '', derivation = '', ...fields] = parts;
  if (scheme !== 'zk' || version !== 'v1' || !isKey(ALGORITHMS, algorithm) || !isKey(DERIVATIONS, derivation))
    return null;
  const [salt, iv, ciphertext, tag] = fields.map(fromBase64url);
  if (!salt || !iv || !ciphertext || !tag) return null;
  const { saltBytesMin, saltBytesMax } = DERIVATIONS[derivation];
  if (salt.length < saltBytesMin || salt.length > saltBytesMax) return null;
  if (iv.length !== ALGORITHMS[algorithm].ivBytes || tag.length !== TAG_BYTES) return null;
  return { algorithm, derivation, salt, iv, ciphertext, tag };
}

function isKey<T extends object>(table: T, name: string): name is Extract<keyof T, string> {
  return Object.hasOwn(table, name);
}

/** Implemented here because not all browsers have it yet, and those that do accept padding, spaces and stray bits. */
export function toBase64url(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 3) {
    const [a = 0, b = 0, c = 0] = bytes.subarray(at, at + 3);
    const word = (a << 16) | (b << 8) | c;
    const digits = [18, 12, 6, 0].slice(0, Math.min(3, bytes.length - at) + 1);
    for (const shift of digits) text += ALPHABET[(word >> shift) & 63];
  }
  return text;
}

const DIGITS = new Map([...ALPHABET].map((digit, value) => [digit.charCodeAt(0), value]));

/** Returns null unless the text is the canonical encoding of its bytes. */
export function fromBase64url(text: string): Uint8Array<ArrayBuffer> | null {
  const spare = text.length % 4;
  if (spare === 1) return null;
  const bytes = new Uint8Array(Math.floor((text.length * 3) / 4));
  let bits = 0;
  let held = 0;
  let at = 0;
  for (let n = 0; n < text.length; n++) {
    const digit = DIGITS.get(text.charCodeAt(n));
    if (digit === undefined) return null;
    held = ((held << 6) | digit) & 0xffff;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes[at++] = (held >> bits) & 0xff;
  }
  // Unused bits must be zero.
  return (held & ((1 << bits) - 1)) === 0 ? bytes : null;
}
