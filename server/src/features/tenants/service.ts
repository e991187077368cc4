import { HEAD_PURPOSE } from '../../kernel/audit/heads.ts';
import { DAY_MS, timestamp } from '../../kernel/clock.ts';
import type { Context } from '../../kernel/context.ts';
import type { MacKey } from '../../kernel/crypto/keyring.ts';
import type { Body, Query } from '../../kernel/endpoint.ts';
import { CofferError, invalidField, notFound } from '../../kernel/errors.ts';
import { idForm, newId } from '../../kernel/ids.ts';
import { ROW_PURPOSE } from '../../kernel/integrity/row-keys.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Plan, RateOverrides } from '../../kernel/limits/rate-classes.ts';
import { isReservedName } from '../../kernel/reserved-names.ts';
import { decodeCursor } from '../../kernel/storage/cursor.ts';
import { type Tx, UniqueViolation } from '../../kernel/storage/database.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { findTenant, type TenantRow } from '../../kernel/storage/tenant-rows.ts';
import { type Items, plainCursor, readable } from '../../kernel/visible-page.ts';
import { LIST_LIMIT_DEFAULT } from '../../kernel/wire.ts';
import { insertToken, issueToken } from '../tokens/index.ts';
import { insertNew, newUser, type UserRow } from '../users/index.ts';
import type * as contract from './contract.ts';
import { listTenants, readTenant, type Tenant, type TenantSettings } from './contract.ts';
import * as store from './store.ts';

const OWNER_TOKEN_TTL_MS = 365 * DAY_MS;

export interface NewTenant {
  row: TenantRow;
  owner: UserRow;
  ownerToken: string;
  /** Inserts the tenant, its keys, the start of its audit log, its owner and the owner's token. */
  insert(tx: Tx): Promise<{ headKey: MacKey }>;
}

/** Prepares everything a new tenant needs, outside a transaction. */
export async function prepareTenant(
  kernel: Kernel,
  facts: { name: string; plan: Plan; rates: RateOverrides; isOperator: boolean; ownerEmail: string },
): Promise<NewTenant> {
  const now = kernel.clock.now();
  const tenantId = newId('tenant', now);
  const owner = newUser(tenantId, { email: facts.ownerEmail, name: '', role: 'owner', password_hash: '' }, now);
  const issued = await issueToken(kernel, {
    tenantId,
    userId: owner.user_id,
    kind: 'pat',
    name: 'first token of the owner',
    expiresAt: now + OWNER_TOKEN_TTL_MS,
  });
  const row: TenantRow = {
    tenant_id: tenantId,
    name: facts.name,
    status: 'active',
    is_operator: facts.isOperator ? 1 : 0,
    plan: facts.plan,
    rate_overrides: JSON.stringify(facts.rates),
    epoch: 1,
    created_at: now,
    require_mfa: null,
  };
  const insert = async (tx: Tx) => {
    const [headKey, rowKey] = await kernel.keyring.createTenantKey(tx, tenantId, HEAD_PURPOSE, ROW_PURPOSE);
    if (headKey === undefined || rowKey === undefined) throw new Error('no key was made');
    tx.changes.useKey(tenantId, rowKey);
    await store.insertTenant(tx, row);
    await kernel.audit.beginChain(tx, tenantId, headKey);
    await insertNew(tx, owner);
    await insertToken(tx, issued.row, owner);
    return { headKey };
  };
  return { row, owner, ownerToken: issued.token, insert };
}

export async function create(ctx: Context, body: Body<typeof contract.createTenant>) {
  if (isReservedName(body.name)) throw invalidField('/body/name', 'is reserved: choose another name');
  const made = await prepareTenant(ctx.kernel, {
    name: body.name,
    plan: body.plan ?? 'starter',
    rates: body.rate_limits ?? {},
    isOperator: false,
    ownerEmail: body.owner_email,
  });
  ctx.describe({ tenant: made.row.tenant_id, name: body.name });
  return ctx.change(async (tx) => {
    try {
      const { headKey } = await made.insert(tx);
      // The tenant's own log starts with its initial rows. Which operator created it is withheld from the tenant.
      const entry = { ...ctx.entryFor(made.row.tenant_id), actor_id: '', request_id: '' };
      await ctx.kernel.audit.recordIn(tx, [entry], headKey);
    } catch (error) {
      if (!(error instanceof UniqueViolation)) throw error;
      throw new CofferError('ALREADY_EXISTS', 'A tenant with this name exists.');
    }
    return {
      ...toWire(made.row),
      owner: { id: made.owner.user_id, email: made.owner.email, token: made.ownerToken },
    };
  });
}

export async function list(ctx: Context, query: Query<typeof contract.listTenants>) {
  const [after = ''] = decodeCursor(await plainCursor(ctx, query.cursor), idForm('tenant')) ?? [];
  const limit = query.limit ?? LIST_LIMIT_DEFAULT;
  const page = await readable(ctx, await store.listTenants(ctx.database.read, after, limit), TENANTS);
  return { tenants: page.rows.map(toWire), next_cursor: page.next_cursor };
}

/** An auditor of the operator's tenant may have permission for the list alone. */
const TENANTS: Items<TenantRow> = {
  permissions: [readTenant.permission, listTenants.permission],
  resources: ({ tenant_id }) => [`tenant/${tenant_id}`],
};

export async function read(ctx: Context, tenantId: string): Promise<Tenant> {
  const row = await findTenant(ctx.database.read, tenantId);
  if (row === undefined) throw notFound('tenant');
  return toWire(row);
}

export async function update(
  ctx: Context,
  tenantId: string,
  body: Body<typeof contract.updateTenant>,
): Promise<Tenant> {
  ctx.describe({ changed: Object.keys(body) });
  if ((await findTenant(ctx.database.read, tenantId)) === undefined) throw notFound('tenant');
  const headKey = await ctx.kernel.audit.headKey(tenantId);
  return ctx.change(async (tx) => {
    const row = await store.lockTenant(tx, tenantId);
    if (row === undefined) throw notFound('tenant');
    if (row.is_operator === 1 && body.status === 'suspended') {
      throw new CofferError('IN_USE', 'The tenant that runs the installation cannot suspend itself.');
    }
    const { rate_limits, ...plain } = body;
    const changed = { ...row, ...plain, ...(rate_limits && { rate_overrides: JSON.stringify(rate_limits) }) };
    const { tenant_id: _, epoch: __, ...columns } = changed;
    await store.updateTenant(tx, tenantId, columns);
    await raiseEpoch(tx, tenantId);
    // A tenant whose limits or access changed finds the change in its own log too.
    if (tenantId !== ctx.tenantId) await ctx.kernel.audit.recordIn(tx, [ctx.entryFor(tenantId)], headKey);
    return toWire(changed);
  });
}

export async function readSettings(ctx: Context): Promise<TenantSettings> {
  const row = await findTenant(ctx.database.read, ctx.tenantId);
  if (row === undefined) throw new Error('the tenant of the caller is gone');
  return settingsOf(row);
}

export async function updateSettings(
  ctx: Context,
  { require_mfa }: Body<typeof contract.updateSettings>,
): Promise<TenantSettings> {
  ctx.requireUnrestricted();
  // Anyone who enabled it without a second factor of their own would lock themselves out.
  if (require_mfa === true && !ctx.isMfaFresh) {
    throw new CofferError(
      'MFA_REQUIRED',
      'Enrol a second factor yourself first, log in with a code, and use that session.',
    );
  }
  return ctx.change(async (tx) => {
    const row = await store.lockTenant(tx, ctx.tenantId);
    if (row === undefined) throw new Error('the tenant of the caller is gone');
    const before = row.require_mfa === 1;
    const after = require_mfa ?? before;
    ctx.describe({ require_mfa: { before, after } });
    await store.updateTenant(tx, ctx.tenantId, { require_mfa: after ? 1 : null });
    await raiseEpoch(tx, ctx.tenantId);
    if (before && !after) await ctx.needsApproval(tx, { differences: [{ what: 'require_mfa', before, after }] });
    return settingsOf({ ...row, require_mfa: after ? 1 : null });
  });
}

function settingsOf({ tenant_id, require_mfa }: TenantRow): TenantSettings {
  return { tenant_id, require_mfa: require_mfa === 1 };
}

function toWire(row: TenantRow): Tenant {
  return {
    id: row.tenant_id,
    name: row.name,
    status: row.status,
    plan: row.plan,
    rate_limits: JSON.parse(row.rate_overrides) as RateOverrides,
    created_at: timestamp(row.created_at),
  };
}
