import { timestamp } from '../../kernel/base/clock.ts';
import type { Query } from '../../kernel/endpoint/declaration.ts';
import { nextTurn } from '../../kernel/fairness/event-loop-turns.ts';
import { TimeSlice } from '../../kernel/fairness/time-slice.ts';
import { recheck } from '../../kernel/request/acceptance.ts';
import type { Context } from '../../kernel/request/context.ts';
import { cursorAt, openedCursor, sealedCursor } from '../../kernel/request/sealed-cursor.ts';
import { LIST_LIMIT_DEFAULT } from '../../kernel/wire/wire.ts';
import { visibleSecrets } from '../secrets/reading/index.ts';
import { type FoundByPath, type PathMatch, type PathPosition, pathSearch } from '../secrets/storage/index.ts';
import type * as contract from './contract.ts';
import { listableVaults } from './listable-vaults.ts';

/** Paths read by one statement, after which other requests have their turn. */
const WINDOW = 5000;
/** Paths read for one page, at most: no index has the parts of a path. */
const SCAN_MAX = 100_000;
/** Matches loaded by one statement. */
const MATCHES = 500;

const LIST = { name: 'secrets by path', form: /^[A-Za-z0-9._@+=/-]{1,1024} vault_[0-9A-Za-z]{1,40}$/ };

/**
 * Finds secrets of all vaults by parts of their path. Each match is decided on by itself, as in the list of one vault. A page ends before the next
 * match that the caller may see, or after as many paths as a page may read, whatever they are: matches in other vaults change nothing.
 */
export async function findByPath(ctx: Context, query: Query<typeof contract.findSecrets>) {
  ctx.access.authorizeListing('vault');
  const vaults = await listableVaults(ctx);
  let position = positionOf(await openedCursor(ctx, LIST, query.cursor));
  const found: (FoundByPath & { vault: string })[] = [];
  const page = (next_cursor: string | null) => ({ secrets: found.map(foundSecret), next_cursor });
  // Skipped for a caller who may list nothing: the time would tell how many secrets there are.
  if (vaults.size === 0) return page(null);
  const limit = query.limit ?? LIST_LIMIT_DEFAULT;
  const parts = [...new Set(query.path.map((part) => part.toLowerCase()))];
  const { match = 'part' } = query;
  const { read } = ctx.database;
  const slice = TimeSlice.of(ctx.tenantId);
  for (let scanned = WINDOW; ; scanned += WINDOW) {
    const end = await pathSearch.positionAfter(read, ctx.tenantId, position, WINDOW);
    for await (const row of matches(ctx, { position, end, parts, match })) {
      const pause = slice.pause();
      if (pause !== undefined) await pause;
      const vault = vaults.get(row.vault_id);
      if (vault === undefined || !visibleSecrets.isAllowed(ctx, vault, row, visibleSecrets.LISTED)) continue;
      const last = found.at(-1);
      if (found.length === limit && last !== undefined) return page(cursorAt(textOf(placeOf(last))));
      found.push({ ...row, vault });
    }
    if (end === null) return page(null);
    position = end;
    if (scanned >= SCAN_MAX) return page(await sealedCursor(ctx, LIST, textOf(position)));
    await nextTurn(ctx.tenantId);
    await recheck(ctx);
  }
}

interface Search {
  position: PathPosition;
  end: PathPosition | null;
  parts: readonly string[];
  match: PathMatch;
}

/** The matches between two positions, loaded as they are needed. */
async function* matches(ctx: Context, { position, ...search }: Search): AsyncGenerator<FoundByPath> {
  for (let start = position; ; ) {
    const rows = await pathSearch.between(ctx.database.read, ctx.tenantId, { ...search, start, limit: MATCHES });
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < MATCHES) return;
    start = placeOf(last);
    await nextTurn(ctx.tenantId);
  }
}

function placeOf({ path, vault_id }: FoundByPath): PathPosition {
  return { path, vaultId: vault_id };
}

function textOf({ path, vaultId }: PathPosition): string {
  return `${path} ${vaultId}`;
}

function positionOf(text: string | null): PathPosition {
  const [path, vaultId] = text?.split(' ') ?? [];
  return path === undefined || vaultId === undefined ? pathSearch.BEFORE_ALL : { path, vaultId };
}

function foundSecret({
  secret_id,
  vault,
  path,
  type,
  environment,
  protection,
  version,
  updated_at,
}: FoundByPath & { vault: string }) {
  return { id: secret_id, vault, path, type, environment, protection, version, updated_at: timestamp(updated_at) };
}
