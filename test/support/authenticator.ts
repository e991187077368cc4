import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { Encoder } from 'cbor-x';

const cbor = new Encoder({ mapsAsObjects: false, useRecords: false, tagUint8Array: false });
const sha256 = (data: Uint8Array | string) => createHash('sha256').update(data).digest();
const toText = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url');

const FLAGS = { present: 0x01, verified: 0x04, syncable: 0x08, synced: 0x10, attested: 0x40 };
const ALGORITHMS = { ES256: -7, EdDSA: -8, RS256: -257, ES384: -35 } as const;
type Algorithm = keyof typeof ALGORITHMS;

/** What an attacker, or a broken authenticator, does differently. */
export interface Deviations {
  origin?: string;
  rpId?: string;
  challenge?: string;
  isUserVerified?: boolean;
  crossOrigin?: boolean;
  type?: string;
  counter?: number;
  userHandle?: string | null;
  /** Attached to the attestation, which nobody requested. */
  attestation?: { fmt: string; attStmt: Map<string, unknown> };
}

export interface CreationOptions {
  rp: { id: string };
  user: { id: string };
  challenge: string;
}

export interface RequestOptions {
  rpId: string;
  challenge: string;
}

/** A passkey in memory, with a real key: it does what an authenticator and a browser do together. */
export class SoftwarePasskey {
  readonly id = toText(randomBytes(32));
  readonly #algorithm: Algorithm;
  readonly #isSynced: boolean;
  readonly #keys: { publicKey: KeyObject; privateKey: KeyObject };
  readonly #origin: string;
  #userHandle = toText(randomBytes(16));
  #counter: number;

  /** A synced passkey does not count its signatures. */
  constructor(
    origin: string,
    { algorithm = 'ES256', isSynced = false }: { algorithm?: Algorithm; isSynced?: boolean } = {},
  ) {
    this.#origin = origin;
    this.#algorithm = algorithm;
    this.#isSynced = isSynced;
    this.#counter = isSynced ? 0 : 1;
    this.#keys = keyPair(algorithm);
  }

  /** The answer to the options of an enrolment, as a browser sends it. */
  create(options: CreationOptions, more: Deviations = {}) {
    this.#userHandle = options.user.id;
    const authData = Buffer.concat([
      this.#authenticatorData(options.rp.id, FLAGS.attested, more),
      Buffer.alloc(16),
      Buffer.from([0, 32]),
      Buffer.from(this.id, 'base64url'),
      cbor.encode(coseKey(this.#algorithm, this.#keys.publicKey)),
    ]);
    const { fmt, attStmt } = more.attestation ?? { fmt: 'none', attStmt: new Map() };
    const attestation = new Map<string, unknown>([
      ['fmt', fmt],
      ['attStmt', attStmt],
      ['authData', new Uint8Array(authData)],
    ]);
    return {
      id: this.id,
      rawId: this.id,
      type: 'public-key',
      authenticatorAttachment: 'platform',
      clientExtensionResults: { credProps: { rk: true } },
      response: {
        clientDataJSON: toText(this.#clientData('webauthn.create', options.challenge, more)),
        attestationObject: toText(cbor.encode(attestation)),
        transports: ['internal', 'hybrid'],
        publicKeyAlgorithm: ALGORITHMS[this.#algorithm],
        authenticatorData: toText(authData),
      },
    };
  }

  /** The answer to the options of a sign-in or a step-up. */
  get(options: RequestOptions, more: Deviations = {}) {
    const authenticatorData = this.#authenticatorData(options.rpId, 0, more);
    const clientData = this.#clientData('webauthn.get', options.challenge, more);
    const signed = Buffer.concat([authenticatorData, sha256(clientData)]);
    const digest = this.#algorithm === 'EdDSA' ? null : this.#algorithm === 'ES384' ? 'sha384' : 'sha256';
    return {
      id: this.id,
      rawId: this.id,
      type: 'public-key',
      clientExtensionResults: {},
      response: {
        clientDataJSON: toText(clientData),
        authenticatorData: toText(authenticatorData),
        signature: toText(sign(digest, signed, this.#keys.privateKey)),
        userHandle: more.userHandle === undefined ? this.#userHandle : more.userHandle,
      },
    };
  }

  #authenticatorData(rpId: string, flags: number, { rpId: other, isUserVerified = true, counter }: Deviations): Buffer {
    const synced = this.#isSynced ? FLAGS.syncable | FLAGS.synced : 0;
    const count = Buffer.alloc(4);
    count.writeUInt32BE(counter ?? this.#counter);
    if (!this.#isSynced && counter === undefined) this.#counter++;
    const all = flags | synced | FLAGS.present | (isUserVerified ? FLAGS.verified : 0);
    return Buffer.concat([sha256(other ?? rpId), Buffer.from([all]), count]);
  }

  #clientData(type: string, challenge: string, more: Deviations): Buffer {
    const data = {
      type: more.type ?? type,
      challenge: more.challenge ?? challenge,
      origin: more.origin ?? this.#origin,
      crossOrigin: more.crossOrigin ?? false,
    };
    return Buffer.from(JSON.stringify(data), 'utf8');
  }
}

function keyPair(algorithm: Algorithm): { publicKey: KeyObject; privateKey: KeyObject } {
  if (algorithm === 'EdDSA') return generateKeyPairSync('ed25519');
  if (algorithm === 'RS256') return generateKeyPairSync('rsa', { modulusLength: 2048 });
  return generateKeyPairSync('ec', { namedCurve: algorithm === 'ES384' ? 'P-384' : 'P-256' });
}

/** RFC 9053: the numbers of COSE keys. */
function coseKey(algorithm: Algorithm, key: KeyObject): Map<number, unknown> {
  const { x = '', y = '', n = '', e = '' } = key.export({ format: 'jwk' });
  const bytes = (text: string) => new Uint8Array(Buffer.from(text, 'base64url'));
  const alg = ALGORITHMS[algorithm];
  if (algorithm === 'EdDSA')
    return new Map<number, unknown>([
      [1, 1],
      [3, alg],
      [-1, 6],
      [-2, bytes(x)],
    ]);
  if (algorithm === 'RS256')
    return new Map<number, unknown>([
      [1, 3],
      [3, alg],
      [-1, bytes(n)],
      [-2, bytes(e)],
    ]);
  const curve = algorithm === 'ES384' ? 2 : 1;
  return new Map<number, unknown>([
    [1, 2],
    [3, alg],
    [-1, curve],
    [-2, bytes(x)],
    [-3, bytes(y)],
  ]);
}
