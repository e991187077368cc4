import { CofferError } from '../../kernel/platform/errors.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import { joinedBy, membersOfGroups } from '../groups/index.ts';
import * as store from './store.ts';

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
  const memberships = await store.membershipsOf(db, tenantId, [{ kind: 'user', id: userId }, ...groups]);
  const since = new Map<string, number>();
  for (const { vault, role, principal_id, added_at } of memberships) {
    if (role !== 'manager') continue;
    const from = Math.max(added_at, joined.get(principal_id) ?? 0);
    since.set(vault, Math.min(from, since.get(vault) ?? Infinity));
  }
  return (resource, at) => (since.get(vaultNameOf(resource) ?? '') ?? Infinity) <= at;
}

/** The reverse: everyone who manages this vault and already managed it at that time. */
export async function managersOf(db: Reader, tenantId: string, resource: string, at: number): Promise<string[]> {
  const vault = await store.findVault(db, tenantId, vaultNameOf(resource) ?? '');
  if (vault === undefined) return [];
  const managers = await store.managersSince(db, tenantId, vault.vault_id, at);
  const groups = managers.filter((row) => row.principal_kind === 'group').map((row) => row.principal_id);
  const joined = (await membersOfGroups(db, tenantId, groups)).filter((row) => row.added_at <= at);
  const own = managers.filter((row) => row.principal_kind === 'user').map((row) => row.principal_id);
  return [...new Set([...own, ...joined.map((row) => row.user_id)])];
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
