import { CofferError, unavailable } from '../base/errors.ts';
import type { EndpointDeclaration } from '../endpoint/declaration.ts';
import type { Reader, Tx } from '../storage/database.ts';
import { heldEpoch } from '../storage/epochs.ts';
import type { RevokedToken } from '../storage/row-changes.ts';
import type { Call } from './call.ts';
import type { Actor } from './principal.ts';

/** Lists the regions that a request has been forwarded by. */
export const REGION_ORIGIN_HEADER = 'X-Svc-Region-Origin';
export const FORWARD_STATUS = 307;
const REGION_LIST = /^[a-z][a-z0-9-]{0,31}(?:, ?[a-z][a-z0-9-]{0,31}){0,15}$/;

/**
 * Where the requests of a tenant are handled. `starting`: here, once the former region has certainly stopped. A tenant that belongs to no region
 * is handled wherever its rows are. `unknown`: no region is known, but this region has not reached enough other regions yet.
 */
export type Home =
  | { readonly kind: 'here'; readonly isAssigned: boolean }
  | { readonly kind: 'starting' }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'elsewhere'; readonly region: string };

/** A token that another region signed. Its tenant may have no rows here. */
export interface ForeignToken {
  readonly tenantId: string;
  readonly tokenId: string;
  readonly subject: string;
}

/** Implemented by the feature `regions`. */
export interface Regions {
  readonly name: string;
  /** `epoch` is the tenant's; null if the tenant has no row here. */
  homeOf(tenantId: string, epoch: number | null): Home | Promise<Home>;
  /** The same without a cache, as the transaction sees it. */
  homeIn(db: Reader, tenantId: string): Promise<Home>;
  /** The URL of a region for clients; null if the region is not configured. */
  urlOf(region: string): string | null;
  isReachable(region: string): boolean;
  /** Whether enough other regions were reached recently to accept changes. */
  hasLease(): boolean;
  foreignToken(jwt: string): Promise<ForeignToken | null>;
  /** Whether the token was revoked by a region that may speak about the tenant. */
  isRevoked(tokenId: string, tenantId: string): Promise<boolean>;
  /** Tells the other regions, in the transaction of the revocation. */
  publishRevoked(tx: Tx, tokens: readonly RevokedToken[]): Promise<void>;
}

/** The request belongs to another region, to which the response refers the caller. */
export class ForwardedRequest extends Error {
  readonly region: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(region: string, headers: Readonly<Record<string, string>>) {
    super('the request belongs to another region');
    this.region = region;
    this.headers = headers;
  }
}

/** The caller is authentic, but only another region knows them. */
export class ForeignCaller extends Error {
  readonly token: ForeignToken;

  constructor(token: ForeignToken) {
    super('the caller is known in another region only');
    this.token = token;
  }

  get actor(): Actor {
    return { kind: 'user', id: this.token.subject, name: '', key: this.token.tokenId };
  }
}

/** Decides whether this region may handle a request, or change anything of a tenant. Without regions it lets everything pass, at no cost. */
export class RegionGate {
  #regions: Regions | null = null;
  /** Transactions in which a tenant was already checked. */
  readonly #checked = new WeakMap<Tx, Set<string>>();

  /** Called once, before the service listens. */
  use(regions: Regions): void {
    this.#regions = regions;
  }

  get isOn(): boolean {
    return this.#regions !== null;
  }

  /** The URL of this region for clients; null if the installation is not part of a group of regions. */
  get ownUrl(): string | null {
    return this.#regions?.urlOf(this.#regions.name) ?? null;
  }

  /** Throws unless this region may handle the request of this tenant. Returns a promise only if there is something to wait for. */
  admit(
    call: Call,
    declaration: EndpointDeclaration,
    tenantId: string,
    epoch: number | null,
  ): Promise<void> | undefined {
    const regions = this.#regions;
    if (regions === null) return undefined;
    const home = regions.homeOf(tenantId, epoch);
    if (home instanceof Promise) return home.then((found) => admitTo(regions, call, declaration, found));
    admitTo(regions, call, declaration, home);
    return undefined;
  }

  /** For a caller without rows here: forwards the request if its endpoint allows it. Otherwise returns the region where it can succeed. */
  async forwardForeign(
    call: Call,
    declaration: EndpointDeclaration,
    { token }: ForeignCaller,
  ): Promise<{ region: string; url: string | null } | null> {
    const regions = this.#regions;
    if (regions === null) return null;
    const home = await regions.homeOf(token.tenantId, null);
    if (home.kind !== 'elsewhere') return null;
    if (declaration.region === 'forward') forward(regions, call, home.region);
    return { region: home.region, url: regions.urlOf(home.region) };
  }

  /**
   * Called in the transaction of a change, once the tenant's epoch is locked. A change of the primary region raises the epoch, so an equal one needs no
   * query.
   */
  async requireHere(tx: Tx, db: Reader, tenantId: string, isSameEpoch: boolean): Promise<void> {
    if (this.#regions === null) return;
    if (!isSameEpoch) requireHome(this.#regions, await this.#regions.homeIn(db, tenantId));
    this.#noteChecked(tx, tenantId);
  }

  /**
   * Called last in the transaction of every recorded change, also of a job, a login or a public endpoint. If no request of the tenant was checked in
   * it, it holds the epoch itself. The lease is checked here again, because the change may have waited.
   */
  async requireBeforeCommit(tx: Tx, tenantId: string): Promise<void> {
    const regions = this.#regions;
    if (regions === null) return;
    if (this.#checked.get(tx)?.has(tenantId) !== true) {
      await heldEpoch(tx, tenantId);
      requireHome(regions, await regions.homeIn(tx, tenantId));
      this.#noteChecked(tx, tenantId);
    }
    // A tenant that this transaction creates needs no lease: no other region can be its primary one.
    const isNew = tx.changes.keyOf(tenantId) !== undefined;
    if (!isNew && !regions.hasLease()) requireUnassigned(await regions.homeIn(tx, tenantId), NOTHING_CHANGED);
  }

  #noteChecked(tx: Tx, tenantId: string): void {
    const tenants = this.#checked.get(tx) ?? new Set();
    this.#checked.set(tx, tenants.add(tenantId));
  }

  /**
   * Called before a change and again after its commit, before it is acknowledged: a region that was cut off or suspended for longer than its lease
   * may have been replaced meanwhile.
   */
  async requireLease(tenantId: string, epoch: number | null, isCommitted: boolean): Promise<void> {
    const regions = this.#regions;
    if (regions === null || regions.hasLease()) return;
    requireUnassigned(await regions.homeOf(tenantId, epoch), isCommitted ? NOT_CONFIRMED : NOTHING_CHANGED);
  }

  /** Whether entries about this tenant belong into its log here. The log of a tenant grows in its primary region only. */
  async hasLogHere(tenantId: string, epoch: number | null): Promise<boolean> {
    if (this.#regions === null) return true;
    const { kind } = await this.#regions.homeOf(tenantId, epoch);
    return kind === 'here' || kind === 'starting';
  }

  /** Whether the background work of a tenant is done here now. Without a lease it waits, like changes of requests. */
  async isServedHere(tenantId: string): Promise<boolean> {
    if (this.#regions === null) return true;
    const home = await this.#regions.homeOf(tenantId, null);
    return home.kind === 'here' && (!home.isAssigned || this.#regions.hasLease());
  }

  /** Returns the tenants of the list whose background work is done here. */
  async servedHere<T extends { tenant_id: string }>(tenants: readonly T[]): Promise<readonly T[]> {
    if (this.#regions === null) return tenants;
    const served: T[] = [];
    for (const tenant of tenants) if (await this.isServedHere(tenant.tenant_id)) served.push(tenant);
    return served;
  }

  async foreignToken(jwt: string): Promise<ForeignToken | null> {
    return this.#regions === null ? null : this.#regions.foreignToken(jwt);
  }

  async isRevoked(tokenId: string, tenantId: string): Promise<boolean> {
    return this.#regions === null ? false : this.#regions.isRevoked(tokenId, tenantId);
  }

  async publishRevoked(tx: Tx, tokens: readonly RevokedToken[]): Promise<void> {
    if (this.#regions !== null && tokens.length > 0) await this.#regions.publishRevoked(tx, tokens);
  }
}

function admitTo(regions: Regions, call: Call, declaration: EndpointDeclaration, home: Home): void {
  if (home.kind === 'here') return;
  if (home.kind === 'elsewhere' && declaration.region === 'forward') forward(regions, call, home.region);
  if (home.kind !== 'elsewhere' && declaration.region === 'forward') requireHome(regions, home);
  if (declaration.effect === 'change') requireHome(regions, home);
}

function requireHome(regions: Regions, home: Home): void {
  if (home.kind === 'here') return;
  if (home.kind === 'starting') throw starting();
  if (home.kind === 'unknown')
    throw unavailable(
      'This region does not know yet which region is the primary one of your tenant, because it has just started or cannot reach the others: try again shortly.',
    );
  const url = regions.urlOf(home.region);
  throw new CofferError(
    'REGION_FENCED',
    `The primary region of this tenant is ${home.region}, and only that region changes its data: send the request there.`,
    { details: { region: home.region, ...(url !== null && { url }) } },
  );
}

/** A tenant without a region is handled wherever its rows are, and needs no lease. */
function requireUnassigned(home: Home, whatHappened: string): void {
  if (home.kind !== 'here' || home.isAssigned) throw unavailable(`${NO_LEASE} ${whatHappened}`);
}

function starting(): CofferError {
  return unavailable(
    'This region becomes the primary region of your tenant, and waits until the former one has certainly stopped: try again shortly.',
  );
}

/** The location is made of the configured URL alone: nothing in the request can send credentials anywhere else. */
function forward(regions: Regions, call: Call, region: string): never {
  const passed = passedRegions(call);
  if (passed.includes(regions.name)) {
    throw new CofferError(
      'REGION_LOOP',
      'The regions refer to each other for this tenant. Their directories will be equal shortly: try again, and tell the operator if it lasts.',
      { details: { regions: passed } },
    );
  }
  // A target that is a whole URL, or begins with @, would change the host.
  if (!call.url.startsWith('/')) throw new CofferError('INVALID_REQUEST', 'The target of the request must be a path.');
  const url = regions.urlOf(region);
  if (url === null) throw unavailable('The primary region of this tenant is not configured here. Tell the operator.');
  if (!regions.isReachable(region)) {
    throw unavailable('The primary region of this tenant cannot be reached now: try again shortly.');
  }
  throw new ForwardedRequest(region, {
    Location: `${url}${call.url}`,
    [REGION_ORIGIN_HEADER]: [...passed, regions.name].join(', '),
  });
}

function passedRegions({ headers }: Call): string[] {
  const listed = headers[REGION_ORIGIN_HEADER.toLowerCase()];
  if (listed === undefined) return [];
  if (typeof listed !== 'string' || !REGION_LIST.test(listed)) {
    throw new CofferError('INVALID_REQUEST', `${REGION_ORIGIN_HEADER} must be a list of regions, or absent.`);
  }
  return listed.split(/, ?/);
}

const NO_LEASE =
  'This region cannot reach enough other regions to be sure that it is still the primary region of your tenant.';
const NOTHING_CHANGED = 'So it changes nothing: try again shortly.';
const NOT_CONFIRMED =
  'The change was made here, but may be lost: read it before you repeat it, or repeat it with the same Idempotency-Key.';
