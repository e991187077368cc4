import Type, { type Static } from 'typebox';
import type { Cidr } from '../base/cidr.ts';
import { named } from '../wire/named-schemas.ts';
import { ceilingSize } from './compiled-size.ts';
import { addressIsIn, compileCidrs } from './condition.ts';
import type { AccessRequest } from './evaluate.ts';
import { MAX_ACTION_CHARS, MAX_CIDR_CHARS, MAX_SCOPE_ENTRIES, MAX_VAULT_NAME_CHARS } from './limits.ts';
import { ALL_PATHS, intersection, type PathRange } from './path-ranges.ts';
import {
  compileActionPattern,
  compileVaultNamePattern,
  isResource,
  type Pattern,
  type ResourcePattern,
} from './pattern.ts';
import { compileEach } from './policy.ts';

/** An absent list is unrestricted, an empty one allows nothing. */
export const Scope = named(
  'TokenScope',
  'Restricts what a token may do, regardless of what its owner may do. An omitted list is unrestricted; an empty list allows nothing.',
  Type.Object(
    {
      vaults: Type.Optional(
        Type.Array(Type.String({ minLength: 1, maxLength: MAX_VAULT_NAME_CHARS }), {
          maxItems: MAX_SCOPE_ENTRIES,
          description: 'Names of vaults; `*` matches any text.',
        }),
      ),
      actions: Type.Optional(
        Type.Array(Type.String({ minLength: 1, maxLength: MAX_ACTION_CHARS }), {
          maxItems: MAX_SCOPE_ENTRIES,
          description: 'Actions such as secrets:read; `*` may replace either half.',
        }),
      ),
    },
    { additionalProperties: false },
  ),
);
export type Scope = Static<typeof Scope>;

/** Addresses and CIDR ranges. Absent means from anywhere. An empty list would allow nobody, so it is rejected as a mistake. */
export const IpAllowlist = Type.Array(Type.String({ minLength: 1, maxLength: MAX_CIDR_CHARS }), {
  minItems: 1,
  maxItems: MAX_SCOPE_ENTRIES,
  description: 'Addresses and CIDR ranges that the credential may be used from. Default: any address.',
});
export type IpAllowlist = Static<typeof IpAllowlist>;

export interface CeilingInput {
  readonly scope?: Scope | undefined;
  readonly ip_allowlist?: readonly string[] | undefined;
}

/** The most a credential lets its holder do, whatever the holder's policies allow. `null` means unrestricted. */
export interface Ceiling {
  readonly vaults: readonly Pattern[] | null;
  readonly actions: readonly Pattern[] | null;
  readonly cidrs: readonly Cidr[] | null;
  /** Limits vaults and their contents to resources that match. Other resources are not affected. */
  readonly places: ResourcePattern | null;
  /** Limits the contents of vaults to this environment. */
  readonly environment: string | null;
  /** The memory it holds, at most. */
  readonly bytes: number;
}

export function compileCeiling(input: CeilingInput): Ceiling {
  const { scope, ip_allowlist } = input;
  const { vaults, actions } = scope ?? {};
  return {
    vaults: vaults === undefined ? null : compileEach(vaults, compileVaultNamePattern, '/scope/vaults'),
    actions: actions === undefined ? null : compileEach(actions, compileActionPattern, '/scope/actions'),
    cidrs: ip_allowlist === undefined ? null : compileCidrs(ip_allowlist, '/ip_allowlist'),
    places: null,
    environment: null,
    bytes: ceilingSize(input),
  };
}

/**
 * Every ceiling must hold. Addresses are checked first, over all ceilings: anyone who uses a stolen credential from elsewhere learns nothing about
 * its scope, and the result does not depend on the order of the ceilings.
 */
export function withinCeiling(ceilings: readonly Ceiling[], request: AccessRequest): 'ok' | 'scope' | 'ip' {
  for (const { cidrs } of ceilings) {
    if (cidrs !== null && addressIsIn(cidrs, request.context.ip) !== true) return 'ip';
  }
  for (const ceiling of ceilings) if (!withinScope(ceiling, request)) return 'scope';
  return 'ok';
}

/** The paths of a vault that the ceilings allow. */
export function placesInVault(ceilings: readonly Ceiling[], vault: string): PathRange[] {
  let ranges: PathRange[] = [ALL_PATHS];
  for (const { places } of ceilings) {
    if (places === null) continue;
    ranges = intersection(ranges, places.rangesIn(vault).ranges);
  }
  return ranges;
}

/** Whether ranges of paths do not say all that the ceilings allow: one limits the environment, or a pattern covers only a part of its range. */
export function needsDecisionPerSecret(ceilings: readonly Ceiling[], vault: string): boolean {
  return ceilings.some(
    ({ places, environment }) => environment !== null || (places !== null && !places.rangesIn(vault).covers),
  );
}

/** Whether the ceilings allow the action on any vault at all. */
export function mayAsk(ceilings: readonly Ceiling[], action: string, ip: string): 'ok' | 'scope' | 'ip' {
  for (const { cidrs } of ceilings) if (cidrs !== null && addressIsIn(cidrs, ip) !== true) return 'ip';
  return ceilings.every(({ actions }) => actions === null || anyMatches(actions, action)) ? 'ok' : 'scope';
}

function withinScope(ceiling: Ceiling, { action, resource, context }: AccessRequest): boolean {
  const { vaults, actions, places, environment } = ceiling;
  if (actions !== null && !anyMatches(actions, action)) return false;
  if (places !== null && resource.startsWith(VAULT) && !places.matches(resource)) return false;
  if (environment !== null && isInVault(resource) && context.environment !== environment) return false;
  if (vaults === null) return true;
  if (!isResource(resource)) return false;
  if (resource === 'self' || resource.startsWith('self/')) return OWN_ACTIONS.has(action);
  return resource.startsWith(VAULT) && anyMatches(vaults, vaultName(resource));
}

/**
 * What a token limited to some vaults may still do with its owner's account: read, and create a token, which inherits the limit. Any change of the
 * account would have an effect beyond those vaults.
 */
const OWN_ACTIONS = new Set(['self:read', 'mfa:read', 'tokens:create', 'tokens:list', 'tokens:read']);

const VAULT = 'vault/';

function isInVault(resource: string): boolean {
  return resource.startsWith(VAULT) && resource.includes('/', VAULT.length);
}

function vaultName(resource: string): string {
  const end = resource.indexOf('/', VAULT.length);
  return resource.slice(VAULT.length, end === -1 ? undefined : end);
}

function anyMatches(patterns: readonly Pattern[], value: string): boolean {
  for (const pattern of patterns) if (pattern.matches(value)) return true;
  return false;
}
