import { timestamp } from '../../kernel/base/clock.ts';
import { CofferError } from '../../kernel/base/errors.ts';
import { sha256 } from '../../kernel/crypto/digest.ts';
import { hashPassword } from '../../kernel/crypto/passwords.ts';
import type { Body, Output } from '../../kernel/endpoint/declaration.ts';
import { findTenant, lockAndCheckActive, type TenantRow } from '../../kernel/integrity/tenant-rows.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { hasFactor } from '../mfa/factors/index.ts';
import { insertToken } from '../tokens/storage/index.ts';
import {
  deleteInvitation,
  findInvitation,
  INVITATION_TOKEN,
  type InvitationRow,
  lockInvitation,
} from '../users/invitations/index.ts';
import { findUser, lockUser, type UserRow, updateUser } from '../users/storage/index.ts';
import type * as contract from './contract.ts';
import {
  identify,
  issueSession,
  NO_FACTOR,
  refuseIfSignOnRequired,
  type SessionPorts,
  sessionAnswer,
} from './service.ts';
import { signInReport } from './sign-in-report.ts';

/** The token has 256 random bits, so it cannot be guessed, and response time reveals nothing useful. */
async function openInvitation(ctx: Context, ports: SessionPorts, token: string): Promise<OpenInvitation> {
  const { read } = ctx.database;
  ctx.record.setResource('session');
  const hash = sha256(token);
  const invitation = INVITATION_TOKEN.matches(token) ? await findInvitation(read, hash) : undefined;
  if (invitation === undefined) throw denied('no such invitation');
  const { tenant_id, user_id } = invitation;
  const [tenant, user] = [await findTenant(read, tenant_id), await findUser(read, tenant_id, user_id)];
  if (tenant === undefined || user === undefined) throw denied('the user or tenant was deleted');
  identify(ctx, tenant, user_id, user.email);
  if (invitation.expires_at <= ctx.now) throw denied('the invitation has expired');
  await refuseIfSignOnRequired(ctx, ports, user);
  return { hash, invitation, tenant, user };
}

interface OpenInvitation {
  hash: Buffer;
  invitation: InvitationRow;
  tenant: TenantRow;
  user: UserRow;
}

/** Shows it to anyone who could accept it, and to nobody else. */
export async function readInvitation(
  ctx: Context,
  ports: SessionPorts,
  { token }: Body<typeof contract.readInvite>,
): Promise<Output<typeof contract.readInvite>> {
  const { read } = ctx.database;
  const { invitation, tenant, user } = await openInvitation(ctx, ports, token);
  const { tenant_id, user_id } = user;
  if (user.status !== 'invited') throw denied('the invitation was used, replaced or revoked');
  await refuseOvertaken(read, ports, user);
  if (tenant.status !== 'active') throw denied('the tenant is suspended');
  // Nobody has shown yet to be this person, so it must not count as their activity.
  identify(ctx, tenant, '', user.email);
  const inviter = await findUser(read, tenant_id, invitation.invited_by);
  ctx.record.describe({ user: user_id, invited_by: invitation.invited_by });
  return {
    organization: tenant.name,
    email: user.email,
    role: user.role,
    invited_by: inviter?.name || null,
    expires_at: timestamp(invitation.expires_at),
  };
}

export async function acceptInvitation(ctx: Context, ports: SessionPorts, body: Body<typeof contract.acceptInvite>) {
  const { hash, invitation: found, user } = await openInvitation(ctx, ports, body.token);
  const { tenant_id, user_id } = user;
  const password_hash = await hashPassword(body.password, tenant_id);
  const report = await signInReport(ctx, user);
  const issued = await issueSession(ctx, user, { method: 'invitation' });
  ctx.record.describe({ token: issued.row.token_id, invited_by: found.invited_by });
  return ctx.change(async (tx) => {
    const invited = await lockUser(tx, tenant_id, user_id);
    const invitation = await lockInvitation(tx, tenant_id, user_id);
    const isSame = invitation !== undefined && hash.equals(invitation.token_hash);
    if (!isSame || invited?.status !== 'invited')
      throw denied('the invitation was used, replaced or revoked concurrently');
    await refuseOvertaken(tx, ports, invited);
    if (!(await lockAndCheckActive(tx, tenant_id))) throw denied('the tenant is suspended');
    await deleteInvitation(tx, tenant_id, user_id);
    await updateUser(tx, tenant_id, user_id, { password_hash, status: 'active' });
    await insertToken(tx, issued.row, invited);
    await report(tx, invited, { method: 'invitation', shown: NO_FACTOR });
    await raiseEpoch(tx, tenant_id);
    return sessionAnswer(issued);
  });
}

async function refuseOvertaken(db: Reader, ports: SessionPorts, { tenant_id, user_id }: UserRow): Promise<void> {
  if (await hasFactor(db, tenant_id, user_id)) throw overtaken('a second factor');
  if (await ports.hasSignOnIdentity(db, tenant_id, user_id)) throw overtaken('an identity at a provider');
}

/** An invitation takes the place of neither, so anyone who holds it must not get in with it alone. */
function overtaken(by: string): CofferError {
  return new CofferError(
    'LOGIN_DENIED',
    `The invitation is not valid any more, because the account has ${by}: ask an owner or admin to set its status to active, and sign in with that.`,
    { auditReason: `the account has ${by}` },
  );
}

function denied(auditReason: string): CofferError {
  return new CofferError(
    'LOGIN_DENIED',
    'The invitation is invalid: it was used, replaced or revoked, or has expired. Ask the person who invited you for a new one.',
    { auditReason },
  );
}
