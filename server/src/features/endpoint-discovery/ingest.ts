import { createHash } from 'node:crypto';
import { MINUTE_MS, timestamp } from '../../kernel/base/clock.ts';
import { invalidField } from '../../kernel/base/errors.ts';
import { newId } from '../../kernel/base/ids.ts';
import type { Body, Output } from '../../kernel/endpoint/declaration.ts';
import { mapInSlices, nextIteration, TimeSlice } from '../../kernel/fairness/time-slice.ts';
import type { Context } from '../../kernel/request/context.ts';
import { lockQuota, refuseBeyondQuota } from '../../kernel/request/quotas.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import type * as contract from './contract.ts';
import { isLoginShell } from './login-shell.ts';
import { KEYS_PER_REPORT_MAX, type ReportedAccount } from './schemas.ts';
import * as store from './store.ts';

type Report = Body<typeof contract.reportAccounts>;
type Acknowledgement = Output<typeof contract.reportAccounts>;

/** How far the clock of a host may be ahead. A scan from the future would make every later one look old. */
const AHEAD_MAX_MS = 5 * MINUTE_MS;

/** A scan as it is stored: accounts that somebody can log in to, each once. */
interface Scan {
  key: store.HostKey;
  scannedAt: number;
  hostname: string | null;
  flags: string;
  accounts: readonly ScannedAccount[];
  excluded: number;
  keys: number;
  digest: string;
}

interface ScannedAccount {
  columns: Pick<store.AccountRow, 'username' | 'uid' | 'gid' | 'home' | 'shell' | 'flags' | 'ssh_keys'>;
  keys: readonly Pick<store.KeyRow, 'type' | 'fingerprint' | 'comment' | 'flags'>[];
}

/** The cluster of the token is the cluster of the host, whatever the report says: hosts of other clusters cannot be named. */
export async function report(ctx: Context, body: Report): Promise<Acknowledgement> {
  const clusterId = ctx.principal.id;
  ctx.access.authorize(`cluster/${clusterId}`);
  const scan = await scanOf(ctx, { tenant_id: ctx.tenantId, cluster_id: clusterId, host_id: body.host_id }, body);
  return ctx.change(async (tx) => {
    const known = await lockedHost(ctx, tx, scan);
    const isOlder = known !== null && scan.scannedAt < known.scanned_at;
    const isOther = known !== null && scan.scannedAt === known.scanned_at && scan.digest !== known.report_digest;
    const isNewest = !isOlder && !isOther;
    if (isNewest) await storeScan(ctx, tx, scan, known);
    const accepted = isNewest ? scan.accounts.length : 0;
    ctx.record.describe({ host: body.host_id, accepted, excluded: scan.excluded, is_newest: isNewest });
    return {
      host_id: body.host_id,
      accepted,
      excluded: scan.excluded,
      scanned_at: timestamp(scan.scannedAt),
      is_newest: isNewest,
    };
  });
}

async function scanOf(ctx: Context, key: store.HostKey, body: Report): Promise<Scan> {
  const scannedAt = Date.parse(body.scanned_at);
  if (scannedAt > ctx.now + AHEAD_MAX_MS)
    throw invalidField('/body/scanned_at', 'is in the future: correct the clock of the host');
  const keys = body.accounts.reduce((sum, { ssh_keys }) => sum + ssh_keys.length, 0);
  if (keys > KEYS_PER_REPORT_MAX)
    throw invalidField('/body/accounts', `have more than ${KEYS_PER_REPORT_MAX} keys together`);
  // Where a name is there twice, the first account is the one that logs in.
  const byName = new Map<string, ReportedAccount>();
  for (const account of body.accounts) if (!byName.has(account.username)) byName.set(account.username, account);
  const known = [...byName.values()].filter(({ shell }) => isLoginShell(shell));
  const accounts = await mapInSlices(ctx.tenantId, known, scannedAccount);
  const hostname = body.hostname ?? null;
  const flags = JSON.stringify(body.flags ?? []);
  return {
    key,
    scannedAt,
    hostname,
    flags,
    accounts,
    excluded: body.accounts.length - accounts.length,
    keys: accounts.reduce((sum, { columns }) => sum + columns.ssh_keys, 0),
    digest: await digestOf(ctx, [hostname, flags], accounts),
  };
}

/** Of the JSON of a list of all of this, of which one account may be long. */
async function digestOf(
  { tenantId }: Context,
  host: readonly unknown[],
  accounts: readonly ScannedAccount[],
): Promise<string> {
  const hash = createHash('sha256').update(`${JSON.stringify(host).slice(0, -1)},[`);
  const slice = TimeSlice.of(tenantId);
  for (const [i, account] of accounts.entries()) {
    const pause = slice.pause();
    if (pause !== undefined) await pause;
    hash.update(`${i === 0 ? '' : ','}${JSON.stringify(account)}`);
  }
  return hash.update(']]').digest('hex');
}

function scannedAccount(account: ReportedAccount): ScannedAccount {
  const keys = new Map(account.ssh_keys.map((key) => [key.fingerprint_sha256, key]));
  return {
    columns: {
      username: account.username,
      uid: account.uid,
      gid: account.gid ?? null,
      home: account.home ?? null,
      shell: account.shell,
      flags: JSON.stringify(account.flags ?? []),
      ssh_keys: keys.size,
    },
    keys: [...keys.values()].map(({ type, fingerprint_sha256, comment = '', flags = [] }) => ({
      type,
      fingerprint: fingerprint_sha256,
      comment,
      flags: JSON.stringify(flags),
    })),
  };
}

/** The host as the last scan left it, locked; null if this is its first one, for which there must be room. */
async function lockedHost(ctx: Context, tx: Tx, { key }: Scan): Promise<store.HostRow | null> {
  const known = await store.lockHost(tx, key);
  if (known !== undefined) return known;
  await lockQuota(tx, ctx.tenantId, 'hosts');
  // Another report of the same host may have been waiting for the same lock.
  const meanwhile = await store.lockHost(tx, key);
  if (meanwhile !== undefined) return meanwhile;
  refuseBeyondQuota(ctx, 'hosts', await store.countHosts(tx, ctx.tenantId));
  return null;
}

async function storeScan(ctx: Context, tx: Tx, scan: Scan, known: store.HostRow | null): Promise<void> {
  const { key, scannedAt, hostname, flags, digest } = scan;
  const host: store.HostRow = {
    ...key,
    hostname,
    flags,
    scanned_at: scannedAt,
    received_at: ctx.now,
    report_digest: digest,
    accounts: scan.accounts.length,
    excluded: scan.excluded,
    ssh_keys: scan.keys,
  };
  if (known === null) await store.insertHost(tx, host);
  else await store.updateHost(tx, key, host);
  // Most scans find what the last one found. Then the time of the scan is all that changes.
  if (known?.report_digest !== digest) await replaceAccounts(ctx, tx, scan, known);
}

async function replaceAccounts(ctx: Context, tx: Tx, scan: Scan, known: store.HostRow | null): Promise<void> {
  const { key, scannedAt } = scan;
  // The locks of the transaction would be held longer if other tenants took their turns.
  const slice = new TimeSlice(nextIteration);
  const existing = new Map((await store.accountsOfHost(tx, key)).map((row) => [row.username, row]));
  const formerKeys = new Map<string, store.KeyRow[]>();
  for (const part of store.inPartsByKeys([...existing.values()])) {
    await slice.pause();
    for (const [id, rows] of await store.keysOf(tx, key.tenant_id, part)) formerKeys.set(id, rows);
  }
  const written: store.AccountRow[] = [];
  const rekeyed: string[] = [];
  const keys: store.KeyRow[] = [];
  for (const { columns, keys: scanned } of scan.accounts) {
    const pause = slice.pause();
    if (pause !== undefined) await pause;
    const row = existing.get(columns.username);
    existing.delete(columns.username);
    const account_id = row?.account_id ?? newId('acct', ctx.now);
    if (row === undefined) written.push(newAccount(scan, account_id, columns));
    else if (isChanged(row, columns)) written.push({ ...row, ...columns, gone_since: null });
    const former = formerKeys.get(account_id) ?? [];
    if (areSameKeys(former, scanned)) continue;
    rekeyed.push(account_id);
    const since = new Map(former.map(({ fingerprint, first_seen_at }) => [fingerprint, first_seen_at]));
    for (const [key_no, one] of scanned.entries()) {
      const first_seen_at = since.get(one.fingerprint) ?? scannedAt;
      keys.push({ tenant_id: key.tenant_id, account_id, key_no, ...one, first_seen_at });
    }
  }
  await store.writeAccounts(tx, written, slice);
  await store.replaceKeys(tx, { tenantId: key.tenant_id, accountIds: rekeyed }, keys, slice);
  const gone = [...existing.values()].filter(({ gone_since }) => gone_since === null);
  await store.markGone(
    tx,
    { tenantId: key.tenant_id, accountIds: gone.map(({ account_id }) => account_id) },
    { goneSince: scannedAt, lastSeenAt: known?.scanned_at ?? scannedAt },
    slice,
  );
}

function newAccount({ key, scannedAt }: Scan, account_id: string, columns: ScannedAccount['columns']) {
  return {
    ...key,
    account_id,
    ...columns,
    user_id: null,
    first_seen_at: scannedAt,
    gone_since: null,
    last_seen_at: scannedAt,
  };
}

function isChanged(row: store.AccountRow, columns: ScannedAccount['columns']): boolean {
  if (row.gone_since !== null) return true;
  return (Object.keys(columns) as (keyof typeof columns)[]).some((name) => row[name] !== columns[name]);
}

function areSameKeys(former: readonly store.KeyRow[], scanned: ScannedAccount['keys']): boolean {
  return (
    former.length === scanned.length &&
    scanned.every(({ type, fingerprint, comment, flags }, i) => {
      const one = former[i];
      return one?.type === type && one.fingerprint === fingerprint && one.comment === comment && one.flags === flags;
    })
  );
}
