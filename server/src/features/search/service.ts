import { intersection } from '../../kernel/authz/path-ranges.ts';
import type { Body } from '../../kernel/endpoint/declaration.ts';
import type { Context } from '../../kernel/request/context.ts';
import { type BulkRow, bulkDecrypt, visibleSecrets } from '../secrets/reading/index.ts';
import { refuseInZeroKnowledge } from '../secrets/value/index.ts';
import type * as contract from './contract.ts';

const SEARCHABLE = ['secrets:search', 'secrets:read'];
/** Values decrypted for one request, at most. */
const OPENED_MAX = 1000;

/** The search text is not recorded in the audit log, because it may be part of a secret. */
export async function search(ctx: Context, vaultName: string, body: Body<typeof contract.searchSecrets>) {
  const { vault, ranges } = await visibleSecrets.vault(ctx, vaultName, SEARCHABLE);
  refuseInZeroKnowledge(vault, 'Content search');
  const isAllowed = visibleSecrets.isAllowedIn(ctx, vaultName, SEARCHABLE);
  const isSearchable = (row: BulkRow) => row.protection === 'standard' && isAllowed(row);
  const page = await visibleSecrets.bulkPage(ctx, {
    vault,
    ranges: intersection(ranges, [visibleSecrets.prefixRange(body.prefix, '/body/prefix')]),
    cursor: body.cursor,
    cursorAt: '/body/cursor',
    limit: OPENED_MAX,
    isShown: isSearchable,
  });
  const matches = [];
  for await (const opened of bulkDecrypt.inVault(ctx, vault, page.rows, isSearchable)) {
    for (const { row, value } of opened) {
      if (!value.includes(body.query)) continue;
      matches.push({ id: row.secret_id, path: row.path, type: row.type, version: row.version });
    }
  }
  ctx.record.describe({ searched: page.rows.length, matches: matches.length });
  return { matches, next_cursor: page.next_cursor };
}
