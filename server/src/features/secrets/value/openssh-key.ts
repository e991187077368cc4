import { generateKeyPairSync, randomBytes } from 'node:crypto';

/** Reads and writes OpenSSH's private key format `openssh-key-v1` (PROTOCOL.key in its source). */

export const OPENSSH_LABEL = 'OPENSSH PRIVATE KEY';
const MAGIC = Buffer.from('openssh-key-v1\0', 'latin1');
const ED25519 = 'ssh-ed25519';
/** An unencrypted private section is padded to a multiple of this. */
const PADDING_BLOCK_BYTES = 8;
const AEAD_TAG_BYTES = 16;
const ARMOUR_COLUMNS = 70;

/** The fields between the type and the comment in the private section: `s` is a length-prefixed string, `b` one byte. */
const PRIVATE_FIELDS: Readonly<Record<string, string>> = {
  [ED25519]: 'ss',
  'ssh-rsa': 'ssssss',
  'ssh-dss': 'sssss',
  'ecdsa-sha2-nistp256': 'sss',
  'ecdsa-sha2-nistp384': 'sss',
  'ecdsa-sha2-nistp521': 'sss',
  'sk-ssh-ed25519@openssh.com': 'ssbss',
  'sk-ecdsa-sha2-nistp256@openssh.com': 'sssbss',
};

/** Whether the decoded body is a complete, consistent key. An encrypted one is checked up to its ciphertext. */
export function isOpenSshKey(body: Buffer): boolean {
  try {
    return readKey(new Reader(body));
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

function readKey(reader: Reader): boolean {
  if (!reader.take(MAGIC.length).equals(MAGIC)) return false;
  const cipher = reader.text();
  const kdf = reader.text();
  const kdfOptions = reader.string();
  // The format has room for several keys, but OpenSSH writes and reads exactly one.
  if (reader.uint32() !== 1) return false;
  const publicKey = reader.string();
  const secret = reader.string();
  if (cipher !== 'none') return isEncryptedForm(kdf, kdfOptions, secret, reader.left);
  return kdf === 'none' && kdfOptions.length === 0 && reader.left === 0 && isPrivateSection(secret, publicKey);
}

function isEncryptedForm(kdf: string, kdfOptions: Buffer, secret: Buffer, left: number): boolean {
  const options = new Reader(kdfOptions);
  const salt = options.string();
  const rounds = options.uint32();
  const isBcrypt = kdf === 'bcrypt' && salt.length > 0 && rounds > 0 && options.left === 0;
  return (
    isBcrypt &&
    secret.length > 0 &&
    secret.length % PADDING_BLOCK_BYTES === 0 &&
    (left === 0 || left === AEAD_TAG_BYTES)
  );
}

function isPrivateSection(secret: Buffer, publicKey: Buffer): boolean {
  const reader = new Reader(secret);
  const outer = new Reader(publicKey);
  const check = reader.uint32();
  if (reader.uint32() !== check || secret.length % PADDING_BLOCK_BYTES !== 0) return false;
  const type = reader.text();
  if (type !== outer.text()) return false;
  const fields = PRIVATE_FIELDS[type];
  // The key type is newer than this table, so its fields cannot be checked.
  if (fields === undefined) return true;
  if (type === ED25519) {
    const key = outer.string();
    const inner = reader.string();
    const pair = reader.string();
    if (!inner.equals(key) || pair.length !== 64 || !pair.subarray(32).equals(key)) return false;
  } else {
    for (const field of fields) field === 's' ? reader.string() : reader.take(1);
  }
  reader.string(); // the comment
  if (reader.left >= PADDING_BLOCK_BYTES) return false;
  return reader.take(reader.left).every((byte, index) => byte === index + 1);
}

/** A new ed25519 key without a passphrase, as `ssh-keygen -t ed25519` writes it. */
export function newOpenSshKey(comment: string): string {
  const jwk = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  const seed = Buffer.from(String(jwk.d), 'base64url');
  const point = Buffer.from(String(jwk.x), 'base64url');
  const publicKey = Buffer.concat([string(ED25519), string(point)]);
  // The same random number twice: after decryption with a wrong passphrase the two differ.
  const check = randomBytes(4);
  const secret = Buffer.concat([check, check, publicKey, string(Buffer.concat([seed, point])), string(comment)]);
  const padding = Array.from({ length: -secret.length & (PADDING_BLOCK_BYTES - 1) }, (_, index) => index + 1);
  const body = Buffer.concat([
    MAGIC,
    string('none'),
    string('none'),
    string(''),
    uint32(1),
    string(publicKey),
    string(Buffer.concat([secret, Buffer.from(padding)])),
  ]).toString('base64');
  const lines = body.match(new RegExp(`.{1,${ARMOUR_COLUMNS}}`, 'g')) ?? [];
  return [`-----BEGIN ${OPENSSH_LABEL}-----`, ...lines, `-----END ${OPENSSH_LABEL}-----`, ''].join('\n');
}

function string(content: string | Buffer): Buffer {
  const bytes = Buffer.from(content);
  return Buffer.concat([uint32(bytes.length), bytes]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** Reads the SSH wire format (RFC 4251, 5). Throws RangeError where the bytes end too early. */
class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  take(count: number): Buffer {
    if (count > this.left) throw new RangeError('the key ends too early');
    this.#at += count;
    return this.#bytes.subarray(this.#at - count, this.#at);
  }

  uint32(): number {
    return this.take(4).readUInt32BE();
  }

  string(): Buffer {
    return this.take(this.uint32());
  }

  text(): string {
    return this.string().toString('latin1');
  }
}
