import { canonicalEnvironment, type EnvironmentName } from '../../kernel/authz/environment.ts';
import type { PathRange } from '../../kernel/authz/path-ranges.ts';
import { vaultResource } from '../../kernel/authz/pattern.ts';
import { vaultRoleIn } from '../../kernel/authz/vault-roles.ts';
import { DAY_MS, timestamp } from '../../kernel/base/clock.ts';
import { CofferError, invalidField } from '../../kernel/base/errors.ts';
import { isId, newId } from '../../kernel/base/ids.ts';
import { isReservedName } from '../../kernel/base/reserved-names.ts';
import type { Difference } from '../../kernel/endpoint/approval.ts';
import type { Body, Query } from '../../kernel/endpoint/declaration.ts';
import { TimeSlice } from '../../kernel/fairness/time-slice.ts';
import { requirePlan } from '../../kernel/request/admission.ts';
import type { Context } from '../../kernel/request/context.ts';
import { requireRoom } from '../../kernel/request/quotas.ts';
import { type Tx, UniqueViolation } from '../../kernel/storage/database.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { decodeCursor, encodeCursor } from '../../kernel/wire/cursor.ts';
import { DELETED, type Deleted, LIST_LIMIT_DEFAULT, NAME_PATTERN } from '../../kernel/wire/wire.ts';
import { authorizedVault, isLive, tagsOf, vaultAttributes, vaultNotFound, whatChanged } from './access.ts';
import type * as contract from './contract.ts';
import type { Vault } from './contract.ts';
import type { VaultParts } from './links.ts';
import { vaultSettings } from './settings.ts';
import * as store from './storage/vault-store.ts';

const NAME_FORM = new RegExp(NAME_PATTERN);
const ROTATION_DAYS_DEFAULT = 90;
const LIST_CHUNK = 1000;
/** A caller who may see more single vaults than this has each vault checked one by one, to bound the size of the query. */
const NAME_RANGES_MAX = 100;

export type SecretIds = Pick<Vault, 'secret_ids' | 'fortress_secret_ids' | 'secret_ids_truncated'>;
const NO_SECRETS: SecretIds = { secret_ids: [], fortress_secret_ids: [], secret_ids_truncated: false };

export type VaultPorts = Pick<VaultParts, 'secretIdsInVault' | 'policiesTouchingVault'>;

/** The default is the environment that least depends on. */
const ENVIRONMENT_DEFAULT: EnvironmentName = 'development';

export async function create(ctx: Context, body: Body<typeof contract.createVault>): Promise<Vault> {
  const environment = canonicalEnvironment(body.environment ?? ENVIRONMENT_DEFAULT);
  const tags = body.tags ?? [];
  ctx.access.authorize(vaultResource(body.name), { environment, tags });
  if (isReservedName(body.name) || isId('vault', body.name)) {
    throw invalidField('/body/name', 'is reserved: choose another name');
  }
  if (body.encryption?.key_source === 'customer_managed') {
    requirePlan(ctx, 'enterprise');
    throw invalidField(
      '/body/encryption/key_source',
      'cannot be customer_managed: that needs a KMS, and none is configured',
    );
  }
  const row: store.VaultRow = {
    tenant_id: ctx.tenantId,
    name: body.name,
    vault_id: newId('vault', ctx.now),
    description: body.description ?? '',
    environment,
    tags: JSON.stringify(tags),
    status: 'active',
    rotation_days: body.encryption?.rotation_days ?? ROTATION_DAYS_DEFAULT,
    log_reads: body.audit?.log_reads === false ? 0 : 1,
    audit_retention_days: body.audit?.retention_days ?? null,
    is_zero_knowledge: body.is_zero_knowledge === true ? 1 : 0,
    secrets_count: 0,
    approval_id: null,
    created_at: ctx.now,
    updated_at: ctx.now,
    deleted_at: null,
    purge_at: null,
    change_control: controlOf(body.change_control ?? 'none'),
  };
  ctx.record.describe({ environment, ...(row.log_reads === 0 && { log_reads: false }) });
  return ctx.change(async (tx) => {
    await requireRoom(ctx, tx, 'vaults', { used: async () => (await store.countLive(tx, ctx.tenantId)).vaults });
    try {
      await store.insertVault(tx, row);
    } catch (error) {
      if (!(error instanceof UniqueViolation)) throw error;
      throw new CofferError(
        'VAULT_ALREADY_EXISTS',
        'A vault with this name already exists, or is deleted but not yet purged: choose another name.',
      );
    }
    await store.insertMember(tx, {
      tenant_id: ctx.tenantId,
      vault_id: row.vault_id,
      principal_kind: 'user',
      principal_id: ctx.principal.id,
      role: 'manager',
      added_at: ctx.now,
      reviewed_at: null,
      reviewed_by: null,
    });
    await raiseEpoch(tx, ctx.tenantId);
    // A vault that logs less, or purges entries sooner, needs a second person also at creation.
    if (row.log_reads === 0 || row.audit_retention_days !== null) await ctx.needsApproval(tx);
    ctx.record.describe({ vault: row.vault_id });
    return toWire(row, NO_SECRETS);
  });
}

/** `total` counts only vaults the caller may see. */
export async function list(ctx: Context, query: Query<typeof contract.listVaults>) {
  ctx.access.authorizeListing('vault');
  const [after = ''] = decodeCursor(query.cursor, NAME_FORM) ?? [];
  const limit = query.limit ?? LIST_LIMIT_DEFAULT;
  const names = query.tags === undefined ? ctx.access.vaultsByName('vaults:list') : null;
  const { shown, total } =
    names !== null && names.length <= NAME_RANGES_MAX
      ? await visibleByName(ctx, query, names, { after, limit: limit + 1 })
      : await visibleOneByOne(ctx, query, after, limit + 1);
  const isMore = shown.length > limit;
  const page = isMore ? shown.slice(0, limit) : shown;
  const last = page.at(-1);
  return {
    vaults: page.map((row) => ({ ...summaryOf(row), your_role: vaultRoleIn(ctx.principal.policies, row.name) })),
    total,
    next_cursor: isMore && last !== undefined ? encodeCursor([last.name]) : null,
  };
}

interface Visible {
  shown: store.VaultRow[];
  total: number;
}

/** If names alone decide visibility, the database selects the page and counts the rest. */
async function visibleByName(
  ctx: Context,
  { status, environment }: Query<typeof contract.listVaults>,
  names: readonly PathRange[],
  { after, limit }: { after: string; limit: number },
): Promise<Visible> {
  if (names.length === 0) return { shown: [], total: 0 };
  const wanted = { names, status, environment: environment && canonicalEnvironment(environment) };
  const { read: db } = ctx.database;
  const [shown, total] = await Promise.all([
    store.vaultsWanted(db, ctx.tenantId, wanted, { after, limit }),
    store.countVaultsWanted(db, ctx.tenantId, wanted),
  ]);
  return { shown, total };
}

/** If tags or environments decide too, each vault is checked: there are few enough of them. */
async function visibleOneByOne(
  ctx: Context,
  query: Query<typeof contract.listVaults>,
  after: string,
  limit: number,
): Promise<Visible> {
  const visible: Visible = { shown: [], total: 0 };
  const slice = TimeSlice.of(ctx.tenantId);
  for await (const row of everyVault(ctx)) {
    const pause = slice.pause();
    if (pause !== undefined) await pause;
    if (!isWanted(row, query) || !ctx.access.may('vaults:list', vaultResource(row.name), vaultAttributes(row)))
      continue;
    visible.total++;
    if (row.name > after && visible.shown.length < limit) visible.shown.push(row);
  }
  return visible;
}

async function* everyVault(ctx: Context): AsyncGenerator<store.VaultRow> {
  for (let after = ''; ; ) {
    const rows = await store.vaultsAfter(ctx.database.read, ctx.tenantId, after, LIST_CHUNK);
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < LIST_CHUNK) return;
    after = last.name;
  }
}

function isWanted(row: store.VaultRow, { environment, status, tags }: Query<typeof contract.listVaults>): boolean {
  if (status === undefined ? row.status === 'deleted' : row.status !== status) return false;
  if (environment !== undefined && row.environment !== canonicalEnvironment(environment)) return false;
  if (tags === undefined) return true;
  const own = tagsOf(row);
  return tags.every((tag) => own.includes(tag));
}

export async function read(ctx: Context, name: string, ports: VaultPorts) {
  const { read: db } = ctx.database;
  const row = await authorizedVault(ctx, db, name);
  const policies = await ports.policiesTouchingVault(db, ctx.tenantId, name);
  return {
    ...toWire(row, await ports.secretIdsInVault(ctx, row)),
    your_role: vaultRoleIn(ctx.principal.policies, row.name),
    policies: policies.map((policy) => ({ name: policy })),
  };
}

type SecretPorts = Pick<VaultParts, 'secretIdsInVault'>;

/** What the answer to a change lists of the vault. It is read before the transaction, which should hold the row of the vault briefly. */
async function secretsBefore(ctx: Context, name: string, ports: SecretPorts): Promise<SecretIds> {
  return ports.secretIdsInVault(ctx, await authorizedVault(ctx, ctx.database.read, name));
}

export async function update(
  ctx: Context,
  name: string,
  body: Body<typeof contract.updateVault>,
  ports: SecretPorts,
): Promise<Vault> {
  const secrets = await secretsBefore(ctx, name, ports);
  return ctx.change(async (tx) => {
    const row = await lockedVault(ctx, tx, name);
    ctx.record.describe(whatChanged(row, { changed: Object.keys(body) }));
    if (body.name !== undefined)
      throw invalidField('/body/name', 'cannot be changed, because paths and policies refer to it');
    if (body.is_zero_knowledge !== undefined && body.is_zero_knowledge !== (row.is_zero_knowledge === 1)) {
      throw new CofferError('ZK_FLAG_IMMUTABLE', 'is_zero_knowledge can only be set when the vault is created.');
    }
    const { log_reads, retention_days } = body.audit ?? {};
    const changed: store.VaultRow = {
      ...row,
      description: body.description ?? row.description,
      tags: body.tags === undefined ? row.tags : JSON.stringify(body.tags),
      rotation_days: body.encryption?.rotation_days ?? row.rotation_days,
      log_reads: log_reads === undefined ? row.log_reads : Number(log_reads),
      audit_retention_days: retention_days === undefined ? row.audit_retention_days : retention_days,
      change_control: body.change_control === undefined ? row.change_control : controlOf(body.change_control),
      updated_at: ctx.now,
    };
    if (changed.log_reads !== row.log_reads) {
      // This is a setting, not content, so it is recorded for zero-knowledge vaults too.
      ctx.record.describe({ log_reads: { before: row.log_reads === 1, after: changed.log_reads === 1 } });
    }
    if (changed.audit_retention_days !== row.audit_retention_days) {
      ctx.record.describe({
        retention_days: { before: row.audit_retention_days, after: changed.audit_retention_days },
      });
    }
    if (changed.change_control !== row.change_control) {
      ctx.record.describe({ change_control: { before: shownControl(row), after: shownControl(changed) } });
    }
    const { tenant_id, name: _, vault_id, secrets_count, ...columns } = changed;
    await store.updateVault(tx, ctx.tenantId, name, columns);
    // Anyone who reads secrets must not decide alone that the log omits those reads or purges entries sooner, nor anyone who writes them that nobody
    // else reviews it.
    const isUnreviewed = row.change_control !== null && changed.change_control === null;
    const isLess = isUnreviewed || changed.log_reads < row.log_reads || retentionDays(changed) < retentionDays(row);
    if (isLess) await ctx.needsApproval(tx, { basis: { vault: row.vault_id }, differences: between(row, changed) });
    return toWire(changed, secrets);
  });
}

/** The settings that differ, by their names in the API. */
function between(before: store.VaultRow, after: store.VaultRow): Difference[] {
  const [was, is] = [settingsOf(before), settingsOf(after)];
  return Object.keys(was)
    .filter((what) => JSON.stringify(was[what]) !== JSON.stringify(is[what]))
    .map((what) => ({ what, before: was[what], after: is[what] }));
}

function settingsOf(row: store.VaultRow): Record<string, unknown> {
  return {
    'audit.log_reads': row.log_reads === 1,
    'audit.retention_days': row.audit_retention_days,
    description: row.description,
    tags: tagsOf(row),
    'encryption.rotation_days': row.rotation_days,
    change_control: shownControl(row),
  };
}

function controlOf(setting: Vault['change_control']): store.VaultRow['change_control'] {
  return setting === 'review' ? 'review' : null;
}

function shownControl({ change_control }: store.VaultRow): Vault['change_control'] {
  return change_control ?? 'none';
}

function retentionDays({ audit_retention_days }: store.VaultRow): number {
  return audit_retention_days ?? Number.POSITIVE_INFINITY;
}

/** A soft delete: everything stays and can be restored until the purge. */
export async function remove(ctx: Context, name: string, ports: SecretPorts): Promise<Vault & Deleted> {
  const secrets = await secretsBefore(ctx, name, ports);
  return ctx.change(async (tx) => {
    const row = await lockedVault(ctx, tx, name);
    const purge_at = ctx.now + ctx.kernel.config.of(vaultSettings).retentionDays * DAY_MS;
    const change = {
      status: 'deleted' as const,
      deleted_at: ctx.now,
      purge_at,
      approval_id: null,
      updated_at: ctx.now,
    };
    await store.updateVault(tx, ctx.tenantId, name, change);
    ctx.record.describe({ vault: row.vault_id, purge_at: timestamp(purge_at) });
    if (row.environment === 'production') {
      const before = { id: row.vault_id, environment: row.environment, description: row.description };
      const differences = [{ what: `vault ${name}`, before, after: null }];
      await ctx.needsApproval(tx, { basis: { vault: row.vault_id }, differences });
    }
    await raiseEpoch(tx, ctx.tenantId);
    return { ...toWire({ ...row, ...change }, secrets), ...DELETED };
  });
}

export async function restore(ctx: Context, name: string, ports: SecretPorts): Promise<Vault> {
  ctx.access.refuseIfNeverAllowed(vaultResource(name));
  const deleted = await store.findVault(ctx.database.read, ctx.tenantId, name);
  ctx.access.authorize(vaultResource(name), vaultAttributes(deleted));
  if (deleted === undefined) throw vaultNotFound();
  const secrets = await ports.secretIdsInVault(ctx, deleted);
  return ctx.change(async (tx) => {
    const row = await store.lockVault(tx, ctx.tenantId, name);
    ctx.access.authorize(vaultResource(name), vaultAttributes(row));
    // Once the purge is due it may be in progress, and half a vault must not be restored.
    if (row === undefined || (row.purge_at !== null && row.purge_at <= ctx.now)) throw vaultNotFound();
    if (row.status !== 'deleted') throw new CofferError('IN_USE', 'The vault is not deleted.');
    await requireRoom(ctx, tx, 'vaults', { used: async () => (await store.countLive(tx, ctx.tenantId)).vaults });
    const change = { status: 'active' as const, deleted_at: null, purge_at: null, updated_at: ctx.now };
    await store.updateVault(tx, ctx.tenantId, name, change);
    await requireRoomForSecrets(ctx, tx, row.secrets_count);
    // The vaults a machine can access may have been cached while this one was deleted.
    await raiseEpoch(tx, ctx.tenantId);
    return toWire({ ...row, ...change }, secrets);
  });
}

/** Called after this many secrets were counted into their vaults. */
export async function requireRoomForSecrets(ctx: Context, tx: Tx, added: number): Promise<void> {
  if (added === 0) return;
  const used = async () => (await store.countLive(tx, ctx.tenantId)).secrets - added;
  await requireRoom(ctx, tx, 'secrets', { used, added });
}

export async function lockedVault(ctx: Context, tx: Tx, name: string): Promise<store.VaultRow> {
  ctx.access.refuseIfNeverAllowed(vaultResource(name));
  const row = await store.lockVault(tx, ctx.tenantId, name);
  const known = isLive(row) ? row : undefined;
  ctx.access.authorize(vaultResource(name), vaultAttributes(known));
  if (known === undefined) throw vaultNotFound();
  return known;
}

function summaryOf(row: store.VaultRow) {
  return {
    id: row.vault_id,
    name: row.name,
    description: row.description,
    environment: canonicalEnvironment(row.environment),
    tags: tagsOf(row),
    status: row.status,
    secrets_count: row.secrets_count,
    is_zero_knowledge: row.is_zero_knowledge === 1,
    created_at: timestamp(row.created_at),
    updated_at: timestamp(row.updated_at),
    deleted_at: row.deleted_at === null ? null : timestamp(row.deleted_at),
    purge_at: row.purge_at === null ? null : timestamp(row.purge_at),
  };
}

function toWire(row: store.VaultRow, secrets: SecretIds): Vault {
  return {
    ...summaryOf(row),
    encryption: { algorithm: 'AES-256-GCM', key_source: 'service_managed', rotation_days: row.rotation_days },
    audit: { log_reads: row.log_reads === 1, retention_days: row.audit_retention_days },
    change_control: shownControl(row),
    approval_id: row.approval_id,
    ...secrets,
  };
}
