import type { Authenticated, View } from '../auth/authentication.ts';
import type { ResourceAttributes, RoutedCall } from '../auth/call.ts';
import type { Principal } from '../auth/principal.ts';
import {
  allowedRangesInVault,
  certainRanges,
  demandsInVault,
  rangesOfEverySecret,
  vaultsByName,
} from '../authz/allowed-ranges.ts';
import { type Authorization, authorize, isAuthorized } from '../authz/authorize.ts';
import { mayAsk, needsDecisionPerSecret, placesInVault, withinCeiling } from '../authz/ceiling.ts';
import type { AccessContext, Demand } from '../authz/condition.ts';
import { couldShow } from '../authz/disclosure.ts';
import { couldEverAllow } from '../authz/evaluate.ts';
import { ALL_PATHS, intersection, isInSome, type PathRange } from '../authz/path-ranges.ts';
import { vaultResource } from '../authz/pattern.ts';
import { CofferError } from '../base/errors.ts';
import { inSlices, nextIteration } from '../fairness/time-slice.ts';
import type { Caller } from './caller.ts';
import { Decisions, RightsChanged } from './decisions.ts';
import type { RequestRecord } from './record.ts';
import { ipNotAllowed, notPermitted, outOfScope, tooCostly } from './refusals.ts';
import { MFA_FRESH_MS, proofRequired } from './second-factor.ts';

/** Where a request gets facts about its caller that are not part of the request. */
export interface CallerSource {
  /** Authenticates the caller again from the data in `view`; throws to refuse. */
  authenticateAgain(request: RoutedCall, view: View): Promise<Authenticated>;
  /** Names of the vaults that hold a fortress secret, including deleted vaults. */
  fortressVaults(tenantId: string): Promise<readonly string[]>;
}

/** Checked again together with the caller of another request, before that request commits. */
export interface Acceptance {
  acceptAgain(view: View): Promise<void>;
}

/** What the caller of a request may do. Every decision about the caller's rights is made here. */
export class Access implements Acceptance {
  readonly #request: RoutedCall;
  readonly #caller: Caller;
  readonly #record: RequestRecord;
  readonly #source: CallerSource;
  /** The decisions that a change relies on; null for a read. */
  readonly #decisions: Decisions | null;
  #alsoAccepted: Set<Acceptance> | null = null;
  #isAuthorized = false;
  #isCredentialEnough = false;
  #attributes: ResourceAttributes = {};
  /** The decision, if the caller was authorized for a single resource. */
  #authorized: { resource: string; attributes: ResourceAttributes } | null = null;

  constructor(request: RoutedCall, caller: Caller, record: RequestRecord, source: CallerSource) {
    this.#request = request;
    this.#caller = caller;
    this.#record = record;
    this.#source = source;
    this.#decisions = request.declaration.effect === 'change' ? new Decisions() : null;
  }

  /** Whether a decision was made that allows the request. */
  get isAuthorized(): boolean {
    return this.#isAuthorized;
  }

  /** Set if the credential alone authorized the request, whatever the resource is. */
  get isCredentialEnough(): boolean {
    return this.#isCredentialEnough;
  }

  /** The attributes used for the last decision. */
  get attributes(): ResourceAttributes {
    return this.#attributes;
  }

  get isMfaFresh(): boolean {
    const mfaAt = this.#caller.principalOrNull?.mfaAt ?? null;
    return mfaAt !== null && this.#request.now - mfaAt < MFA_FRESH_MS;
  }

  /** Whether the caller signed in recently, with or without a second factor. */
  get isSignInFresh(): boolean {
    const at = this.#caller.principalOrNull?.signedInAt ?? null;
    return at !== null && this.#request.now - at < MFA_FRESH_MS;
  }

  /** Evaluates the caller's rights. A change keeps the decision so that `acceptAgain` can repeat it. */
  decide<T>(decide: (principal: Principal) => T): T {
    const outcome = decide(this.#caller.principal);
    this.#decisions?.add(decide, outcome);
    return outcome;
  }

  /** The same for a decision that takes many steps. The caller may hold locks meanwhile. */
  async decideInSlices<T>(decide: (principal: Principal) => Generator<void, T>): Promise<T> {
    const outcome = await inSlices(decide(this.#caller.principal), nextIteration);
    this.#decisions?.addSteps(decide, outcome);
    return outcome;
  }

  /** Whether a second factor was shown recently and is trusted, which takes a day after its enrolment, or an approval. */
  get isFactorProven(): boolean {
    const from = this.#caller.principalOrNull?.factorTrustedFrom ?? null;
    return this.isMfaFresh && from !== null && from <= this.#request.now;
  }

  /**
   * For operations that give somebody access to vaults: if one of them holds a fortress secret, granting requires the same proof as reading it.
   * Otherwise one stolen token could create an account that reads what the token itself cannot.
   */
  async requireProofToGrant(reaches: (vault: string) => boolean): Promise<void> {
    if (this.isFactorProven) return;
    const fortresses = await this.#source.fortressVaults(this.#caller.tenantId);
    if (fortresses.some(reaches)) throw proofRequired('This gives access to fortress secrets, which');
  }

  /** For endpoints that every accepted credential may use. Only the credential's address list is still checked. */
  authorizeCredentialOnly(): void {
    const context = { ip: this.#request.call.address, time: this.#request.now };
    const request = { action: 'self:read', resource: 'self', context };
    const verdict = this.decide(({ ceilings }) => withinCeiling(ceilings, request));
    if (verdict === 'ip') throw ipNotAllowed('ip_not_allowed');
    this.#record.setResource('self');
    this.#isAuthorized = true;
    this.#isCredentialEnough = true;
  }

  /**
   * For operations whose effect outlives or exceeds the credential: a password, a second factor, an account with rights. A token with a ceiling
   * could use them to lift its own ceiling.
   */
  requireUnrestricted(): void {
    if (!this.isRestricted) return;
    const message = 'A token with a scope or an address list cannot do this: use a session, or a token without them.';
    throw new CofferError('INSUFFICIENT_PRIVILEGE', message, { auditReason: 'the credential is restricted' });
  }

  /** Whether the credential has a ceiling, such as a scope or an address list. */
  get isRestricted(): boolean {
    return this.decide(({ ceilings }) =>
      ceilings.some((c) => c.vaults !== null || c.actions !== null || c.cidrs !== null || c.places !== null),
    );
  }

  /** Decides on a resource that had to be loaded first; throws to refuse. */
  authorize(resource: string, attributes: ResourceAttributes = {}): void {
    this.#record.setResource(resource);
    this.#attributes = attributes;
    const refusal = this.#refusal(this.#request.declaration.permission, resource, attributes);
    if (refusal !== null) throw refusal;
    this.#isAuthorized = true;
    this.#authorized = { resource, attributes };
  }

  /**
   * Refuses a caller whose policies could never allow the action, before anything is loaded. No query runs and no row is locked for such a caller,
   * so not even the response time reveals whether the resource exists.
   */
  refuseIfNeverAllowed(resource: string): void {
    const { permission } = this.#request.declaration;
    if (!this.decide(({ policies }) => couldEverAllow(policies, permission, resource))) this.authorize(resource);
  }

  /** For a further action that the request takes, besides the one that it is declared with; throws to refuse. */
  authorizeAlso(action: string, resource: string, attributes: ResourceAttributes = {}): void {
    const refusal = this.#refusal(action, resource, attributes);
    if (refusal !== null) throw refusal;
  }

  /** Whether some policy of the caller could allow the action, whatever the attributes of the resource are. */
  couldEver(action: string, resource: string): boolean {
    return this.decide(({ policies }) => couldEverAllow(policies, action, resource));
  }

  /** Whether the caller is allowed. Lists use it to leave out items without refusing the request. */
  may(action: string, resource: string, attributes: ResourceAttributes = {}): boolean {
    const request = { action, resource, context: this.#facts(attributes) };
    return this.decide((principal) => isAuthorized(principal, request));
  }

  /** The decision on such a request, with its reason, and whether another address, another time or a second factor would change a refusal. */
  explain(action: string, resource: string, attributes: ResourceAttributes): Authorization & { conditional: boolean } {
    const request = { action, resource, context: this.#facts(attributes) };
    return this.decide((principal) => {
      const decision = authorize(principal, request);
      const conditional =
        decision.refusedBy === 'policy' && couldShow(principal.policies, [action], { resource, attributes });
      return { ...decision, conditional };
    });
  }

  /** For a further alias of the resource that was decided on. An allow on any alias grants; a deny on any alias wins. */
  refuseDenied(action: string, resource: string, attributes: ResourceAttributes = {}): void {
    const isDenied = this.#isDenied(action, resource, attributes);
    const refusal = isDenied ? this.#refusal(action, resource, attributes) : null;
    if (refusal !== null) throw refusal;
  }

  /** The same rule for a resource with several aliases, or one that several actions can reveal. */
  mayByAny(actions: readonly string[], resources: readonly string[], attributes: ResourceAttributes = {}): boolean {
    const pairs = actions.flatMap((action) => resources.map((resource) => [action, resource] as const));
    if (!pairs.some(([action, resource]) => this.may(action, resource, attributes))) return false;
    return pairs.length === 1 || !pairs.some(([action, resource]) => this.#isDenied(action, resource, attributes));
  }

  /** The facts that policy conditions can test. */
  #facts({ environment, tags }: ResourceAttributes = {}): AccessContext {
    return { ip: this.#request.call.address, mfa: this.isMfaFresh, time: this.#request.now, environment, tags };
  }

  #isDenied(action: string, resource: string, attributes: ResourceAttributes): boolean {
    const request = { action, resource, context: this.#facts(attributes) };
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
    return this.#rangesIn(certainRanges, this.#request.declaration.permission, vault, attributes).length > 0;
  }

  /**
   * For lists of many secrets of a vault: tells whether the path alone shows that the caller is allowed. For any other path, `may` decides. The
   * caller may change while the function is used.
   */
  allowedByPath(action: string, vault: string): (path: string) => boolean {
    let principal: Principal | undefined;
    let ranges: readonly PathRange[] = [];
    return (path) => {
      if (this.#caller.principal !== principal) {
        principal = this.#caller.principal;
        ranges = needsDecisionPerSecret(principal.ceilings, vault)
          ? []
          : this.#rangesIn(rangesOfEverySecret, action, vault, {});
      }
      return isInSome(ranges, path);
    };
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
    this.#record.setResource(resource);
    this.#isAuthorized = true;
  }

  /** For lists that show what the caller may see, which may be nothing. Only the ceiling of the credential can refuse the request. */
  authorizeListing(resource: string): void {
    const { permission } = this.#request.declaration;
    const verdict = this.decide(({ ceilings }) => mayAsk(ceilings, permission, this.#request.call.address));
    if (verdict === 'ip') throw ipNotAllowed('ip_not_allowed');
    if (verdict === 'scope') throw outOfScope('out_of_scope');
    this.#record.setResource(resource);
    this.#isAuthorized = true;
  }

  #refusal(action: string, resource: string, attributes: ResourceAttributes): CofferError | null {
    const request = { action, resource, context: this.#facts(attributes) };
    if (this.decide((principal) => isAuthorized(principal, request))) return null;
    const decision = authorize(this.#caller.principal, request);
    const auditReason = `${action}: ${decision.reason}`;
    if (decision.reason === 'ip_not_allowed') return ipNotAllowed(auditReason);
    if (decision.reason === 'policies_too_costly') return tooCostly(auditReason);
    if (decision.reason === 'out_of_scope') return outOfScope(auditReason);
    const { permission, resource: declared } = this.#request.declaration;
    // The resource of a declaration has only what the caller sent. One that was loaded may have a name that the caller must not learn.
    const isSent = action === permission && declared !== 'loaded';
    return notPermitted(action, auditReason, isSent ? resource : null);
  }

  /** A handler whose resource is declared as `loaded` must have decided on it. */
  refuseUndecided(): void {
    const { resource, name } = this.#request.declaration;
    if (resource !== 'loaded' || this.#isAuthorized) return;
    throw new Error(`${name} never called ctx.access.authorize`);
  }

  /** From now on `other` is checked again whenever this caller is, such as the approved request that this one carries out. */
  alsoAccept(other: Acceptance): void {
    this.#alsoAccepted ??= new Set();
    this.#alsoAccepted.add(other);
  }

  noLongerAccept(other: Acceptance): void {
    this.#alsoAccepted?.delete(other);
  }

  /** Authenticates the caller again and repeats the decisions made so far; throws to refuse. */
  async acceptAgain(view: View): Promise<void> {
    const before = this.#caller.principal;
    const { principal, epoch, proofs } = await this.#source.authenticateAgain(this.#request, view);
    // The epoch is set only at the end, so that after a refusal every other change of this request is refused too.
    this.#caller.become(principal, NaN, proofs);
    if (this.#authorized !== null) {
      const { resource, attributes } = this.#authorized;
      const refusal = this.#refusal(this.#request.declaration.permission, resource, attributes);
      if (refusal !== null) throw refusal;
    }
    if ((await this.#decisions?.standFor(principal, before)) === false) throw new RightsChanged();
    for (const other of this.#alsoAccepted ?? []) await other.acceptAgain(view);
    this.#caller.become(principal, epoch, proofs);
  }
}
