import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import { errors, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import { type Clock, DAY_MS, HOUR_MS, SECOND_MS } from '../base/clock.ts';
import { newId } from '../base/ids.ts';
import { UnsealError } from '../crypto/sealing.ts';
import { AuthenticatedTable } from '../integrity/authenticated-table.ts';
import type { Share } from '../jobs/share.ts';
import type { Keyring } from '../keys/keyring.ts';
import type { RekeyedTenant } from '../keys/rekeying.ts';
import type { Database, Tx } from '../storage/database.ts';
import { type SigningKeysTable, SYSTEM_TENANT } from '../storage/tables.ts';
import type { Cutoff } from '../time/cutoff.ts';

export const SIGNING_PURPOSE = 'signing';
const ALGORITHM = 'EdDSA';
/** How long a key signs. */
export const SIGNING_PERIOD_MS = 30 * DAY_MS;
/** How long a key is published before it signs, so that verifiers elsewhere have it in time. */
const PUBLISHED_BEFORE_MS = HOUR_MS;
/** A key verifies until the last token it can have signed (365 days) has expired. */
const VERIFIES_AFTER_MS = 366 * DAY_MS;
/** An unknown key id makes a node reload the keys, but invalid tokens must not cause constant reloads. */
const RELOAD_COOLDOWN_MS = 1 * SECOND_MS;
const SALT_BYTES = 16;

/** The private half is sealed under the key's id and the MAC covers both halves, so that the public key cannot be replaced by another. */
export const SIGNING_KEYS = new AuthenticatedTable<'signing_keys', SigningKeysTable>('signing_keys', {
  key: ['kid'],
  covered: ['public_jwk', 'sealed_private', 'signs_from', 'verifies_until', 'created_at'],
});

interface LoadedKey {
  kid: string;
  jwk: Record<string, unknown>;
  publicKey: KeyObject;
  sealedPrivate: Uint8Array;
  signsFrom: number;
  verifiesUntil: number;
}

/** The Ed25519 keys that sign access tokens, shared by all nodes through the database. */
export class SigningKeys {
  readonly #database: Database;
  readonly #keyring: Keyring;
  readonly #clock: Clock;
  readonly #issuer: string;
  #keys: LoadedKey[] = [];
  #loadedAt = Number.NEGATIVE_INFINITY;
  /** When an unknown key id last caused a reload. */
  #searchedAt = Number.NEGATIVE_INFINITY;
  readonly #privateKeys = new Map<string, KeyObject>();

  constructor(database: Database, keyring: Keyring, clock: Clock, installationId: string) {
    this.#database = database;
    this.#keyring = keyring;
    this.#clock = clock;
    this.#issuer = `urn:coffer:${installationId}`;
  }

  async sign(claims: JWTPayload & { jti: string; exp: number }): Promise<string> {
    const key = await this.#signingKey();
    // Ed25519 signatures are deterministic. Without the salt, which is stored nowhere, anyone who once had the key could recreate any token from
    // its row.
    return new SignJWT({ ...claims, salt: randomBytes(SALT_BYTES).toString('base64url') })
      .setProtectedHeader({ alg: ALGORITHM, kid: key.kid, typ: 'JWT' })
      .setIssuer(this.#issuer)
      .setIssuedAt(Math.floor(this.#clock.now() / SECOND_MS))
      .sign(await this.#privateKey(key));
  }

  /** The claims of a token that one of our keys signed, or null. Whether the token was revoked is decided by its row. */
  async verify(jwt: string): Promise<{ claims: JWTPayload; isExpired: boolean } | null> {
    try {
      const { payload } = await jwtVerify(jwt, ({ kid }) => this.#publicKey(kid), {
        // Pinned, because the algorithm that a token names must decide nothing (RFC 8725, 3.1).
        algorithms: [ALGORITHM],
        issuer: this.#issuer,
        typ: 'JWT',
        currentDate: new Date(this.#clock.now()),
        requiredClaims: ['jti', 'sub', 'exp', 'iat'],
      });
      return { claims: payload, isExpired: false };
    } catch (error) {
      // Raised only after the signature was verified, so the audit log can name the token's owner.
      if (error instanceof errors.JWTExpired) return { claims: error.payload, isExpired: true };
      if (error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_J')) return null;
      throw error;
    }
  }

  async publicJwks(): Promise<{ keys: Record<string, unknown>[] }> {
    await this.#load();
    return { keys: this.#keys.filter((key) => key.verifiesUntil > this.#clock.now()).map((key) => key.jwk) };
  }

  /** The keys that verify tokens, for other regions. */
  async publicKeys(): Promise<{ kid: string; issuer: string; jwk: string; verifiesUntil: number }[]> {
    await this.#load();
    const usable = this.#keys.filter((key) => key.verifiesUntil > this.#clock.now());
    return usable.map(({ kid, jwk, verifiesUntil }) => ({
      kid,
      issuer: this.#issuer,
      jwk: JSON.stringify(jwk),
      verifiesUntil,
    }));
  }

  /** Creates the next key when the newest one nears the end of its signing period. */
  async rotate(): Promise<{ created: number }> {
    const now = this.#clock.now();
    await this.#load();
    const newest = this.#keys[0];
    const isDue = newest === undefined || newest.signsFrom + SIGNING_PERIOD_MS - PUBLISHED_BEFORE_MS <= now;
    if (isDue) await this.#create(newest === undefined ? now : now + PUBLISHED_BEFORE_MS);
    await this.#load();
    return { created: isDue ? 1 : 0 };
  }

  /**
   * One key ends per month, and there are a dozen before the first one ends. Deleting a key refuses every token it signed, so there is no small
   * number that is always safe to delete.
   */
  async endedShare(cutoff: Cutoff): Promise<Share[]> {
    const { read } = this.#database;
    const keys = () => read.selectFrom('signing_keys').select('kid').where('tenant_id', '=', SYSTEM_TENANT);
    const expired = await keys().where('verifies_until', '<', cutoff).execute();
    return [
      {
        of: 'signing keys',
        expired: expired.length,
        floor: 0,
        total: async () => (await keys().execute()).length,
      },
    ];
  }

  /** Deletes keys that verify no valid token any more. Without its key, a token that is still valid would be refused. */
  async deleteEnded(cutoff: Cutoff): Promise<void> {
    await this.#database.transaction((tx) =>
      SIGNING_KEYS.deleteWhere(tx, (eb) =>
        eb.and([eb('tenant_id', '=', SYSTEM_TENANT), eb('verifies_until', '<', cutoff)]),
      ),
    );
    await this.#load();
  }

  async #create(signsFrom: number): Promise<void> {
    const sealing = await this.#keyring.sealingKey(SYSTEM_TENANT, SIGNING_PURPOSE);
    const row = newSigningKey(this.#clock.now(), signsFrom, (at, der) => sealing.seal(at, der));
    await this.#database.transaction((tx) => SIGNING_KEYS.insert(tx, row));
  }

  async #signingKey(): Promise<LoadedKey> {
    const now = this.#clock.now();
    if (Math.abs(now - this.#loadedAt) > PUBLISHED_BEFORE_MS / 2) await this.#load();
    // If all keys begin in the future, the clock was ahead when they were created; the earliest of them signs anyway.
    const key = this.#keys.find((candidate) => candidate.signsFrom <= now) ?? this.#keys.at(-1);
    if (key === undefined) throw new Error('there is no signing key');
    return key;
  }

  async #privateKey(key: LoadedKey): Promise<KeyObject> {
    let privateKey = this.#privateKeys.get(key.kid);
    if (privateKey === undefined) {
      const der = await this.#keyring.unseal(SIGNING_PURPOSE, place(key.kid), key.sealedPrivate);
      privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
      this.#privateKeys.clear();
      this.#privateKeys.set(key.kid, privateKey);
    }
    return privateKey;
  }

  async #publicKey(kid: string | undefined): Promise<KeyObject> {
    let key = this.#keys.find((candidate) => candidate.kid === kid);
    if (key === undefined && Math.abs(this.#clock.now() - this.#searchedAt) > RELOAD_COOLDOWN_MS) {
      this.#searchedAt = this.#clock.now();
      await this.#load();
      key = this.#keys.find((candidate) => candidate.kid === kid);
    }
    if (key === undefined || key.verifiesUntil <= this.#clock.now()) throw new UnknownSigningKey();
    return key.publicKey;
  }

  /** Loads the keys, newest first. */
  async #load(): Promise<void> {
    const rows = await this.#database.read
      .selectFrom('signing_keys')
      .selectAll()
      .where('tenant_id', '=', SYSTEM_TENANT)
      .orderBy('signs_from', 'desc')
      .execute();
    // A forged key neither signs nor verifies; the others stay in use.
    this.#keys = (await SIGNING_KEYS.authenticOf(this.#database.read, rows)).map((row) => {
      const jwk = JSON.parse(row.public_jwk) as Record<string, unknown>;
      return {
        kid: row.kid,
        jwk,
        publicKey: createPublicKey({ key: jwk, format: 'jwk' }),
        sealedPrivate: row.sealed_private,
        signsFrom: row.signs_from,
        verifiesUntil: row.verifies_until,
      };
    });
    this.#loadedAt = this.#clock.now();
  }
}

function newSigningKey(
  now: number,
  signsFrom: number,
  seal: (at: ReturnType<typeof place>, der: Buffer) => Buffer,
): SigningKeysTable {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const kid = newId('key', now);
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid, alg: ALGORITHM, use: 'sig' };
  return {
    tenant_id: SYSTEM_TENANT,
    kid,
    public_jwk: JSON.stringify(jwk),
    sealed_private: seal(place(kid), privateKey.export({ format: 'der', type: 'pkcs8' })),
    signs_from: signsFrom,
    verifies_until: signsFrom + SIGNING_PERIOD_MS + VERIFIES_AFTER_MS,
    created_at: now,
  };
}

/**
 * At a rekey, a new key signs at once and the older ones only verify, because anyone who had the old root key may have their private halves. Tokens
 * they signed stay valid, because a token is accepted only if its authenticated row contains its hash. Tokens of releases before 0.5.0 have no
 * salt, so such a person can recreate them: a rekey with `--revoke-tokens` ends them.
 */
export async function replaceSigningKeys(tx: Tx, keys: RekeyedTenant, now: number): Promise<void> {
  await SIGNING_KEYS.changeEach(tx, SYSTEM_TENANT, ({ signs_from }) =>
    signs_from < now ? null : { signs_from: now - 1 },
  );
  await SIGNING_KEYS.insert(
    tx,
    newSigningKey(now, now, (at, der) => keys.seal(SIGNING_PURPOSE, at, der)),
  );
}

/** For keys from before rows were authenticated. Nobody can seal a private half without the root key, so it proves which public half is genuine. */
export async function hasItsPrivateHalf(keyring: Keyring, row: SigningKeysTable): Promise<boolean> {
  try {
    const der = await keyring.unseal(SIGNING_PURPOSE, place(row.kid), row.sealed_private);
    const own = createPublicKey(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })).export({ format: 'jwk' });
    return own.x === (JSON.parse(row.public_jwk) as { x?: string }).x;
  } catch (error) {
    if (error instanceof UnsealError) return false;
    throw error;
  }
}

class UnknownSigningKey extends Error {
  readonly code = 'ERR_JWKS_NO_MATCHING_KEY';
}

function place(kid: string) {
  return { tenantId: SYSTEM_TENANT, table: 'signing_keys', row: kid };
}
