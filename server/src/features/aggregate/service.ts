import { placesInVault } from '../../kernel/authz/ceiling.ts';
import { intersection, type PathRange } from '../../kernel/authz/path-ranges.ts';
import { CofferError } from '../../kernel/base/errors.ts';
import type { Query } from '../../kernel/endpoint/declaration.ts';
import { TimeSlice } from '../../kernel/fairness/time-slice.ts';
import { Streamed } from '../../kernel/request/binding.ts';
import type { Context } from '../../kernel/request/context.ts';
import { boundCursor } from '../../kernel/request/list-cursor.ts';
import { LIST_LIMIT_DEFAULT } from '../../kernel/wire/wire.ts';
import { secretResource } from '../secrets/index.ts';
import { type BulkRow, bulkDecrypt, visibleSecrets } from '../secrets/reading/index.ts';
import {
  isAnyPartListed,
  planTemplates,
  problemOf,
  recordPlanned,
  resolvedValues,
  type TemplatePlan,
} from '../secrets/references/index.ts';
import type * as contract from './contract.ts';

const READABLE = ['secrets:aggregate', 'secrets:read'];
const NOT_RESOLVED: TemplatePlan = new Map();

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
  const vaultOf = () => ({ vault: vaultName, vault_id: vault.vault_id });
  const plan =
    query.resolve === false ? NOT_RESOLVED : await planTemplates(ctx, page.rows, { vaultOf, mayRead: isReadable });
  const rows = plan.size === 0 ? page.rows : page.rows.filter((row) => problemOf(plan, row) === null);
  ctx.record.describe({ prefix: query.prefix ?? '', secrets: rows.length });
  const slice = TimeSlice.of(ctx.tenantId);
  for (const row of plan.size === 0 ? [] : rows) {
    const pause = slice.pause();
    if (pause !== undefined) await pause;
    recordPlanned(ctx, plan, { vault: vaultName, ...row });
  }
  if (vault.log_reads === 1) {
    for (const { path, secret_id, version } of rows) {
      ctx.record.addEntry('secrets:read', secretResource(vaultName, path), {
        secret: secret_id,
        version,
        via: 'aggregate',
      });
    }
  } else if (isAnyPartListed(plan)) ctx.record.countUnlisted(vaultName, rows.length);
  else ctx.record.leaveUnrecorded(vaultName, rows.length);
  const next_cursor = await boundCursor(ctx, page.next_cursor);
  return new Streamed(pieces());

  async function* pieces(): AsyncGenerator<string> {
    yield `{"vault":${JSON.stringify(vaultName)},"prefix":${JSON.stringify(query.prefix ?? '')},"secrets":[`;
    let separator = '';
    const opened = bulkDecrypt.inVault(ctx, vault, rows, isReadable);
    for await (const resolved of resolvedValues(ctx, opened, plan)) {
      if (resolved.length === 0) continue;
      const secrets = resolved.map(({ row: { path, type, version }, value, parts }) =>
        JSON.stringify({ path, type, value, version, parts }),
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
