import { type Reader, type Tx, UniqueViolation } from '../../kernel/storage/database.ts';
import { endSessions, openSessionsOf } from '../tokens/storage/index.ts';
import type { UserRow } from '../users/storage/index.ts';
import {
  deleteIdentity,
  findIdentity,
  type IdentityRow,
  identitiesOf,
  identitiesOfUsers,
  insertIdentity,
  isOfProvider,
  type ProviderRow,
  providersOf,
} from './storage/identity-store.ts';

/** A provider of the tenant, and the identity with which a person signs in there; null if they do not. */
export interface SignOnLink {
  provider: ProviderRow;
  identity: IdentityRow | null;
}

/** At every provider of the tenant. A provider that was deleted is none, though the identity outlives it. */
export async function linksOf(db: Reader, tenantId: string, userId: string): Promise<SignOnLink[]> {
  const identities = await identitiesOf(db, tenantId, userId);
  const providers = await providersOf(db, tenantId);
  return providers.map((provider) => ({
    provider,
    identity: identities.find((row) => isOfProvider(provider, row)) ?? null,
  }));
}

/** The providers with which somebody signs in. */
export async function linkedProviders(db: Reader, tenantId: string, userId: string) {
  const links = await linksOf(db, tenantId, userId);
  return links
    .filter(({ identity }) => identity !== null)
    .map(({ provider: { name, enabled } }) => ({ name, isEnabled: enabled === 1 }));
}

/** Those of some users who can sign in with an enabled provider of the tenant. */
export async function usersWithProvider(db: Reader, tenantId: string, userIds: readonly string[]): Promise<string[]> {
  if (userIds.length === 0) return [];
  const providers = (await providersOf(db, tenantId)).filter(({ enabled }) => enabled === 1);
  if (providers.length === 0) return [];
  const identities = await identitiesOfUsers(db, tenantId, userIds);
  const usable = identities.filter((row) => providers.some((provider) => isOfProvider(provider, row)));
  return usable.map(({ user_id }) => user_id);
}

/** `own`: it was theirs before; `of_another`: another account has it; `second`: they have another identity at the provider. */
export type LinkOutcome = 'added' | 'own' | 'of_another' | 'second';

/** The caller has locked the provider and the person. Unless it is added, the transaction must not be committed. */
export async function addLink(tx: Tx, provider: ProviderRow, identity: IdentityRow): Promise<LinkOutcome> {
  const { tenant_id, identity_hash, user_id } = identity;
  const same = await findIdentity(tx, tenant_id, identity_hash);
  if (same !== undefined) return same.user_id === user_id ? 'own' : 'of_another';
  const others = await identitiesOf(tx, tenant_id, user_id);
  if (others.some((row) => isOfProvider(provider, row))) return 'second';
  try {
    await insertIdentity(tx, identity);
    return 'added';
  } catch (error) {
    if (error instanceof UniqueViolation) return 'of_another';
    throw error;
  }
}

export async function removeLink(tx: Tx, { tenant_id, identity_hash }: IdentityRow): Promise<void> {
  await deleteIdentity(tx, tenant_id, identity_hash);
}

/**
 * Ends what a person opened with an identity that is not theirs any more, at every provider that knows them by it; returns how many sessions. The
 * caller has locked the person. `except` is the session of this request, or empty.
 */
export async function endSessionsWith(
  tx: Tx,
  user: UserRow,
  identity: IdentityRow,
  { now, except }: { now: number; except: string },
): Promise<number> {
  const providers = (await providersOf(tx, user.tenant_id)).filter((provider) => isOfProvider(provider, identity));
  const names = new Set(providers.map(({ name }) => name));
  const begunThere = (await openSessionsOf(tx, user, now)).filter(
    ({ provider, token_id }) => names.has(provider ?? '') && token_id !== except,
  );
  await endSessions(tx, begunThere, { now });
  return begunThere.length;
}
