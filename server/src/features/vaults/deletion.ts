import { CofferError } from '../../kernel/errors.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import { groupsOfUser } from '../groups/index.ts';
import * as store from './store.ts';

/** What the deletion of a production vault waits for, and what it does to the vault meanwhile. */

const RESOURCE = /^vault\/([^/]+)$/;

/** The names of vaults are spelt in resources as they are. */
function vaultNameOf(resource: string): string | null {
  return RESOURCE.exec(resource)?.[1] ?? null;
}

/** Which resources are vaults that this person manages. */
export async function managedBy(db: Reader, tenantId: string, userId: string): Promise<(resource: string) => boolean> {
  const groups = await groupsOfUser(db, tenantId, userId);
  const principals = [{ kind: 'user' as const, id: userId }, ...groups.map((id) => ({ kind: 'group' as const, id }))];
  const memberships = await store.membershipsOf(db, tenantId, principals);
  const managed = new Set(memberships.filter(({ role }) => role === 'manager').map(({ vault }) => vault));
  return (resource) => managed.has(vaultNameOf(resource) ?? '');
}

export async function markPending(
  tx: Tx,
  tenantId: string,
  { approval_id, resource }: { approval_id: string; resource: string },
): Promise<void> {
  const name = vaultNameOf(resource);
  const row = name === null ? undefined : await store.lockVault(tx, tenantId, name);
  if (row === undefined) return;
  // With two of them, the refusal of one would free a vault that still waits for the other.
  if (row.status === 'pending_deletion') {
    throw new CofferError('IN_USE', 'Its deletion waits for approval already: decide on that one.', {
      details: { approval_id: row.approval_id },
    });
  }
  await store.updateVault(tx, tenantId, row.name, { status: 'pending_deletion', approval_id });
}

/** Only what this approval marked: the vault may have been deleted or asked for again since. */
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
