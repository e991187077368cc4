import { intersection } from '../../kernel/authz/path-ranges.ts';
import { pathScope } from '../../kernel/authz/path-scope.ts';
import type { Query } from '../../kernel/endpoint/declaration.ts';
import type { Context } from '../../kernel/request/context.ts';
import { decodeCursor, encodeCursor } from '../../kernel/wire/cursor.ts';
import { LIST_LIMIT_DEFAULT } from '../../kernel/wire/wire.ts';
import { visibleSecrets } from '../secrets/reading/index.ts';
import { isLive } from '../vaults/index.ts';
import { findVaultById } from '../vaults/storage/index.ts';
import type * as contract from './contract.ts';
import { vaultIdsOf } from './principal.ts';
import { existing } from './service.ts';
import * as store from './storage/connection-store.ts';

/** Maximum connections that are evaluated for one page. */
const CONNECTIONS_MAX = 100;
const NUMBER_FORM = /^\d{1,15}$/;
/** The cursor inside a vault; may be empty. */
const INNER_FORM = /^[A-Za-z0-9_.-]{0,1900}$/;

type AutoPath = {
  connection_id: number;
  client_id: string;
  connection: string;
  vault: string;
  secret: string;
  path: string;
};

/** Ordered by connection, then by vault, then by path. A page may be short; the cursor says where to continue. */
export async function autoPaths(ctx: Context, query: Query<typeof contract.listAutoPaths>) {
  const [start = '0', vaultAt = '0', inner = ''] =
    decodeCursor(query.cursor, NUMBER_FORM, NUMBER_FORM, INNER_FORM) ?? [];
  const limit = query.limit ?? LIST_LIMIT_DEFAULT;
  const connections = await connectionsFrom(ctx, query.client_id, Number(start));
  const paths: AutoPath[] = [];
  let vaultIndex = Number(vaultAt);
  let cursor = inner === '' ? undefined : inner;
  for (const row of connections) {
    const vaultIds = vaultIdsOf(row);
    for (; vaultIndex < vaultIds.length; vaultIndex++) {
      const page = await pathsIn(ctx, row, vaultIds[vaultIndex] ?? '', { cursor, limit: limit - paths.length });
      paths.push(...page.paths);
      cursor = page.next_cursor ?? undefined;
      const isVaultDone = cursor === undefined;
      if (!isVaultDone || paths.length >= limit) {
        const next = isVaultDone ? String(vaultIndex + 1) : String(vaultIndex);
        return { paths, next_cursor: encodeCursor([String(row.connection_no), next, cursor ?? '']) };
      }
    }
    vaultIndex = 0;
  }
  const last = connections.at(-1);
  const isEnd = last === undefined || query.client_id !== undefined || connections.length < CONNECTIONS_MAX;
  return { paths, next_cursor: isEnd ? null : encodeCursor([String(last.connection_no + 1), '0', '']) };
}

async function connectionsFrom(ctx: Context, clientId: string | undefined, start: number) {
  if (clientId !== undefined) return [await existing(ctx, clientId)];
  return store.connectionsAfter(ctx.database.read, ctx.tenantId, start - 1, CONNECTIONS_MAX);
}

async function pathsIn(
  ctx: Context,
  row: store.ConnectionRow,
  vaultId: string,
  { cursor, limit }: { cursor: string | undefined; limit: number },
): Promise<{ paths: AutoPath[]; next_cursor: string | null }> {
  const vault = await findVaultById(ctx.database.read, ctx.tenantId, vaultId);
  if (!isLive(vault)) return { paths: [], next_cursor: null };
  const places = pathScope(new Set([vault.name]), JSON.parse(row.allowed_paths) as string[], '/allowed_paths');
  const page = await visibleSecrets.page(ctx, {
    vault,
    ranges: intersection(
      visibleSecrets.rangesIn(ctx, vault.name, visibleSecrets.LISTED),
      places.rangesIn(vault.name).ranges,
    ),
    filter: {},
    cursor,
    limit: Math.max(limit, 1),
    isShown: (secret) =>
      places.matches(`vault/${vault.name}/${secret.path}`) &&
      (row.environment === null || row.environment === secret.environment) &&
      visibleSecrets.isAllowed(ctx, vault.name, secret, visibleSecrets.LISTED),
  });
  const paths = page.rows.map((secret) => ({
    connection_id: store.numberOf(row),
    client_id: row.client_id,
    connection: row.name,
    vault: vault.name,
    secret: secret.path,
    path: `/app-connections/fetch/${row.client_id}/${vault.name}/${secret.path}`,
  }));
  return { paths, next_cursor: page.next_cursor };
}
