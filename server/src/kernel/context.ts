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

/** What a change needs of the pipeline around it. */
export interface ChangeHooks {
  /** Keeps the answer, in the transaction of the change. */
  keepAnswer(tx: Tx, status: number, result: unknown): Promise<void>;
  approvals: ApprovalQueue;
  /** Who asks, as the view shows them now; refuses by throwing. */
  acceptAgain(ctx: Context, view: View): Promise<Authenticated>;
}

/** One request on its way through the pipeline: who asks, from where, and what will be recorded of it. */
export class Context {
  readonly kernel: Kernel;
  readonly declaration: EndpointDeclaration;
  readonly call: Call;
  /** When the request was made: when its body was there, if it has one. */
  now: number;
  /** The resource last decided on, or being asked for. */
  resource: string;
  /** What it was decided on with. */
  attributes: ResourceAttributes = {};
  isAuthorized = false;
  /** It was the credential alone that decided, whatever the resource is called. */
  isCredentialEnough = false;
  /** The tenant's epoch as this request found it: what was kept in another one is out of date. */
  epoch = NaN;
  /** What the request proved beyond knowing a credential. */
  proofs: Proofs = NO_PROOFS;
  /** Which list is asked for, with its filters; null if this is no list. */
  listAsked: string | null = null;
  /** Headers the rule adds to a successful answer. */
  readonly replyHeaders: Record<string, string> = {};
  /** What else will be recorded with this request: see `alsoRecord`. */
  readonly alsoRecorded: AuditEntry[] = [];
  isUnrecorded = false;
  /** Reads that will be counted and not listed, by vault: see `countUnlisted`. */
  unlistedReads: Map<string, number> | null = null;
  /** Set once the change is committed, and with it its audit entry. */
  committed: { result: unknown } | null = null;
  /** Set as well if what was committed is that the change waits for somebody else: this is the answer then. */
  pending: PendingApproval | null = null;
  #principal: Principal | null = null;
  #tenantId: string | null = null;
  #database: Database | null = null;
  #actor: Actor = ANONYMOUS;
  #details: Record<string, unknown> | undefined;
  readonly #hooks: ChangeHooks;
  #tx: Tx | null = null;
  /** What was decided on, if the caller was authorized for one resource. */
  #authorized: { resource: string; attributes: ResourceAttributes } | null = null;
  readonly #decisions: Decisions | null;
  /** What is decided again with the caller of this request before its change commits, such as the callers of requests that it carries out. */
  readonly alongside = new Set<Pick<Context, 'acceptAgain'>>();

  constructor(kernel: Kernel, declaration: EndpointDeclaration, call: Call, hooks: ChangeHooks) {
    this.kernel = kernel;
    this.declaration = declaration;
    this.call = call;
    this.now = kernel.clock.now();
    // Without the query: people put secrets there.
    const query = call.url.indexOf('?');
    this.resource = query === -1 ? call.url : call.url.slice(0, query);
    this.#hooks = hooks;
    this.#decisions = declaration.effect === 'change' ? new Decisions() : null;
  }

  /** As this request may use it: in turn with what other tenants do. */
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

  /** Whose credential it is; whether they may use it so is not known yet. */
  recognize(principal: Principal): void {
    const { kind, id, name, credentialId, auditKey = credentialId } = principal;
    this.identify(principal.tenantId, { kind, id, name, key: auditKey });
  }

  /** Who a request of a public endpoint turned out to come from, or whose account it is about. */
  identify(tenantId: string, actor: Actor): void {
    if (this.#tenantId !== tenantId) this.#database = null;
    this.#tenantId = tenantId;
    this.#actor = actor;
  }

  /** Adds to the audit entry: names, ids and counts, never values. */
  describe(details: Record<string, unknown>): void {
    this.#details = { ...this.#details, ...details };
  }

  /** One entry more for each thing that a request about many reads or changes, so that each can be found by its own name. */
  alsoRecord(action: string, resource: string, details?: Record<string, unknown>): void {
    this.alsoRecorded.push(this.furtherEntry(action, resource, details));
  }

  /** The same, for who records it in a transaction of its own: what that does is done, however the request ends. */
  furtherEntry(action: string, resource: string, details?: Record<string, unknown>): AuditEntry {
    return {
      ...this.entry('allow', this.declaration.status, ''),
      action,
      resource: cleanText(resource),
      vault: vaultOf(resource),
      details: detailsText(details),
    };
  }

  /** A vault may ask that successful reads of its ordinary secrets are counted, not listed. Refusals always are, and so is any change. */
  leaveUnrecorded(vault: string, reads: number): void {
    if (this.declaration.effect !== 'read') throw new Error('a change is always recorded');
    this.isUnrecorded = true;
    this.countUnlisted(vault, reads);
  }

  /** Of a request that is itself recorded: some of what it reads is in vaults that ask not to list it. */
  countUnlisted(vault: string, reads: number): void {
    this.unlistedReads ??= new Map();
    this.unlistedReads.set(vault, (this.unlistedReads.get(vault) ?? 0) + reads);
  }

  get details(): Readonly<Record<string, unknown>> | undefined {
    return this.#details;
  }

  /** Read only where it is declared: what an approval or a repeated request must keep is told by the declaration alone. */
  get ifMatch(): string | undefined {
    if (this.declaration.ifMatch !== true) throw new Error(`${this.declaration.name} declares no If-Match`);
    return this.call.headers['if-match'];
  }

  get isMfaFresh(): boolean {
    const mfaAt = this.#principal?.mfaAt ?? null;
    return mfaAt !== null && this.now - mfaAt < MFA_FRESH_MS;
  }

  /** Asks about the caller's rights. A change remembers what it asked: see `acceptAgain`. */
  decide<T>(decide: (principal: Principal) => T): T {
    const outcome = decide(this.principal);
    this.#decisions?.add(decide, outcome);
    return outcome;
  }

  /** A second factor was shown just now, and it is not one that somebody enrolled since yesterday. */
  get isFactorProven(): boolean {
    const from = this.#principal?.factorTrustedFrom ?? null;
    return this.isMfaFresh && from !== null && from <= this.now;
  }

  /**
   * For what lets somebody into vaults: if there is a fortress secret in one of them, it takes the same proof as to read it. Else one stolen
   * token could make a puppet that reads what the token itself cannot.
   */
  async requireProofToGrant(reaches: (vault: string) => boolean): Promise<void> {
    if (this.isFactorProven) return;
    const fortresses = await this.#hooks.approvals.fortressVaults(this.tenantId);
    if (fortresses.some(reaches)) throw proofRequired('This gives access to fortress secrets, which');
  }

  /** For endpoints open to every accepted credential: only where it may be used from is still asked. */
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
   * For what outlives the credential or reaches beyond it: a password, a second factor, an account with rights. A token with a
   * ceiling that could do these would lift its own ceiling.
   */
  requireUnrestricted(): void {
    const isRestricted = this.decide(({ ceilings }) =>
      ceilings.some((c) => c.vaults !== null || c.actions !== null || c.cidrs !== null || c.places !== null),
    );
    if (!isRestricted) return;
    const message = 'A token with a scope or an address list cannot do this: use a session, or a token without them.';
    throw new CofferError('INSUFFICIENT_PRIVILEGE', message, { auditReason: 'the credential is restricted' });
  }

  /** Decides on a resource that had to be loaded first; refuses by throwing. */
  authorize(resource: string, attributes: ResourceAttributes = {}): void {
    this.resource = resource;
    this.attributes = attributes;
    const refusal = this.#refusal(this.declaration.permission, resource, attributes);
    if (refusal !== null) throw refusal;
    this.isAuthorized = true;
    this.#authorized = { resource, attributes };
  }

  /**
   * Before anything is loaded: refuses who could not be allowed, whatever it turned out to be. They have no question asked and no row
   * locked for them, so not even the time it takes tells whether it exists.
   */
  refuseIfNeverAllowed(resource: string): void {
    const { permission } = this.declaration;
    if (!this.decide(({ policies }) => couldEverAllow(policies, permission, resource))) this.authorize(resource);
  }

  /** Whether the caller may; for leaving things out of a list without refusing the list. */
  may(action: string, resource: string, attributes: ResourceAttributes = {}): boolean {
    return this.#refusal(action, resource, attributes) === null;
  }

  /** For a second name of what was decided on: to be allowed under one name is enough, and so is to be denied under one. */
  refuseDenied(action: string, resource: string): void {
    const refusal = this.#isDenied(action, resource) ? this.#refusal(action, resource, {}) : null;
    if (refusal !== null) throw refusal;
  }

  /** The same for what has several names, or can be seen by several actions. */
  mayByAny(actions: readonly string[], resources: readonly string[]): boolean {
    const pairs = actions.flatMap((action) => resources.map((resource) => [action, resource] as const));
    if (!pairs.some(([action, resource]) => this.may(action, resource))) return false;
    return pairs.length === 1 || !pairs.some(([action, resource]) => this.#isDenied(action, resource));
  }

  /** What conditions of policies ask about. */
  #facts({ environment, tags }: ResourceAttributes = {}): AccessContext {
    return { ip: this.call.address, mfa: this.isMfaFresh, time: this.now, environment, tags };
  }

  #isDenied(action: string, resource: string): boolean {
    const request = { action, resource, context: this.#facts() };
    return this.decide((principal) => authorize(principal, request).reason === 'explicit_deny');
  }

  /** Whether the credential is for some paths of a vault only: what has no path lies in none of them. */
  isConfinedIn(vault: string): boolean {
    const [all] = this.decide(({ ceilings }) => placesInVault(ceilings, vault));
    return all?.from !== ALL_PATHS.from || all.to !== ALL_PATHS.to;
  }

  /** Where in a vault the caller may do this: what lies elsewhere need not be looked at, what lies there is still decided on. */
  allowedRanges(action: string, vault: string): PathRange[] {
    return this.#rangesIn(allowedRangesInVault, action, vault, {});
  }

  /** Whether the caller may ask this of the vault as it is described, whatever there is in it. */
  isReachCertain(vault: string, attributes: ResourceAttributes): boolean {
    return this.#rangesIn(certainRanges, this.declaration.permission, vault, attributes).length > 0;
  }

  /** What a secret in the vault must have, one of these at least, to be one on which the caller may do this. */
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

  /** The names of the vaults on which the caller may do this; null if it must be asked of each. */
  vaultsByName(action: string): PathRange[] | null {
    return this.decide(({ ceilings, policies }) => {
      const isBound = ceilings.some(({ vaults, places }) => vaults !== null || places !== null);
      return isBound ? null : vaultsByName(policies, action);
    });
  }

  /** For what answers with as much as the caller may see: it is refused only to who may see nothing at all. */
  authorizeWithin(resource: string, isAnythingSeen: boolean, attributes: ResourceAttributes): void {
    if (!isAnythingSeen) this.authorize(resource, attributes);
    this.resource = resource;
    this.isAuthorized = true;
  }

  /** For a list that shows what the caller may see, be it nothing: only the credential itself can forbid to ask. */
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
   * Runs the change and records it, in one transaction. What `fn` returns is the answer: the handler must return it unchanged,
   * since it is kept for a repeated Idempotency-Key in that same transaction.
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

  /** Resolves the caller anew, and decides again what was decided; refuses by throwing. */
  async acceptAgain(view: View): Promise<void> {
    const before = this.principal;
    const { principal, epoch, proofs } = await this.#hooks.acceptAgain(this, view);
    // Accepted only at the end: after a refusal, another change of this request must be refused too.
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
   * The last step of a change that takes two people, after everything is checked and written. If it must wait, all of it is undone, what
   * was asked is kept, and the answer is 202; it is done anew, by this same code, when it is approved. Where the caller is the only one
   * who could approve, what is not destructive passes. What `proposal` says must still be true then.
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

  /** The approval that this is carried out for, if it waited for one. */
  get approvalId(): string | null {
    return null;
  }

  protected refuseUndecided(): void {
    if (this.declaration.resource !== 'loaded' || this.isAuthorized) return;
    throw new Error(`${this.declaration.name} never called ctx.authorize`);
  }

  /** The same, for the log of a tenant that the change is about. */
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
