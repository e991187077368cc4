import { MAX_PATH_BYTES, MAX_PATH_SEGMENTS } from '../wire/secret-path.ts';
import { GLOBSTAR } from './glob.ts';
import { MAX_PRINCIPAL_COST, MAX_VAULT_NAME_CHARS } from './limits.ts';
import type { PolicyDocument, PolicyStatement } from './policy-document.ts';

/**
 * How long one decision takes at most, in comparisons: a pattern that is a literal or a whole subtree takes one. The limit on the sum of a
 * principal's policies bounds the time of a decision on the longest path; a test measures that it does.
 */
const LITERAL_COST = 1;
/** A glob whose text between two stars is searched for in a segment. */
const SEARCH_COST = 8;
/** An address or time range. Statements are compared pairwise by it, to decide whether a change discloses something. */
const REQUEST_CONDITION_COST = 200;
/** The resource of the longest secret, for which the limit is set. */
const LONGEST_CHARS = 'vault/'.length + MAX_VAULT_NAME_CHARS + 1 + MAX_PATH_BYTES;
const MOST_SEGMENTS = 2 + MAX_PATH_SEGMENTS;

export function policyCost({ statement }: PolicyDocument): number {
  let cost = 0;
  for (const one of statement) cost += statementCost(one);
  const conditions = new Set(statement.flatMap(({ condition }) => requestConditions(condition)));
  return cost + conditions.size * REQUEST_CONDITION_COST;
}

function statementCost({ action, resource, condition = {} }: PolicyStatement): number {
  let cost = action.length * LITERAL_COST;
  for (const text of resource) cost += resourcePatternCost(text);
  for (const members of Object.values(condition)) cost += members.length;
  return cost;
}

function requestConditions({ ip_cidr, time_between }: NonNullable<PolicyStatement['condition']> = {}): string[] {
  return [ip_cidr, time_between].flatMap((members) => (members === undefined ? [] : [JSON.stringify(members)]));
}

/** After a `**`, the segments up to the next one are compared at every segment of the resource. */
export function resourcePatternCost(text: string): number {
  const segments = text.split('/');
  const firstWild = segments.findIndex((segment) => segment.includes('*'));
  const isTail = firstWild === segments.length - 1 && ['*', GLOBSTAR].includes(segments[firstWild] ?? '');
  if (firstWild === -1 || isTail) return LITERAL_COST;
  let cost = 0;
  let repeated = 1;
  for (const segment of segments) {
    if (segment === GLOBSTAR) repeated = MAX_PATH_SEGMENTS;
    else cost += repeated * (segment.indexOf('*') === segment.lastIndexOf('*') ? LITERAL_COST : SEARCH_COST);
  }
  return Math.max(LITERAL_COST, cost);
}

/**
 * Whether a decision on this resource would take too long. What a policy may cost is checked when it is written, so this concerns policies of earlier
 * releases and principals in very many groups. Such a decision is a refusal. Those on short resources are made, so that policies can be shortened.
 */
export function isTooCostly(policies: readonly Costly[], resource: string): boolean {
  const cost = costOf(policies);
  // No resource has more segments than half of its characters, so that those of most principals need not be counted.
  if ((cost * resource.length) / 2 <= MAX_PRINCIPAL_COST) return false;
  const share = Math.max(resource.length / LONGEST_CHARS, resource.split('/').length / MOST_SEGMENTS);
  return cost * share > MAX_PRINCIPAL_COST;
}

/** Whether a decision on some resource would be too costly, such as one on the longest. */
export function mayBeTooCostly(policies: readonly Costly[]): boolean {
  return costOf(policies) > MAX_PRINCIPAL_COST;
}

interface Costly {
  readonly cost: number;
}

function costOf(policies: readonly Costly[]): number {
  let cost = 0;
  for (const policy of policies) cost += policy.cost;
  return cost;
}
