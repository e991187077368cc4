import { type Cidr, cidrContains, parseCidr } from '../base/cidr.ts';
import type { CeilingInput, Scope } from './ceiling.ts';
import { compileVaultNamePattern, type Pattern } from './pattern.ts';

/** What all ceilings of a token leave together, in the form in which one ceiling is written. */
export interface EffectiveCeiling {
  readonly scope: Scope | null;
  readonly ip_allowlist: string[] | null;
  /** A vault name of the last ceiling that overlaps an earlier one only in part, which no single name can say; null if there is none. */
  readonly inexpressible: string | null;
}

/** Every ceiling must hold, so a token that was created with another one may do less than its own ceiling says. */
export function effectiveCeiling(ceilings: readonly CeilingInput[]): EffectiveCeiling {
  let inexpressible: string | null = null;
  const vaultsInBoth = (one: Pattern, other: Pattern) => {
    const both = vaultNamesInBoth(one, other);
    if (both !== undefined) return both;
    // Only tokens of an earlier release have such a name: it is shown as it was written.
    inexpressible = other.text;
    return other;
  };
  const vaults = narrowed(
    listsOf(ceilings, ({ scope }) => scope?.vaults, compileVaultNamePattern),
    vaultsInBoth,
  );
  const actions = narrowed(
    listsOf(ceilings, ({ scope }) => scope?.actions, parseAction),
    actionsInBoth,
  );
  const ip_allowlist = narrowed(
    listsOf(ceilings, (input) => input.ip_allowlist, parseRange),
    addressesInBoth,
  );
  const hasScope = ceilings.some(({ scope }) => scope !== undefined);
  const scope = { ...(vaults !== null && { vaults }), ...(actions !== null && { actions }) };
  return { scope: hasScope ? scope : null, ip_allowlist, inexpressible };
}

interface Entry {
  readonly text: string;
}

function listsOf<T extends Entry>(
  ceilings: readonly CeilingInput[],
  listOf: (input: CeilingInput) => readonly string[] | undefined,
  parse: (text: string) => T,
): T[][] {
  return ceilings.flatMap((input) => {
    const list = listOf(input);
    return list === undefined ? [] : [list.map(parse)];
  });
}

/** The entries that are in every list; null without any list. `inBoth` gives null for two entries that have nothing in common. */
function narrowed<T extends Entry>(lists: readonly T[][], inBoth: (one: T, other: T) => T | null): string[] | null {
  const [first, ...rest] = lists;
  if (first === undefined) return null;
  let entries = new Map(first.map((entry) => [entry.text, entry]));
  for (const list of rest) {
    const common = new Map<string, T>();
    for (const other of list) {
      for (const one of entries.values()) {
        const both = inBoth(one, other);
        if (both !== null) common.set(both.text, both);
      }
    }
    entries = common;
  }
  return [...entries.keys()];
}

/** Undefined if they may overlap only in part. A `*` of one that another covers is matched by a `*` of that other. */
function vaultNamesInBoth(one: Pattern, other: Pattern): Pattern | null | undefined {
  if (one.matches(other.text)) return other;
  if (other.matches(one.text)) return one;
  return one.text.includes('*') && other.text.includes('*') ? undefined : null;
}

interface Action extends Entry {
  readonly resource: string;
  readonly verb: string;
}

function parseAction(text: string): Action {
  const [resource = '*', verb = '*'] = text.split(':', 2);
  return { text, resource, verb };
}

function actionsInBoth(one: Action, other: Action): Action | null {
  const resource = halfInBoth(one.resource, other.resource);
  const verb = halfInBoth(one.verb, other.verb);
  return resource === null || verb === null ? null : { text: `${resource}:${verb}`, resource, verb };
}

function halfInBoth(one: string, other: string): string | null {
  if (one === '*') return other;
  return other === '*' || one === other ? one : null;
}

interface Range extends Entry {
  readonly cidr: Cidr | null;
}

function parseRange(text: string): Range {
  return { text, cidr: parseCidr(text) };
}

/** Of two ranges one contains the other, or they have nothing in common. */
function addressesInBoth(one: Range, other: Range): Range | null {
  if (contains(one.cidr, other.cidr)) return other;
  return contains(other.cidr, one.cidr) ? one : null;
}

function contains(outer: Cidr | null, inner: Cidr | null): boolean {
  if (outer === null || inner === null || outer.prefixBits > inner.prefixBits) return false;
  const [address = ''] = inner.text.split('/', 1);
  return cidrContains(outer, address);
}
