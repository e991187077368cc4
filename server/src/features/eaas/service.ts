import { isAdminRole } from '../../kernel/authz/roles.ts';
import { timestamp, timestampOrNull } from '../../kernel/base/clock.ts';
import { CofferError, invalidField, notFound } from '../../kernel/base/errors.ts';
import { newId } from '../../kernel/base/ids.ts';
import { isReservedName } from '../../kernel/base/reserved-names.ts';
import type { Body, Query } from '../../kernel/endpoint/declaration.ts';
import { destroyKeys } from '../../kernel/keys/keyring.ts';
import type { RekeyedTenant } from '../../kernel/keys/rekeying.ts';
import type { Context } from '../../kernel/request/context.ts';
import { demandedReason } from '../../kernel/request/demanded-reason.ts';
import { type Items, plainCursor, visiblePage } from '../../kernel/request/visible-page.ts';
import { type Reader, type Tx, UniqueViolation } from '../../kernel/storage/database.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { decodeCursor } from '../../kernel/wire/cursor.ts';
import { DELETED, type Deleted, LIST_LIMIT_DEFAULT, NAME_PATTERN } from '../../kernel/wire/wire.ts';
import type * as contract from './contract.ts';
import { DELETE_REASON_LENGTH_MIN, type EncryptionKeyDetail, listKeys, readKey } from './contract.ts';
import { purposeOf } from './key-material.ts';
import * as store from './store.ts';

const NAME_FORM = new RegExp(NAME_PATTERN);

export async function create(ctx: Context, body: Body<typeof contract.createKey>): Promise<EncryptionKeyDetail> {
  // A machine has no role; an admin attached the policy that allows it to create keys.
  if (ctx.principal.kind === 'user' && !isAdminRole(ctx.principal.role)) {
    throw new CofferError('INSUFFICIENT_PRIVILEGE', 'Only owners and admins can create encryption keys.', {
      auditReason: 'eaas:create: not an admin',
    });
  }
  if (isReservedName(body.name)) throw invalidField('/body/name', 'is reserved: choose another name');
  const row: store.KeyRow = {
    tenant_id: ctx.tenantId,
    name: body.name,
    key_id: newId('key', ctx.now),
    description: body.description ?? '',
    delete_protection: Number(body.delete_protection ?? true),
    latest_version: 1,
    approval_id: null,
    created_by: ctx.principal.id,
    created_at: ctx.now,
    updated_at: ctx.now,
    rotated_at: null,
  };
  const wrap = await ctx.kernel.keyring.versionMaker(ctx.tenantId, purposeOf(row.key_id));
  ctx.record.setResource(`eaas/${body.name}`);
  return ctx.change(async (tx) => {
    try {
      await store.insertKey(tx, row);
    } catch (error) {
      throw error instanceof UniqueViolation
        ? new CofferError('ALREADY_EXISTS', 'A key with this name already exists: choose another name.')
        : error;
    }
    await ctx.kernel.keyring.insertVersion(tx, wrap(1));
    await raiseEpoch(tx, ctx.tenantId);
    return described(ctx, tx, row);
  });
}

export async function list(ctx: Context, query: Query<typeof contract.listKeys>) {
  const [after = ''] = decodeCursor(await plainCursor(ctx, query.cursor), NAME_FORM) ?? [];
  const limit = query.limit ?? LIST_LIMIT_DEFAULT;
  const page = await visiblePage(ctx, await store.listKeys(ctx.database.read, ctx.tenantId, after, limit), KEYS);
  return { keys: page.rows.map(toWire), next_cursor: page.next_cursor };
}

/** The list shows less of a key than reading it does, and an auditor may have permission for the list alone. */
const KEYS: Items<store.KeyRow> = {
  permissions: [readKey.permission, listKeys.permission],
  resources: ({ name }) => [`eaas/${name}`],
};

export async function read(ctx: Context, name: string): Promise<EncryptionKeyDetail> {
  const row = await store.findKey(ctx.database.read, ctx.tenantId, name);
  if (row === undefined) throw notFound('encryption key');
  return described(ctx, ctx.database.read, row);
}

export async function update(
  ctx: Context,
  name: string,
  body: Body<typeof contract.updateKey>,
): Promise<EncryptionKeyDetail> {
  return ctx.change(async (tx) => {
    const row = await locked(ctx, tx, name);
    const change = {
      description: body.description ?? row.description,
      delete_protection: body.delete_protection === undefined ? row.delete_protection : Number(body.delete_protection),
      updated_at: ctx.now,
    };
    ctx.record.describe({ delete_protection: change.delete_protection === 1 });
    await store.updateKey(tx, ctx.tenantId, name, change);
    return described(ctx, tx, { ...row, ...change });
  });
}

export async function rotate(ctx: Context, name: string, reason: string) {
  const found = await store.findKey(ctx.database.read, ctx.tenantId, name);
  if (found === undefined) throw notFound('encryption key');
  const purpose = purposeOf(found.key_id);
  const wrap = await ctx.kernel.keyring.versionMaker(ctx.tenantId, purpose);
  return ctx.change(async (tx) => {
    const row = await locked(ctx, tx, name);
    if (row.key_id !== found.key_id) throw notFound('encryption key');
    const version = row.latest_version + 1;
    ctx.record.describe({ version, reason });
    await ctx.kernel.keyring.insertVersion(tx, wrap(version));
    await store.updateKey(tx, ctx.tenantId, name, {
      latest_version: version,
      rotated_at: ctx.now,
      updated_at: ctx.now,
    });
    await raiseEpoch(tx, ctx.tenantId);
    return { name, version, rotated_at: timestamp(ctx.now) };
  });
}

/** A rekey rotates every key, because anyone who had the old root key may have the earlier versions. The new versions were already created. */
export async function rotateAll(tx: Tx, keys: RekeyedTenant, now: number): Promise<number> {
  return store.EAAS_KEYS.changeEach(tx, keys.tenantId, ({ key_id }) => {
    const purpose = purposeOf(key_id);
    if (!keys.has(purpose)) return null;
    return { latest_version: keys.newVersion(purpose), rotated_at: now, updated_at: now };
  });
}

/**
 * Everything encrypted with the key is lost. Deleting it therefore requires that its protection is off, a reason and, on the Enterprise plan,
 * approval.
 */
export async function remove(ctx: Context, name: string, text: string): Promise<Deleted> {
  const reason = demandedReason(text, DELETE_REASON_LENGTH_MIN);
  return ctx.change(async (tx) => {
    const row = await locked(ctx, tx, name);
    if (row.delete_protection === 1) {
      throw new CofferError(
        'KEY_DELETE_PROTECTED',
        'The key is protected against deletion: set its delete_protection to false first.',
      );
    }
    ctx.record.describe({ reason, versions: row.latest_version });
    await destroyKeys(tx, ctx.tenantId, purposeOf(row.key_id));
    await store.deleteKey(tx, ctx.tenantId, name);
    await raiseEpoch(tx, ctx.tenantId);
    if (ctx.principal.plan === 'enterprise') {
      const differences = [{ what: `encryption key ${name}`, before: { versions: row.latest_version }, after: null }];
      await ctx.needsApproval(tx, { basis: { key: row.key_id }, differences });
    }
    ctx.database.scrubAfterCommit();
    return DELETED;
  });
}

async function locked(ctx: Context, tx: Tx, name: string): Promise<store.KeyRow> {
  const row = await store.lockKey(tx, ctx.tenantId, name);
  if (row === undefined) throw notFound('encryption key');
  return row;
}

const RESOURCE = /^eaas\/([^/]+)$/;

export async function markPending(
  tx: Tx,
  tenantId: string,
  { approval_id, resource }: { approval_id: string; resource: string },
): Promise<void> {
  const row = await store.lockKey(tx, tenantId, RESOURCE.exec(resource)?.[1] ?? '');
  if (row === undefined) return;
  // With two pending deletions, rejecting one would release a key that still waits for the other.
  if (row.approval_id !== null) {
    throw new CofferError('IN_USE', 'Approval of its deletion is already pending: decide that approval.', {
      details: { approval_id: row.approval_id },
    });
  }
  await store.updateKey(tx, tenantId, row.name, { approval_id });
}

export async function unmarkPending(
  tx: Tx,
  tenantId: string,
  { approval_id, resource }: { approval_id: string; resource: string },
): Promise<void> {
  const row = await store.lockKey(tx, tenantId, RESOURCE.exec(resource)?.[1] ?? '');
  if (row?.approval_id === approval_id) await store.updateKey(tx, tenantId, row.name, { approval_id: null });
}

async function described(ctx: Context, db: Reader, row: store.KeyRow): Promise<EncryptionKeyDetail> {
  const versions = await ctx.kernel.keyring.versionsOf(db, row.tenant_id, purposeOf(row.key_id));
  return {
    ...toWire(row),
    versions: versions.map(({ version, created_at }) => ({ version, created_at: timestamp(created_at) })),
  };
}

function toWire(row: store.KeyRow) {
  return {
    name: row.name,
    description: row.description,
    delete_protection: row.delete_protection === 1,
    status: row.approval_id === null ? ('active' as const) : ('pending_approval' as const),
    approval_id: row.approval_id,
    latest_version: row.latest_version,
    created_at: timestamp(row.created_at),
    rotated_at: timestampOrNull(row.rotated_at),
  };
}
