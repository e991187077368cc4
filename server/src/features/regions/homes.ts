import { createPublicKey } from 'node:crypto';
import { decodeProtectedHeader, jwtVerify } from 'jose';
import type { ForeignToken, Home, Regions } from '../../kernel/auth/region-gate.ts';
import { BoundedCache } from '../../kernel/base/bounded-cache.ts';
import { MINUTE_MS } from '../../kernel/base/clock.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import type { RevokedToken } from '../../kernel/storage/row-changes.ts';
import type { Contacts } from './contacts.ts';
import { epochOf } from './crdt/merge.ts';
import { parsedValue } from './crdt/operation.ts';
import type { Directory } from './directory.ts';
import { type CellRow, findPrimary, findPromotion, operationOf } from './directory-store.ts';
import type { RegionStatements } from './region-statements.ts';
import { isPutBack } from './seen-primaries.ts';
import type { RegionConfig } from './settings.ts';

/** How long a look-up is used. A change of the tenant's epoch ends it earlier. */
const LOOKUP_MS = MINUTE_MS;
const LOOKUPS_BYTES_MAX = 4 * 1024 * 1024;
const LOOKUP_BYTES = 256;
const HERE: Home = { kind: 'here', isAssigned: true };
const UNASSIGNED: Home = { kind: 'here', isAssigned: false };
const UNKNOWN: Home = { kind: 'unknown' };

interface Parts {
  config: RegionConfig;
  kernel: Pick<Kernel, 'clock' | 'database' | 'operatorTenantId'>;
  directory: Directory;
  contacts: Contacts;
  statements: RegionStatements;
}

interface Lookup {
  home: Home;
  epoch: number | null;
  at: number;
}

/** Where tenants are handled, as the directory says. */
export class Homes implements Regions {
  readonly name: string;
  readonly #config: RegionConfig;
  readonly #kernel: Pick<Kernel, 'clock' | 'database' | 'operatorTenantId'>;
  readonly #directory: Directory;
  readonly #contacts: Contacts;
  readonly #statements: RegionStatements;
  /** Called when a row was put back or deleted: what the other regions know takes its place. */
  onPutBack: () => void = () => {};
  readonly #lookups = new BoundedCache<string, Lookup>({ bytesMax: LOOKUPS_BYTES_MAX, bytesOf: () => LOOKUP_BYTES });

  constructor({ config, kernel, directory, contacts, statements }: Parts) {
    this.#statements = statements;
    this.name = config.name;
    this.#config = config;
    this.#kernel = kernel;
    this.#directory = directory;
    this.#contacts = contacts;
    directory.onMerged = (tenantIds) => {
      for (const tenantId of tenantIds) this.#lookups.delete(tenantId);
    };
  }

  homeOf(tenantId: string, epoch: number | null): Home | Promise<Home> {
    // The operator's tenant is the operator of this region, and administers it while others are gone.
    if (tenantId === this.#kernel.operatorTenantId) return UNASSIGNED;
    const known = this.#lookups.get(tenantId);
    const isCurrent = known !== undefined && performance.now() - known.at < LOOKUP_MS;
    if (isCurrent && (epoch === null || Number.isNaN(epoch) || known.epoch === epoch)) return known.home;
    return this.#lookUp(tenantId, epoch);
  }

  async #lookUp(tenantId: string, epoch: number | null): Promise<Home> {
    const at = performance.now();
    const home = await this.homeIn(this.#kernel.database.read, tenantId);
    if (home !== UNKNOWN) this.#lookups.set(tenantId, { home, epoch, at });
    return home;
  }

  async homeIn(db: Reader, tenantId: string): Promise<Home> {
    if (tenantId === this.#kernel.operatorTenantId) return UNASSIGNED;
    const primary = await this.#primaryOf(db, tenantId);
    // Until the other regions have said that they know of no primary region, a missing row may have been deleted here.
    if (primary === undefined) return this.#contacts.hasPulled() ? UNASSIGNED : UNKNOWN;
    if (primary.origin !== this.name) return { kind: 'elsewhere', region: primary.origin };
    const promotion = await findPromotion(db, tenantId);
    const isActive =
      promotion !== undefined && promotion.epoch === epochOf(operationOf(primary)) && promotion.active_at !== null;
    return isActive ? HERE : { kind: 'starting' };
  }

  /** The authentic row, unless it is older than one that this process has seen: then it was put back, or the last one was deleted. */
  async #primaryOf(db: Reader, tenantId: string): Promise<CellRow | undefined> {
    const { read } = this.#kernel.database;
    // A transaction may see an older state than what was committed since, so it is read again before it is refused.
    for (const reader of new Set([db, read])) {
      const seen = this.#directory.seen.get(tenantId);
      const row = await findPrimary(reader, tenantId);
      const operation = row === undefined ? null : operationOf(row);
      if (isPutBack(seen, operation)) continue;
      if (reader === read && operation !== null) this.#directory.seen.note(operation);
      return row;
    }
    this.onPutBack();
    throw read.rowKeys.refuse('region_cells', `primary ${tenantId}`);
  }

  urlOf(region: string): string | null {
    return Object.hasOwn(this.#config.urls, region) ? (this.#config.urls[region] ?? null) : null;
  }

  isReachable(region: string): boolean {
    return this.#contacts.isReachable(region);
  }

  hasLease(): boolean {
    return this.#contacts.hasLease();
  }

  /** The claims of a token of a tenant that a region which speaks for it signed, unless it was revoked. */
  async foreignToken(jwt: string): Promise<ForeignToken | null> {
    for (const [origin, key] of await this.#publicKeys(jwt)) {
      const found = await this.#verified(jwt, key);
      if (found === null) continue;
      const { read } = this.#kernel.database;
      if (!(await this.#statements.speakersFor(read, found.tenantId)).has(origin)) continue;
      return (await this.isRevoked(found.tokenId, found.tenantId)) ? null : found;
    }
    return null;
  }

  async #verified(jwt: string, { issuer, jwk }: PublicKey): Promise<ForeignToken | null> {
    try {
      const { payload } = await jwtVerify(jwt, createPublicKey({ key: JSON.parse(jwk), format: 'jwk' }), {
        algorithms: ['EdDSA'],
        typ: 'JWT',
        issuer,
        currentDate: new Date(this.#kernel.clock.now()),
        requiredClaims: ['jti', 'sub', 'exp', 'iat'],
      });
      const { jti, sub, tid } = payload;
      return typeof tid === 'string' ? { tenantId: tid, tokenId: String(jti), subject: String(sub) } : null;
    } catch (error) {
      // An invalid token is nobody's. Its problem is told by the check that this one follows.
      if (error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_J')) return null;
      throw error;
    }
  }

  /**
   * The keys with the id that a token names, the last one of each region: a region that publishes a key with the id of another region's must not
   * make that one useless. Anybody can send a token that names any id, so it must not cost a list of all.
   */
  async #publicKeys(jwt: string): Promise<[origin: string, key: PublicKey][]> {
    const kid = keyIdOf(jwt);
    if (kid === null) return [];
    const elements = await this.#statements.of(this.#kernel.database.read, 'public_key', kid);
    const latest = elements
      .sort((a, b) => a.seq - b.seq)
      .map((one): [string, PublicKey & { verifies_until: number }] => [one.origin, parsedValue(one)]);
    const now = this.#kernel.clock.now();
    return [...new Map(latest)].filter(([origin, key]) => this.urlOf(origin) !== null && key.verifies_until > now);
  }

  isRevoked(tokenId: string, tenantId: string): Promise<boolean> {
    return this.#statements.isRevoked(this.#kernel.database.read, tokenId, tenantId);
  }

  async publishRevoked(tx: Tx, tokens: readonly RevokedToken[]): Promise<void> {
    const writes = tokens.map(({ tenantId, tokenId, expiresAt }) => ({
      kind: 'revoked_token' as const,
      key: tokenId,
      value: { tenant_id: tenantId, expires_at: expiresAt },
    }));
    await this.#directory.write(tx, ...writes);
  }
}

interface PublicKey {
  issuer: string;
  jwk: string;
}

function keyIdOf(jwt: string): string | null {
  try {
    return decodeProtectedHeader(jwt).kid ?? null;
  } catch {
    // What is no token names no key.
    return null;
  }
}
