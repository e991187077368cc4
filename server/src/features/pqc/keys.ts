import { BoundedCache, KEY_PAIR_BYTES } from '../../kernel/base/bounded-cache.ts';
import { type Clock, DAY_MS } from '../../kernel/base/clock.ts';
import { sha256 } from '../../kernel/crypto/digest.ts';
import { UnsealError } from '../../kernel/crypto/sealing.ts';
import type { Keyring, SealingKey } from '../../kernel/keys/keyring.ts';
import type { RekeyedTenant } from '../../kernel/keys/rekeying.ts';
import { type Database, type Tx, UniqueViolation } from '../../kernel/storage/database.ts';
import {
  type CompositePrivateKey,
  compositePublicBytes,
  generateComposite,
  parseComposite,
  writeComposite,
} from './composite-signature.ts';
import { SIGNATURE_ALGORITHM } from './contract.ts';
import { HYBRID_KEMS, type HybridKem, type HybridPrivateKey, type KemAlgorithm } from './hybrid-kem.ts';
import * as store from './store.ts';

export const PQC_PURPOSE = 'pqc';
/** Each entry holds two key pairs, one classical and one post-quantum, with their encodings. */
const KEYS_BOUNDS = { bytesMax: 16 * 1024 * 1024, bytesOf: () => 4 * KEY_PAIR_BYTES };
/** A key older than this gets a successor when it would next be used. */
export const PQC_KEY_AGE_MAX_MS = 365 * DAY_MS;
/** 160 bits of a SHA-256, so that no second key with the same id can be found. */
const FINGERPRINT_DIGITS = 40;
const KEY_ID_FORM = /^[A-Za-z0-9-]{1,64}$/;

interface PrivateKeys extends Record<KemAlgorithm, HybridPrivateKey> {
  [SIGNATURE_ALGORITHM]: CompositePrivateKey;
}
export type PqcAlgorithm = keyof PrivateKeys;

/** How keys of an algorithm are generated and encoded. */
interface KeyKind<P> {
  idPrefix: string;
  generate(): Promise<P>;
  publicBytes(key: P): Buffer;
  write(key: P): Buffer;
  parse(bytes: Buffer): P;
}

const kemKind = (idPrefix: string, kem: HybridKem): KeyKind<HybridPrivateKey> => ({
  idPrefix,
  generate: () => kem.generate(),
  publicBytes: (key) => kem.publicKeyOf(key),
  write: (key) => kem.writePrivate(key),
  parse: (bytes) => kem.parsePrivate(bytes),
});

const KINDS: { readonly [A in PqcAlgorithm]: KeyKind<PrivateKeys[A]> } = {
  'ecdh-p256+ml-kem-768': kemKind('ecdh-p256', HYBRID_KEMS['ecdh-p256+ml-kem-768']),
  'rsa-oaep-2048+ml-kem-768': kemKind('rsa-oaep-2048', HYBRID_KEMS['rsa-oaep-2048+ml-kem-768']),
  [SIGNATURE_ALGORITHM]: {
    idPrefix: 'rsa-pss-3072',
    generate: generateComposite,
    publicBytes: compositePublicBytes,
    write: writeComposite,
    parse: parseComposite,
  },
};

export const PQC_ALGORITHMS = Object.keys(KINDS) as PqcAlgorithm[];

export interface PqcPublicKey<A extends PqcAlgorithm = PqcAlgorithm> {
  readonly keyId: string;
  readonly algorithm: A;
  readonly version: number;
  readonly publicKey: Buffer;
  readonly createdAt: number;
}

export interface PqcKey<A extends PqcAlgorithm = PqcAlgorithm> extends PqcPublicKey<A> {
  readonly privateKey: PrivateKeys[A];
}

/** A version whose private key may be destroyed: then it still verifies, but signs no more. */
export interface PqcVersion<A extends PqcAlgorithm = PqcAlgorithm> extends PqcPublicKey<A> {
  readonly privateKey: PrivateKeys[A] | null;
  readonly endorsement: Buffer | null;
}

/**
 * The id of a key is derived from its public key, so that anyone who wraps to a public key uses the same id as its owner, and an id belongs to one
 * algorithm, version and tenant.
 */
export function keyIdOf(algorithm: PqcAlgorithm, publicKey: Uint8Array): string {
  const named = Buffer.concat([Buffer.from(`${algorithm}\n`, 'utf8'), publicKey]);
  return `${KINDS[algorithm].idPrefix}-${sha256(named).toString('hex').slice(0, FINGERPRINT_DIGITS)}`;
}

/**
 * The versioned keys of tenants and of the installation: the newest wraps and signs, every version unwraps and verifies. If two nodes create the same
 * version, the second insert fails, and that node uses the first one's key.
 */
export class PqcKeys {
  readonly #database: Database;
  readonly #keyring: Keyring;
  readonly #clock: Clock;
  readonly #loaded = new BoundedCache<string, PqcKey>(KEYS_BOUNDS);
  readonly #destroyed = new BoundedCache<string, PqcVersion>(KEYS_BOUNDS);
  readonly #making = new Map<string, Promise<void>>();

  constructor(parts: { database: Database; keyring: Keyring; clock: Clock }) {
    this.#database = parts.database;
    this.#keyring = parts.keyring;
    this.#clock = parts.clock;
  }

  /** The version that wraps or signs now. It is created if there is none, or the newest is too old or retired. */
  async newest<A extends PqcAlgorithm>(tenantId: string, algorithm: A): Promise<PqcKey<A>> {
    for (;;) {
      const row = await store.findNewest(this.#database.read, tenantId, algorithm);
      const isFresh = this.#clock.now() - (row?.created_at ?? 0) < PQC_KEY_AGE_MAX_MS;
      if (row?.retired_at === null && isFresh) return (await this.load(row)) as PqcKey<A>;
      await this.#makeOnce(tenantId, algorithm, (row?.version ?? 0) + 1);
    }
  }

  /** Concurrent requests of this process create a due version once; if several processes do, the unique constraint keeps one. */
  #makeOnce(tenantId: string, algorithm: PqcAlgorithm, version: number): Promise<void> {
    const slot = `${tenantId} ${algorithm} ${version}`;
    const begun = this.#making.get(slot);
    if (begun !== undefined) return begun;
    const making = this.#make(tenantId, algorithm, version).finally(() => this.#making.delete(slot));
    this.#making.set(slot, making);
    return making;
  }

  async #make(tenantId: string, algorithm: PqcAlgorithm, version: number): Promise<void> {
    const row = await this.#prepare(tenantId, algorithm, version);
    try {
      await this.#database.transaction((tx) => store.insertKey(tx, row));
    } catch (error) {
      if (!(error instanceof UniqueViolation)) throw error;
    }
  }

  async find(tenantId: string, keyId: string): Promise<PqcKey | null> {
    // The id comes from the caller, and PostgreSQL rejects NUL characters.
    if (!KEY_ID_FORM.test(keyId)) return null;
    const loaded = this.#loaded.get(slotOf(tenantId, keyId));
    if (loaded !== undefined) return loaded;
    const row = await store.findById(this.#database.read, tenantId, keyId);
    return row === undefined ? null : this.load(row);
  }

  /** For verification: also finds a key whose private half is destroyed. */
  async findPublic(tenantId: string, keyId: string): Promise<PqcPublicKey | null> {
    if (!KEY_ID_FORM.test(keyId)) return null;
    const slot = slotOf(tenantId, keyId);
    const known = this.#loaded.get(slot) ?? this.#destroyed.get(slot);
    if (known !== undefined) return known;
    const row = await store.findById(this.#database.read, tenantId, keyId);
    return row === undefined ? null : this.#version(row);
  }

  /** The newest versions of a key, newest first. Versions that were tampered with are left out. */
  async versions<A extends PqcAlgorithm>(tenantId: string, algorithm: A, limit: number): Promise<PqcVersion<A>[]> {
    const keys: PqcVersion<A>[] = [];
    for (const row of await store.listVersions(this.#database.read, tenantId, algorithm, limit)) {
      try {
        keys.push((await this.#version(row)) as PqcVersion<A>);
      } catch (error) {
        if (!(error instanceof UnsealError)) throw error;
      }
    }
    return keys;
  }

  /**
   * Stores a key's signature over its successor and destroys its private half, which has nothing left to sign. Another node may hold it in memory
   * until it next loads this version.
   */
  async succeed(tenantId: string, before: PqcPublicKey, successor: PqcPublicKey, endorsement: Buffer): Promise<void> {
    const sealing = await this.#keyring.sealingKey(tenantId, PQC_PURPOSE);
    const sealed_private = sealing.seal(destroyedPlace(before.keyId, before.version), new Uint8Array());
    await this.#database.transaction(async (tx) => {
      if (!(await store.storeEndorsement(tx, { tenant_id: tenantId, key_id: successor.keyId }, endorsement))) return;
      this.#database.scrubAfterCommit();
      const destroyed = { sealed_private, destroyed_at: this.#clock.now() };
      await store.replacePrivate(tx, { tenant_id: tenantId, key_id: before.keyId }, destroyed);
    });
    this.#loaded.delete(slotOf(tenantId, before.keyId));
  }

  async #version(row: store.PqcKeyRow): Promise<PqcVersion> {
    const endorsement = row.endorsement === null ? null : Buffer.from(row.endorsement);
    if (row.destroyed_at === null) return { ...(await this.load(row)), endorsement };
    const slot = slotOf(row.tenant_id, row.key_id);
    this.#loaded.delete(slot);
    const place = { tenantId: row.tenant_id, ...destroyedPlace(row.key_id, row.version) };
    await this.#keyring.unseal(PQC_PURPOSE, place, row.sealed_private);
    const version: PqcVersion = { ...publicPartOf(row), privateKey: null, endorsement };
    this.#destroyed.set(slot, version);
    return version;
  }

  /** The next version, not stored yet. */
  async prepareNext(tenantId: string, algorithm: PqcAlgorithm): Promise<store.PqcKeyRow> {
    const newest = await store.findNewest(this.#database.read, tenantId, algorithm);
    return this.#prepare(tenantId, algorithm, (newest?.version ?? 0) + 1);
  }

  async #prepare<A extends PqcAlgorithm>(tenantId: string, algorithm: A, version: number): Promise<store.PqcKeyRow> {
    const kind: KeyKind<PrivateKeys[A]> = KINDS[algorithm];
    const key = await kind.generate();
    const sealing: SealingKey = await this.#keyring.sealingKey(tenantId, PQC_PURPOSE);
    const public_key = kind.publicBytes(key);
    const key_id = keyIdOf(algorithm, public_key);
    const bytes = kind.write(key);
    const sealed_private = sealing.seal(placeOf(key_id, version), bytes);
    bytes.fill(0);
    const created_at = this.#clock.now();
    const inUse = { endorsement: null, destroyed_at: null, retired_at: null };
    return { tenant_id: tenantId, algorithm, version, key_id, public_key, sealed_private, created_at, ...inUse };
  }

  /**
   * The private key is unsealed even if only the public one is needed: it opens only under the id of its own public key, so that write access to the
   * database does not suffice to substitute a public key.
   */
  async load(row: store.PqcKeyRow): Promise<PqcKey> {
    const slot = slotOf(row.tenant_id, row.key_id);
    const loaded = this.#loaded.get(slot);
    if (loaded !== undefined) return loaded;
    const known = publicPartOf(row);
    const at = { tenantId: row.tenant_id, ...privatePlace(row) };
    const bytes = await this.#keyring.unseal(PQC_PURPOSE, at, row.sealed_private);
    const privateKey = KINDS[known.algorithm].parse(bytes);
    bytes.fill(0);
    const key: PqcKey = { ...known, privateKey };
    this.#loaded.set(slot, key);
    return key;
  }
}

/**
 * At a rekey, anyone who had the old root key may have these private keys, so each gets a successor at its next use. They are resealed under the new
 * key, so that the old one cannot forge them, and as retired, so that none passes for one in use. Returns the ids of those that did not open.
 */
export async function retireKeys(tx: Tx, keys: RekeyedTenant, now: number): Promise<string[]> {
  const unopened: string[] = [];
  for (const row of await store.everyVersion(tx, keys.tenantId)) {
    try {
      const bytes = keys.unseal(PQC_PURPOSE, placeOfRow(row), row.sealed_private);
      const retired = { ...row, retired_at: row.retired_at ?? now };
      const sealed_private = keys.seal(PQC_PURPOSE, placeOfRow(retired), bytes);
      bytes.fill(0);
      await store.replacePrivate(tx, row, { sealed_private, retired_at: retired.retired_at });
    } catch (error) {
      if (!(error instanceof UnsealError)) throw error;
      unopened.push(row.key_id);
    }
  }
  return unopened;
}

/** The public columns, if the key id matches the public key. The sealed part must still be opened to trust them. */
function publicPartOf(row: store.PqcKeyRow): PqcPublicKey {
  const algorithm = row.algorithm as PqcAlgorithm;
  const publicKey = Buffer.from(row.public_key);
  if (!Object.hasOwn(KINDS, algorithm) || keyIdOf(algorithm, publicKey) !== row.key_id) throw new UnsealError();
  return { keyId: row.key_id, algorithm, version: row.version, publicKey, createdAt: row.created_at };
}

function slotOf(tenantId: string, keyId: string): string {
  return `${tenantId} ${keyId}`;
}

function placeOf(keyId: string, version: number) {
  return { table: 'pqc_keys', row: keyId, version };
}

/** Differs from the location of a private key, so that neither passes for the other. */
function destroyedPlace(keyId: string, version: number) {
  return { table: 'pqc_keys', row: `${keyId} destroyed`, version };
}

/** The location a private key is sealed for. A retired key has another one, so that it does not pass for one in use. */
function privatePlace({ key_id, version, retired_at }: Pick<store.PqcKeyRow, 'key_id' | 'version' | 'retired_at'>) {
  return placeOf(retired_at === null ? key_id : `${key_id} retired`, version);
}

function placeOfRow(row: Pick<store.PqcKeyRow, 'key_id' | 'version' | 'destroyed_at' | 'retired_at'>) {
  return row.destroyed_at === null ? privatePlace(row) : destroyedPlace(row.key_id, row.version);
}
