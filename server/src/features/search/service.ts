import { intersection } from '../../kernel/authz/path-ranges.ts';
import type { Context } from '../../kernel/context.ts';
import type { Body } from '../../kernel/endpoint.ts';
import {
  decryptedValues,
  isWithin,
  prefixRange,
  refuseInZeroKnowledge,
  type SummaryRow,
  vaultWithin,
  visiblePage,
  type Wanted,
} from '../secrets/index.ts';
import type * as contract from './contract.ts';

const SEARCHABLE: Wanted = ['secrets:search', 'secrets:read'];
/** Values decrypted for one request, at most. */
const OPENED_MAX = 1000;

/** The search text is not recorded in the audit log, because it may be part of a secret. */
export async function search(ctx: Context, vaultName: string, body: Body<typeof contract.searchSecrets>) {
  const { vault, ranges } = await vaultWithin(ctx, vaultName, SEARCHABLE);
  refuseInZeroKnowledge(vault, 'Content search');
  const isSearchable = (row: SummaryRow) => row.protection === 'standard' && isWithin(ctx, vaultName, row, SEARCHABLE);
  const page = await visiblePage(ctx, {
    vault,
    ranges: intersection(ranges, [prefixRange(body.prefix, '/body/prefix')]),
    filter: {},
    cursor: body.cursor,
    cursorAt: '/body/cursor',
    limit: OPENED_MAX,
    isShown: isSearchable,
  });
  const matches = [];
  for await (const { row, value } of decryptedValues(ctx, vault, page.rows, isSearchable)) {
    if (!value.includes(body.query)) continue;
    matches.push({ id: row.secret_id, path: row.path, type: row.type, version: row.version });
  }
  ctx.describe({ searched: page.rows.length, matches: matches.length });
  return { matches, next_cursor: page.next_cursor };
}
