import { HEAD_PURPOSE } from '../../kernel/audit/chain/heads.ts';
import { DAY_MS, timestamp } from '../../kernel/base/clock.ts';
import { CofferError, invalidField, notFound } from '../../kernel/base/errors.ts';
import { idForm, newId } from '../../kernel/base/ids.ts';
import { isReservedName } from '../../kernel/base/reserved-names.ts';
import type { Body, Query } from '../../kernel/endpoint/declaration.ts';
import { findTenant, type TenantRow } from '../../kernel/integrity/tenant-rows.ts';
import type { MacKey } from '../../kernel/keys/keyring.ts';
import type { Plan, RateOverrides } from '../../kernel/limits/rate-classes.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { KernelWithoutOperator } from '../../kernel/request/kernel.ts';
import { type Items, plainCursor, visiblePage } from '../../kernel/request/visible-page.ts';
import { type Tx, UniqueViolation } from '../../kernel/storage/database.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { ROW_PURPOSE } from '../../kernel/storage/row-keys.ts';
import { decodeCursor } from '../../kernel/wire/cursor.ts';
import { LIST_LIMIT_DEFAULT } from '../../kernel/wire/wire.ts';
import type { AnomalyThresholds } from '../anomalies/index.ts';
import { canMail, occasionsOf } from '../mail/index.ts';
import { issueToken } from '../tokens/index.ts';
import { insertToken } from '../tokens/storage/index.ts';
import { insertNew, newUser } from '../users/index.ts';
import type { UserRow } from '../users/storage/index.ts';
import type * as contract from './contract.ts';
import { listTenants, readTenant, type Tenant, type TenantSettings } from './contract.ts';
import type { TenantParts } from './links.ts';
import * as store from './store.ts';

/** What other features add to a new tenant. */
export type CreationPorts = Pick<TenantParts, 'assignNewTenant' | 'claimSubscriptions'>;

const OWNER_TOKEN_TTL_MS = 365 * DAY_MS;

export interface NewTenant {
  row: TenantRow;
  owner: UserRow;
  /** Empty if the owner has a password instead. */
  ownerToken: string;
  /** Inserts the tenant, its keys, the start of its audit log, its owner and the owner's token. */
  insert(tx: Tx): Promise<{ headKey: MacKey }>;
}

interface NewTenantFacts {
  name: string;
  plan: Plan;
  rates: RateOverrides;
  isOperator: boolean;
  ownerEmail: string;
  /** If its id was told before. */
  tenantId?: string;
  /** If the owner has chosen a password, they get no token. */
  password_hash?: string;
}

/** Prepares everything a new tenant needs, outside a transaction. */
export async function prepareTenant(kernel: KernelWithoutOperator, facts: NewTenantFacts): Promise<NewTenant> {
  const now = kernel.clock.now();
  const { tenantId = newId('tenant', now), password_hash = '' } = facts;
  const owner = newUser(tenantId, { email: facts.ownerEmail, name: '', role: 'owner', password_hash }, now);
  const first = {
    tenantId,
    userId: owner.user_id,
    kind: 'pat',
    name: 'first token of the owner',
    expiresAt: now + OWNER_TOKEN_TTL_MS,
    isHandedOut: true,
  } as const;
  const issued = password_hash === '' ? await issueToken(kernel, first) : null;
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
    anomaly_thresholds: null,
    mail_notices: null,
    base_plan: null,
  };
  const insert = async (tx: Tx) => {
    const [headKey, rowKey] = await kernel.keyring.createTenantKey(tx, tenantId, HEAD_PURPOSE, ROW_PURPOSE);
    if (headKey === undefined || rowKey === undefined) throw new Error('no key was created');
    tx.changes.useKey(tenantId, rowKey);
    await store.insertTenant(tx, row);
    await kernel.audit.beginChain(tx, tenantId, headKey);
    await insertNew(tx, owner);
    if (issued !== null) await insertToken(tx, issued.row, owner);
    return { headKey };
  };
  return { row, owner, ownerToken: issued?.token ?? '', insert };
}

export async function create(ctx: Context, ports: CreationPorts, body: Body<typeof contract.createTenant>) {
  if (isReservedName(body.name)) throw invalidField('/body/name', 'is reserved: choose another name');
  const made = await prepareTenant(ctx.kernel, {
    name: body.name,
    plan: body.plan ?? 'enterprise',
    rates: body.rate_limits ?? {},
    isOperator: false,
    ownerEmail: body.owner_email,
  });
  ctx.record.describe({ tenant: made.row.tenant_id, name: body.name });
  return ctx.change(async (tx) => {
    await insertPrepared(ctx, tx, ports, made);
    return {
      ...toWire(made.row),
      owner: { id: made.owner.user_id, email: made.owner.email, token: made.ownerToken },
    };
  });
}

/** Inserts a prepared tenant in the transaction of the request that creates it. */
export async function insertPrepared(ctx: Context, tx: Tx, ports: CreationPorts, made: NewTenant): Promise<void> {
  try {
    const { headKey } = await made.insert(tx);
    await ports.assignNewTenant(tx, made.row, ctx.now);
    await ports.claimSubscriptions(ctx, tx, made.row.tenant_id);
    // The tenant's own log starts with its initial rows. Which operator created it is withheld from the tenant.
    const entry = { ...ctx.record.entryFor(made.row.tenant_id), actor_id: '', request_id: '' };
    await ctx.kernel.audit.recordIn(tx, [entry], headKey);
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error;
    throw new CofferError('ALREADY_EXISTS', 'A tenant with this name already exists: choose another name.');
  }
}

export async function list(ctx: Context, query: Query<typeof contract.listTenants>) {
  const [after = ''] = decodeCursor(await plainCursor(ctx, query.cursor), idForm('tenant')) ?? [];
  const limit = query.limit ?? LIST_LIMIT_DEFAULT;
  const page = await visiblePage(ctx, await store.listTenants(ctx.database.read, after, limit), TENANTS);
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
  ctx.record.describe({ changed: Object.keys(body) });
  if ((await findTenant(ctx.database.read, tenantId)) === undefined) throw notFound('tenant');
  const headKey = await ctx.kernel.audit.headKey(tenantId);
  return ctx.change(async (tx) => {
    const row = await store.lockTenant(tx, tenantId);
    if (row === undefined) throw notFound('tenant');
    if (row.is_operator === 1 && body.status === 'suspended') {
      throw new CofferError('IN_USE', 'The operator tenant, which runs the installation, cannot be suspended.');
    }
    const { rate_limits, ...plain } = body;
    // What the operator sets is the plan of the tenant without a subscription, too.
    const base = body.plan === undefined ? {} : { base_plan: null };
    const changed = { ...row, ...plain, ...base, ...(rate_limits && { rate_overrides: JSON.stringify(rate_limits) }) };
    const { tenant_id: _, epoch: __, ...columns } = changed;
    await store.updateTenant(tx, tenantId, columns);
    await raiseEpoch(tx, tenantId);
    // A tenant whose limits or access changed finds the change in its own log too.
    if (tenantId !== ctx.tenantId) await ctx.kernel.audit.recordIn(tx, [ctx.record.entryFor(tenantId)], headKey);
    return toWire(changed);
  });
}

export async function readSettings(ctx: Context): Promise<TenantSettings> {
  const row = await findTenant(ctx.database.read, ctx.tenantId);
  if (row === undefined) throw new Error('the tenant of the caller does not exist');
  return settingsOf(row);
}

export async function updateSettings(
  ctx: Context,
  { require_mfa, anomaly_thresholds, mail_notices }: Body<typeof contract.updateSettings>,
): Promise<TenantSettings> {
  ctx.access.requireUnrestricted();
  if (mail_notices !== undefined && mail_notices.length > 0 && !canMail(ctx.kernel.config)) {
    throw invalidField(
      '/body/mail_notices',
      'must be empty: this installation sends no mail, because its operator set no CV_SMTP_URL',
    );
  }
  // Anyone who enabled it without a second factor of their own would lock themselves out.
  if (require_mfa === true && !ctx.access.isMfaFresh) {
    throw new CofferError(
      'MFA_REQUIRED',
      'Enrol a second factor of your own first, then log in with a code and use that session.',
    );
  }
  return ctx.change(async (tx) => {
    const row = await store.lockTenant(tx, ctx.tenantId);
    if (row === undefined) throw new Error('the tenant of the caller does not exist');
    const before = row.require_mfa === 1;
    const after = require_mfa ?? before;
    ctx.record.describe({
      require_mfa: { before, after },
      ...(anomaly_thresholds && { anomaly_thresholds }),
      ...(mail_notices && { mail_notices }),
    });
    const change = {
      require_mfa: after ? 1 : null,
      anomaly_thresholds:
        anomaly_thresholds === undefined ? row.anomaly_thresholds : thresholdsText(anomaly_thresholds),
      mail_notices: mail_notices === undefined ? row.mail_notices : noticesText(mail_notices),
    };
    await store.updateTenant(tx, ctx.tenantId, change);
    await raiseEpoch(tx, ctx.tenantId);
    if (before && !after) await ctx.needsApproval(tx, { differences: [{ what: 'require_mfa', before, after }] });
    return settingsOf({ ...row, ...change });
  });
}

function settingsOf({ tenant_id, require_mfa, anomaly_thresholds, mail_notices }: TenantRow): TenantSettings {
  return {
    tenant_id,
    require_mfa: require_mfa === 1,
    anomaly_thresholds: JSON.parse(anomaly_thresholds ?? '{}'),
    mail_notices: occasionsOf(mail_notices),
  };
}

/** Null if there is none, as for thresholds. */
function noticesText(notices: TenantSettings['mail_notices']): string | null {
  return notices.length === 0 ? null : JSON.stringify(notices);
}

/** Null if there is none, which adds nothing to the MAC of the row. */
function thresholdsText(thresholds: AnomalyThresholds): string | null {
  return Object.keys(thresholds).length === 0 ? null : JSON.stringify(thresholds);
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
