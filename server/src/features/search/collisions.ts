import type { Query } from '../../kernel/endpoint/declaration.ts';
import { nextTurn } from '../../kernel/fairness/event-loop-turns.ts';
import { filterInSlices } from '../../kernel/fairness/time-slice.ts';
import { recheck } from '../../kernel/request/acceptance.ts';
import type { Context } from '../../kernel/request/context.ts';
import { decodeCursor, encodeCursor } from '../../kernel/wire/cursor.ts';
import { LIST_LIMIT_DEFAULT } from '../../kernel/wire/wire.ts';
import { visibleSecrets } from '../secrets/reading/index.ts';
import type { LocatedRow } from '../secrets/storage/index.ts';
import { comparedSecrets, type Fingerprint, fingerprintKey } from '../secrets/value/index.ts';
import type * as contract from './contract.ts';
import { listableVaults } from './listable-vaults.ts';

const CHUNK = 1000;
/** Counting stops here: a tenant with more collisions has another problem than finding them. */
const COLLISIONS_MAX = 10_000;
/** Secrets, and vaults, listed for one collision. */
const MEMBERS_MAX = 50;
/** Rows scanned for one key: a hundred thousand values may be equal. */
const GROUP_ROWS_MAX = 8 * CHUNK;
/** A page ends when it reaches this size. */
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;

/** Reporting equal values confirms a guess, so it is limited to callers who may read them. */
const COMPARED: Record<Collision['kind'], readonly string[]> = {
  path: visibleSecrets.LISTED,
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

/** Rows with the same key; `isCut` if there are more, which are not scanned. */
interface Group<R> {
  rows: R[];
  isCut: boolean;
}

/** The collisions of one page, and the total. Those on other pages are only counted. */
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

/** Only rows the caller may see count: if all but one are hidden, no collision is reported. */
export async function collisions(ctx: Context, query: Query<typeof contract.listCollisions>) {
  ctx.access.authorizeListing('vault');
  const start = Number(decodeCursor(query.cursor, /^(?:0|[1-9]\d{0,5})$/)?.[0] ?? 0);
  const vaults = await listableVaults(ctx);
  const page = new CollisionPage(start, query.limit ?? LIST_LIMIT_DEFAULT);
  let isComplete = true;
  const collect = async (kind: Collision['kind'], groups: AsyncGenerator<Group<LocatedRow>>) => {
    // A caller who can see fewer than two vaults cannot see a collision, so the scan is skipped.
    if (vaults.size < 2) return;
    for await (const { rows, isCut } of groups) {
      if (page.total >= COLLISIONS_MAX) return;
      const collision = await collisionOf(ctx, kind, rows, vaults);
      if (collision !== null) page.add(collision);
      // The second vault may be among the rows that were not scanned.
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
        // Fingerprints under two keys cannot be compared.
        `${fingerprint_version} ${Buffer.from(fingerprint).toString('latin1')}`,
    ),
  );
  const { version } = await fingerprintKey(ctx.kernel, ctx.tenantId);
  // Skipped for a caller who sees nothing that could be compared.
  const hasOthers =
    vaults.size >= 2 && (await comparedSecrets.hasOtherFingerprints(ctx.database.read, ctx.tenantId, version));
  return {
    collisions: page.shown,
    total: page.total,
    complete: isComplete && !hasOthers,
    next_cursor: page.nextCursor,
  };
}

async function collisionOf(
  ctx: Context,
  kind: Collision['kind'],
  group: LocatedRow[],
  vaults: ReadonlyMap<string, string>,
): Promise<Collision | null> {
  const located = group.flatMap((row) => {
    const vault = vaults.get(row.vault_id);
    return vault === undefined ? [] : [{ row, vault }];
  });
  const isShown = ({ row, vault }: (typeof located)[number]) =>
    visibleSecrets.isAllowed(ctx, vault, row, COMPARED[kind]);
  const secrets = (await filterInSlices(ctx.tenantId, located, isShown)).map(({ row, vault }) => {
    return { id: row.secret_id, vault, path: row.path };
  });
  const names = [...new Set(secrets.map(({ vault }) => vault))].sort();
  // The database returns rows with equal keys in any order, but all pages must agree.
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

function byPath(ctx: Context) {
  return async (after: LocatedRow | null, limit: number) => {
    await recheck(ctx);
    return comparedSecrets.byPath(ctx.database.read, ctx.tenantId, after?.path ?? '', limit);
  };
}

function byValue(ctx: Context) {
  return async (after: (LocatedRow & Fingerprint) | null, limit: number) => {
    await recheck(ctx);
    return comparedSecrets.byFingerprint(
      ctx.database.read,
      ctx.tenantId,
      after ?? comparedSecrets.FIRST_FINGERPRINT,
      limit,
    );
  };
}

/**
 * Yields groups of at least two rows with the same key. Rows are loaded in chunks, and each chunk is followed by a yield to other requests. A group
 * that may continue in the next chunk is loaded again with it; a group that is still too large is cut.
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
    // One group fills the chunk, so a larger chunk is loaded.
    if (end === undefined) limit *= 2;
    else {
      // The rest of a cut group has the same key and is skipped.
      after = end;
      limit = CHUNK;
    }
    await nextTurn(ctx.tenantId);
  }
}
