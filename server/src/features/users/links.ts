import type { Proposal } from '../../kernel/endpoint/approval.ts';
import { type Linked, port, removalOf } from '../../kernel/feature/links.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import type { SecondFactorOfUser, VaultGrant } from './contract.ts';
import type { UserRow } from './storage/user-store.ts';

export interface SignOnProvider {
  name: string;
  isEnabled: boolean;
}

/** Revokes all of a user's tokens and sessions; returns counts for the audit log. */
export const revokeTokensOf =
  port<(tx: Tx, tenantId: string, userId: string, now: number) => Promise<Record<string, number>>>('revokeTokensOf');

/** The time from which their second factor is trusted; null without one. */
export const secondFactorSince =
  port<(tx: Tx, tenantId: string, userId: string) => Promise<number | null>>('secondFactorSince');

/** The providers of the tenant at which the user has an identity. */
export const signOnLinks =
  port<(db: Reader, tenantId: string, userId: string) => Promise<readonly SignOnProvider[]>>('signOnLinks');

/** From now on an admin, and not their identity provider, has disabled the user. */
export const takeOverSuspension =
  port<(tx: Tx, tenantId: string, userId: string) => Promise<void>>('takeOverSuspension');

/** Makes a user who is being created a member of vaults; resolves to what has to be approved, or null. */
export const addToVaults =
  port<(ctx: Context, tx: Tx, user: UserRow, grants: readonly VaultGrant[]) => Promise<Proposal | null>>('addToVaults');

/** When each of these users was last seen, as far as it is known. */
export const lastSeenOf =
  port<(db: Reader, tenantId: string, userIds: readonly string[]) => Promise<ReadonlyMap<string, number>>>(
    'lastSeenOf',
  );

/** The second factors of each of these users, oldest first; who has none is not in it. */
export const secondFactorsOf =
  port<
    (db: Reader, tenantId: string, userIds: readonly string[]) => Promise<ReadonlyMap<string, SecondFactorOfUser[]>>
  >('secondFactorsOf');

/** Whether the account belongs to somebody whom an OpenID provider signs in. */
export const hasSignOnIdentity =
  port<(db: Reader, tenantId: string, userId: string) => Promise<boolean>>('hasSignOnIdentity');

/** Whether SCIM made the account or its link. */
export const isProvisioned = port<(db: Reader, tenantId: string, userId: string) => Promise<boolean>>('isProvisioned');

export const userRemoved = removalOf<[tx: Tx, tenantId: string, userId: string]>('user');

/** What it needs of other features. */
export const userNeeds = {
  addToVaults,
  hasSignOnIdentity,
  isProvisioned,
  lastSeenOf,
  revokeTokensOf,
  secondFactorSince,
  secondFactorsOf,
  signOnLinks,
  takeOverSuspension,
};
export type UserParts = Linked<typeof userNeeds>;
