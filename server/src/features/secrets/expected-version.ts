import { timestamp } from '../../kernel/base/clock.ts';
import { CofferError, invalidField } from '../../kernel/base/errors.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import { attributesOf } from './authorization.ts';
import { metadataOf } from './serialization.ts';
import type { SecretRow } from './storage/tables.ts';
import { findVersion } from './storage/version-store.ts';

/** The ETag of a resolved template also says the versions of its parts, which a change of its text does not depend on. */
const IF_MATCH = /^"v([1-9]\d{0,8})(?:-[0-9a-f]{16})?"$/;

/** `expected_version` and `If-Match` mean the same; a request that sends both must send equal versions. */
export async function requireVersion(
  ctx: Context,
  tx: Tx,
  row: SecretRow,
  expected: number | undefined,
): Promise<void> {
  const header = ctx.ifMatch;
  const matched = header === undefined ? null : IF_MATCH.exec(header);
  if (header !== undefined && matched === null) {
    throw invalidField('/headers/if-match', 'must be a version in quotes, such as "v3"');
  }
  const wanted = matched === null ? expected : Number(matched[1]);
  if (expected !== undefined && wanted !== expected) {
    throw invalidField('/body/expected_version', 'differs from If-Match: send one of them');
  }
  if (wanted === undefined || wanted === row.version) return;
  throw new CofferError('VERSION_CONFLICT', `The secret is at version ${row.version}: read it again and retry.`, {
    details: { version: row.version, expected_version: wanted, ...(await bothSides(ctx, tx, row, wanted)) },
  });
}

/** Who made the version that was expected and the newest, and what is said about each; never values. Only for callers who may read the history. */
async function bothSides(ctx: Context, tx: Tx, row: SecretRow, wanted: number) {
  if (!ctx.access.may('secrets:read_metadata', ctx.record.resource, attributesOf(row))) return {};
  const side = async (version: number) => {
    const found = await findVersion(tx, ctx.tenantId, row, version);
    if (found === undefined) return null;
    const { operation, reason, author_id: id, author_name: name, created_at, type } = found;
    const metadata = metadataOf(found);
    return { version, operation, reason, author: { id, name }, created_at: timestamp(created_at), type, metadata };
  };
  return { expected: await side(wanted), current: await side(row.version) };
}
