import type { Context } from '../../kernel/request/context.ts';
import type { Author } from './storage/secret-rows.ts';

/** The caller, as the author of a version. */
export function authorOf(ctx: Context): Author {
  const { kind, id, name } = ctx.principal;
  return { kind, id, name };
}
