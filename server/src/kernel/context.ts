import { whileAccepted } from './acceptance.ts';
import {
  type ApprovalQueue,
  ApprovalRequired,
  AwaitsApproval,
  PENDING_STATUS,
  type PendingApproval,
  type Proposal,
  ruleOf,
} from './approval.ts';
import { type AuditDecision, type AuditEntry, cleanText, detailsText, vaultOf } from './audit/entry.ts';
import { elsewhere, requestEntry } from './audit/request-entry.ts';
import { type Authenticated, NO_PROOFS, type Proofs, type View } from './auth/authentication.ts';
import { allowedRangesInVault, certainRanges, demandsInVault, vaultsByName } from './authz/allowed-ranges.ts';
import { authorize, isAuthorized } from './authz/authorize.ts';
import { mayAsk, placesInVault, withinCeiling } from './authz/ceiling.ts';
import type { AccessContext, Demand } from './authz/condition.ts';
import { couldEverAllow } from './authz/evaluate.ts';
import { ALL_PATHS, intersection, type PathRange } from './authz/path-ranges.ts';
import { vaultResource } from './authz/pattern.ts';
import type { Call, ResourceAttributes } from './call.ts';
import type { MacKey } from './crypto/keyring.ts';
import { Decisions, RightsChanged } from './decisions.ts';
import { type EndpointDeclaration, NONE } from './endpoint.ts';
import { CofferError } from './errors.ts';
import type { Kernel } from './kernel.ts';
import type { Actor, Principal } from './principal.ts';
import { ipNotAllowed, notPermitted, outOfScope } from './refusals.ts';
import { MFA_FRESH_MS, proofRequired } from './second-factor.ts';
import type { Database, Tx, Work } from './storage/database.ts';

const ANONYMOUS: Actor = { kind: 'anonymous', id: '', name: '', key: '' };

/** What a change needs from the pipeline. */
export interface ChangeHooks {
  /** Stores the response for a repeated Idempotency-Key, in the transaction of the change. */
  keepAnswer(tx: Tx, status: number, result: unknown): Promise<void>;
  approvals: ApprovalQueue;
  /** Authenticates the caller again from the data in `view`; throws to refuse. */
  acceptAgain(ctx: Context, view: View): Promise<Authenticated>;
}

/** One request in the pipeline: its caller, its address, and what will be recorded about it. */
export class Context {
  readonly kernel: Kernel;
  readonly declaration: EndpointDeclaration;
  readonly call: Call;
  /** The time of the request: when its body had arrived, if it has one. */
  now: number;
  /** The resource that was last decided on, or that is requested. */
  resource: string;
  /** The attributes used for that decision. */
  attributes: ResourceAttributes = {};
  isAuthorized = false;
  /** Set if the credential alone authorized the request, whatever the resource is. */
  isCredentialEnough = false;
  /** The tenant's epoch when the request was authenticated. Data cached under another epoch is stale. */
  epoch = NaN;
  /** What the request proved in addition to its credential. */
  proofs: Proofs = NO_PROOFS;
  /** The requested list with its filters; null if the request is not for a list. */
  listAsked: string | null = null;
  /** Headers that the handler adds to a successful response. */
  readonly replyHeaders: Record<string, string> = {};
  /** Further audit entries recorded with this request: see `alsoRecord`. */
  readonly alsoRecorded: AuditEntry[] = [];
  isUnrecorded = false;
  /** Number of reads per vault that are counted instead of recorded one by one: see `countUnlisted`. */
  unlistedReads: Map<string, number> | null = null;
  /** Set once the change and its audit entry are committed. */
  committed: { result: unknown } | null = null;
  /** Also set if the committed change is a pending approval, which is then the response. */
  pending: PendingApproval | null = null;
  #principal: Principal | null = null;
  #tenantId: string | null = null;
  #database: Database | null = null;
  #actor: Actor = ANONYMOUS;
  #details: Record<string, unknown> | undefined;
  readonly #hooks: ChangeHooks;
  #tx: Tx | null = null;
  /** The decision, if the caller was authorized for a single resource. */
  #authorized: { resource: string; attributes: ResourceAttributes } | null = null;
  readonly #decisions: Decisions | null;
  /** Contexts that are checked again together with this one before its change commits, such as the approved requests that it carries out. */
  readonly alongside = new Set<Pick<Context, 'acceptAgain'>>();

  constructor(kernel: Kernel, declaration: EndpointDeclaration, call: Call, hooks: ChangeHooks) {
    this.kernel = kernel;
    this.declaration = declaration;
    this.call = call;
    this.now = kernel.clock.now();
    // The query is left out, because people put secrets there.
    const query = call.url.indexOf('?');
    this.resource = query === -1 ? call.url : call.url.slice(0, query);
    this.#hooks = hooks;
    this.#decisions = declaration.effect === 'change' ? new Decisions() : null;
  }

  /** The database with the tenant's own queue, so that its queries alternate with those of other tenants. */
  get database(): Database {
    const { kernel, declaration } = this;
    if (this.#tenantId === null) return kernel.database;
    this.#database ??= kernel.database.forTenant(this.#tenantId, workOf(declaration));
    return this.#database;
  }

  get principal(): Principal {
    if (this.#principal === null) throw new Error('a public endpoint has no principal');
    return this.#principal;
  }

  get principalOrNull(): Principal | null {
    return this.#principal;
  }

  get tenantId(): string {
    if (this.#tenantId === null) throw new Error('the tenant is not known yet');
    return this.#tenantId;
  }

  get tenantIdOrNull(): string | null {
    return this.#tenantId;
  }

  receive(body: unknown): void {
    this.call.body = body;
    this.now = this.kernel.clock.now();
  }

  become(principal: Principal, epoch: number, proofs: Proofs = NO_PROOFS): void {
    this.#principal = principal;
    this.epoch = epoch;
    this.proofs = proofs;
    this.recognize(principal);
  }

  /** Records who owns the credential before it is known whether they may use it for this request. */
  recognize(principal: Principal): void {
    const { kind, id, name, credentialId, auditKey = credentialId } = principal;
    this.identify(principal.tenantId, { kind, id, name, key: auditKey });
  }

  /** Called by public endpoints once they know who sent the request, or whose account it is about. */
  identify(tenantId: string, actor: Actor): void {
    if (this.#tenantId !== tenantId) this.#database = null;
    this.#tenantId = tenantId;
    this.#actor = actor;
  }

  /** Adds to the audit entry. Only names, ids and counts are allowed, never secret values. */
  describe(details: Record<string, unknown>): void {
    this.#details = { ...this.#details, ...details };
  }

  /** Adds one audit entry for each object that a request about many reads or changes, so that each can be found by its own name. */
  alsoRecord(action: string, resource: string, details?: Record<string, unknown>): void {
    this.alsoRecorded.push(this.furtherEntry(action, resource, details));
  }

  /** Like `alsoRecord`, for a caller that records the entry in a separate transaction, which stays committed however the request ends. */
  furtherEntry(action: string, resource: string, details?: Record<string, unknown>): AuditEntry {
    return {
      ...this.entry('allow', this.declaration.status, ''),
      action,
      resource: cleanText(resource),
      vault: vaultOf(resource),
      details: detailsText(details),
    };
  }

  /**
   * A vault can be set so that successful reads of its ordinary secrets are counted instead of recorded. Refusals and changes are always recorded.
   */
  leaveUnrecorded(vault: string, reads: number): void {
    if (this.declaration.effect !== 'read') throw new Error('a change is always recorded');
    this.isUnrecorded = true;
    this.countUnlisted(vault, reads);
  }

  /** For a request that is itself recorded but also reads from vaults whose reads are only counted. */
  countUnlisted(vault: string, reads: number): void {
    this.unlistedReads ??= new Map();
    this.unlistedReads.set(vault, (this.unlistedReads.get(vault) ?? 0) + reads);
  }

  get details(): Readonly<Record<string, unknown>> | undefined {
    return this.#details;
  }

  /** Readable only by endpoints that declare it: approvals and repeated requests store the header only if the declaration says so. */
  get ifMatch(): string | undefined {
    if (this.declaration.ifMatch !== true) throw new Error(`${this.declaration.name} declares no If-Match`);
    return this.call.headers['if-match'];
  }

  get isMfaFresh(): boolean {
    const mfaAt = this.#principal?.mfaAt ?? null;
    return mfaAt !== null && this.now - mfaAt < MFA_FRESH_MS;
  }

  /** Evaluates the caller's rights. A change keeps the decision so that `acceptAgain` can repeat it. */
  decide<T>(decide: (principal: Principal) => T): T {
    const outcome = decide(this.principal);
    this.#decisions?.add(decide, outcome);
    return outcome;
  }

  /** Whether a second factor was shown recently and is trusted, which takes a day after its enrolment, or an approval. */
  get isFactorProven(): boolean {
    const from = this.#principal?.factorTrustedFrom ?? null;
    return this.isMfaFresh && from !== null && from <= this.now;
  }

  /**
   * For operations that give somebody access to vaults: if one of them holds a fortress secret, granting requires the same proof as reading it.
   * Otherwise one stolen token could create an account that reads what the token itself cannot.
   */
  async requireProofToGrant(reaches: (vault: string) => boolean): Promise<void> {
    if (this.isFactorProven) return;
    const fortresses = await this.#hooks.approvals.fortressVaults(this.tenantId);
    if (fortresses.some(reaches)) throw proofRequired('This gives access to fortress secrets, which');
  }

  /** For endpoints that every accepted credential may use. Only the credential's address list is still checked. */
  authorizeCredentialOnly(): void {
    const context = { ip: this.call.address, time: this.now };
    const request = { action: 'self:read', resource: 'self', context };
    const verdict = this.decide(({ ceilings }) => withinCeiling(ceilings, request));
    if (verdict === 'ip') throw ipNotAllowed('ip_not_allowed');
    this.resource = 'self';
    this.isAuthorized = true;
    this.isCredentialEnough = true;
  }

  /**
   * For operations whose effect outlives or exceeds the credential: a password, a second factor, an account with rights. A token with a ceiling
   * could use them to lift its own ceiling.
   */
  requireUnrestricted(): void {
    const isRestricted = this.decide(({ ceilings }) =>
      ceilings.some((c) => c.vaults !== null || c.actions !== null || c.cidrs !== null || c.places !== null),
    );
    if (!isRestricted) return;
    const message = 'A token with a scope or an address list cannot do this: use a session, or a token without them.';
    throw new CofferError('INSUFFICIENT_PRIVILEGE', message, { auditReason: 'the credential is restricted' });
  }

  /** Decides on a resource that had to be loaded first; throws to refuse. */
  authorize(resource: string, attributes: ResourceAttributes = {}): void {
    this.resource = resource;
    this.attributes = attributes;
    const refusal = this.#refusal(this.declaration.permission, resource, attributes);
    if (refusal !== null) throw refusal;
    this.isAuthorized = true;
    this.#authorized = { resource, attributes };
  }

  /**
   * Refuses a caller whose policies could never allow the action, before anything is loaded. No query runs and no row is locked for such a caller,
   * so not even the response time reveals whether the resource exists.
   */
  refuseIfNeverAllowed(resource: string): void {
    const { permission } = this.declaration;
    if (!this.decide(({ policies }) => couldEverAllow(policies, permission, resource))) this.authorize(resource);
  }

  /** Whether the caller is allowed. Lists use it to leave out items without refusing the request. */
  may(action: string, resource: string, attributes: ResourceAttributes = {}): boolean {
    return this.#refusal(action, resource, attributes) === null;
  }

  /** For a further alias of the resource that was decided on. An allow on any alias grants; a deny on any alias wins. */
  refuseDenied(action: string, resource: string): void {
    const refusal = this.#isDenied(action, resource) ? this.#refusal(action, resource, {}) : null;
    if (refusal !== null) throw refusal;
  }

  /** The same rule for a resource with several aliases, or one that several actions can reveal. */
  mayByAny(actions: readonly string[], resources: readonly string[]): boolean {
    const pairs = actions.flatMap((action) => resources.map((resource) => [action, resource] as const));
    if (!pairs.some(([action, resource]) => this.may(action, resource))) return false;
    return pairs.length === 1 || !pairs.some(([action, resource]) => this.#isDenied(action, resource));
  }

  /** The facts that policy conditions can test. */
  #facts({ environment, tags }: ResourceAttributes = {}): AccessContext {
    return { ip: this.call.address, mfa: this.isMfaFresh, time: this.now, environment, tags };
  }

  #isDenied(action: string, resource: string): boolean {
    const request = { action, resource, context: this.#facts() };
    return this.decide((principal) => authorize(principal, request).reason === 'explicit_deny');
  }

  /** Whether the credential is limited to some paths of a vault. An item without a path is outside all of them. */
  isConfinedIn(vault: string): boolean {
    const [all] = this.decide(({ ceilings }) => placesInVault(ceilings, vault));
    return all?.from !== ALL_PATHS.from || all.to !== ALL_PATHS.to;
  }

  /** The paths of a vault where the caller might be allowed. Items elsewhere need not be loaded; items inside are still decided on one by one. */
  allowedRanges(action: string, vault: string): PathRange[] {
    return this.#rangesIn(allowedRangesInVault, action, vault, {});
  }

  /** Whether the caller is certainly allowed somewhere in the vault with these attributes, whatever the vault contains. */
  isReachCertain(vault: string, attributes: ResourceAttributes): boolean {
    return this.#rangesIn(certainRanges, this.declaration.permission, vault, attributes).length > 0;
  }

  /** Requirements on a secret in the vault, at least one of which it must meet for the caller to be allowed. */
  demands(action: string, vault: string): Demand[] {
    return this.decide(({ policies }) => demandsInVault(policies, action, vault, this.#facts()));
  }

  #rangesIn(
    rangesOf: typeof allowedRangesInVault,
    action: string,
    vault: string,
    attributes: ResourceAttributes,
  ): PathRange[] {
    const context = this.#facts(attributes);
    const request = { action, resource: vaultResource(vault), context };
    return this.decide(({ ceilings, policies }) =>
      withinCeiling(ceilings, request) === 'ok'
        ? intersection(rangesOf(policies, action, vault, context), placesInVault(ceilings, vault))
        : [],
    );
  }

  /** The vault names for which the caller is allowed, as ranges; null if each vault must be decided on separately. */
  vaultsByName(action: string): PathRange[] | null {
    return this.decide(({ ceilings, policies }) => {
      const isBound = ceilings.some(({ vaults, places }) => vaults !== null || places !== null);
      return isBound ? null : vaultsByName(policies, action);
    });
  }

  /** For endpoints that respond with as much as the caller may see. Only a caller who may see nothing is refused. */
  authorizeWithin(resource: string, isAnythingSeen: boolean, attributes: ResourceAttributes): void {
    if (!isAnythingSeen) this.authorize(resource, attributes);
    this.resource = resource;
    this.isAuthorized = true;
  }

  /** For lists that show what the caller may see, which may be nothing. Only the ceiling of the credential can refuse the request. */
  authorizeListing(resource: string): void {
    const { permission } = this.declaration;
    const verdict = this.decide(({ ceilings }) => mayAsk(ceilings, permission, this.call.address));
    if (verdict === 'ip') throw ipNotAllowed('ip_not_allowed');
    if (verdict === 'scope') throw outOfScope('out_of_scope');
    this.resource = resource;
    this.isAuthorized = true;
  }

  #refusal(action: string, resource: string, attributes: ResourceAttributes): CofferError | null {
    const request = { action, resource, context: this.#facts(attributes) };
    if (this.decide((principal) => isAuthorized(principal, request))) return null;
    const decision = authorize(this.principal, request);
    const auditReason = `${action}: ${decision.reason}`;
    if (decision.reason === 'ip_not_allowed') return ipNotAllowed(auditReason);
    return decision.reason === 'out_of_scope' ? outOfScope(auditReason) : notPermitted(action, auditReason);
  }

  /**
   * Runs the change and records it in the same transaction. The result of `fn` is the response: the handler must return it unchanged, because that
   * transaction also stores it for a repeated Idempotency-Key.
   */
  async change<T>(fn: (tx: Tx) => Promise<T>): Promise<T> {
    if (this.declaration.effect !== 'change') throw new Error(`${this.declaration.name} is declared to change nothing`);
    if (this.committed !== null) throw new Error('one request makes one change');
    const headKey = await this.kernel.audit.headKey(this.tenantId);
    try {
      return await this.#commit(this.declaration.status, headKey, fn);
    } catch (error) {
      if (!(error instanceof ApprovalRequired)) throw error;
      const store = await this.#hooks.approvals.prepare(this, error.proposal);
      this.pending = await this.#commit(PENDING_STATUS, headKey, store);
      throw new AwaitsApproval();
    }
  }

  /** Authenticates the caller again and repeats the decisions made so far; throws to refuse. */
  async acceptAgain(view: View): Promise<void> {
    const before = this.principal;
    const { principal, epoch, proofs } = await this.#hooks.acceptAgain(this, view);
    // The epoch is set only at the end, so that after a refusal every other change of this request is refused too.
    this.become(principal, NaN, proofs);
    if (this.#authorized !== null) {
      const { resource, attributes } = this.#authorized;
      const refusal = this.#refusal(this.declaration.permission, resource, attributes);
      if (refusal !== null) throw refusal;
    }
    if (this.#decisions?.standFor(principal, before) === false) throw new RightsChanged();
    for (const other of this.alongside) await other.acceptAgain(view);
    this.epoch = epoch;
  }

  async #commit<T>(status: number, headKey: MacKey, fn: (tx: Tx) => Promise<T>): Promise<T> {
    const result = await this.database.transaction(async (tx) => {
      this.#tx = tx;
      this.alsoRecorded.length = 0;
      const outcome = await whileAccepted(this, tx, () => fn(tx));
      this.refuseUndecided();
      await this.#hooks.keepAnswer(tx, status, outcome);
      await this.kernel.audit.recordIn(tx, [this.entry('allow', status, ''), ...this.alsoRecorded], headKey);
      return outcome;
    });
    this.committed = { result };
    return result;
  }

  /**
   * The last step of a change that needs a second person, after everything is checked and written. If the change must wait, it is rolled back, the
   * request is stored and the response is 202; once approved, the same code runs again. If the caller is the only one who could approve, a change
   * that is not destructive goes ahead. Whatever `proposal` states must still hold when the approved change runs.
   */
  async needsApproval(tx: Tx, proposal: Proposal = {}): Promise<void> {
    const { approval, name } = this.declaration;
    if (approval === NONE) throw new Error(`${name} is declared to need no approval`);
    if (tx !== this.#tx) throw new Error('an approval is asked for inside ctx.change');
    if (ruleOf(approval).isDestructive || !(await this.#hooks.approvals.standsAlone(this, proposal))) {
      throw new ApprovalRequired(proposal);
    }
    this.describe({ self_approved: true });
  }

  /** The id of the approval under which this request is carried out, if there is one. */
  get approvalId(): string | null {
    return null;
  }

  protected refuseUndecided(): void {
    if (this.declaration.resource !== 'loaded' || this.isAuthorized) return;
    throw new Error(`${this.declaration.name} never called ctx.authorize`);
  }

  /** The audit entry of this request, for the log of another tenant that the change is about. */
  entryFor(tenantId: string): AuditEntry {
    return elsewhere(this.entry('allow', this.declaration.status, ''), tenantId);
  }

  entry(decision: AuditDecision, status: number, reason: string): AuditEntry {
    const tenantId = this.#tenantId ?? this.kernel.operatorTenantId;
    const outcome = { decision, status, reason, details: this.#details };
    return requestEntry(tenantId, this.#actor, this, outcome);
  }
}

function workOf({ bulk, credentials }: EndpointDeclaration): Work {
  if (bulk === true) return 'bulk';
  return credentials === 'public' ? 'authentication' : 'request';
}
