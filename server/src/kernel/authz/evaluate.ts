import { type AccessContext, conditionHolds } from './condition.ts';
import { isTooCostly } from './matching-cost.ts';
import { isAction, isResource } from './pattern.ts';
import type { CompiledPolicy, CompiledStatement } from './policy.ts';

export type { AccessContext } from './condition.ts';

export interface AccessRequest {
  readonly action: string;
  /** Always a literal: `*` in it has no meaning. Build it with `literalResource` or `vaultResource`. */
  readonly resource: string;
  readonly context: AccessContext;
}

export interface MatchedStatement {
  policy: string;
  sid: string | null;
  effect: 'allow' | 'deny';
}

export interface Decision {
  allowed: boolean;
  decision: 'allow' | 'deny';
  reason: 'allowed' | 'explicit_deny' | 'no_match' | 'policies_too_costly';
  /** Every statement that applies, denies first. */
  matched: MatchedStatement[];
}

/** A deny wins; without any match the request is denied. */
export function evaluate(policies: readonly CompiledPolicy[], request: AccessRequest): Decision {
  const matched: MatchedStatement[] = [];
  if (!isWellFormed(request)) return { allowed: false, decision: 'deny', reason: 'no_match', matched };
  if (isTooCostly(policies, request.resource)) {
    return { allowed: false, decision: 'deny', reason: 'policies_too_costly', matched };
  }
  const denied = anyApplies(policies, request, 'deny', matched);
  const granted = anyApplies(policies, request, 'allow', matched);
  if (denied) return { allowed: false, decision: 'deny', reason: 'explicit_deny', matched };
  if (granted) return { allowed: true, decision: 'allow', reason: 'allowed', matched };
  return { allowed: false, decision: 'deny', reason: 'no_match', matched };
}

/** `evaluate(…).allowed` without the reasons, for filtering long lists. */
export function isAllowed(policies: readonly CompiledPolicy[], request: AccessRequest): boolean {
  return (
    isWellFormed(request) &&
    !isTooCostly(policies, request.resource) &&
    !anyApplies(policies, request, 'deny', null) &&
    anyApplies(policies, request, 'allow', null)
  );
}

/** Whether the request could be allowed if all conditions held: an allow matches, and no unconditional deny does. */
export function couldEverAllow(policies: readonly CompiledPolicy[], action: string, resource: string): boolean {
  if (!isAction(action) || !isResource(resource) || isTooCostly(policies, resource)) return false;
  const speaksOfIt = ({ resources }: CompiledStatement) =>
    resources.some((pattern) => pattern.matchesResource(resource));
  let isGranted = false;
  for (const policy of policies) {
    const { allow, deny } = policy.statementsFor(action);
    if (deny.some((statement) => statement.condition.length === 0 && speaksOfIt(statement))) return false;
    isGranted ||= allow.some(speaksOfIt);
  }
  return isGranted;
}

/** Checked once per request, so that no statement can be bypassed with another spelling of the same resource. */
function isWellFormed({ action, resource }: AccessRequest): boolean {
  return isAction(action) && isResource(resource);
}

/** With `matched`, every applying statement is added to it; without it, the search stops at the first one. */
function anyApplies(
  policies: readonly CompiledPolicy[],
  request: AccessRequest,
  effect: 'allow' | 'deny',
  matched: MatchedStatement[] | null,
): boolean {
  let found = false;
  for (const policy of policies) {
    for (const statement of policy.statementsFor(request.action)[effect]) {
      if (!applies(statement, request)) continue;
      if (matched === null) return true;
      matched.push({ policy: policy.name, sid: statement.sid, effect });
      found = true;
    }
  }
  return found;
}

function applies({ resources, condition, effect }: CompiledStatement, { resource, context }: AccessRequest): boolean {
  for (const pattern of resources) {
    if (pattern.matchesResource(resource)) return conditionHolds(condition, context, effect);
  }
  return false;
}
