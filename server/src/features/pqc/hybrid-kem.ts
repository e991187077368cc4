import {
  constants,
  createPrivateKey,
  createPublicKey,
  decapsulate,
  diffieHellman,
  encapsulate,
  generateKeyPair,
  generateKeyPairSync,
  hash,
  type KeyObject,
  privateDecrypt,
  publicEncrypt,
  randomBytes,
} from 'node:crypto';
import { promisify } from 'node:util';
import type { KEM_ALGORITHMS } from './contract.ts';

/**
 * ML-KEM-768 combined with a classical key encapsulation (draft-ietf-lamps-pq-composite-kem): an attacker must break both. Keys and ciphertexts are
 * the ML-KEM part, whose length is fixed, followed by the classical part.
 */

const ML_KEM = 'ml-kem-768';
const ML_KEM_PUBLIC_BYTES = 1184;
const ML_KEM_SEED_BYTES = 64;
const ML_KEM_CIPHERTEXT_BYTES = 1088;
const RSA_BITS = 2048;
const RSA_BYTES = RSA_BITS / 8;
/** PKCS#1 public key with 2048 bits and the exponent 65537, which has a fixed length. */
const RSA_PUBLIC_BYTES = 270;
const RSA_EXPONENT = 65_537n;
const SECRET_BYTES = 32;
const POINT_BYTES = 65;
/** The first byte of an uncompressed point (SEC 1, 2.3.3). */
const POINT_UNCOMPRESSED = 0x04;
const CURVE = 'P-256';

/** The classical half of a hybrid: encapsulation to a public key, and the encoding of its keys. */
interface Classical {
  /** Appended to the hash input of the shared secret, so that no two hybrids derive the same secret. */
  label: string;
  publicBytes: number;
  ciphertextBytes: number;
  generate(): Promise<KeyObject>;
  parsePrivate(bytes: Buffer): KeyObject;
  writePrivate(key: KeyObject): Buffer;
  /** Throws if the bytes are not such a key. */
  parsePublic(bytes: Buffer): KeyObject;
  writePublic(key: KeyObject): Buffer;
  encapsulate(key: KeyObject): { secret: Buffer; ciphertext: Buffer };
  /** Throws if the ciphertext is malformed. */
  decapsulate(key: KeyObject, ciphertext: Buffer): Buffer;
}

const generated = promisify(generateKeyPair);

const ecdh: Classical = {
  label: 'MLKEM768-P256',
  publicBytes: POINT_BYTES,
  ciphertextBytes: POINT_BYTES,
  generate: async () => generateKeyPairSync('ec', { namedCurve: CURVE }).privateKey,
  parsePrivate: (bytes) => createPrivateKey({ key: bytes, format: 'der', type: 'sec1' }),
  writePrivate: (key) => key.export({ format: 'der', type: 'sec1' }),
  parsePublic(bytes) {
    // OpenSSL also accepts compressed points and the point at infinity, so the encoding is checked here.
    if (bytes.length !== POINT_BYTES || bytes[0] !== POINT_UNCOMPRESSED) throw new Error('not a point written in full');
    return createPublicKey({ key: bytes, format: 'raw-public', asymmetricKeyType: 'ec', namedCurve: CURVE });
  },
  writePublic: (key) => key.export({ format: 'raw-public' }),
  encapsulate(key) {
    const ephemeral = generateKeyPairSync('ec', { namedCurve: CURVE });
    return {
      secret: diffieHellman({ privateKey: ephemeral.privateKey, publicKey: key }),
      ciphertext: ecdh.writePublic(ephemeral.publicKey),
    };
  },
  decapsulate: (key, ciphertext) => diffieHellman({ privateKey: key, publicKey: ecdh.parsePublic(ciphertext) }),
};

const OAEP = { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' } as const;

const rsa: Classical = {
  label: 'MLKEM768-RSAOAEP2048',
  publicBytes: RSA_PUBLIC_BYTES,
  ciphertextBytes: RSA_BYTES,
  generate: async () => (await generated('rsa', { modulusLength: RSA_BITS })).privateKey,
  parsePrivate: (bytes) => createPrivateKey({ key: bytes, format: 'der', type: 'pkcs1' }),
  writePrivate: (key) => key.export({ format: 'der', type: 'pkcs1' }),
  parsePublic(bytes) {
    const key = createPublicKey({ key: bytes, format: 'der', type: 'pkcs1' });
    const { modulusLength, publicExponent } = key.asymmetricKeyDetails ?? {};
    if (modulusLength !== RSA_BITS || publicExponent !== RSA_EXPONENT) throw new Error('not a key of 2048 bits');
    // DER has one encoding for each key, but parsers are lenient.
    if (!rsa.writePublic(key).equals(bytes)) throw new Error('not the one spelling of the key');
    return key;
  },
  writePublic: (key) => key.export({ format: 'der', type: 'pkcs1' }),
  encapsulate(key) {
    const secret = randomBytes(SECRET_BYTES);
    return { secret, ciphertext: publicEncrypt({ key, ...OAEP }, secret) };
  },
  decapsulate(key, ciphertext) {
    const secret = privateDecrypt({ key, ...OAEP }, ciphertext);
    if (secret.length !== SECRET_BYTES) throw new Error('not a secret of 32 bytes');
    return secret;
  },
};

export interface HybridPrivateKey {
  readonly mlKem: KeyObject;
  readonly classical: KeyObject;
}

/** One hybrid algorithm with all its parameters, so that no other code compares algorithm names. */
export class HybridKem {
  readonly #classical: Classical;
  readonly publicKeyBytes: number;
  readonly ciphertextBytes: number;

  constructor(classical: Classical) {
    this.#classical = classical;
    this.publicKeyBytes = ML_KEM_PUBLIC_BYTES + classical.publicBytes;
    this.ciphertextBytes = ML_KEM_CIPHERTEXT_BYTES + classical.ciphertextBytes;
  }

  /** Both keys are new: a key that is also used elsewhere could be attacked there. */
  async generate(): Promise<HybridPrivateKey> {
    return { mlKem: generateKeyPairSync(ML_KEM).privateKey, classical: await this.#classical.generate() };
  }

  publicKeyOf({ mlKem, classical }: HybridPrivateKey): Buffer {
    return Buffer.concat([
      createPublicKey(mlKem).export({ format: 'raw-public' }),
      this.#classical.writePublic(createPublicKey(classical)),
    ]);
  }

  writePrivate({ mlKem, classical }: HybridPrivateKey): Buffer {
    return Buffer.concat([mlKem.export({ format: 'raw-seed' }), this.#classical.writePrivate(classical)]);
  }

  parsePrivate(bytes: Buffer): HybridPrivateKey {
    const seed = bytes.subarray(0, ML_KEM_SEED_BYTES);
    return {
      mlKem: createPrivateKey({ key: seed, format: 'raw-seed', asymmetricKeyType: ML_KEM }),
      classical: this.#classical.parsePrivate(bytes.subarray(ML_KEM_SEED_BYTES)),
    };
  }

  /** Returns null if the bytes are not a valid public key. */
  encapsulate(publicKey: Buffer): { secret: Buffer; ciphertext: Buffer } | null {
    if (publicKey.length !== this.publicKeyBytes) return null;
    const mlKemBytes = publicKey.subarray(0, ML_KEM_PUBLIC_BYTES);
    const classicalBytes = publicKey.subarray(ML_KEM_PUBLIC_BYTES);
    try {
      const mlKemKey = createPublicKey({ key: mlKemBytes, format: 'raw-public', asymmetricKeyType: ML_KEM });
      const mlKem = encapsulate(mlKemKey);
      const classical = this.#classical.encapsulate(this.#classical.parsePublic(classicalBytes));
      return {
        secret: this.#combine(mlKem.sharedKey, classical.secret, classical.ciphertext, classicalBytes),
        ciphertext: Buffer.concat([mlKem.ciphertext, classical.ciphertext]),
      };
    } catch {
      return null;
    }
  }

  /**
   * Never reports a wrong ciphertext: it returns a random secret instead, as ML-KEM itself does (FIPS 203, 6.3), and decryption with it fails later.
   * So every wrong ciphertext of the right length fails at the same point.
   */
  decapsulate(key: HybridPrivateKey, ciphertext: Buffer): Buffer {
    if (ciphertext.length !== this.ciphertextBytes) return randomBytes(SECRET_BYTES);
    const classicalCiphertext = ciphertext.subarray(ML_KEM_CIPHERTEXT_BYTES);
    const mlKemSecret = decapsulate(key.mlKem, ciphertext.subarray(0, ML_KEM_CIPHERTEXT_BYTES));
    let classicalSecret: Buffer = randomBytes(SECRET_BYTES);
    try {
      classicalSecret = this.#classical.decapsulate(key.classical, classicalCiphertext);
    } catch {
      // Continues with the random secret.
    }
    const classicalPublic = this.#classical.writePublic(createPublicKey(key.classical));
    return this.#combine(mlKemSecret, classicalSecret, classicalCiphertext, classicalPublic);
  }

  /** Every part but the last has a fixed length, so that the hash input is unambiguous. */
  #combine(mlKemSecret: Buffer, secret: Buffer, ciphertext: Buffer, publicKey: Buffer): Buffer {
    const label = Buffer.from(this.#classical.label, 'ascii');
    return hash('sha3-256', Buffer.concat([mlKemSecret, secret, ciphertext, publicKey, label]), 'buffer');
  }
}

export type KemAlgorithm = (typeof KEM_ALGORITHMS)[number];

export const HYBRID_KEMS: Readonly<Record<KemAlgorithm, HybridKem>> = {
  'ecdh-p256+ml-kem-768': new HybridKem(ecdh),
  'rsa-oaep-2048+ml-kem-768': new HybridKem(rsa),
};
