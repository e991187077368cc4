import type { TimeSlice } from '../../kernel/fairness/time-slice.ts';
import { countRows } from '../../kernel/storage/count-rows.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import type { Cutoff } from '../../kernel/time/cutoff.ts';
import { type Page, pageOf } from '../../kernel/wire/cursor.ts';

export interface EndpointDiscoveryTables {
  endpoint_hosts: HostRow;
  endpoint_accounts: AccountRow;
  endpoint_keys: KeyRow;
}

/** What agents reported. It decides no access: it says what hosts have, and anyone who controls a host controls that. */
export interface HostRow {
  tenant_id: string;
  cluster_id: string;
  host_id: string;
  hostname: string | null;
  /** JSON. */
  flags: string;
  scanned_at: number;
  received_at: number;
  /** Of the accounts and keys, by which a scan that found the same is recognized. */
  report_digest: string;
  accounts: number;
  excluded: number;
  ssh_keys: number;
}

export interface AccountRow {
  tenant_id: string;
  account_id: string;
  cluster_id: string;
  host_id: string;
  username: string;
  uid: number;
  gid: number | null;
  home: string | null;
  shell: string;
  /** JSON. */
  flags: string;
  ssh_keys: number;
  /** The person that somebody linked it to. */
  user_id: string | null;
  first_seen_at: number;
  /** Null while the last scan of the host has it. */
  gone_since: number | null;
  /** For an account that is gone. One that is there was last seen when its host was last scanned. */
  last_seen_at: number;
}

export interface KeyRow {
  tenant_id: string;
  account_id: string;
  key_no: number;
  type: string;
  fingerprint: string;
  comment: string;
  /** JSON. */
  flags: string;
  first_seen_at: number;
}

export type HostKey = Pick<HostRow, 'tenant_id' | 'cluster_id' | 'host_id'>;
export type ShownAccount = AccountRow & Pick<HostRow, 'hostname' | 'scanned_at'>;

export const CURSOR_KIND = 'endpoint-accounts';
/** Accounts and keys that one statement loads or writes, after which other requests have their turn. */
const ROWS_AT_ONCE = 100;
const KEYS_AT_ONCE = 1000;
const DELETED_AT_ONCE = 500;

export function lockHost(tx: Tx, { tenant_id, cluster_id, host_id }: HostKey): Promise<HostRow | undefined> {
  return tx
    .selectFrom('endpoint_hosts')
    .selectAll()
    .where('tenant_id', '=', tenant_id)
    .where('cluster_id', '=', cluster_id)
    .where('host_id', '=', host_id)
    .forUpdate()
    .executeTakeFirst();
}

export async function insertHost(tx: Tx, row: HostRow): Promise<void> {
  await tx.insertInto('endpoint_hosts').values(row).execute();
}

export async function updateHost(tx: Tx, key: HostKey, change: Partial<HostRow>): Promise<void> {
  await tx
    .updateTable('endpoint_hosts')
    .set(change)
    .where('tenant_id', '=', key.tenant_id)
    .where('cluster_id', '=', key.cluster_id)
    .where('host_id', '=', key.host_id)
    .execute();
}

export function countHosts(db: Reader, tenantId: string): Promise<number> {
  return countRows(db.selectFrom('endpoint_hosts').where('tenant_id', '=', tenantId));
}

/** Hosts, accounts that are there, and their keys. */
export async function countAll(db: Reader, tenantId: string) {
  const row = await db
    .selectFrom('endpoint_hosts')
    .select((eb) => [
      eb.fn.countAll<number>().as('hosts'),
      eb.fn.sum<number>('accounts').as('accounts'),
      eb.fn.sum<number>('ssh_keys').as('ssh_keys'),
    ])
    .where('tenant_id', '=', tenantId)
    .executeTakeFirst();
  return { hosts: Number(row?.hosts ?? 0), accounts: Number(row?.accounts ?? 0), ssh_keys: Number(row?.ssh_keys ?? 0) };
}

/** Ordered by name, because without an order SQLite would walk all accounts of the tenant instead of the index that begins with the host. */
export function accountsOfHost(tx: Tx, { tenant_id, cluster_id, host_id }: HostKey): Promise<AccountRow[]> {
  return tx
    .selectFrom('endpoint_accounts')
    .selectAll()
    .where('tenant_id', '=', tenant_id)
    .where('cluster_id', '=', cluster_id)
    .where('host_id', '=', host_id)
    .orderBy('username')
    .execute();
}

/** An account, and how many keys it has. */
type Keyed = Pick<AccountRow, 'account_id' | 'ssh_keys'>;

/** Accounts in parts whose keys one statement loads. */
export function* inPartsByKeys<A extends Keyed>(accounts: readonly A[]): Generator<readonly A[]> {
  let part: A[] = [];
  let keys = 0;
  for (const account of accounts) {
    if (part.length === ROWS_AT_ONCE || (part.length > 0 && keys + account.ssh_keys > KEYS_AT_ONCE)) {
      yield part;
      part = [];
      keys = 0;
    }
    part.push(account);
    keys += account.ssh_keys;
  }
  if (part.length > 0) yield part;
}

/** The keys of a part of the accounts, in the order in which they were reported. */
export async function keysOf(db: Reader, tenantId: string, part: readonly Keyed[]): Promise<Map<string, KeyRow[]>> {
  const rows = await db
    .selectFrom('endpoint_keys')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where(
      'account_id',
      'in',
      part.map(({ account_id }) => account_id),
    )
    .orderBy('account_id')
    .orderBy('key_no')
    .execute();
  return Map.groupBy(rows, ({ account_id }) => account_id);
}

/** What a scan says about an account. To whom it is linked is not part of that. */
const SCANNED = ['uid', 'gid', 'home', 'shell', 'flags', 'ssh_keys', 'gone_since'] as const;

/** Stores new accounts, and what a scan says about those that are there. */
export async function writeAccounts(tx: Tx, rows: readonly AccountRow[], slice: TimeSlice): Promise<void> {
  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
    await slice.pause();
    await tx
      .insertInto('endpoint_accounts')
      .values(rows.slice(at, at + ROWS_AT_ONCE))
      .onConflict((c) =>
        c
          .columns(['tenant_id', 'account_id'])
          .doUpdateSet((eb) => Object.fromEntries(SCANNED.map((name) => [name, eb.ref(`excluded.${name}`)]))),
      )
      .execute();
  }
}

export async function linkAccount(
  tx: Tx,
  { tenant_id, account_id }: Pick<AccountRow, 'tenant_id' | 'account_id'>,
  user_id: string | null,
): Promise<void> {
  await tx
    .updateTable('endpoint_accounts')
    .set({ user_id })
    .where('tenant_id', '=', tenant_id)
    .where('account_id', '=', account_id)
    .execute();
}

/** Marks accounts that a scan no longer found. */
export async function markGone(
  tx: Tx,
  { tenantId, accountIds }: { tenantId: string; accountIds: readonly string[] },
  { goneSince, lastSeenAt }: { goneSince: number; lastSeenAt: number },
  slice: TimeSlice,
): Promise<void> {
  for (let at = 0; at < accountIds.length; at += ROWS_AT_ONCE) {
    await slice.pause();
    await tx
      .updateTable('endpoint_accounts')
      .set({ gone_since: goneSince, last_seen_at: lastSeenAt })
      .where('tenant_id', '=', tenantId)
      .where('account_id', 'in', accountIds.slice(at, at + ROWS_AT_ONCE))
      .execute();
  }
}

/** Replaces the keys of some accounts. */
export async function replaceKeys(
  tx: Tx,
  { tenantId, accountIds }: { tenantId: string; accountIds: readonly string[] },
  rows: readonly KeyRow[],
  slice: TimeSlice,
): Promise<void> {
  for (let at = 0; at < accountIds.length; at += ROWS_AT_ONCE) {
    await slice.pause();
    await tx
      .deleteFrom('endpoint_keys')
      .where('tenant_id', '=', tenantId)
      .where('account_id', 'in', accountIds.slice(at, at + ROWS_AT_ONCE))
      .execute();
  }
  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
    await slice.pause();
    await tx
      .insertInto('endpoint_keys')
      .values(rows.slice(at, at + ROWS_AT_ONCE))
      .execute();
  }
}

export interface AccountFilter {
  /** The id or the name of a host. */
  host?: string | undefined;
  username?: string | undefined;
  key_type?: string | undefined;
}

function shownAccounts(db: Reader, tenantId: string) {
  return db
    .selectFrom('endpoint_accounts as a')
    .innerJoin('endpoint_hosts as h', (join) =>
      join
        .onRef('h.tenant_id', '=', 'a.tenant_id')
        .onRef('h.cluster_id', '=', 'a.cluster_id')
        .onRef('h.host_id', '=', 'a.host_id'),
    )
    .selectAll('a')
    .select(['h.hostname', 'h.scanned_at'])
    .where('a.tenant_id', '=', tenantId);
}

export function findAccount(db: Reader, tenantId: string, accountId: string): Promise<ShownAccount | undefined> {
  return shownAccounts(db, tenantId).where('a.account_id', '=', accountId).executeTakeFirst();
}

export async function lockAccount(tx: Tx, tenantId: string, accountId: string): Promise<AccountRow | undefined> {
  return tx
    .selectFrom('endpoint_accounts')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('account_id', '=', accountId)
    .forUpdate()
    .executeTakeFirst();
}

export async function listAccounts(
  db: Reader,
  tenantId: string,
  { host, username, key_type }: AccountFilter,
  { after, limit }: { after: string; limit: number },
): Promise<Page<ShownAccount>> {
  let query = shownAccounts(db, tenantId)
    .where('a.account_id', '>', after)
    .orderBy('a.account_id')
    .limit(limit + 1);
  if (host !== undefined) query = query.where((eb) => eb.or([eb('h.host_id', '=', host), eb('h.hostname', '=', host)]));
  if (username !== undefined) query = query.where('a.username', '=', username);
  if (key_type !== undefined) {
    query = query.where((eb) =>
      eb.exists(
        eb
          .selectFrom('endpoint_keys as k')
          .select('k.key_no')
          .whereRef('k.tenant_id', '=', 'a.tenant_id')
          .whereRef('k.account_id', '=', 'a.account_id')
          .where('k.type', '=', key_type),
      ),
    );
  }
  return pageOf(await query.execute(), limit, (row) => [CURSOR_KIND, row.account_id]);
}

/** Accounts that are there and have a key, from an id on, which is included; only of some clusters, if given. */
export function accountsWithKeys(
  db: Reader,
  tenantId: string,
  { from, limit, clusters }: { from: string; limit: number; clusters?: readonly string[] },
): Promise<ShownAccount[]> {
  let query = shownAccounts(db, tenantId)
    .where('a.account_id', '>=', from)
    .where('a.gone_since', 'is', null)
    .where('a.ssh_keys', '>', 0)
    .orderBy('a.account_id')
    .limit(limit);
  if (clusters !== undefined) query = query.where('a.cluster_id', 'in', clusters);
  return query.execute();
}

/** All that the hosts of a cluster reported. */
export async function deleteHostsOf(tx: Tx, tenantId: string, clusterId: string): Promise<void> {
  const accounts = tx
    .selectFrom('endpoint_accounts')
    .select('account_id')
    .where('tenant_id', '=', tenantId)
    .where('cluster_id', '=', clusterId);
  await tx.deleteFrom('endpoint_keys').where('tenant_id', '=', tenantId).where('account_id', 'in', accounts).execute();
  for (const table of ['endpoint_accounts', 'endpoint_hosts'] as const) {
    await tx.deleteFrom(table).where('tenant_id', '=', tenantId).where('cluster_id', '=', clusterId).execute();
  }
}

/** Deletes accounts that have been gone since before; returns how many. */
export async function deleteGone(tx: Tx, cutoff: Cutoff): Promise<number> {
  const rows = await tx
    .selectFrom('endpoint_accounts')
    .select(['tenant_id', 'account_id'])
    .where('gone_since', '<', cutoff)
    .limit(DELETED_AT_ONCE)
    .execute();
  for (const { tenant_id, account_id } of rows) {
    for (const table of ['endpoint_keys', 'endpoint_accounts'] as const) {
      await tx.deleteFrom(table).where('tenant_id', '=', tenant_id).where('account_id', '=', account_id).execute();
    }
  }
  return rows.length;
}
