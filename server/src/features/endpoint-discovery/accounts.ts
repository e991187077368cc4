import { timestamp } from '../../kernel/base/clock.ts';
import { notFound } from '../../kernel/base/errors.ts';
import { idForm } from '../../kernel/base/ids.ts';
import type { Query } from '../../kernel/endpoint/declaration.ts';
import type { Context } from '../../kernel/request/context.ts';
import { plainCursor, visiblePage } from '../../kernel/request/visible-page.ts';
import { decodeCursor } from '../../kernel/wire/cursor.ts';
import { LIST_LIMIT_DEFAULT } from '../../kernel/wire/wire.ts';
import { findUserByIdOrEmail } from '../users/storage/index.ts';
import type * as contract from './contract.ts';
import { readAccount } from './contract.ts';
import { countDrift } from './drift.ts';
import type { EndpointAccount, EndpointAccountWithKeys } from './schemas.ts';
import { shownText, shownTextOrNull } from './shown-text.ts';
import * as store from './store.ts';

const LIST_CURSOR = new RegExp(`^${store.CURSOR_KIND}$`);

export async function list(
  ctx: Context,
  { limit = LIST_LIMIT_DEFAULT, cursor, ...filter }: Query<typeof contract.listAccounts>,
) {
  const [, after = ''] = decodeCursor(await plainCursor(ctx, cursor), LIST_CURSOR, idForm('acct')) ?? [];
  const found = await store.listAccounts(ctx.database.read, ctx.tenantId, filter, { after, limit });
  const page = await visiblePage(ctx, found, {
    permissions: [readAccount.permission],
    resources: ({ account_id }) => [`endpoint-account/${account_id}`],
  });
  return { accounts: page.rows.map(toWire), next_cursor: page.next_cursor };
}

export async function read(ctx: Context, accountId: string): Promise<EndpointAccountWithKeys> {
  const { read: db } = ctx.database;
  const row = await store.findAccount(db, ctx.tenantId, accountId);
  if (row === undefined) throw notFound('account');
  const keys = (await store.keysOf(db, ctx.tenantId, [row])).get(accountId) ?? [];
  return {
    ...toWire(row),
    ssh_keys: keys.map(({ type, fingerprint, comment, flags, first_seen_at }) => ({
      type,
      fingerprint_sha256: fingerprint,
      comment: shownText(comment),
      flags: JSON.parse(flags) as string[],
      first_seen_at: timestamp(first_seen_at),
    })),
  };
}

/** Somebody whom the caller may not see is reported as not found, like somebody who does not exist. */
export async function link(ctx: Context, accountId: string, user: string | null): Promise<EndpointAccount> {
  return ctx.change(async (tx) => {
    const row = await store.lockAccount(tx, ctx.tenantId, accountId);
    if (row === undefined) throw notFound('account');
    const person = user === null ? null : await findUserByIdOrEmail(tx, ctx.tenantId, user);
    if (person === undefined) throw notFound('user');
    if (person !== null && !ctx.access.may('users:read', `user/${person.user_id}`)) throw notFound('user');
    const user_id = person?.user_id ?? null;
    ctx.record.describe({ account: accountId, user: user_id });
    await store.linkAccount(tx, row, user_id);
    const shown = await store.findAccount(tx, ctx.tenantId, accountId);
    if (shown === undefined) throw notFound('account');
    return toWire(shown);
  });
}

export async function stats(ctx: Context) {
  const { hosts, accounts, ssh_keys } = await store.countAll(ctx.database.read, ctx.tenantId);
  const drift = await countDrift(ctx.database.read, ctx.tenantId);
  return { hosts_scanned: hosts, accounts, ssh_keys, drift: drift.total };
}

function toWire(row: store.ShownAccount): EndpointAccount {
  const isPresent = row.gone_since === null;
  return {
    id: row.account_id,
    cluster_id: row.cluster_id,
    host_id: row.host_id,
    hostname: shownTextOrNull(row.hostname),
    username: shownText(row.username),
    uid: row.uid,
    gid: row.gid,
    home: shownTextOrNull(row.home),
    shell: shownText(row.shell),
    flags: JSON.parse(row.flags) as string[],
    ssh_keys_count: row.ssh_keys,
    user_id: row.user_id,
    is_present: isPresent,
    first_seen_at: timestamp(row.first_seen_at),
    last_seen_at: timestamp(isPresent ? row.scanned_at : row.last_seen_at),
  };
}
