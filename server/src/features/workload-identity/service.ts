import { timestamp } from '../../kernel/base/clock.ts';
import { drawNumber } from '../../kernel/base/drawn-number.ts';
import { CofferError, invalid, invalidField, notFound } from '../../kernel/base/errors.ts';
import type { Body, Query } from '../../kernel/endpoint/declaration.ts';
import { refuseForbidden } from '../../kernel/outbound/configured-url.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import { lockQuota, refuseBeyondQuota } from '../../kernel/request/quotas.ts';
import { problemsIn } from '../../kernel/request/validation.ts';
import { type Items, plainCursor, visiblePage } from '../../kernel/request/visible-page.ts';
import { type Tx, UniqueViolation } from '../../kernel/storage/database.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { decodeCursor } from '../../kernel/wire/cursor.ts';
import { DELETED, type Deleted, LIST_LIMIT_DEFAULT } from '../../kernel/wire/wire.ts';
import { findConnection, refuseDeniedConnection, refuseUnshareable } from '../app-connections/index.ts';
import { revokeTokensFrom } from '../app-connections/login/index.ts';
import {
  type ConnectionRow,
  connectionNumbers,
  findConnectionByKey,
  numberOf,
} from '../app-connections/storage/index.ts';
import type * as contract from './contract.ts';
import { type Method, type MethodType, readMethod } from './contract.ts';
import { kindOf } from './method-kinds.ts';
import { seal, unseal } from './secret-config.ts';
import * as store from './store.ts';

const NUMBER_FORM = /^[1-9]\d{0,14}$/;
const LIST_CURSOR = new RegExp(`^${store.CURSOR_KIND}$`);

/** The `source` of tokens issued through this method. */
export function sourceOf(methodNo: number): string {
  return `method ${methodNo}`;
}

/** Why tokens for the audience in this config are not accepted, or null. Types without one expect the audience of the service. */
export function audienceRefusal(
  { addresses }: Pick<Kernel, 'addresses'>,
  { expected_audience }: Record<string, unknown>,
): string | null {
  return typeof expected_audience === 'string' ? addresses.refusalOfAudience(expected_audience) : null;
}

export async function create(ctx: Context, body: Body<typeof contract.createMethod>): Promise<Method> {
  ctx.access.requireUnrestricted();
  const { open, secret } = checkedConfig(body.type, body.config);
  refuseOtherAudience(ctx, open);
  await refuseUncallable(ctx, body.type, open);
  const connection = await changeableConnection(ctx, body.app_connection_id);
  const methodNo = await drawNumber(
    async (number) => (await store.findMethodAnywhere(ctx.database.read, number)) !== undefined,
  );
  const row: store.MethodRow = {
    tenant_id: ctx.tenantId,
    method_no: methodNo,
    connection_no: connection.connection_no,
    name: body.name,
    type: body.type,
    config: JSON.stringify(open),
    sealed_secrets: await seal(ctx.kernel, ctx.tenantId, methodNo, secret),
    revision: 1,
    created_by: ctx.principal.id,
    created_at: ctx.now,
    updated_at: ctx.now,
  };
  ctx.record.setResource(`workload-method/${methodNo}`);
  ctx.record.describe({ name: row.name, type: row.type, app_connection: numberOf(connection) });
  return ctx.change(async (tx) => {
    await lockQuota(tx, ctx.tenantId, 'workload_methods');
    refuseBeyondQuota(ctx, 'workload_methods', await store.countMethods(tx, ctx.tenantId));
    await refuseGone(tx, ctx.tenantId, row.connection_no);
    await unlessTaken(store.insertMethod(tx, row));
    return toWire(ctx, row, numberOf(connection));
  });
}

export async function list(ctx: Context, query: Query<typeof contract.listMethods>) {
  const [, after = '0'] = decodeCursor(await plainCursor(ctx, query.cursor), LIST_CURSOR, NUMBER_FORM) ?? [];
  const limit = query.limit ?? LIST_LIMIT_DEFAULT;
  const found = await store.listMethods(ctx.database.read, ctx.tenantId, Number(after), limit);
  const page = await visiblePage(ctx, found, METHODS);
  const numbers = await connectionNumbers(
    ctx.database.read,
    ctx.tenantId,
    page.rows.map((row) => row.connection_no),
  );
  const methods = page.rows.map((row) => toWire(ctx, row, numbers.get(row.connection_no) ?? row.connection_no));
  return { methods, next_cursor: page.next_cursor };
}

const METHODS: Items<store.MethodRow> = {
  permissions: [readMethod.permission],
  resources: ({ method_no }) => [`workload-method/${method_no}`],
};

export async function read(ctx: Context, id: string): Promise<Method> {
  const row = await existing(ctx, id);
  return toWire(ctx, row, numberOf(await connectionOf(ctx, row)));
}

export async function update(ctx: Context, id: string, body: Body<typeof contract.updateMethod>): Promise<Method> {
  ctx.access.requireUnrestricted();
  const row = await existing(ctx, id);
  if (body.type !== undefined && body.type !== row.type) {
    throw invalidField('/body/type', 'cannot be changed: delete the method and create another');
  }
  const before = await changeableConnection(ctx, numberOf(await connectionOf(ctx, row)));
  const { app_connection_id: wanted = numberOf(before) } = body;
  const connection = wanted === numberOf(before) ? before : await changeableConnection(ctx, wanted);
  const config = body.config === undefined ? null : await nextConfig(ctx, row, body.config);
  if (config !== null) {
    refuseOtherAudience(ctx, config.open);
    await refuseUncallable(ctx, row.type, config.open);
  }
  const changed: store.MethodRow = {
    ...row,
    name: body.name ?? row.name,
    connection_no: connection.connection_no,
    config: config === null ? row.config : JSON.stringify(config.open),
    sealed_secrets:
      config === null ? row.sealed_secrets : await seal(ctx.kernel, ctx.tenantId, row.method_no, config.secret),
    revision: row.revision + 1,
    updated_at: ctx.now,
  };
  ctx.record.describe({ name: changed.name, app_connection: numberOf(connection), changed: Object.keys(body) });
  return ctx.change(async (tx) => {
    const current = await store.lockMethod(tx, ctx.tenantId, row.method_no);
    if (current === undefined) throw notFound('method');
    if (current.revision !== row.revision)
      throw new CofferError('IN_USE', 'The method was changed concurrently: read it again and retry.');
    await refuseGone(tx, ctx.tenantId, connection.connection_no);
    await unlessTaken(store.updateMethod(tx, changed));
    await endTokens(ctx, tx, row);
    return toWire(ctx, changed, numberOf(connection));
  });
}

export async function remove(ctx: Context, id: string): Promise<Deleted> {
  const known = await existing(ctx, id);
  const { method_no } = known;
  const app_connection = numberOf(await connectionOf(ctx, known));
  return ctx.change(async (tx) => {
    const row = await store.lockMethod(tx, ctx.tenantId, method_no);
    if (row === undefined) throw notFound('method');
    ctx.record.describe({ name: row.name, type: row.type, app_connection });
    await store.deleteMethod(tx, ctx.tenantId, method_no);
    await endTokens(ctx, tx, row);
    return DELETED;
  });
}

/** A changed method may accept other workloads, so tokens issued before end. */
async function endTokens(ctx: Context, tx: Tx, { connection_no, method_no }: store.MethodRow): Promise<void> {
  const from = { connection_no, kind: 'workload', source: sourceOf(method_no) } as const;
  await revokeTokensFrom(tx, ctx.tenantId, from, ctx.now);
  await raiseEpoch(tx, ctx.tenantId);
}

async function existing(ctx: Context, id: string): Promise<store.MethodRow> {
  const row = NUMBER_FORM.test(id) ? await store.findMethod(ctx.database.read, ctx.tenantId, Number(id)) : undefined;
  if (row === undefined) throw notFound('method');
  return row;
}

/** A method is equivalent to the connection's credentials, so creating one requires permission to change the connection and to share its vaults. */
async function changeableConnection(ctx: Context, number: number): Promise<ConnectionRow> {
  if (!ctx.access.may('app_connections:update', `app-connection/${number}`)) {
    throw new CofferError(
      'INSUFFICIENT_PRIVILEGE',
      'You need app_connections:update on a connection to add a login method to it.',
      {
        auditReason: 'app_connections:update on the connection of a method',
      },
    );
  }
  const connection = await findConnection(ctx.database.read, ctx.tenantId, String(number));
  if (connection === undefined) throw notFound('connection');
  refuseDeniedConnection(ctx, connection, 'app_connections:update');
  await refuseUnshareable(ctx, connection);
  return connection;
}

async function connectionOf(ctx: Context, { connection_no }: store.MethodRow): Promise<ConnectionRow> {
  const connection = await findConnectionByKey(ctx.database.read, ctx.tenantId, connection_no);
  // The method is deleted together with its connection.
  if (connection === undefined) throw notFound('method');
  return connection;
}

async function refuseGone(tx: Tx, tenantId: string, connectionNo: number): Promise<void> {
  if ((await findConnectionByKey(tx, tenantId, connectionNo)) === undefined) throw notFound('connection');
}

interface Config {
  open: Record<string, unknown>;
  secret: Record<string, unknown>;
}

/** Validates the config by the schema and rules of its type, and splits it into public and secret members. */
function checkedConfig(type: MethodType, config: Record<string, unknown>): Config {
  const kind = kindOf(type);
  const problems = problemsIn(kind.schema, config, '/body/config');
  if (problems.length > 0) throw invalid(problems);
  kind.refuseBadConfig(config);
  const isSecret = ([name]: [string, unknown]) => kind.secrets.includes(name);
  const members = Object.entries(config);
  return {
    open: Object.fromEntries(members.filter((member) => !isSecret(member))),
    secret: Object.fromEntries(members.filter(isSecret)),
  };
}

function refuseOtherAudience(ctx: Context, config: Record<string, unknown>): void {
  const refusal = audienceRefusal(ctx.kernel, config);
  if (refusal !== null) throw invalidField('/body/config/expected_audience', refusal);
}

/** Reported at configuration time rather than at every login: a URL that replaces a provider's own must be on a host the operator allowed. */
async function refuseUncallable(ctx: Context, type: MethodType, config: Record<string, unknown>): Promise<void> {
  const { standIn: standInOf, calledUrl } = kindOf(type);
  const called = calledUrl?.(config) ?? null;
  if (called !== null) refuseForbidden(ctx.kernel.outbound, `/body/config/${called.member}`, called.url);
  const standIn = standInOf(config);
  if (standIn === null) return;
  const isOpened = await ctx.kernel.outbound.resolve(new URL(standIn.url).hostname).then(
    (destination) => destination.isPrivateAllowed,
    () => false,
  );
  if (isOpened) return;
  throw invalidField(
    `/body/config/${standIn.member}`,
    'must be the provider’s own, or be on a private host that the operator allowed with CV_OUTBOUND_ALLOW',
  );
}

/** A secret that is not sent again is stored only while its destination is unchanged: otherwise anyone who changes the destination would receive it. */
async function nextConfig(ctx: Context, row: store.MethodRow, config: Record<string, unknown>): Promise<Config> {
  const next = checkedConfig(row.type, config);
  const before = JSON.parse(row.config) as Record<string, unknown>;
  const stored = await unseal(ctx.kernel, row);
  const dropped = Object.keys(stored).filter((name) => !Object.hasOwn(next.secret, name));
  if (dropped.length === 0) return next;
  const moved = kindOf(row.type).destinations.find((name) => next.open[name] !== before[name]);
  if (moved !== undefined) {
    throw invalidField(`/body/config/${dropped[0]}`, `must be sent again when ${moved} changes`);
  }
  return { open: next.open, secret: { ...stored, ...next.secret } };
}

async function unlessTaken(write: Promise<void>): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error;
    throw new CofferError('ALREADY_EXISTS', 'A method with this name already exists: choose another name.');
  }
}

function toWire(ctx: Context, row: store.MethodRow, connectionNumber: number): Method {
  const config = JSON.parse(row.config) as Record<string, unknown>;
  return {
    id: row.method_no,
    name: row.name,
    type: row.type,
    app_connection_id: connectionNumber,
    config,
    secrets_set: row.sealed_secrets === null ? [] : [...kindOf(row.type).secrets],
    warnings: [...(kindOf(row.type).warningsOf?.(config) ?? []), ...audienceWarnings(ctx, config)],
    created_by: row.created_by,
    created_at: timestamp(row.created_at),
    updated_at: timestamp(row.updated_at),
  };
}

/** A method may be older than the rule about audiences, or the operator may have removed one. */
function audienceWarnings(ctx: Context, config: Record<string, unknown>): string[] {
  const refusal = audienceRefusal(ctx.kernel, config);
  return refusal === null ? [] : [`Every login is refused: expected_audience ${refusal}.`];
}
