import { createHash, createPublicKey } from 'node:crypto';

/** A public key, as sshd reads it from the second field of a line. */
export interface PublicKey {
  type: string;
  fingerprint: string;
}

const ED25519_BYTES = 32;
const RSA_BITS_MIN = 1024;
const NUMBER_BYTES_MAX = 16_384 / 8;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
/** What C's isspace() accepts, which OpenSSH's decoder skips wherever it stands. */
const C_SPACE = /[ \t\n\v\f\r]/g;

const CURVES: Readonly<Record<string, { name: string; bytes: number }>> = {
  nistp256: { name: 'P-256', bytes: 32 },
  nistp384: { name: 'P-384', bytes: 48 },
  nistp521: { name: 'P-521', bytes: 66 },
};

/** For each name that may begin a line, the type that the key itself must have. Names of signatures are accepted there too. */
const TYPES = new Map([
  ...[
    'ssh-ed25519',
    'ssh-rsa',
    'ssh-dss',
    'ecdsa-sha2-nistp256',
    'ecdsa-sha2-nistp384',
    'ecdsa-sha2-nistp521',
    'sk-ssh-ed25519@openssh.com',
    'sk-ecdsa-sha2-nistp256@openssh.com',
  ].map((name) => [name, name] as const),
  ['rsa-sha2-256', 'ssh-rsa'] as const,
  ['rsa-sha2-512', 'ssh-rsa'] as const,
  ['webauthn-sk-ecdsa-sha2-nistp256@openssh.com', 'sk-ecdsa-sha2-nistp256@openssh.com'] as const,
]);

/** Null if sshd would not accept these two fields as a key. Certificates are no keys: sshd lets nobody in by such a line. */
export function parsePublicKey(name: string, base64: string): PublicKey | null {
  const type = TYPES.get(name);
  const blob = decode(base64);
  if (type === undefined || blob === null) return null;
  const fields = new Fields(blob);
  if (fields.text() !== type || !isKeyOf(type, fields) || !fields.isAtEnd()) return null;
  return { type, fingerprint: fingerprintOf(fields.canonical()) };
}

export function fingerprintOf(blob: Uint8Array): string {
  return `SHA256:${createHash('sha256').update(blob).digest('base64').replace('=', '')}`;
}

/** Padding is required and unused bits must be zero, as in OpenSSH's b64_pton. */
function decode(text: string): Buffer | null {
  const compact = text.replace(C_SPACE, '');
  if (compact === '' || compact.length % 4 !== 0 || !BASE64.test(compact)) return null;
  const bytes = Buffer.from(compact, 'base64');
  return bytes.toString('base64') === compact ? bytes : null;
}

function isKeyOf(type: string, fields: Fields): boolean {
  switch (type) {
    case 'ssh-ed25519':
      return fields.bytes()?.length === ED25519_BYTES;
    case 'sk-ssh-ed25519@openssh.com':
      return fields.bytes()?.length === ED25519_BYTES && fields.bytes() !== null;
    case 'ssh-rsa':
      return fields.numberBits() !== null && (fields.numberBits() ?? 0) >= RSA_BITS_MIN;
    case 'ssh-dss':
      return [1, 2, 3, 4].every(() => fields.numberBits() !== null);
    case 'sk-ecdsa-sha2-nistp256@openssh.com':
      return isOnCurve('nistp256', fields) && fields.bytes() !== null;
    default:
      return isOnCurve(type.slice('ecdsa-sha2-'.length), fields);
  }
}

function isOnCurve(curveName: string, fields: Fields): boolean {
  const curve = CURVES[curveName];
  const named = fields.text();
  const point = fields.bytes();
  if (curve === undefined || named !== curveName || point === null) return false;
  if (point.length !== 1 + 2 * curve.bytes || point[0] !== 4) return false;
  const x = point.subarray(1, 1 + curve.bytes).toString('base64url');
  const y = point.subarray(1 + curve.bytes).toString('base64url');
  try {
    createPublicKey({ format: 'jwk', key: { kty: 'EC', crv: curve.name, x, y } });
    return true;
  } catch {
    return false;
  }
}

/** The length-prefixed fields of RFC 4251, section 5. Each is null once one did not fit. */
class Fields {
  readonly #blob: Buffer;
  readonly #canonical: Buffer[] = [];
  #at = 0;
  #isBroken = false;

  constructor(blob: Buffer) {
    this.#blob = blob;
  }

  bytes(): Buffer | null {
    const bytes = this.#next();
    if (bytes !== null) this.#write(bytes);
    return bytes;
  }

  #next(): Buffer | null {
    const start = this.#at + 4;
    if (this.#isBroken || start > this.#blob.length) return this.#broken();
    const end = start + this.#blob.readUInt32BE(this.#at);
    if (end > this.#blob.length) return this.#broken();
    this.#at = end;
    return this.#blob.subarray(start, end);
  }

  text(): string | null {
    return this.bytes()?.toString('latin1') ?? null;
  }

  /** How many bits a number has; null for a negative one or one that is larger than OpenSSH reads. */
  numberBits(): number | null {
    const bytes = this.#next();
    const [first = 0] = bytes ?? [];
    if (bytes === null || first >= 0x80 || bytes.length - (first === 0 ? 1 : 0) > NUMBER_BYTES_MAX) {
      return this.#broken();
    }
    const start = bytes.findIndex((byte) => byte !== 0);
    const digits = start === -1 ? Buffer.alloc(0) : bytes.subarray(start);
    const [top = 0] = digits;
    this.#write(top >= 0x80 ? Buffer.concat([Buffer.of(0), digits]) : digits);
    return digits.length === 0 ? 0 : digits.length * 8 - Math.clz32(top) + 24;
  }

  #write(bytes: Buffer): void {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    this.#canonical.push(length, bytes);
  }

  /** What was read, as OpenSSH writes it: a number may be stored with more zeros before it, and is the same key. */
  canonical(): Buffer {
    return Buffer.concat(this.#canonical);
  }

  isAtEnd(): boolean {
    return !this.#isBroken && this.#at === this.#blob.length;
  }

  #broken(): null {
    this.#isBroken = true;
    return null;
  }
}
