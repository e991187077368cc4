import { isAdminRole } from '../../kernel/authz/roles.ts';
import type { Proposal } from '../../kernel/endpoint/approval.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import { isMarked } from './break-glass.ts';
import type { UserParts } from './links.ts';
import type { UserRow } from './storage/user-store.ts';

/**
 * What a change of an account says about itself if it only takes rights away from somebody else, who then does not decide it. Null as `after`
 * means that the account is deleted. An owner is excepted: of two owners each could then remove the other.
 */
export async function takesAway(
  { principal }: Context,
  tx: Tx,
  { before, after }: { before: UserRow; after: UserRow | null },
  ports: Pick<UserParts, 'hasSignOnIdentity' | 'isProvisioned'>,
): Promise<Pick<Proposal, 'takesFrom' | 'ownerMayAct'>> {
  if (before.role === 'owner' || before.user_id === principal.id || !onlyTakes(before, after)) return {};
  // A deleted account cannot be brought back, so deleting one waits for somebody else, if there is anybody.
  const isDisabled = after !== null && after.status === 'disabled' && after.role === before.role;
  return { takesFrom: before.user_id, ownerMayAct: isDisabled && (await isMadeByProvider(tx, before, ports)) };
}

function onlyTakes(before: UserRow, after: UserRow | null): boolean {
  if (after === null) return true;
  if (before.password_hash !== after.password_hash || isMarked(before) !== isMarked(after)) return false;
  const isLowered = isAdminRole(before.role) && !isAdminRole(after.role);
  return after.status === 'disabled'
    ? isLowered || before.role === after.role
    : isLowered && before.status === after.status;
}

/** An account that the person linked with a provider counts too, because its role follows the provider. */
async function isMadeByProvider(
  tx: Tx,
  { tenant_id, user_id, made_by_provider }: UserRow,
  { hasSignOnIdentity, isProvisioned }: Pick<UserParts, 'hasSignOnIdentity' | 'isProvisioned'>,
): Promise<boolean> {
  if (made_by_provider === 1 || (await hasSignOnIdentity(tx, tenant_id, user_id))) return true;
  return isProvisioned(tx, tenant_id, user_id);
}
