import { timestamp } from '../../kernel/base/clock.ts';
import { CofferError, invalidField, notFound } from '../../kernel/base/errors.ts';
import { isId } from '../../kernel/base/ids.ts';
import type { Body, Query } from '../../kernel/endpoint/declaration.ts';
import { mapInSlices } from '../../kernel/fairness/time-slice.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import { decodeCursor } from '../../kernel/wire/cursor.ts';
import { DELETED, type Deleted, LIST_LIMIT_DEFAULT } from '../../kernel/wire/wire.ts';
import { visibleSecrets } from '../secrets/reading/index.ts';
import { locateSecrets } from '../secrets/storage/index.ts';
import type * as contract from './contract.ts';
import { BINDINGS_MAX, type Binding, EFFECTIVE_MAX, KEY_NAME_PATTERN, LEVELS_MAX } from './contract.ts';
import { authorizedEnvironment, existing, numberIn, secretsOf, takeTurn } from './service.ts';
import * as store from './store.ts';

const KEY_NAME_FORM = new RegExp(KEY_NAME_PATTERN);
/** The service refuses this field name in requests, so it does not put it into responses either. */
const KEY_NAME_RESERVED = '__proto__';

/** A secret that the caller may not see is reported as not found after the same checks as one that does not exist. */
export async function bindSecret(ctx: Context, id: string, body: Body<typeof contract.bindSecret>): Promise<Binding> {
  const ref = await authorizedEnvironment(ctx, id);
  if (body.key_name === KEY_NAME_RESERVED) throw invalidField('/body/key_name', 'is reserved: choose another name');
  return ctx.change(async (tx) => {
    await takeTurn(ctx, tx);
    const { environment_id, name } = await existing(ctx, tx, ref);
    const wanted = typeof body.secret_id === 'number' ? { secret_no: body.secret_id } : { secret_id: body.secret_id };
    const secret = await store.lockSecretToBind(tx, ctx.tenantId, wanted);
    if (secret === undefined || !visibleSecrets.isAllowed(ctx, secret.vault, secret, visibleSecrets.LISTED))
      throw notFound('secret');
    const { secret_id, secret_no } = secret;
    const row: store.BindingRow = {
      tenant_id: ctx.tenantId,
      environment_id,
      key_name: body.key_name,
      secret_id,
      secret_no,
      bound_at: ctx.now,
    };
    ctx.record.describe({ name, secret: secret_id, key_name: row.key_name });
    await refuseBound(tx, row);
    await refuseTooMany(ctx, tx, environment_id);
    await store.insertBinding(tx, row);
    return toWire(row, secret);
  });
}

async function refuseBound(tx: Tx, row: store.BindingRow): Promise<void> {
  const [like] = await store.bindingsLike(tx, row);
  if (like === undefined) return;
  const message =
    like.key_name === row.key_name
      ? 'Another secret is bound under this name: unbind it first, or choose another name.'
      : 'This secret is already bound to this composed environment under another name: unbind it first.';
  throw new CofferError('ALREADY_EXISTS', message);
}

/** A binding is inherited by all environments below, so the fullest of them decides. */
async function refuseTooMany(ctx: Context, tx: Tx, environmentId: number): Promise<void> {
  const line = await store.lineage(tx, ctx.tenantId, environmentId, LEVELS_MAX);
  const own = line.find((row) => row.environment_id === environmentId)?.secrets ?? 0;
  if (own >= BINDINGS_MAX) {
    throw invalidField(
      '/body/secret_id',
      `exceeds the limit: a composed environment can have ${BINDINGS_MAX} secrets of its own`,
    );
  }
  const below = await store.extentBelow(tx, ctx.tenantId, environmentId, LEVELS_MAX);
  if (secretsOf(line) - own + below.secrets >= EFFECTIVE_MAX) {
    const reason = `exceeds the limit: a composed environment can have ${EFFECTIVE_MAX} secrets, including inherited ones`;
    throw invalidField('/body/secret_id', reason);
  }
}

export async function listBindings(ctx: Context, id: string, query: Query<typeof contract.listBindings>) {
  const { environment_id } = await existing(ctx, ctx.database.read, await authorizedEnvironment(ctx, id));
  // The cursor contains the environment, because key names have the form of ids in many other lists.
  const [, after = ''] = decodeCursor(query.cursor, new RegExp(`^${environment_id}$`), KEY_NAME_FORM) ?? [];
  const limit = query.limit ?? LIST_LIMIT_DEFAULT;
  const page = await store.listBindings(ctx.database.read, ctx.tenantId, environment_id, { after, limit });
  const located = await locateSecrets(
    ctx.database.read,
    ctx.tenantId,
    page.rows.map(({ secret_id }) => secret_id),
  );
  const secrets = await mapInSlices(ctx.tenantId, page.rows, (row) => {
    const at = located.get(row.secret_id);
    const isShown = at !== undefined && visibleSecrets.isAllowed(ctx, at.vault, at, visibleSecrets.LISTED);
    return toWire(row, isShown ? at : null);
  });
  return { secrets, next_cursor: page.next_cursor };
}

export async function unbindSecret(ctx: Context, id: string, secretId: string): Promise<Deleted> {
  const ref = await authorizedEnvironment(ctx, id);
  return ctx.change(async (tx) => {
    await takeTurn(ctx, tx);
    const { environment_id, name } = await existing(ctx, tx, ref);
    const secret = refIn(secretId);
    const row = secret === null ? undefined : await store.deleteBinding(tx, ctx.tenantId, environment_id, secret);
    if (row === undefined) throw notFound('secret in this composed environment');
    ctx.record.describe({ name, secret: row.secret_id, key_name: row.key_name });
    return DELETED;
  });
}

function refIn(text: string): store.SecretRef | null {
  if (isId('sec', text)) return { secret_id: text };
  const secret_no = numberIn(text);
  return secret_no === null ? null : { secret_no };
}

function toWire(row: store.BindingRow, at: { vault: string; path: string } | null): Binding {
  return {
    environment_id: row.environment_id,
    secret_id: row.secret_no,
    secret: row.secret_id,
    vault: at?.vault ?? null,
    path: at?.path ?? null,
    key_name: row.key_name,
    bound_at: timestamp(row.bound_at),
  };
}
