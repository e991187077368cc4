import type { PolicyDocument } from '../../kernel/authz/policy.ts';
import { timestamp } from '../../kernel/base/clock.ts';
import { notFound } from '../../kernel/base/errors.ts';
import type { Query } from '../../kernel/endpoint/declaration.ts';
import type { Context } from '../../kernel/request/context.ts';
import { decodeCursor, pageOf } from '../../kernel/wire/cursor.ts';
import { LIST_LIMIT_DEFAULT } from '../../kernel/wire/wire.ts';
import type * as contract from './contract.ts';
import * as store from './store.ts';

const VERSION_FORM = /^[1-9]\d{0,9}$/;

/** The current version and those before it, newest first. */
export async function listVersions(ctx: Context, name: string, query: Query<typeof contract.listPolicyVersions>) {
  const { read } = ctx.database;
  const row = await store.findPolicy(read, ctx.tenantId, name);
  if (row === undefined) throw notFound('policy');
  const [after] = decodeCursor(query.cursor, VERSION_FORM) ?? [];
  const limit = query.limit ?? LIST_LIMIT_DEFAULT;
  const before = after === undefined ? row.version : Math.min(Number(after), row.version);
  const rows = await store.formerVersions(read, row, before, limit + 1);
  const current = { ...row, written_at: row.updated_at };
  const page = pageOf(after === undefined ? [current, ...rows] : rows, limit, ({ version }) => [String(version)]);
  return {
    versions: page.rows.map(({ version, description, document, written_at }) => ({
      version,
      description,
      document: JSON.parse(document) as PolicyDocument,
      written_at: timestamp(written_at),
      is_current: version === row.version,
    })),
    next_cursor: page.next_cursor,
  };
}
