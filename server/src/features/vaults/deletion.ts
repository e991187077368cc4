import { CofferError } from '../../kernel/base/errors.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import { joinedBy, membersOfGroups } from '../groups/storage/index.ts';
import { membershipsOf } from './all-memberships.ts';
import * as store from './storage/vault-store.ts';

/** The approval of a production vault's deletion: who may decide on it, and the vault's pending state. */

const RESOURCE = /^vault\/([^/]+)$/;

/** Vault names appear in resource names without escaping. */
function vaultNameOf(resource: string): string | null {
  return RESOURCE.exec(resource)?.[1] ?? null;
}

/**
 * Returns a test for resources that are vaults this user manages and already managed at the given time. Otherwise the requester of a deletion could
 * make an accomplice manager to approve it. No role is raised to manager while a vault is pending deletion (see `members.ts`), so `added_at`
 * suffices.
 */
export async function managedBy(
  db: Reader,
  tenantId: string,
  userId: string,
): Promise<(resource: string, at: number) => boolean> {
  const joined = new Map((await joinedBy(db, tenantId, userId)).map((row) => [row.group_id, row.added_at]));
  const groups = [...joined.keys()].map((id) => ({ kind: 'group' as const, id }));
  const memberships = await membershipsOf(db, tenantId, [{ kind: 'user', id: userId }, ...groups]);
  const since = new Map<string, number>();
  for (const { vault, role, principal_id, added_at } of memberships) {
    if (role !== 'manager') continue;
    const from = Math.max(added_at, joined.get(principal_id) ?? 0);
    since.set(vault, Math.min(from, since.get(vault) ?? Infinity));
  }
  return (resource, at) => (since.get(vaultNameOf(resource) ?? '') ?? Infinity) <= at;
}

/** The reverse, for several vaults: everyone who manages the vault and already managed it at that time. */
export async function managersOf(
  db: Reader,
  tenantId: string,
  requests: readonly { resource: string; at: number }[],
): Promise<string[][]> {
  const names = requests.map(({ resource }) => vaultNameOf(resource) ?? '');
  const vaults = await store.findVaults(db, tenantId, [...new Set(names)]);
  const managers = await store.managersOfVaults(
    db,
    tenantId,
    vaults.map(({ vault_id }) => vault_id),
  );
  const groups = managers.filter((row) => row.principal_kind === 'group').map((row) => row.principal_id);
  const joined = Map.groupBy(await membersOfGroups(db, tenantId, [...new Set(groups)]), (row) => row.group_id);
  return requests.map(({ at }, i) => {
    const vault = vaults.find(({ name }) => name === names[i]);
    const since = managers.filter(({ vault_id, added_at }) => vault_id === vault?.vault_id && added_at <= at);
    const people = since.flatMap(({ principal_kind, principal_id }) => {
      if (principal_kind === 'user') return principal_id;
      const members = joined.get(principal_id) ?? [];
      return members.filter(({ added_at }) => added_at <= at).map(({ user_id }) => user_id);
    });
    return [...new Set(people)];
  });
}

export async function markPending(
  tx: Tx,
  tenantId: string,
  { approval_id, resource }: { approval_id: string; resource: string },
): Promise<void> {
  const name = vaultNameOf(resource);
  const row = name === null ? undefined : await store.lockVault(tx, tenantId, name);
  if (row === undefined) return;
  // With two pending approvals, refusing one would reactivate a vault that the other still covers.
  if (row.status === 'pending_deletion') {
    throw new CofferError('IN_USE', 'The deletion of the vault is already pending approval: decide on that request.', {
      details: { approval_id: row.approval_id },
    });
  }
  await store.updateVault(tx, tenantId, row.name, { status: 'pending_deletion', approval_id });
}

/** Resets only the mark of this approval: the vault may have been deleted or requested again since. */
export async function unmarkPending(
  tx: Tx,
  tenantId: string,
  { approval_id, resource }: { approval_id: string; resource: string },
): Promise<void> {
  const name = vaultNameOf(resource);
  const row = name === null ? undefined : await store.lockVault(tx, tenantId, name);
  if (row === undefined || row.status !== 'pending_deletion' || row.approval_id !== approval_id) return;
  await store.updateVault(tx, tenantId, row.name, { status: 'active', approval_id: null });
}
