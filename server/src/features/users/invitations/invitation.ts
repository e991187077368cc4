import { HOUR_MS, timestamp } from '../../../kernel/base/clock.ts';
import { CofferError } from '../../../kernel/base/errors.ts';
import { CredentialText } from '../../../kernel/crypto/credential-text.ts';
import { sha256 } from '../../../kernel/crypto/digest.ts';
import type { Context } from '../../../kernel/request/context.ts';
import type { Tx } from '../../../kernel/storage/database.ts';
import { countMail, invitationNotice, noticesOf, queueMail } from '../../mail/index.ts';
import type { Invitation } from '../contract.ts';
import type { UserParts } from '../links.ts';
import type { UserRow } from '../storage/user-store.ts';
import {
  deleteInvitation,
  deleteInvitationsBy,
  type InvitationRow,
  lockInvitation,
  putInvitation,
} from './invitation-store.ts';

export const INVITATION_TTL_MS = 72 * HOUR_MS;
export const INVITATION_TOKEN = new CredentialText('cv_inv_');

/** An invitation ready to be stored: the token exists only here and in the response, the row holds its hash. */
export interface IssuedInvitation {
  row: InvitationRow;
  shown: Invitation;
}

export function issueInvitation(ctx: Context, userId: string): IssuedInvitation {
  const token = INVITATION_TOKEN.create();
  const expires_at = ctx.now + INVITATION_TTL_MS;
  return {
    row: {
      tenant_id: ctx.tenantId,
      user_id: userId,
      token_hash: sha256(token),
      invited_by: ctx.principal.id,
      created_at: ctx.now,
      expires_at,
    },
    shown: { token, expires_at: timestamp(expires_at), mailed: false },
  };
}

/** Mails an invitation in the transaction that stores it. */
export interface InvitationMail {
  readonly isSent: boolean;
  queue(tx: Tx): Promise<void>;
}

/**
 * Prepares the mail to the invited person, if the tenant wants it and it is not too much: anyone who invites chooses the address, so it may be anybody's.
 * Call it before the transaction.
 */
export async function invitationMail(
  { kernel, tenantId }: Context,
  email: string,
  token: string,
): Promise<InvitationMail> {
  const notices = await noticesOf(kernel, tenantId, 'invitations');
  const mail = notices?.([invitationNotice(email, kernel.addresses.baseUrl, token)]) ?? [];
  const isSent = mail.length > 0 && (await countMail(kernel, { tenantId, kind: 'invitation', to: email })) === null;
  return { isSent, queue: async (tx) => (isSent ? queueMail(tx, ...mail) : undefined) };
}

/**
 * Anyone who receives the token can take over the account, which may have rights by now. So only the issuer of the former invitation may repeat it
 * or, for a member, a caller who may set their password. A role was approved for one inviter only.
 */
export async function requireInviter(ctx: Context, tx: Tx, { user_id, role }: UserRow): Promise<void> {
  const former = await lockInvitation(tx, ctx.tenantId, user_id);
  if (former?.invited_by === ctx.principal.id) return;
  if (role === 'member' && ctx.access.may('users:update', `user/${user_id}`)) return;
  throw new CofferError(
    'INSUFFICIENT_PRIVILEGE',
    'Only the user who invited this person can invite them again or, for a member, someone with users:update. Otherwise delete the account and invite them yourself.',
    { auditReason: 'users:invite: invited by somebody else' },
  );
}

/** Anyone who holds an invitation gets in with it alone, past the second factor or the provider that otherwise lets this person in. */
export async function refuseOtherWayIn(
  tx: Tx,
  { tenant_id, user_id, status }: UserRow,
  { secondFactorsOf, hasSignOnIdentity }: Pick<UserParts, 'secondFactorsOf' | 'hasSignOnIdentity'>,
): Promise<void> {
  const back = status === 'invited' ? ', once PATCH /v1/users/{user_id} has set their status to active' : '';
  if ((await secondFactorsOf(tx, tenant_id, [user_id])).has(user_id)) {
    throw new CofferError(
      'IN_USE',
      `This user has a second factor, which an invitation would get past: they sign in with it${back}. If they lost it, remove it first with DELETE /v1/users/{user_id}/mfa.`,
    );
  }
  if (await hasSignOnIdentity(tx, tenant_id, user_id)) {
    throw new CofferError(
      'IN_USE',
      `An identity provider signs this user in, so they need no invitation: they sign in there${back}. If the provider is gone, set a password with PATCH /v1/users/{user_id}.`,
    );
  }
}

/** An invitation ends when it is no longer needed, when a new role would benefit its holder, and when its issuer loses access or changes role. */
export async function settleInvitations(ctx: Context, tx: Tx, before: UserRow, after: UserRow): Promise<void> {
  const { tenant_id, user_id } = before;
  const isRoleNew = before.role !== after.role;
  if (after.status !== 'invited') await deleteInvitation(tx, tenant_id, user_id);
  // The new invitation's token is never shown. It records who requested the role, and that user can invite again.
  else if (isRoleNew) await putInvitation(tx, issueInvitation(ctx, user_id).row);
  const isCutOff = before.password_hash !== after.password_hash || after.status === 'disabled';
  if (isCutOff || isRoleNew) await deleteInvitationsBy(tx, tenant_id, user_id);
}
