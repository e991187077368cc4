import { CofferError, invalidField } from '../../kernel/base/errors.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { SecretRow } from './storage/tables.ts';

/** The ETag of a resolved template also says the versions of its parts, which a change of its text does not depend on. */
const IF_MATCH = /^"v([1-9]\d{0,8})(?:-[0-9a-f]{16})?"$/;

/** `expected_version` and `If-Match` mean the same; a request that sends both must send equal versions. */
export function requireVersion(ctx: Context, row: Pick<SecretRow, 'version'>, expected: number | undefined): void {
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
    details: { version: row.version },
  });
}
