import { CofferError, invalidField } from '../../kernel/base/errors.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { hasBreakGlassOwner, type UserRow } from './storage/user-store.ts';

/**
 * Whether somebody may sign in without the provider that their tenant requires: break-glass owners, and every owner while there is none, so that a
 * provider that fails locks nobody out for good.
 */
export async function isExemptFromSignOn(db: Reader, user: UserRow): Promise<boolean> {
  if (user.role !== 'owner') return false;
  return isMarked(user) || !(await hasBreakGlassOwner(db, user.tenant_id));
}

export function isMarked({ break_glass }: Pick<UserRow, 'break_glass'>): boolean {
  return break_glass === 1;
}

/** A break-glass owner is an active owner, always. */
export function refuseUnlessUsable(before: UserRow, after: UserRow): void {
  if (!isMarked(after)) return;
  if (after.role === 'owner' && after.status === 'active') return;
  if (isMarked(before)) throw protectedOwner();
  throw invalidField('/body/break_glass', 'can be set for an active owner only');
}

export function protectedOwner(): CofferError {
  return new CofferError(
    'IN_USE',
    'This is a break-glass owner, who cannot be disabled, demoted, invited or deleted: set break_glass to false first.',
  );
}
