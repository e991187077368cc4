import { placesInVault } from '../../kernel/authz/ceiling.ts';
import { intersection, type PathRange } from '../../kernel/authz/path-ranges.ts';
import { CofferError } from '../../kernel/base/errors.ts';
import type { Query } from '../../kernel/endpoint/declaration.ts';
import { Streamed } from '../../kernel/request/binding.ts';
import type { Context } from '../../kernel/request/context.ts';
import { boundCursor } from '../../kernel/request/list-cursor.ts';
import { LIST_LIMIT_DEFAULT } from '../../kernel/wire/wire.ts';
import { secretResource } from '../secrets/index.ts';
import { type BulkRow, bulkDecrypt, visibleSecrets } from '../secrets/reading/index.ts';
import type * as contract from './contract.ts';

const READABLE = ['secrets:aggregate', 'secrets:read'];

/** The secrets are chosen and recorded first. Their values are then decrypted and written a few at a time, so that they are never all in memory. */
export async function aggregate(
  ctx: Context,
  vaultName: string,
  query: Query<typeof contract.aggregateSecrets>,
): Promise<Streamed> {
  const within = visibleSecrets.prefixRange(query.prefix);
  refuseOutOfScope(ctx, vaultName, within);
  const { vault, ranges } = await visibleSecrets.vault(ctx, vaultName, READABLE);
  const isAllowed = visibleSecrets.isAllowedIn(ctx, vaultName, READABLE);
  const isReadable = (row: BulkRow) => row.protection === 'standard' && isAllowed(row);
  const page = await visibleSecrets.bulkPage(ctx, {
    vault,
    ranges: intersection(ranges, [within]),
    cursor: query.cursor,
    limit: query.limit ?? LIST_LIMIT_DEFAULT,
    isShown: isReadable,
  });
  ctx.record.describe({ prefix: query.prefix ?? '', secrets: page.rows.length });
  if (vault.log_reads === 1) {
    for (const { path, secret_id, version } of page.rows) {
      ctx.record.addEntry('secrets:read', secretResource(vaultName, path), {
        secret: secret_id,
        version,
        via: 'aggregate',
      });
    }
  } else ctx.record.leaveUnrecorded(vaultName, page.rows.length);
  const next_cursor = await boundCursor(ctx, page.next_cursor);
  return new Streamed(pieces());

  async function* pieces(): AsyncGenerator<string> {
    yield `{"vault":${JSON.stringify(vaultName)},"prefix":${JSON.stringify(query.prefix ?? '')},"secrets":[`;
    let separator = '';
    for await (const opened of bulkDecrypt.inVault(ctx, vault, page.rows, isReadable)) {
      if (opened.length === 0) continue;
      const secrets = opened.map(({ row: { path, type, version }, value }) =>
        JSON.stringify({ path, type, value, version }),
      );
      yield separator + secrets.join(',');
      separator = ',';
    }
    yield `],"next_cursor":${JSON.stringify(next_cursor)}}`;
  }
}

/** A machine that reads outside its vaults and paths is misconfigured, and an empty result would look like an empty vault. */
function refuseOutOfScope(ctx: Context, vault: string, within: PathRange): void {
  const { kind, ceilings } = ctx.principal;
  if (kind !== 'app_connection' || intersection(placesInVault(ceilings, vault), [within]).length > 0) return;
  ctx.record.setResource(`vault/${vault}`);
  throw new CofferError(
    'VAULT_OUT_OF_SCOPE',
    "This vault or prefix is outside the connection's vaults and paths: request one of its own, or change the connection.",
  );
}
