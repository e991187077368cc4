import { setImmediate as nextTurn } from 'node:timers/promises';
import { recheck } from '../../kernel/acceptance.ts';
import type { Context } from '../../kernel/context.ts';
import type { Query } from '../../kernel/endpoint.ts';
import { decodeCursor, encodeCursor } from '../../kernel/storage/cursor.ts';
import { LIST_LIMIT_DEFAULT } from '../../kernel/wire.ts';
import {
  type Fingerprint,
  fingerprintKey,
  hasOtherFingerprints,
  isWithin,
  NO_FINGERPRINT,
  type PlacedRow,
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
/** How many are gathered; a tenant with more has another problem than finding them. */
const COLLISIONS_MAX = 10_000;

/** To tell that values are equal is to tell whether a guess is right: only to who may read them anyway. */
const COMPARED: Record<Collision['kind'], Wanted> = {
  path: SEEN,
  value: { every: ['secrets:list'], some: ['secrets:read'] },
};

interface Collision {
  kind: 'path' | 'value';
  path: string;
  vaults: string[];
  secrets: { id: string; vault: string; path: string }[];
}

/** Only rows the caller may see count: two, one of which is hidden, are no collision to tell of. */
export async function collisions(ctx: Context, query: Query<typeof contract.listCollisions>) {
  ctx.authorizeListing('vault');
  const start = Number(decodeCursor(query.cursor, /^(?:0|[1-9]\d{0,5})$/)?.[0] ?? 0);
  const limit = query.limit ?? LIST_LIMIT_DEFAULT;
  const vaults = await vaultNames(ctx);
  const found: Collision[] = [];
  const gather = async (kind: Collision['kind'], groups: AsyncGenerator<PlacedRow[]>) => {
    // Looking through everything for who can see none of it would take as long as there is much.
    if (vaults.size < 2) return;
    for await (const group of groups) {
      if (found.length >= COLLISIONS_MAX) return;
      const collision = collisionOf(ctx, kind, group, vaults);
      if (collision !== null) found.push(collision);
    }
  };
  await gather(
    'path',
    groupsOf(byPath(ctx), (row) => row.path),
  );
  await gather(
    'value',
    groupsOf(
      byValue(ctx),
      ({ fingerprint, fingerprint_version }) =>
        // Digests under two keys say nothing of each other.
        `${fingerprint_version} ${Buffer.from(fingerprint).toString('latin1')}`,
    ),
  );
  const { version } = await fingerprintKey(ctx.kernel, ctx.tenantId);
  const end = start + limit;
  return {
    collisions: found.slice(start, end),
    total: found.length,
    // Not asked for whoever sees nothing that could be compared.
    complete: vaults.size < 2 || !(await hasOtherFingerprints(ctx.database.read, ctx.tenantId, version)),
    next_cursor: end < found.length ? encodeCursor([String(end)]) : null,
  };
}

function collisionOf(
  ctx: Context,
  kind: Collision['kind'],
  group: PlacedRow[],
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
  return names.length < 2 || first === undefined ? null : { kind, path: first.path, vaults: names, secrets };
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
  return async (after: PlacedRow | null, limit: number) => {
    await recheck(ctx);
    return secretsByPath(ctx.database.read, ctx.tenantId, after?.path ?? '', limit);
  };
}

function byValue(ctx: Context) {
  return async (after: (PlacedRow & Fingerprint) | null, limit: number) => {
    await recheck(ctx);
    return secretsByFingerprint(ctx.database.read, ctx.tenantId, after ?? NO_FINGERPRINT, limit);
  };
}

/**
 * Rows with the same key, of those that have company. They come in chunks, with a pause after each, so that a million of them keep nobody
 * waiting; a group that may go on in the next chunk is read again with that one.
 */
async function* groupsOf<R extends PlacedRow>(
  rowsAfter: (after: R | null, limit: number) => Promise<R[]>,
  keyOf: (row: R) => string,
): AsyncGenerator<R[]> {
  let after: R | null = null;
  for (let limit = CHUNK; ; ) {
    const rows: R[] = await rowsAfter(after, limit);
    const isLast = rows.length < limit;
    const groups = [...Map.groupBy(rows, keyOf).values()];
    const whole = isLast ? groups : groups.slice(0, -1);
    for (const group of whole) if (group.length > 1) yield group;
    if (isLast) return;
    const end = whole.at(-1)?.at(-1);
    // One group fills the chunk: take a larger one.
    if (end === undefined) limit *= 2;
    else {
      after = end;
      limit = CHUNK;
    }
    await nextTurn();
  }
}
