import {
  constants,
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';
import { promisify } from 'node:util';

/**
 * Two signatures over the same message, both of which must verify: ML-DSA-65 and RSA-PSS with 3072 bits, combined as id-MLDSA65-RSA3072-PSS-SHA512 of
 * draft-ietf-lamps-pq-composite-sigs. Keys and signatures are the ML-DSA part, whose length is fixed, followed by the RSA part.
 */

const ML_DSA = 'ml-dsa-65';
const ML_DSA_PUBLIC_BYTES = 1952;
const ML_DSA_SEED_BYTES = 32;
const ML_DSA_SIGNATURE_BYTES = 3309;
const RSA_BITS = 3072;
const RSA_EXPONENT = 65_537n;
/** PKCS#1 encoding with 3072 bits and the exponent 65537. */
const RSA_PUBLIC_BYTES = 398;
const RSA_SIGNATURE_BYTES = RSA_BITS / 8;
const PREFIX = 'CompositeAlgorithmSignatures2025';
const LABEL = Buffer.from('COMPSIG-MLDSA65-RSA3072-PSS-SHA512', 'ascii');
const CONTEXT_BYTES_MAX = 255;

export const SIGNATURE_BYTES = ML_DSA_SIGNATURE_BYTES + RSA_SIGNATURE_BYTES;
export const SIGNATURE_PUBLIC_KEY_BYTES = ML_DSA_PUBLIC_BYTES + RSA_PUBLIC_BYTES;
/** The signature covers the SHA-512 digest of a message. */
export const DIGEST_BYTES = 64;

const PSS = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 } as const;
const generated = promisify(generateKeyPair);

export interface CompositePrivateKey {
  readonly mlDsa: KeyObject;
  readonly rsa: KeyObject;
}

export type CompositePublicKey = CompositePrivateKey;

export interface Halves {
  mlDsa: boolean;
  rsaPss: boolean;
}

/** Both keys are new and used for nothing else: half of a composite signature must not pass for a complete one elsewhere. */
export async function generateComposite(): Promise<CompositePrivateKey> {
  const rsa = await generated('rsa', { modulusLength: RSA_BITS });
  return { mlDsa: generateKeyPairSync(ML_DSA).privateKey, rsa: rsa.privateKey };
}

export function compositePublicBytes({ mlDsa, rsa }: CompositePrivateKey): Buffer {
  return Buffer.concat([createPublicKey(mlDsa).export({ format: 'raw-public' }), rsaPublicBytes(createPublicKey(rsa))]);
}

export function writeComposite({ mlDsa, rsa }: CompositePrivateKey): Buffer {
  return Buffer.concat([mlDsa.export({ format: 'raw-seed' }), rsa.export({ format: 'der', type: 'pkcs1' })]);
}

export function parseComposite(bytes: Buffer): CompositePrivateKey {
  const seed = bytes.subarray(0, ML_DSA_SEED_BYTES);
  return {
    mlDsa: createPrivateKey({ key: seed, format: 'raw-seed', asymmetricKeyType: ML_DSA }),
    rsa: createPrivateKey({ key: bytes.subarray(ML_DSA_SEED_BYTES), format: 'der', type: 'pkcs1' }),
  };
}

/** Returns null if the bytes are not such a key in its canonical encoding. */
export function parseCompositePublic(bytes: Buffer): CompositePublicKey | null {
  if (bytes.length !== SIGNATURE_PUBLIC_KEY_BYTES) return null;
  const mlDsaBytes = bytes.subarray(0, ML_DSA_PUBLIC_BYTES);
  const rsaBytes = bytes.subarray(ML_DSA_PUBLIC_BYTES);
  try {
    const mlDsa = createPublicKey({ key: mlDsaBytes, format: 'raw-public', asymmetricKeyType: ML_DSA });
    const rsa = createPublicKey({ key: rsaBytes, format: 'der', type: 'pkcs1' });
    const { modulusLength, publicExponent } = rsa.asymmetricKeyDetails ?? {};
    if (modulusLength !== RSA_BITS || publicExponent !== RSA_EXPONENT) return null;
    return rsaPublicBytes(rsa).equals(rsaBytes) ? { mlDsa, rsa } : null;
  } catch {
    return null;
  }
}

/** Runs in the thread pool, because signing takes some milliseconds that would block the event loop. */
export async function signDigest(
  { mlDsa, rsa }: CompositePrivateKey,
  digest: Buffer,
  context: Uint8Array = new Uint8Array(),
): Promise<Buffer> {
  const message = representative(digest, context);
  const [first, second] = await Promise.all([
    inPool<Buffer>((done) => sign(null, message, { key: mlDsa, context: LABEL }, done)),
    inPool<Buffer>((done) => sign('sha256', message, { key: rsa, ...PSS }, done)),
  ]);
  return Buffer.concat([first, second]);
}

/** Tells which halves verify. If the length is wrong, none does. */
export async function verifyDigest(
  { mlDsa, rsa }: CompositePublicKey,
  digest: Buffer,
  signature: Buffer,
  context: Uint8Array = new Uint8Array(),
): Promise<Halves> {
  if (signature.length !== SIGNATURE_BYTES) return { mlDsa: false, rsaPss: false };
  const message = representative(digest, context);
  const first = signature.subarray(0, ML_DSA_SIGNATURE_BYTES);
  const second = signature.subarray(ML_DSA_SIGNATURE_BYTES);
  const [isMlDsa, isRsaPss] = await Promise.all([
    holds((done) => verify(null, message, { key: mlDsa, context: LABEL }, first, done)),
    holds((done) => verify('sha256', message, { key: rsa, ...PSS }, second, done)),
  ]);
  return { mlDsa: isMlDsa, rsaPss: isRsaPss };
}

/** M' of the draft. */
function representative(digest: Buffer, context: Uint8Array): Buffer {
  if (digest.length !== DIGEST_BYTES) throw new Error('the signed digest must be a SHA-512');
  if (context.length > CONTEXT_BYTES_MAX) throw new Error('a context must have at most 255 bytes');
  return Buffer.concat([Buffer.from(PREFIX, 'ascii'), LABEL, Buffer.from([context.length]), context, digest]);
}

function rsaPublicBytes(key: KeyObject): Buffer {
  return key.export({ format: 'der', type: 'pkcs1' });
}

type Done<T> = (error: Error | null, result: T) => void;

function inPool<T>(work: (done: Done<T>) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    work((error, result) => (error === null || error === undefined ? resolve(result) : reject(error)));
  });
}

/** A library may throw on a malformed signature; here that means it does not verify. */
async function holds(work: (done: Done<boolean>) => void): Promise<boolean> {
  try {
    return await inPool(work);
  } catch {
    return false;
  }
}
