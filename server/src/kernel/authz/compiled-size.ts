import { MAX_INDEXED_ACTIONS, MAX_INDEXED_STATEMENTS } from './limits.ts';
import type { PolicyDocument, PolicyStatement } from './policy-document.ts';

/**
 * Memory estimates of compiled policies. They limit the caches, so they should be too high rather than too low; a test compares them with the heap.
 */
const CHARACTER_BYTES = 2;
const PATTERN_BYTES = 128;
const SEGMENT_BYTES = 40;
const RANGE_BYTES = 320;
const TAG_BYTES = 64;
const STATEMENT_BYTES = 320;
const POLICY_BYTES = 1024;
const VAULT_BYTES = 320;
const REFERENCE_BYTES = 8;
const INDEXED_ACTION_BYTES = 160;

/** The part of a credential's ceiling that takes memory. */
interface SizedCeiling {
  readonly scope?: { readonly vaults?: readonly string[]; readonly actions?: readonly string[] } | undefined;
  readonly ip_allowlist?: readonly string[] | undefined;
}

export function policySize({ statement: statements }: PolicyDocument): number {
  return POLICY_BYTES + indexSize(statements.length) + sum(statements, statementSize);
}

/** The size of a policy made of memberships or of a connection's scopes, whose statements have no conditions. */
export function ownPolicySize(vaults: number, patterns: readonly string[]): number {
  return POLICY_BYTES + indexSize(1) + vaults * VAULT_BYTES + sum(patterns, resourceSize);
}

export function ceilingSize({ scope, ip_allowlist }: SizedCeiling): number {
  const { vaults = [], actions = [] } = scope ?? {};
  return STATEMENT_BYTES + sum(vaults, patternSize) + sum(actions, patternSize) + sum(ip_allowlist ?? [], rangeSize);
}

/** The statements for an action are cached per requested action, up to a limit. */
function indexSize(statements: number): number {
  const indexed = Math.min(statements * MAX_INDEXED_ACTIONS, MAX_INDEXED_STATEMENTS);
  return MAX_INDEXED_ACTIONS * INDEXED_ACTION_BYTES + 2 * indexed * REFERENCE_BYTES;
}

function statementSize({ action, resource, condition = {} }: PolicyStatement): number {
  const { ip_cidr = [], tag_equals = [], time_between = [] } = condition;
  const ofCondition = sum(ip_cidr, rangeSize) + sum(tag_equals, tagSize) + time_between.length * RANGE_BYTES;
  return STATEMENT_BYTES + sum(action, patternSize) + sum(resource, resourceSize) + ofCondition;
}

function resourceSize(text: string): number {
  // Literals are compared as a whole; a wildcard is matched segment by segment.
  return patternSize(text) + (text.includes('*') ? text.split('/').length * SEGMENT_BYTES : 0);
}

const patternSize = ({ length }: string) => PATTERN_BYTES + length * CHARACTER_BYTES;
const rangeSize = ({ length }: string) => RANGE_BYTES + length * CHARACTER_BYTES;
const tagSize = ({ length }: string) => TAG_BYTES + length * 2 * CHARACTER_BYTES;

function sum<T>(items: readonly T[], sizeOf: (item: T) => number): number {
  let bytes = 0;
  for (const item of items) bytes += sizeOf(item);
  return bytes;
}
