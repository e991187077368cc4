import { CofferError } from '../../kernel/base/errors.ts';
import type { Context } from '../../kernel/request/context.ts';
import * as groups from './groups.ts';
import { pageOf, windowOf } from './provisioning.ts';
import type { ListQuery, SearchInput } from './schemas.ts';
import type { ScimUsers } from './users.ts';

/** The query that a list takes. */
export function queryOf({ attributes, excludedAttributes, filter, startIndex, count }: SearchInput): ListQuery {
  return {
    ...(attributes !== undefined && { attributes: attributes.join() }),
    ...(excludedAttributes !== undefined && { excludedAttributes: excludedAttributes.join() }),
    ...(filter !== undefined && { filter }),
    ...(startIndex !== undefined && { startIndex }),
    ...(count !== undefined && { count }),
  };
}

/** People first, then groups: one list with one count of pages. */
export async function search(ctx: Context, users: ScimUsers, body: SearchInput) {
  const query = queryOf(body);
  const window = windowOf(query);
  const people = await unlessUnknown(users.list(ctx, query));
  const rest = Math.max(0, window.limit - (people?.Resources.length ?? 0));
  const startIndex = Math.max(0, window.offset - (people?.totalResults ?? 0)) + 1;
  const named = groups.list(ctx, { ...query, startIndex, count: rest });
  const found = people === null ? await named : await unlessUnknown(named);
  const total = (people?.totalResults ?? 0) + (found?.totalResults ?? 0);
  return pageOf([...(people?.Resources ?? []), ...(found?.Resources ?? [])], total, window);
}

/** A filter by an attribute that resources of this type do not have finds none of them. */
async function unlessUnknown<T>(list: Promise<T>): Promise<T | null> {
  try {
    return await list;
  } catch (error) {
    if (error instanceof CofferError && error.details?.['scimType'] === 'invalidFilter') return null;
    throw error;
  }
}
