import { encodedRuns } from './encoded-runs.ts';
import type { Match } from './match.ts';

/** How the encodings of a sequence and of an OpenSSH key begin: only such runs are decoded. */
const BEGINNINGS = /^(?:M[A-Za-z0-9+/]|b3BlbnNzaC1r|(?:0x)?(?:30|6f70656e737368))/i;
const RUN_LENGTH_MIN = 40;

/** Private keys in base64 or hexadecimal without the lines that PEM puts around them. */
export function privateKeyRuns(text: string): Match[] {
  const matches: Match[] = [];
  for (const { start, end, bytes } of encodedRuns(text, BEGINNINGS, RUN_LENGTH_MIN)) {
    if (isPrivateKey(bytes)) matches.push({ start, end, kind: 'private_key', rule: 'private-key', confidence: 'high' });
  }
  return matches;
}

const OPENSSH_MAGIC = Buffer.from('openssh-key-v1\0', 'latin1');
const [INTEGER, OCTET_STRING, OBJECT_ID, SEQUENCE] = [0x02, 0x04, 0x06, 0x30];
/** The versions of PKCS#1 and PKCS#8 (0, 1), SEC 1 (1) and PKCS#12 (3). */
const VERSIONS: ReadonlySet<number> = new Set([0, 1, 3]);
/** What follows the version: an algorithm, the modulus, or the key itself. */
const AFTER_VERSION: ReadonlySet<number> = new Set([INTEGER, OCTET_STRING, SEQUENCE]);
/** The object ids of PKCS#5 and PKCS#12, with which a key is encrypted: 1.2.840.113549.1.5 and .1.12.1. */
const ENCRYPTIONS = ['2a864886f70d0105', '2a864886f70d010c01'].map((hex) => Buffer.from(hex, 'hex'));

function isPrivateKey(bytes: Buffer): boolean {
  if (bytes.subarray(0, OPENSSH_MAGIC.length).equals(OPENSSH_MAGIC)) return true;
  const outer = contentOf(bytes, SEQUENCE);
  if (outer === null) return false;
  if (outer[0] === INTEGER) return outer[1] === 1 && VERSIONS.has(outer[2] ?? -1) && AFTER_VERSION.has(outer[3] ?? -1);
  // A certificate and a public key begin with a sequence too, but not with one of these ids in it.
  const algorithm = contentOf(outer, SEQUENCE);
  const id = algorithm === null ? null : contentOf(algorithm, OBJECT_ID);
  return id !== null && ENCRYPTIONS.some((prefix) => id.subarray(0, prefix.length).equals(prefix));
}

const LONG_FORM = 0x80;
const LENGTH_BYTES_MAX = 4;

/** The content of an element in DER, as far as it is there: the end of a key may be missing. Null if it is another element. */
function contentOf(bytes: Buffer, tag: number): Buffer | null {
  if (bytes[0] !== tag || bytes.length < 2) return null;
  const first = bytes.readUInt8(1);
  if (first < LONG_FORM) return bytes.subarray(2, 2 + first);
  const count = first - LONG_FORM;
  if (count === 0 || count > LENGTH_BYTES_MAX || bytes.length < 2 + count) return null;
  return bytes.subarray(2 + count, 2 + count + bytes.readUIntBE(2, count));
}
