import { vaultResource } from '../../kernel/authz/pattern.ts';
import { SECOND_MS, timestamp } from '../../kernel/base/clock.ts';
import { CofferError, invalidField, notFound } from '../../kernel/base/errors.ts';
import { idForm, newId } from '../../kernel/base/ids.ts';
import type { Body, Query } from '../../kernel/endpoint/declaration.ts';
import type { Context } from '../../kernel/request/context.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { parseSecretPath } from '../../kernel/wire/secret-path.ts';
import { DELETED, type Deleted, LIST_LIMIT_DEFAULT } from '../../kernel/wire/wire.ts';
import { scannedPage } from '../secrets/reading/index.ts';
import { isLive, vaultAttributes, vaultNotFound } from '../vaults/index.ts';
import { shareVault, type VaultRow, vaultRowsById } from '../vaults/storage/index.ts';
import {
  countTimedAccessOf,
  endTimedAccess,
  findTimedAccess,
  insertTimedAccess,
  lockTimedAccess,
  type TimedAccessRow,
  timedAccessBack,
} from '../vaults/timed-access/index.ts';
import type * as contract from './contract.ts';
import type { Access } from './contract.ts';

/** Each is a statement that every decision about the person looks at. */
const ACTIVE_MAX = 20;
const FORM = idForm('access');

/**
 * The request waits for approval whether or not the vault exists, with the same queries: nobody learns the name of a vault here that they cannot see.
 * So nothing about the vault is checked before the approval.
 */
export async function request(ctx: Context, body: Body<typeof contract.requestAccess>): Promise<Access> {
  ctx.access.requireUnrestricted();
  const { vault: name, role, ttl_seconds, reason } = body;
  const path = body.path === undefined ? null : pathOf(body.path);
  const resource = vaultResource(name);
  ctx.record.setResource(resource);
  ctx.record.describe({ role, ttl_seconds, reason, ...(path !== null && { path }) });
  return ctx.change(async (tx) => {
    const found = await shareVault(tx, ctx.tenantId, name);
    const vault = isLive(found) ? found : undefined;
    const what = `role of ${ctx.principal.name} in ${path === null ? resource : `${resource}/${path}`}`;
    await ctx.needsApproval(tx, {
      basis: { vault: vault?.vault_id ?? null },
      differences: [{ what, before: null, after: `${role} for ${lastingText(ttl_seconds)}` }],
    });
    if (vault === undefined) throw vaultNotFound();
    refuseTooMany(await countTimedAccessOf(tx, ctx.tenantId, ctx.principal.id));
    const row: TimedAccessRow = {
      tenant_id: ctx.tenantId,
      access_id: newId('access', ctx.now),
      vault_id: vault.vault_id,
      user_id: ctx.principal.id,
      role,
      path,
      reason,
      approval_id: String(ctx.record.details?.['approval_id']),
      granted_at: ctx.now,
      expires_at: ctx.now + ttl_seconds * SECOND_MS,
      ended_at: null,
      ended_by: null,
    };
    await insertTimedAccess(tx, row);
    await raiseEpoch(tx, ctx.tenantId);
    ctx.record.describe({ access: row.access_id, expires_at: timestamp(row.expires_at) });
    return toWire(row, name, ctx.now);
  });
}

function pathOf(text: string): string {
  const parsed = parseSecretPath(text);
  if (!parsed.ok) throw invalidField('/body/path', parsed.reason);
  return parsed.path;
}

function refuseTooMany(active: number): void {
  if (active < ACTIVE_MAX) return;
  throw new CofferError('QUOTA_EXCEEDED', `Nobody has access for a time in more than ${ACTIVE_MAX} places at once.`);
}

const UNITS = [
  [24 * 60 * 60, 'day'],
  [60 * 60, 'hour'],
  [60, 'minute'],
  [1, 'second'],
] as const;

/** In the largest unit that has no rest. */
function lastingText(seconds: number): string {
  const [size, unit] = UNITS.find(([each]) => seconds % each === 0) ?? [1, 'second'];
  const count = seconds / size;
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

/** The vaults of some rows are loaded with them, because they decide who may see a row. */
type Listed = TimedAccessRow & { vault: VaultRow | undefined };

export async function list(ctx: Context, query: Query<typeof contract.listAccess>) {
  const { read: db } = ctx.database;
  const page = await scannedPage<Listed>(
    ctx,
    {
      list: { name: 'access for a time', form: FORM },
      positionOf: ({ access_id }) => access_id,
      async rowsAfter(before, limit) {
        const rows = await timedAccessBack(db, ctx.tenantId, { before, limit });
        const vaults = await vaultRowsById(db, ctx.tenantId, [...new Set(rows.map(({ vault_id }) => vault_id))]);
        return rows.map((row) => ({ ...row, vault: vaults.get(row.vault_id) }));
      },
    },
    {
      cursor: query.cursor,
      limit: query.limit ?? LIST_LIMIT_DEFAULT,
      isShown: (row) => isWanted(row, query, ctx.now) && isVisible(ctx, row),
    },
  );
  return {
    access: page.rows.map((row) => toWire(row, row.vault?.name ?? '', ctx.now)),
    next_cursor: page.next_cursor,
  };
}

function isWanted(row: Listed, { vault, status }: Query<typeof contract.listAccess>, now: number): boolean {
  return (vault === undefined || row.vault?.name === vault) && (status === undefined || statusOf(row, now) === status);
}

function isVisible(ctx: Context, { user_id, vault }: Listed): boolean {
  if (!isLive(vault)) return false;
  return (
    user_id === ctx.principal.id || ctx.access.may('members:list', vaultResource(vault.name), vaultAttributes(vault))
  );
}

export async function end(ctx: Context, accessId: string): Promise<Deleted> {
  ctx.access.requireUnrestricted();
  const known = await findTimedAccess(ctx.database.read, ctx.tenantId, accessId);
  const vault = (await vaultRowsById(ctx.database.read, ctx.tenantId, [known?.vault_id ?? ''])).get(
    known?.vault_id ?? '',
  );
  if (known === undefined || !mayEnd(ctx, known, vault)) throw notFound('access');
  const resource = vaultResource(vault?.name ?? '');
  ctx.record.setResource(resource);
  ctx.record.describe({ access: accessId, user: known.user_id });
  return ctx.change(async (tx) => {
    const row = await lockTimedAccess(tx, ctx.tenantId, accessId);
    if (row === undefined || statusOf(row, ctx.now) === 'ended') throw notFound('access');
    await endTimedAccess(tx, row, { ended_at: ctx.now, ended_by: ctx.principal.id });
    await raiseEpoch(tx, ctx.tenantId);
    return DELETED;
  });
}

/** Nobody needs permission to give up their own. */
function mayEnd(ctx: Context, { user_id }: TimedAccessRow, vault: VaultRow | undefined): boolean {
  if (vault === undefined) return false;
  return (
    user_id === ctx.principal.id || ctx.access.may('members:remove', vaultResource(vault.name), vaultAttributes(vault))
  );
}

function statusOf({ ended_at, expires_at }: TimedAccessRow, now: number): Access['status'] {
  return ended_at !== null || expires_at <= now ? 'ended' : 'active';
}

function toWire(row: TimedAccessRow, vault: string, now: number): Access {
  const ended_at = row.ended_at ?? (row.expires_at <= now ? row.expires_at : null);
  return {
    id: row.access_id,
    vault,
    path: row.path,
    user_id: row.user_id,
    role: row.role,
    reason: row.reason,
    approval_id: row.approval_id,
    granted_at: timestamp(row.granted_at),
    expires_at: timestamp(row.expires_at),
    status: statusOf(row, now),
    ended_at: ended_at === null ? null : timestamp(ended_at),
    ended_by: row.ended_by,
  };
}
