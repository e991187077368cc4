import {
  type AccessContext,
  type CompiledCondition,
  conditionHolds,
  type Demand,
  demandsOf,
  requestTests,
  resourceTests,
} from './condition.ts';
import { mayBeTooCostly } from './matching-cost.ts';
import { ALL_PATHS, difference, type PathRange, union } from './path-ranges.ts';
import type { CompiledPolicy } from './policy.ts';

/** The names of the vaults for which these policies allow the action; null if the name alone does not decide for some of them. */
export function vaultsByName(policies: readonly CompiledPolicy[], action: string): PathRange[] | null {
  const ranges = { allow: [] as PathRange[], deny: [] as PathRange[] };
  for (const policy of policies) {
    const { allow, deny } = policy.statementsFor(action);
    for (const { effect, resources, condition } of [...allow, ...deny]) {
      for (const pattern of resources) {
        const reach = pattern.vaults();
        if (reach.ranges.length > 0 && (!reach.covers || condition.length > 0)) return null;
        for (const range of reach.ranges) ranges[effect].push(range);
      }
    }
  }
  // An administrator may also be a member of thousands of vaults. Those names add nothing, so they are not sorted.
  return difference(ranges.allow.includes(ALL_PATHS) ? [ALL_PATHS] : ranges.allow, ranges.deny);
}

/**
 * Where in a vault these policies may allow the action to this request: the ranges of its allows without those of denies that do not depend on the
 * secret. Conditions on the request are evaluated here, once. A row in these ranges is still decided on by itself; a row elsewhere need not be
 * loaded.
 */
export function allowedRangesInVault(
  policies: readonly CompiledPolicy[],
  action: string,
  vault: string,
  context: AccessContext,
): PathRange[] {
  return rangesWhere(policies, action, vault, {
    allow: (condition) => conditionHolds(requestTests(condition), context, 'allow'),
    deny: (condition) => resourceTests(condition).length === 0 && conditionHolds(condition, context, 'deny'),
  });
}

/** Requirements on a secret in the vault, at least one of which it must meet for the policies to allow the action to this request. */
export function demandsInVault(
  policies: readonly CompiledPolicy[],
  action: string,
  vault: string,
  context: AccessContext,
): Demand[] {
  const found = new Map<string, Demand>();
  for (const policy of policies) {
    for (const { resources, condition } of policy.statementsFor(action).allow) {
      if (!conditionHolds(requestTests(condition), context, 'allow')) continue;
      if (!resources.some((pattern) => pattern.rangesIn(vault).ranges.length > 0)) continue;
      for (const demand of demandsOf(condition)) found.set(JSON.stringify(demand), demand);
    }
  }
  return found.has(NO_DEMAND) || found.size > DEMANDS_MAX ? [{}] : [...found.values()];
}
const NO_DEMAND = JSON.stringify({});
/** Each requirement is a query. With more than this many, one query for everything costs less. */
const DEMANDS_MAX = 16;

/** Where the policies allow the action to this request whatever is stored there, provided that `context` has everything their conditions test. */
export function certainRanges(
  policies: readonly CompiledPolicy[],
  action: string,
  vault: string,
  context: AccessContext,
): PathRange[] {
  return rangesWhere(policies, action, vault, {
    allow: (condition) => conditionHolds(condition, context, 'allow'),
    deny: (condition) => conditionHolds(condition, context, 'deny'),
  });
}

/** Where the policies could allow the action to some request. What lies outside is never allowed; what lies inside is still decided on by itself. */
export function possibleRanges(policies: readonly CompiledPolicy[], action: string, vault: string): PathRange[] {
  return rangesWhere(policies, action, vault, {
    allow: () => true,
    deny: (condition) => condition.length === 0,
  });
}

/**
 * Where in a vault the policies allow the action to this request for every secret, whatever its tags and environment: a list need not decide on the
 * secrets there one by one. Elsewhere each secret is decided on.
 */
export function rangesOfEverySecret(
  policies: readonly CompiledPolicy[],
  action: string,
  vault: string,
  context: AccessContext,
): PathRange[] {
  if (mayBeTooCostly(policies)) return [];
  const allowed: PathRange[] = [];
  const denied: PathRange[] = [];
  for (const policy of policies) {
    const { allow, deny } = policy.statementsFor(action);
    for (const { resources, condition } of allow) {
      if (resourceTests(condition).length > 0 || !conditionHolds(condition, context, 'allow')) continue;
      for (const pattern of resources) {
        const { ranges, covers } = pattern.rangesIn(vault);
        if (covers) allowed.push(...ranges);
      }
    }
    for (const { resources, condition } of deny) {
      if (!conditionHolds(requestTests(condition), context, 'deny')) continue;
      for (const pattern of resources) denied.push(...pattern.rangesIn(vault).ranges);
    }
  }
  return difference(allowed, denied);
}

function rangesWhere(
  policies: readonly CompiledPolicy[],
  action: string,
  vault: string,
  counts: Record<'allow' | 'deny', (condition: CompiledCondition) => boolean>,
): PathRange[] {
  const allowed: PathRange[] = [];
  const denied: PathRange[] = [];
  for (const policy of policies) {
    const { allow, deny } = policy.statementsFor(action);
    for (const { resources, condition } of allow) {
      if (!counts.allow(condition)) continue;
      for (const pattern of resources) allowed.push(...pattern.rangesIn(vault).ranges);
    }
    for (const { resources, condition } of deny) {
      if (!counts.deny(condition)) continue;
      for (const pattern of resources) {
        const { ranges, covers } = pattern.rangesIn(vault);
        if (covers) denied.push(...ranges);
      }
    }
  }
  return difference(union(allowed), denied);
}

/** Whether a policy applies to the vault or anything in it. */
export function touchesVault(policy: CompiledPolicy, vault: string): boolean {
  return policy.statements.some(({ resources }) =>
    resources.some((pattern) => pattern.rangesIn(vault).ranges.length > 0 || pattern.matches(`vault/${vault}`)),
  );
}
