import { sha256 } from '../../kernel/crypto/digest.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import { groupsOfUser, groupsOfUsers } from '../groups/storage/index.ts';
import { givesRole, roleOf } from '../sign-on/index.ts';
import { type IdentityRow, providersOf } from '../sign-on/storage/index.ts';
import { settleInvitations } from '../users/invitations/index.ts';
import { findUsers, lockUser, type UserRow, updateUser } from '../users/storage/index.ts';
import { issuerOf, namesAmong } from './group-store.ts';
import type { Provisioner } from './provisioning.ts';
import { findState, type Owner, provisionedAmong } from './user-store.ts';

/** Looked at in one query. */
const PEOPLE_AT_ONCE = 500;

/** The names of the groups that a person has by SCIM, for their sign-in. Somebody who is not provisioned has none. */
export async function provisionedGroups(db: Reader, { tenant_id, issuer, user_id }: IdentityRow): Promise<string[]> {
  const owner = { tenant_id, issuer_hash: sha256(issuer) };
  if ((await findState(db, owner, user_id)) === undefined) return [];
  return [...(await namesAmong(db, owner, await groupsOfUser(db, tenant_id, user_id))).values()];
}

/** Whose group it is, for users who want to change it by hand. The name is null if no provider has the issuer any more. */
export async function provisionerOfGroup(
  tx: Tx,
  tenantId: string,
  groupId: string,
): Promise<{ name: string | null } | undefined> {
  const issuerHash = await issuerOf(tx, tenantId, groupId);
  if (issuerHash === undefined) return undefined;
  const providers = await providersOf(tx, tenantId);
  return { name: providers.find(({ issuer }) => sha256(issuer).equals(issuerHash))?.name ?? null };
}

/**
 * Gives the people whose groups changed the role that their groups give now, as the next sign-in would. Call it only for groups that give a
 * role, so that no other change of groups takes away a role that came from elsewhere. Owners keep their role, and so do users whom the provider did
 * not provision or whom an admin disabled.
 */
export async function settleRoles(
  ctx: Context,
  tx: Tx,
  { provider, owner }: Provisioner,
  userIds: readonly string[],
): Promise<void> {
  const changes: { user: string; former_role: string; role: string }[] = [];
  const provisioned = [...(await provisionedAmong(tx, owner, userIds)).keys()];
  for (let at = 0; at < provisioned.length; at += PEOPLE_AT_ONCE) {
    const ids = provisioned.slice(at, at + PEOPLE_AT_ONCE);
    const groups = await groupsOfUsers(tx, ctx.tenantId, ids);
    const names = await namesAmong(tx, owner, [...new Set([...groups.values()].flat())]);
    for (const { user_id, role } of await findUsers(tx, ctx.tenantId, ids)) {
      const own = new Set((groups.get(user_id) ?? []).flatMap((group) => names.get(group) ?? []));
      const given = roleOf(provider, own) ?? 'member';
      if (role === 'owner' || role === given) continue;
      const locked = await lockUser(tx, ctx.tenantId, user_id);
      if (locked === undefined || locked.role === 'owner' || (await isDisabledByAdmin(tx, owner, locked))) continue;
      await updateUser(tx, ctx.tenantId, user_id, { role: given });
      await settleInvitations(ctx, tx, locked, { ...locked, role: given });
      changes.push({ user: user_id, former_role: locked.role, role: given });
    }
  }
  for (const change of changes) ctx.record.addEntry('scim:change_role', `user/${change.user}`, change);
}

/** `user` is locked, so no admin enables or disables them meanwhile. */
async function isDisabledByAdmin(tx: Tx, owner: Owner, user: UserRow): Promise<boolean> {
  if (user.status !== 'disabled') return false;
  return (await findState(tx, owner, user.user_id))?.is_suspended !== 1;
}

export function anyGivesRole({ provider }: Provisioner, groups: readonly string[]): boolean {
  return groups.some((group) => givesRole(provider, group));
}
