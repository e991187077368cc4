import { timestamp } from '../../kernel/base/clock.ts';
import { CofferError, invalidField, notFound } from '../../kernel/base/errors.ts';
import { isReservedName } from '../../kernel/base/reserved-names.ts';
import type { Body, Query } from '../../kernel/endpoint/declaration.ts';
import { holdCounter, nextNumber } from '../../kernel/limits/counters.ts';
import type { Context } from '../../kernel/request/context.ts';
import { type Items, plainCursor, visiblePage } from '../../kernel/request/visible-page.ts';
import { type Reader, type Tx, UniqueViolation } from '../../kernel/storage/database.ts';
import { decodeCursor } from '../../kernel/wire/cursor.ts';
import { DELETED, type Deleted, LIST_LIMIT_DEFAULT } from '../../kernel/wire/wire.ts';
import type * as contract from './contract.ts';
import { EFFECTIVE_MAX, type Environment, LEVELS_MAX, readEnvironment } from './contract.ts';
import * as store from './store.ts';

const NUMBER_FORM = /^[1-9]\d{0,14}$/;
const COUNTER = 'environments';

/** The number in a path, or null if the text is not a number and so names nothing. */
export function numberIn(text: string): number | null {
  return NUMBER_FORM.test(text) ? Number(text) : null;
}

/** A composed environment as a path names it: by its number, or by its name, whose number was looked up. A number counts before a name of digits. */
export interface EnvironmentRef {
  number: number;
  name: string | null;
}

/** No environment has this number, so only a permission on all of them covers it. */
const NO_ENVIRONMENT = 0;

/**
 * Authorizes the caller on the environment that a path names. Policies name environments by number, since a name can be given to another one. A
 * name that nobody has is decided on like one that the caller has no permission on, so names cannot be guessed.
 */
export async function authorizedEnvironment(ctx: Context, text: string): Promise<EnvironmentRef> {
  const number = numberIn(text);
  const found = await store.numberOf(ctx.database.read, ctx.tenantId, { number, name: text });
  const meant = found ?? number ?? NO_ENVIRONMENT;
  ctx.access.authorize(`environment/${meant}`);
  return { number: meant, name: meant === number ? null : text };
}

/** The row may have been renamed since its name was looked up, or the name forged, which only the row itself shows. */
export function isNamed(ref: EnvironmentRef, row: Pick<store.EnvironmentRow, 'name'>): boolean {
  return ref.name === null || ref.name === row.name;
}

/**
 * Makes changes of a tenant's environments wait for each other. Two moves, each harmless, could together form a cycle, and there is no row that both
 * of them change.
 */
export async function takeTurn(ctx: Context, tx: Tx): Promise<void> {
  await holdCounter(tx, ctx.tenantId, COUNTER);
}

export async function create(ctx: Context, body: Body<typeof contract.createEnvironment>): Promise<Environment> {
  refuseReserved(body.name);
  return ctx.change(async (tx) => {
    // Drawing a number locks the counter, so this change needs no `takeTurn`.
    const environment_id = await nextNumber(tx, ctx.tenantId, COUNTER);
    const row: store.EnvironmentRow = {
      tenant_id: ctx.tenantId,
      environment_id,
      name: body.name,
      parent_id: (await namedParent(ctx, tx, body)) ?? null,
      description: body.description ?? '',
      created_at: ctx.now,
      updated_at: ctx.now,
    };
    ctx.record.describe({ environment: row.environment_id, name: row.name, parent: row.parent_id });
    if (row.parent_id !== null) await refuseUnfitParent(ctx, tx, row.parent_id, NEW);
    await unlessTaken(store.insertEnvironment(tx, row));
    return toWire(row);
  });
}

export async function list(ctx: Context, query: Query<typeof contract.listEnvironments>) {
  const [, after = '0'] = decodeCursor(await plainCursor(ctx, query.cursor), LIST_CURSOR, NUMBER_FORM) ?? [];
  const limit = query.limit ?? LIST_LIMIT_DEFAULT;
  const found = await store.listEnvironments(ctx.database.read, ctx.tenantId, Number(after), limit);
  const page = await visiblePage(ctx, found, ENVIRONMENTS);
  return { environments: page.rows.map(toWire), next_cursor: page.next_cursor };
}
const ENVIRONMENTS: Items<store.EnvironmentRow> = {
  permissions: [readEnvironment.permission],
  resources: ({ environment_id }) => [`environment/${environment_id}`],
};
const LIST_CURSOR = new RegExp(`^${store.CURSOR_KIND}$`);

export async function read(ctx: Context, id: string): Promise<Environment> {
  return toWire(await existing(ctx, ctx.database.read, await authorizedEnvironment(ctx, id)));
}

export async function update(
  ctx: Context,
  id: string,
  body: Body<typeof contract.updateEnvironment>,
): Promise<Environment> {
  const ref = await authorizedEnvironment(ctx, id);
  if (body.name !== undefined) refuseReserved(body.name);
  return ctx.change(async (tx) => {
    await takeTurn(ctx, tx);
    const row = await existing(ctx, tx, ref);
    const parent = await namedParent(ctx, tx, body);
    const changed: store.EnvironmentRow = {
      ...row,
      name: body.name ?? row.name,
      description: body.description ?? row.description,
      parent_id: parent === undefined ? row.parent_id : parent,
      updated_at: ctx.now,
    };
    const { parent_id } = changed;
    if (parent_id !== row.parent_id) {
      ctx.record.describe({ parent: parent_id, parent_before: row.parent_id });
      if (parent_id !== null) await refuseUnfitParent(ctx, tx, parent_id, await movedWith(ctx, tx, row));
    }
    if (changed.name !== row.name) ctx.record.describe({ name: changed.name, name_before: row.name });
    await unlessTaken(store.updateEnvironment(tx, changed));
    return toWire(changed);
  });
}

export async function remove(ctx: Context, id: string): Promise<Deleted> {
  const ref = await authorizedEnvironment(ctx, id);
  return ctx.change(async (tx) => {
    await takeTurn(ctx, tx);
    const { environment_id, name } = await existing(ctx, tx, ref);
    ctx.record.describe({ name });
    if (await store.hasChildren(tx, ctx.tenantId, environment_id)) {
      throw new CofferError('IN_USE', 'Other composed environments inherit from this one: move or delete them first.');
    }
    await store.deleteEnvironment(tx, ctx.tenantId, environment_id);
    return DELETED;
  });
}

export async function existing(ctx: Context, db: Reader, ref: EnvironmentRef): Promise<store.EnvironmentRow> {
  const row = await store.findEnvironment(db, ctx.tenantId, ref.number);
  if (row === undefined || !isNamed(ref, row)) throw notFound('composed environment');
  return row;
}

/** The number of the parent that a body names: null for a root, undefined if it names none. */
async function namedParent(
  ctx: Context,
  tx: Tx,
  { parent, parent_id }: Pick<Body<typeof contract.updateEnvironment>, 'parent' | 'parent_id'>,
): Promise<number | null | undefined> {
  if (parent === undefined) return parent_id;
  const number = typeof parent === 'string' ? await numberOfNamed(ctx, tx, parent) : parent;
  if (parent_id !== undefined && parent_id !== number) {
    throw invalidField('/body/parent', 'does not match parent_id: send one of the two');
  }
  return number;
}

/** A name is reported as unknown to a caller who may not compose that environment, since names could be guessed otherwise. */
async function numberOfNamed(ctx: Context, tx: Tx, name: string): Promise<number> {
  const row = await store.findEnvironmentNamed(tx, ctx.tenantId, name);
  if (row === undefined || !ctx.access.may('environments:compose', `environment/${row.environment_id}`)) {
    throw invalidField('/body/parent', NO_SUCH_PARENT);
  }
  return row.environment_id;
}

const NO_SUCH_PARENT = 'does not exist, or you lack the permission environments:compose on it';

/** What is placed under a parent: an environment with all below it. */
interface Arrival {
  environment_id: number | null;
  levels: number;
  secrets: number;
}

const NEW: Arrival = { environment_id: null, levels: 1, secrets: 0 };

async function movedWith(ctx: Context, tx: Tx, { environment_id }: store.EnvironmentRow): Promise<Arrival> {
  return { environment_id, ...(await store.extentBelow(tx, ctx.tenantId, environment_id, LEVELS_MAX)) };
}

/**
 * The caller must hold the lock of `takeTurn`. Anyone who may not compose the parent could read it by inheriting from it, so it is reported as
 * unknown to them.
 */
async function refuseUnfitParent(ctx: Context, tx: Tx, parentId: number, arrival: Arrival): Promise<void> {
  const line = await store.lineage(tx, ctx.tenantId, parentId, LEVELS_MAX);
  if (line.length === 0 || !ctx.access.may('environments:compose', `environment/${parentId}`)) {
    throw invalidField('/body/parent_id', NO_SUCH_PARENT);
  }
  if (line.some(({ environment_id }) => environment_id === arrival.environment_id)) {
    throw new CofferError(
      'ENVIRONMENT_CYCLE',
      'The parent is this composed environment or inherits from it: choose another parent.',
    );
  }
  if (line.length + arrival.levels > LEVELS_MAX) {
    throw invalidField('/body/parent_id', `is too deep: composed environments can have at most ${LEVELS_MAX} levels`);
  }
  if (secretsOf(line) + arrival.secrets > EFFECTIVE_MAX) {
    throw invalidField(
      '/body/parent_id',
      `would exceed the limit: a composed environment can have at most ${EFFECTIVE_MAX} secrets, including inherited ones`,
    );
  }
}

export function secretsOf(line: readonly { secrets: number }[]): number {
  return line.reduce((sum, { secrets }) => sum + secrets, 0);
}

function refuseReserved(name: string): void {
  if (isReservedName(name)) throw invalidField('/body/name', 'is reserved: choose another name');
}

async function unlessTaken(write: Promise<void>): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error;
    throw new CofferError(
      'ALREADY_EXISTS',
      'A composed environment with this name already exists: choose another name.',
    );
  }
}

function toWire(row: store.EnvironmentRow): Environment {
  const { environment_id: id, tenant_id, name, parent_id, description } = row;
  const [created_at, updated_at] = [timestamp(row.created_at), timestamp(row.updated_at)];
  return { id, tenant_id, name, parent_id, description, created_at, updated_at };
}
