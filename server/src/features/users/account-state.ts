import { sha256 } from '../../kernel/crypto/digest.ts';
import type { Basis } from '../../kernel/endpoint/approval.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import { isMarked } from './break-glass.ts';
import { lockInvitation } from './invitations/invitation-store.ts';
import type { UserParts } from './links.ts';
import type { UserRow } from './storage/user-store.ts';

/**
 * An approval is for a person, not an account: if a password, second factor or invitation changed since, somebody else may control it. The basis is
 * stored sealed and never shown; even so it holds a digest of the password hash, not the hash.
 */
export async function accountState(
  tx: Tx,
  { tenant_id, user_id, role, status, password_hash, ...row }: UserRow,
  { secondFactorSince }: Pick<UserParts, 'secondFactorSince'>,
): Promise<Basis> {
  const break_glass = isMarked(row) ? 1 : 0;
  const password = sha256(password_hash).toString('base64url');
  const second_factor = await secondFactorSince(tx, tenant_id, user_id);
  const invitation = await lockInvitation(tx, tenant_id, user_id);
  const invited = invitation === undefined ? null : Buffer.from(invitation.token_hash).toString('base64url');
  return { role, status, password, second_factor, break_glass, ...(invited !== null && { invited }) };
}
