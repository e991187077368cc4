import type { Context } from '../../../kernel/request/context.ts';
import { attributesOf } from '../authorization.ts';
import { type SecretLocation, secretResource } from '../location.ts';
import type { SecretReader } from '../reading/secret-reader.ts';
import { referencesOf } from '../storage/reference-store.ts';
import { knownReferrers } from './referrers.ts';

export async function readReferences(ctx: Context, reader: SecretReader, at: SecretLocation) {
  const row = await reader.authorized(ctx, at);
  const { read } = ctx.database;
  const mayRead = ctx.access.may('secrets:read', secretResource(at.vault, at.path), attributesOf(row));
  const references = mayRead ? await referencesOf(read, ctx.tenantId, [row.secret_id]) : null;
  ctx.record.describe({ secret: row.secret_id });
  return {
    refers_to: references?.map(({ vault, path }) => ({ vault, path })) ?? null,
    referred_by: await knownReferrers(ctx, read, at),
  };
}
