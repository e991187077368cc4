import type { Proposal } from '../../kernel/endpoint/approval.ts';
import type { ReportBreakGlass } from '../../kernel/request/approval-queue.ts';
import type { Context } from '../../kernel/request/context.ts';
import { evictionNotice, noticesOf, queueMail, RECIPIENTS_MAX } from '../mail/index.ts';
import { hasFactor } from '../mfa/factors/index.ts';
import { isFresh, requireFresh } from '../mfa/index.ts';
import { listActiveAdmins } from '../users/storage/index.ts';
import { recordUse } from './break-glass.ts';

/** Lets an owner take rights away from somebody who is the only other approver. An admin waits for an owner. */
export async function mayEvictAlone(ctx: Context): Promise<boolean> {
  if (!isOwner(ctx)) return false;
  requireFresh(ctx, await isEnrolled(ctx), 'Taking rights away from the only other approver');
  return true;
}

/**
 * Stops a compromised identity provider, whose accounts may be the only other approvers. A stolen session or token must not be enough for that, so
 * the owner has just shown a second factor.
 */
export async function breakGlassByOwner(ctx: Context, { ownerMayAct }: Proposal): Promise<ReportBreakGlass | null> {
  if (ownerMayAct !== true || !isOwner(ctx) || ctx.access.isRestricted) return null;
  if (!isFresh(ctx, await isEnrolled(ctx))) return null;
  const { tenantId, principal, declaration, now } = ctx;
  const notices = await noticesOf(ctx.kernel, tenantId, 'security');
  const admins = notices === null ? [] : await listActiveAdmins(ctx.database.read, tenantId, RECIPIENTS_MAX);
  const others = admins.filter(({ user_id }) => user_id !== principal.id);
  return async (tx) => {
    const { resource } = ctx.record;
    ctx.record.addEntry('break_glass:evict', resource, { operation: declaration.name, email: principal.name });
    await recordUse(tx, { tenant_id: tenantId, action: 'evict', resource, at: now });
    if (notices === null) return;
    const messages = others.map(({ email }) => evictionNotice(email, principal.name, declaration.name, resource));
    await queueMail(tx, ...notices(messages));
  };
}

function isOwner({ access }: Context): boolean {
  return access.decide(({ role }) => role === 'owner');
}

function isEnrolled({ database, tenantId, principal }: Context): Promise<boolean> {
  return hasFactor(database.read, tenantId, principal.id);
}
