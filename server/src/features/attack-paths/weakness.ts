import { DAY_MS } from '../../kernel/base/clock.ts';
import { allowlistOf } from '../app-connections/index.ts';
import type { ConnectionRow } from '../app-connections/storage/index.ts';
import type { FederationRow } from '../federations/index.ts';
import type { Grant } from '../risk/index.ts';
import type { TokenRow } from '../tokens/storage/index.ts';
import type { UserRow } from '../users/storage/index.ts';
import type { MethodRow } from '../workload-identity/index.ts';

/** How weak a link of a chain is, from 0 to 100, and why. */
export interface Weakness {
  weakness: number;
  why: string;
}

const LONG_LIVED_MS = 90 * DAY_MS;
const OLD_SECRET_MS = 365 * DAY_MS;
const REVIEWED_WITHIN_MS = 90 * DAY_MS;

/** How weak each kind of link is. docs/guide/risk.md explains them, and a test compares the two. */
export const WEAKNESS = {
  password: 80,
  password_with_factor: 30,
  token: 40,
  token_long_lived: 20,
  token_any_address: 15,
  token_no_factor: 15,
  token_dpop: 20,
  client_secret: 50,
  client_secret_any_address: 20,
  client_secret_old: 15,
  client_secret_dpop: 30,
  certificate: 25,
  certificate_dpop: 10,
  federation: 20,
  federation_wildcard: 20,
  federation_any_segment: 40,
  federation_no_claims: 15,
  workload: 20,
  workload_any_name: 30,
  membership: 10,
  membership_unreviewed: 40,
  role: 30,
  policy: 20,
  group: 20,
  connection: 10,
  connection_all_paths: 30,
} as const;

/** The sum of what applies, with the reasons in the order given. */
function sumOf(base: string, points: number, further: readonly (readonly [boolean, number, string])[]): Weakness {
  const found = further.filter(([applies]) => applies);
  return {
    weakness: found.reduce((sum, [, more]) => sum + more, points),
    why: [base, ...found.map(([, , why]) => why)].join(', '),
  };
}

/** Null if the user cannot log in with a password. */
export function passwordWeakness({ password_hash }: UserRow, hasFactor: boolean): Weakness | null {
  if (password_hash === '') return null;
  if (hasFactor) return { weakness: WEAKNESS.password_with_factor, why: 'password with a second factor' };
  return { weakness: WEAKNESS.password, why: 'password without a second factor' };
}

export function tokenWeakness(token: TokenRow, ceilings: readonly { ip_allowlist?: unknown }[], hasFactor: boolean) {
  if (token.dpop_jkt !== null)
    return { weakness: WEAKNESS.token_dpop, why: 'personal access token bound to a DPoP key' };
  return sumOf('personal access token', WEAKNESS.token, [
    [token.expires_at - token.created_at > LONG_LIVED_MS, WEAKNESS.token_long_lived, 'valid for more than 90 days'],
    [ceilings.every((one) => one.ip_allowlist === undefined), WEAKNESS.token_any_address, 'usable from any address'],
    [!hasFactor, WEAKNESS.token_no_factor, 'its owner has no second factor'],
  ]);
}

/** A connection that requires a certificate is used with both, and is as strong as the stronger one. */
export function connectionWeakness(
  row: ConnectionRow,
  now: number,
): Weakness & { kind: 'client_secret' | 'certificate' } {
  const hasDpop = row.require_dpop === 1;
  if (row.mtls_required === 1) {
    const kind = 'certificate';
    if (hasDpop) return { kind, weakness: WEAKNESS.certificate_dpop, why: 'client certificate and DPoP key' };
    return { kind, weakness: WEAKNESS.certificate, why: 'client certificate' };
  }
  const kind = 'client_secret';
  if (hasDpop) return { kind, weakness: WEAKNESS.client_secret_dpop, why: 'client secret and DPoP key' };
  const isOld = now - row.secret_made_at > OLD_SECRET_MS;
  return {
    kind,
    ...sumOf('client secret without a certificate or DPoP key', WEAKNESS.client_secret, [
      [allowlistOf(row) === null, WEAKNESS.client_secret_any_address, 'usable from any address'],
      [isOld, WEAKNESS.client_secret_old, 'older than a year'],
    ]),
  };
}

export function federationWeakness({ subject_pattern, claims }: FederationRow): Weakness {
  const isAnySegment = subject_pattern.includes('**');
  const isWildcard = !isAnySegment && subject_pattern.includes('*');
  const hasClaims = Object.keys(JSON.parse(claims) as object).length > 0;
  return sumOf('identity of a pipeline', WEAKNESS.federation, [
    [isAnySegment, WEAKNESS.federation_any_segment, 'the subject pattern has **'],
    [isWildcard, WEAKNESS.federation_wildcard, 'the subject pattern has a wildcard'],
    [!hasClaims, WEAKNESS.federation_no_claims, 'no further claims are required'],
  ]);
}

export function workloadWeakness({ config }: MethodRow): Weakness {
  return sumOf('identity of a workload', WEAKNESS.workload, [
    [config.includes('.*'), WEAKNESS.workload_any_name, 'a pattern of the method accepts any name'],
  ]);
}

/** How weak the grant is by which somebody reads a secret in the vault. */
export function grantWeakness(grant: Grant, vault: string, now: number): Weakness {
  switch (grant.kind) {
    case 'membership': {
      const own = grant.memberships.find((one) => one.vault === vault);
      const since = own?.reviewed_at ?? own?.added_at ?? now;
      if (now - since <= REVIEWED_WITHIN_MS) return { weakness: WEAKNESS.membership, why: `${own?.role} of the vault` };
      const why = `${own?.role} of the vault, not reviewed for more than 90 days`;
      return { weakness: WEAKNESS.membership_unreviewed, why };
    }
    case 'role':
      return { weakness: WEAKNESS.role, why: 'a role that reads every vault' };
    case 'policy':
      return { weakness: WEAKNESS.policy, why: 'a policy attached to the user' };
    case 'group':
      return { weakness: WEAKNESS.group, why: 'a group with access' };
    case 'connection':
      return grant.reachesAllPaths
        ? { weakness: WEAKNESS.connection_all_paths, why: 'a connection with all paths of its vaults' }
        : { weakness: WEAKNESS.connection, why: 'a connection with some paths of its vaults' };
  }
}
