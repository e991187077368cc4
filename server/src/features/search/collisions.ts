import { recheck } from '../../kernel/acceptance.ts';
import type { Context } from '../../kernel/context.ts';
import type { Query } from '../../kernel/endpoint.ts';
import { nextTurn } from '../../kernel/fairness/event-loop-turns.ts';
import { decodeCursor, encodeCursor } from '../../kernel/storage/cursor.ts';
import { LIST_LIMIT_DEFAULT } from '../../kernel/wire.ts';
import {
  type Fingerprint,
  fingerprintKey,
  hasOtherFingerprints,
  isWithin,
  type LocatedRow,
  NO_FINGERPRINT,
  reachOf,
  SEEN,
  secretsByFingerprint,
  secretsByPath,
  type Wanted,
} from '../secrets/index.ts';
import { isLive, vaultsAfter } from '../vaults/index.ts';
import type * as contract from './contract.ts';

const CHUNK = 1000;
const VAULTS_CHUNK = 1000;
/** How many are counted; a tenant with more has another problem than finding them. */
const COLLISIONS_MAX = 10_000;
/** Secrets, and vaults, that are named of one collision. */
const MEMBERS_MAX = 50;
/** Of one key, that are looked at: equal values may be a hundred thousand. */
const GROUP_ROWS_MAX = 8 * CHUNK;
/** An answer ends when it has so much. */
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;

/** To tell that values are equal is to tell whether a guess is right: only to who may read them anyway. */
const COMPARED: Record<Collision['kind'], Wanted> = {
  path: SEEN,
  value: ['secrets:list', 'secrets:read'],
};

interface Collision {
  kind: 'path' | 'value';
  path: string;
  vaults: string[];
  vaults_total: number;
  secrets: { id: string; vault: string; path: string }[];
  secrets_total: number;
}

/** Rows of one key; `isCut` if there are more, which are not looked at. */
interface Group<R> {
  rows: R[];
  isCut: boolean;
}

/** The collisions of one page, and the number of all. What is on other pages is counted and not kept. */
class CollisionPage {
  readonly #start: number;
  readonly #limit: number;
  readonly shown: Collision[] = [];
  total = 0;
  #bytes = 0;
  #isFull = false;

  constructor(start: number, limit: number) {
    this.#start = start;
    this.#limit = limit;
  }

  add(collision: Collision): void {
    const isOnPage = this.total >= this.#start && !this.#isFull;
    this.total++;
    if (!isOnPage) return;
    this.shown.push(collision);
    this.#bytes += JSON.stringify(collision).length;
    this.#isFull = this.shown.length === this.#limit || this.#bytes >= ANSWER_BYTES_MAX;
  }

  get nextCursor(): string | null {
    const end = this.#start + this.shown.length;
    return this.shown.length > 0 && end < this.total ? encodeCursor([String(end)]) : null;
  }
}

/** Only rows the caller may see count: two, one of which is hidden, are no collision to tell of. */
export async function collisions(ctx: Context, query: Query<typeof contract.listCollisions>) {
  ctx.authorizeListing('vault');
  const start = Number(decodeCursor(query.cursor, /^(?:0|[1-9]\d{0,5})$/)?.[0] ?? 0);
  const vaults = await vaultNames(ctx);
  const page = new CollisionPage(start, query.limit ?? LIST_LIMIT_DEFAULT);
  let isComplete = true;
  const collect = async (kind: Collision['kind'], groups: AsyncGenerator<Group<LocatedRow>>) => {
    // Looking through everything for who can see none of it would take as long as there is much.
    if (vaults.size < 2) return;
    for await (const { rows, isCut } of groups) {
      if (page.total >= COLLISIONS_MAX) return;
      const collision = collisionOf(ctx, kind, rows, vaults);
      if (collision !== null) page.add(collision);
      // The second vault may be among those that were not looked at.
      else if (isCut) isComplete = false;
    }
  };
  await collect(
    'path',
    groupsOf(ctx, byPath(ctx), (row) => row.path),
  );
  await collect(
    'value',
    groupsOf(
      ctx,
      byValue(ctx),
      ({ fingerprint, fingerprint_version }) =>
        // Digests under two keys say nothing of each other.
        `${fingerprint_version} ${Buffer.from(fingerprint).toString('latin1')}`,
    ),
  );
  const { version } = await fingerprintKey(ctx.kernel, ctx.tenantId);
  // Not asked for whoever sees nothing that could be compared.
  const hasOthers = vaults.size >= 2 && (await hasOtherFingerprints(ctx.database.read, ctx.tenantId, version));
  return {
    collisions: page.shown,
    total: page.total,
    complete: isComplete && !hasOthers,
    next_cursor: page.nextCursor,
  };
}

function collisionOf(
  ctx: Context,
  kind: Collision['kind'],
  group: LocatedRow[],
  vaults: ReadonlyMap<string, string>,
): Collision | null {
  const secrets = group.flatMap((row) => {
    const vault = vaults.get(row.vault_id);
    return vault !== undefined && isWithin(ctx, vault, row, COMPARED[kind])
      ? [{ id: row.secret_id, vault, path: row.path }]
      : [];
  });
  const names = [...new Set(secrets.map(({ vault }) => vault))].sort();
  // The database leaves rows of one key in any order; pages of one answer must agree.
  secrets.sort((a, b) => (`${a.path} ${a.vault}` < `${b.path} ${b.vault}` ? -1 : 1));
  const [first] = secrets;
  if (names.length < 2 || first === undefined) return null;
  return {
    kind,
    path: first.path,
    vaults: names.slice(0, MEMBERS_MAX),
    vaults_total: names.length,
    secrets: secrets.slice(0, MEMBERS_MAX),
    secrets_total: secrets.length,
  };
}

/** Of the vaults in which the caller may see anything. */
async function vaultNames(ctx: Context): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  for (let after = ''; ; ) {
    const rows = await vaultsAfter(ctx.database.read, ctx.tenantId, after, VAULTS_CHUNK);
    for (const row of rows) {
      if (isLive(row) && reachOf(ctx, row.name, SEEN).length > 0) names.set(row.vault_id, row.name);
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < VAULTS_CHUNK) return names;
    after = last.name;
  }
}

function byPath(ctx: Context) {
  return async (after: LocatedRow | null, limit: number) => {
    await recheck(ctx);
    return secretsByPath(ctx.database.read, ctx.tenantId, after?.path ?? '', limit);
  };
}

function byValue(ctx: Context) {
  return async (after: (LocatedRow & Fingerprint) | null, limit: number) => {
    await recheck(ctx);
    return secretsByFingerprint(ctx.database.read, ctx.tenantId, after ?? NO_FINGERPRINT, limit);
  };
}

/**
 * Rows with the same key, of those that have company. They come in chunks, with a pause after each, so that a million of them keep nobody
 * waiting. A group that may go on in the next chunk is read again with that one; one that is too large even so is cut.
 */
async function* groupsOf<R extends LocatedRow>(
  ctx: Context,
  rowsAfter: (after: R | null, limit: number) => Promise<R[]>,
  keyOf: (row: R) => string,
): AsyncGenerator<Group<R>> {
  let after: R | null = null;
  for (let limit = CHUNK; ; ) {
    const rows: R[] = await rowsAfter(after, limit);
    const isLast = rows.length < limit;
    const groups = [...Map.groupBy(rows, keyOf).values()];
    const isCut = !isLast && groups.length === 1 && limit >= GROUP_ROWS_MAX;
    const whole = isLast || isCut ? groups : groups.slice(0, -1);
    for (const group of whole) if (group.length > 1) yield { rows: group, isCut };
    if (isLast) return;
    const end = whole.at(-1)?.at(-1);
    // One group fills the chunk: take a larger one.
    if (end === undefined) limit *= 2;
    else {
      // What was cut goes on with the same key, which is passed over.
      after = end;
      limit = CHUNK;
    }
    await nextTurn(ctx.tenantId);
  }
}
