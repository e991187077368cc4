import { isAdminRole } from '../../kernel/authz/roles.ts';
import type { Query } from '../../kernel/endpoint/declaration.ts';
import { nextTurn } from '../../kernel/fairness/event-loop-turns.ts';
import { TimeSlice } from '../../kernel/fairness/time-slice.ts';
import { recheck } from '../../kernel/request/acceptance.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { decodeCursor, encodeCursor } from '../../kernel/wire/cursor.ts';
import { LIST_LIMIT_DEFAULT } from '../../kernel/wire/wire.ts';
import { productionClusters } from '../clusters/index.ts';
import { listPeople } from '../users/storage/index.ts';
import { memberUserIds } from '../vaults/storage/index.ts';
import type * as contract from './contract.ts';
import { formerUsers, hasHosts } from './drift-store.ts';
import { formerOwner, isOrphan, type KnownPerson, ownersOf, People } from './people.ts';
import { DRIFT_KINDS, type DriftItem, type DriftKind, INACTIVE_KEY_FLAGS } from './schemas.ts';
import { shownText, shownTextOrNull } from './shown-text.ts';
import { accountsWithKeys, inPartsByKeys, type KeyRow, keysOf, type ShownAccount } from './store.ts';

const ACCOUNTS_AT_ONCE = 500;
const CURSOR_KIND = 'endpoint-drift';
const LIST_CURSOR = new RegExp(`^${CURSOR_KIND}$`);
const ID_FORM = /^(?:acct|user)_[0-9a-z]{26}$/;
const INDEX_FORM = /^\d{1,5}$/;

/** An item with its place in the list: the account or person it is about, and which item of that one it is. */
interface Placed {
  item: DriftItem;
  id: string;
  index: number;
}

/** Where a walk begins: after this item. */
interface Start {
  id: string;
  index: number;
}
const BEGINNING: Start = { id: '', index: -1 };

export async function list(ctx: Context, query: Query<typeof contract.listDrift>) {
  const [, id, index] = decodeCursor(query.cursor, LIST_CURSOR, ID_FORM, INDEX_FORM) ?? [];
  const start = id === undefined ? BEGINNING : { id, index: Number(index) };
  const limit = query.limit ?? LIST_LIMIT_DEFAULT;
  const shown: Placed[] = [];
  const slice = TimeSlice.of(ctx.tenantId);
  for await (const placed of drift(ctx.database.read, ctx.tenantId, start, () => recheck(ctx))) {
    const pause = slice.pause();
    if (pause !== undefined) await pause;
    if (query.kind !== undefined && placed.item.kind !== query.kind) continue;
    if (isVisible(ctx, placed.item)) shown.push(placed);
    if (shown.length > limit) break;
  }
  const last = shown.length > limit ? shown[limit - 1] : undefined;
  return {
    drift: shown.slice(0, limit).map(({ item }) => item),
    next_cursor: last === undefined ? null : encodeCursor([CURSOR_KIND, last.id, String(last.index)]),
  };
}

/** An item reveals an account or a person, so it is shown to users who may read them. */
function isVisible(ctx: Context, { account_id, user_id }: DriftItem): boolean {
  if (account_id !== null && !ctx.access.may('endpoint_accounts:read', `endpoint-account/${account_id}`)) return false;
  return user_id === null || ctx.access.may('users:read', `user/${user_id}`);
}

export type DriftCounts = Record<DriftKind, number> & { total: number; first: DriftItem[] };

/** Counts all of it, and has the first items. */
export async function countDrift(db: Reader, tenantId: string, firstMax = 0): Promise<DriftCounts> {
  const none = Object.fromEntries(DRIFT_KINDS.map((kind) => [kind, 0])) as Record<DriftKind, number>;
  const counts: DriftCounts = { ...none, total: 0, first: [] };
  for await (const { item } of drift(db, tenantId, BEGINNING, async () => false)) {
    counts[item.kind]++;
    counts.total++;
    if (counts.first.length < firstMax) counts.first.push(item);
  }
  return counts;
}

/** Accounts in the order of their ids, then people: ids of accounts sort before those of users. */
async function* drift(
  db: Reader,
  tenantId: string,
  start: Start,
  beforeEachBatch: () => Promise<unknown>,
): AsyncGenerator<Placed> {
  const people = await peopleOf(db, tenantId);
  for await (const [account, keys] of keyedAccounts(db, tenantId, { from: start.id }, beforeEachBatch)) {
    for (const [index, item] of driftOfAccount(people, account, keys).entries()) {
      const isShown = account.account_id === start.id && index <= start.index;
      if (!isShown) yield { item, id: account.account_id, index };
    }
  }
  for (const person of await missingKeys(db, tenantId, people, beforeEachBatch)) {
    if (person.userId > start.id) yield { item: missingKey(person), id: person.userId, index: 0 };
  }
}

type Keyed = [account: ShownAccount, keys: readonly KeyRow[]];

/** Accounts with those of their keys that let somebody in. */
async function* keyedAccounts(
  db: Reader,
  tenantId: string,
  { from, clusters }: { from: string; clusters?: readonly string[] },
  beforeEachBatch: () => Promise<unknown>,
): AsyncGenerator<Keyed> {
  const only = clusters === undefined ? {} : { clusters };
  const slice = TimeSlice.of(tenantId);
  for (let next = from; ; ) {
    await nextTurn(tenantId);
    await beforeEachBatch();
    const rows = await accountsWithKeys(db, tenantId, { from: next, limit: ACCOUNTS_AT_ONCE + 1, ...only });
    const batch = rows.slice(0, ACCOUNTS_AT_ONCE);
    for (const part of inPartsByKeys(batch)) {
      await slice.pause();
      const keys = await keysOf(db, tenantId, part);
      for (const row of part) {
        const pause = slice.pause();
        if (pause !== undefined) await pause;
        yield [row, (keys.get(row.account_id) ?? []).filter(isActive)];
      }
    }
    const following = rows[ACCOUNTS_AT_ONCE];
    if (following === undefined) return;
    next = following.account_id;
  }
}

function isActive({ flags }: KeyRow): boolean {
  const known = JSON.parse(flags) as string[];
  return !INACTIVE_KEY_FLAGS.some((flag) => known.includes(flag));
}

function driftOfAccount(people: People, account: ShownAccount, keys: readonly KeyRow[]): DriftItem[] {
  const { account_id, cluster_id, host_id, hostname, username, user_id } = account;
  const names = { hostname: shownTextOrNull(hostname), username: shownText(username) };
  const about = { account_id, cluster_id, host_id, ...names };
  const items: DriftItem[] = [];
  if (isOrphan(people, { userId: user_id, username, keys }))
    items.push({ kind: 'orphan_account', ...about, ...NOBODY, ...NO_KEY });
  for (const { fingerprint, comment } of keys) {
    const former = formerOwner(people, comment);
    if (former === undefined) continue;
    const key = { fingerprint_sha256: fingerprint, comment: shownText(comment) };
    items.push({ kind: 'former_employee_key', ...about, user_id: former.userId, email: former.email, ...key });
  }
  return items;
}

const NOBODY = { user_id: null, email: null };
const NO_KEY = { fingerprint_sha256: null, comment: null };
const NO_ACCOUNT = { account_id: null, cluster_id: null, host_id: null, hostname: null, username: null };

function missingKey({ userId, email }: KnownPerson): DriftItem {
  return { kind: 'missing_key', ...NO_ACCOUNT, user_id: userId, email, ...NO_KEY };
}

/** Active members of vaults without a key on production hosts, in the order of their ids. Without such hosts nobody lacks one. */
async function missingKeys(
  db: Reader,
  tenantId: string,
  people: People,
  beforeEachBatch: () => Promise<unknown>,
): Promise<KnownPerson[]> {
  const clusters = await productionClusters(db, tenantId);
  if (clusters.length === 0) return [];
  if (!(await hasHosts(db, tenantId, clusters))) return [];
  const present = new Set<KnownPerson>();
  for await (const [account, keys] of keyedAccounts(db, tenantId, { from: '', clusters }, beforeEachBatch)) {
    if (keys.length === 0) continue;
    const { user_id: userId, username } = account;
    for (const person of ownersOf(people, { userId, username, keys })) present.add(person);
  }
  const missing = people.all.filter((person) => person.status === 'active' && person.isMember && !present.has(person));
  return missing.sort((a, b) => (a.userId < b.userId ? -1 : 1));
}

async function peopleOf(db: Reader, tenantId: string): Promise<People> {
  const members = await memberUserIds(db, tenantId);
  const present = (await listPeople(db, tenantId)).map(({ user_id, email, status, role }): KnownPerson => {
    const isMember = members.has(user_id);
    const isAdmin = isAdminRole(role);
    return { userId: user_id, email, status: status === 'disabled' ? 'former' : status, isMember, isAdmin };
  });
  const former = (await formerUsers(db, tenantId)).map(
    ({ user_id, email }): KnownPerson => ({
      userId: user_id,
      email,
      status: 'former',
      isMember: false,
      isAdmin: false,
    }),
  );
  return new People([...present, ...former]);
}
