import { assemble } from '../assembly/assemble.ts';
import { approveByOperator, breakGlass, cancelByOperator, sharedApprovalPorts } from '../features/approvals/index.ts';
import { deleteSecondFactor } from '../features/mfa/factors/index.ts';
import { lockUser, updateUser } from '../features/users/storage/index.ts';
import { StartError } from '../kernel/base/data-folder.ts';
import { CofferError } from '../kernel/base/errors.ts';
import type { Config } from '../settings/config.ts';
import { type Opened, withKernel } from './with-kernel.ts';

/**
 * For cases that nobody in a tenant can resolve any more. Anyone who has the machine and the root key could do all of this anyway; this way it is
 * recorded in the tenant's audit log, and every admin of the tenant sees a warning.
 */
export function breakGlassApprove(config: Config, approvalId: string): Promise<string> {
  return withKernel(config, async ({ kernel }) => {
    await explained(approveByOperator(kernel, assemble(kernel).shared(sharedApprovalPorts), approvalId));
    return `${approvalId} was approved and carried out. ${KNOWN}`;
  });
}

export function breakGlassCancel(config: Config, approvalId: string): Promise<string> {
  return withKernel(config, async ({ kernel }) => {
    await explained(cancelByOperator(kernel, assemble(kernel).shared(sharedApprovalPorts), approvalId));
    return `${approvalId} was cancelled. ${KNOWN}`;
  });
}

export function breakGlassResetMfa(config: Config, userId: string): Promise<string> {
  return withKernel(config, async (opened) => {
    const { email, tenantId } = await person(opened, userId);
    const use = {
      tenantId,
      action: 'reset_mfa',
      resource: `user/${userId}`,
      details: { user: userId, email },
    } as const;
    await breakGlass(opened.kernel, use, (tx) => deleteSecondFactor(tx, tenantId, userId));
    return `${email} no longer has a second factor, and can log in with the password and enrol a new one. ${KNOWN}`;
  });
}

export function breakGlassMakeOwner(config: Config, userId: string): Promise<string> {
  return withKernel(config, async (opened) => {
    const { email, tenantId } = await person(opened, userId);
    const use = {
      tenantId,
      action: 'make_owner',
      resource: `user/${userId}`,
      details: { user: userId, email },
    } as const;
    await breakGlass(opened.kernel, use, async (tx) => {
      const row = await lockUser(tx, tenantId, userId);
      if (row?.status !== 'active') throw new StartError('The account is disabled or deleted: choose another.');
      await updateUser(tx, tenantId, userId, { role: 'owner' });
    });
    return `${email} is now an owner. ${KNOWN}`;
  });
}

const KNOWN = 'This is recorded in the audit log of the tenant, and every admin sees a warning in GET /auth/me.';

async function person({ kernel }: Opened, userId: string): Promise<{ email: string; tenantId: string }> {
  const row = await kernel.database.read
    .selectFrom('users')
    .select(['tenant_id', 'email'])
    .where('user_id', '=', userId)
    .executeTakeFirst();
  if (row === undefined)
    throw new StartError(`There is no user ${JSON.stringify(userId)}. Give the id of a user, user_….`);
  return { email: row.email, tenantId: row.tenant_id };
}

/** Shows a refusal of the service as a plain sentence. */
async function explained(done: Promise<void>): Promise<void> {
  try {
    await done;
  } catch (error) {
    if (error instanceof CofferError) throw new StartError(`Nothing was changed. ${error.message}`);
    throw error;
  }
}
