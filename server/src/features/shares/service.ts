import { isAdminRole } from '../../kernel/authz/roles.ts';
import { SECOND_MS, timestamp } from '../../kernel/base/clock.ts';
import { CofferError, notFound } from '../../kernel/base/errors.ts';
import { idForm, isId, newId } from '../../kernel/base/ids.ts';
import type { Body, Query } from '../../kernel/endpoint/declaration.ts';
import { findTenant, lockAndCheckActive } from '../../kernel/integrity/tenant-rows.ts';
import type { Context } from '../../kernel/request/context.ts';
import { DELETED, type Deleted, LIST_LIMIT_DEFAULT } from '../../kernel/wire/wire.ts';
import { scannedPage } from '../secrets/reading/index.ts';
import type * as contract from './contract.ts';
import type { Share } from './contract.ts';
import * as store from './store.ts';

/** Of one person, so that nobody fills the table. */
export const OPEN_MAX = 100;
const FORM = idForm('share');

type Listed = Omit<store.ShareRow, 'envelope'>;

export async function create(ctx: Context, body: Body<typeof contract.createShare>): Promise<Share> {
  const views = body.views ?? 1;
  const row: store.ShareRow = {
    tenant_id: ctx.tenantId,
    share_id: newId('share', ctx.now),
    created_by: ctx.principal.id,
    envelope: body.envelope,
    views,
    views_left: views,
    created_at: ctx.now,
    expires_at: ctx.now + body.expires_in_seconds * SECOND_MS,
    opened_at: null,
    revoked_at: null,
  };
  ctx.record.describe({ share: row.share_id, views, expires_at: timestamp(row.expires_at) });
  return ctx.change(async (tx) => {
    if ((await store.countOpenShares(tx, ctx.tenantId, ctx.principal.id, ctx.now)) >= OPEN_MAX) {
      const message = `${OPEN_MAX} links of yours are open: revoke some with DELETE /v1/shares/<id>, or wait until they end.`;
      throw new CofferError('QUOTA_EXCEEDED', message);
    }
    await store.insertShare(tx, row);
    return toWire(row, ctx.now);
  });
}

export async function list(ctx: Context, query: Query<typeof contract.listShares>) {
  const { read: db } = ctx.database;
  const page = await scannedPage<Listed>(
    ctx,
    {
      list: { name: 'shares', form: FORM },
      positionOf: ({ share_id }) => share_id,
      rowsAfter: (before, limit) => store.sharesBack(db, ctx.tenantId, { before, limit }),
    },
    {
      cursor: query.cursor,
      limit: query.limit ?? LIST_LIMIT_DEFAULT,
      isShown: (row) => isTheirs(ctx, row),
    },
  );
  return { shares: page.rows.map((row) => toWire(row, ctx.now)), next_cursor: page.next_cursor };
}

/** Admins see what leaves their tenant, and can stop it; none of it can be opened without its link. */
function isTheirs({ principal: { id, role } }: Context, { created_by }: Listed): boolean {
  return created_by === id || isAdminRole(role);
}

export async function revoke(ctx: Context, shareId: string): Promise<Deleted> {
  ctx.record.describe({ share: shareId });
  return ctx.change(async (tx) => {
    const row = await store.lockShare(tx, ctx.tenantId, shareId);
    if (row === undefined || !isTheirs(ctx, row) || row.revoked_at !== null) throw notFound('share');
    await store.updateShare(tx, row, { envelope: null, revoked_at: ctx.now });
    return DELETED;
  });
}

/**
 * The caller has only the link, so nothing but the share says which tenant it belongs to. The row is locked, so that of several requests at once only
 * as many get the envelope as there are views left.
 */
export async function open(ctx: Context, shareId: string) {
  const { read } = ctx.database;
  const tenantId = isId('share', shareId) ? await store.tenantOfShare(read, shareId) : undefined;
  const tenant = tenantId === undefined ? undefined : await findTenant(read, tenantId);
  if (tenant === undefined) throw gone('no such share');
  ctx.caller.identify(tenant.tenant_id, { kind: 'anonymous', id: '', name: '', key: '' });
  ctx.record.setResource(`share/${shareId}`);
  return ctx.change(async (tx) => {
    const row = await store.lockShare(tx, tenant.tenant_id, shareId);
    if (row?.envelope == null || row.expires_at <= ctx.now) throw gone('opened, revoked or expired');
    if (!(await lockAndCheckActive(tx, tenant.tenant_id))) throw gone('the tenant is suspended');
    const { envelope } = row;
    const views_left = row.views_left - 1;
    await store.updateShare(tx, row, { views_left, opened_at: ctx.now, ...(views_left === 0 && { envelope: null }) });
    ctx.record.describe({ share: shareId, created_by: row.created_by, views_left });
    return { envelope, views_left };
  });
}

/** One answer for all, so that a link tells nothing about itself to anyone who tries it. */
function gone(auditReason: string): CofferError {
  const message = 'There is nothing to open: the link was opened, was revoked, has expired or is not complete.';
  return new CofferError('NOT_FOUND', message, { auditReason });
}

function toWire(row: Listed, now: number): Share {
  return {
    id: row.share_id,
    created_by: row.created_by,
    status: statusOf(row, now),
    views: row.views,
    views_left: row.views_left,
    created_at: timestamp(row.created_at),
    expires_at: timestamp(row.expires_at),
    opened_at: row.opened_at === null ? null : timestamp(row.opened_at),
  };
}

function statusOf({ revoked_at, views_left, expires_at }: Listed, now: number): Share['status'] {
  if (revoked_at !== null) return 'revoked';
  if (views_left === 0) return 'opened';
  return expires_at <= now ? 'expired' : 'open';
}
