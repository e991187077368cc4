import { AuthenticatedTable } from '../../../kernel/integrity/authenticated-table.ts';
import type { Reader, Tx } from '../../../kernel/storage/database.ts';
import type { Authenticated } from '../../../kernel/storage/tables.ts';

export interface UsersInvitationTables {
  invitations: Authenticated<InvitationRow>;
}

/** Lets the holder of its token choose the password of an account that has none yet. */
export interface InvitationRow {
  tenant_id: string;
  user_id: string;
  token_hash: Uint8Array;
  /** The user who received the token. */
  invited_by: string;
  created_at: number;
  expires_at: number;
}

export const INVITATIONS = new AuthenticatedTable<'invitations', InvitationRow>('invitations', {
  key: ['user_id'],
  covered: ['token_hash', 'invited_by', 'created_at', 'expires_at'],
});

export async function findInvitation(db: Reader, tokenHash: Uint8Array): Promise<InvitationRow | undefined> {
  const query = db.selectFrom('invitations').selectAll().where('token_hash', '=', tokenHash);
  return INVITATIONS.checked(db, await query.executeTakeFirst());
}

export async function lockInvitation(tx: Tx, tenantId: string, userId: string): Promise<InvitationRow | undefined> {
  const [row] = await INVITATIONS.lockedWhere(tx, (eb) => eb.and({ tenant_id: tenantId, user_id: userId }));
  return row;
}

/** Replaces any earlier invitation of this person. */
export async function putInvitation(tx: Tx, row: InvitationRow): Promise<void> {
  await deleteInvitation(tx, row.tenant_id, row.user_id);
  await INVITATIONS.insert(tx, row);
}

export async function deleteInvitation(tx: Tx, tenantId: string, userId: string): Promise<void> {
  await INVITATIONS.deleteWhere(tx, (eb) => eb.and({ tenant_id: tenantId, user_id: userId }));
}

/** Invitations this person issued: they have seen the tokens. */
export async function deleteInvitationsBy(tx: Tx, tenantId: string, invitedBy: string): Promise<void> {
  await INVITATIONS.deleteWhere(tx, (eb) => eb.and({ tenant_id: tenantId, invited_by: invitedBy }));
}
