/**
 * The format in which clients of a zero-knowledge vault seal values: `zk:v1:<algo>:<kdf>:<salt>:<iv>:<ct>:<tag>`, the last four in base64url
 * without padding. The server checks only the format. The check is strict, because a client would notice that a value does not open when it is too
 * late to seal it again.
 */

const ALGORITHMS = {
  'aes-256-gcm': { ivBytes: 12 },
  'xchacha20-poly1305': { ivBytes: 24 },
} as const;
const DERIVATIONS = {
  argon2id: { saltBytesMin: 16, saltBytesMax: 16 },
  'hkdf-sha256': { saltBytesMin: 16, saltBytesMax: 64 },
} as const;
const TAG_BYTES = 16;
/** An envelope is the value of a secret, which is at most 1 MiB. The client library has the same limit. */
export const ENVELOPE_LENGTH_MAX = 1_048_576;
const PARTS = 8;
const BASE64URL = /^[A-Za-z0-9_-]*$/;

/** Why a text is not an envelope, phrased to follow a JSON pointer; null if it is one. Never repeats the text. */
export function envelopeProblem(text: string): string | null {
  if (text.length > ENVELOPE_LENGTH_MAX) return `must be at most ${ENVELOPE_LENGTH_MAX} characters`;
  const parts = text.split(':', PARTS + 1);
  const [scheme, version, algorithmName = '', derivationName = '', salt = '', iv = '', ciphertext = '', tag = ''] =
    parts;
  if (parts.length !== PARTS || scheme !== 'zk' || version !== 'v1') {
    return 'must be an envelope zk:v1:<algo>:<kdf>:<salt>:<iv>:<ct>:<tag>';
  }
  const algorithm = entry(ALGORITHMS, algorithmName);
  if (algorithm === null) return `must be an envelope whose algo is ${Object.keys(ALGORITHMS).join(' or ')}`;
  const derivation = entry(DERIVATIONS, derivationName);
  if (derivation === null) return `must be an envelope whose kdf is ${Object.keys(DERIVATIONS).join(' or ')}`;
  return (
    fieldProblem('salt', salt, derivation.saltBytesMin, derivation.saltBytesMax) ??
    fieldProblem('iv', iv, algorithm.ivBytes, algorithm.ivBytes) ??
    fieldProblem('ct', ciphertext, 0, ENVELOPE_LENGTH_MAX) ??
    fieldProblem('tag', tag, TAG_BYTES, TAG_BYTES)
  );
}

function fieldProblem(name: string, text: string, bytesMin: number, bytesMax: number): string | null {
  const bytes = canonicalBytes(text);
  if (bytes !== null && bytes >= bytesMin && bytes <= bytesMax) return null;
  const size = bytesMin === bytesMax ? `${bytesMin}` : `${bytesMin} to ${bytesMax}`;
  return `must be an envelope whose ${name} is ${size} bytes in base64url without padding`;
}

/** The number of encoded bytes; null unless the text is their only valid spelling. */
function canonicalBytes(text: string): number | null {
  if (!BASE64URL.test(text)) return null;
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes.length : null;
}

/** Resolves a name once, so that no code below compares names. Only own properties count, so that `constructor` is not a name. */
function entry<T>(table: Readonly<Record<string, T>>, name: string): T | null {
  return Object.hasOwn(table, name) ? (table[name] ?? null) : null;
}
