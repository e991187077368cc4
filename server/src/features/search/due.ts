import { DAY_MS, timestamp } from '../../kernel/base/clock.ts';
import { idForm } from '../../kernel/base/ids.ts';
import type { Query } from '../../kernel/endpoint/declaration.ts';
import type { Context } from '../../kernel/request/context.ts';
import { LIST_LIMIT_DEFAULT } from '../../kernel/wire/wire.ts';
import { type Scanned, scannedPage, visibleSecrets } from '../secrets/reading/index.ts';
import { type DueRow, dueSecretsOf, type FailedRotationRow } from '../secrets/rotation/index.ts';
import type * as contract from './contract.ts';
import { listableVaults } from './listable-vaults.ts';

const WITHIN_DAYS_DEFAULT = 7;
/** A value that ended longer ago is not in use any more. */
const ENDED_DAYS_MAX = 30;
const TIME_FORM = /^-?\d{1,15} sec_[0-9A-Za-z]{1,40}$/;

type Kind = Query<typeof contract.listDueSecrets>['kind'];

/**
 * Secrets of all vaults that need somebody. Times of rotations are in every list of secrets; failures and ends are shown to those
 * who may read the secret or its metadata.
 */
export async function listDue(ctx: Context, query: Query<typeof contract.listDueSecrets>) {
  ctx.access.authorizeListing('vault');
  const vaults = await listableVaults(ctx);
  const isSeen = (row: DueRow) => {
    const vault = vaults.get(row.vault_id);
    if (vault === undefined || !visibleSecrets.isAllowed(ctx, vault, row, visibleSecrets.LISTED)) return false;
    return query.kind === 'rotation' || visibleSecrets.isDescribable(ctx, vault, row);
  };
  const request = { cursor: query.cursor, limit: query.limit ?? LIST_LIMIT_DEFAULT };
  const days = query.within_days ?? WITHIN_DAYS_DEFAULT;
  const page =
    query.kind === 'failed_rotation'
      ? await scannedPage(ctx, failedRotations(ctx, vaults.size), {
          ...request,
          isShown: (row) => row.is_latest === 1 && row.deleted_no === 0 && isSeen(row),
        })
      : await scannedPage(ctx, dueWithin(ctx, query.kind, days, vaults.size), { ...request, isShown: isSeen });
  const secrets = page.rows.map(({ secret_id, vault_id, path, type, environment, at, failure }) => ({
    id: secret_id,
    vault: String(vaults.get(vault_id)),
    path,
    type,
    environment,
    at: timestamp(at),
    failure,
  }));
  return { secrets, next_cursor: page.next_cursor };
}

/** Newest first. Nothing is read for a caller who may list nothing: the time would tell how much there is. */
function failedRotations(ctx: Context, vaults: number): Scanned<FailedRotationRow> {
  return {
    list: { name: 'failed rotations', form: idForm('rotation') },
    positionOf: ({ rotation_id }) => rotation_id,
    rowsAfter: async (position, limit) =>
      vaults === 0 ? [] : dueSecretsOf.failedRotations(ctx.database.read, ctx.tenantId, position, limit),
  };
}

/** The earliest first. */
function dueWithin(
  ctx: Context,
  kind: Exclude<Kind, 'failed_rotation'>,
  days: number,
  vaults: number,
): Scanned<DueRow> {
  const column = kind === 'rotation' ? 'next_rotation_at' : 'expires_at';
  const since = kind === 'rotation' ? 0 : ctx.now - ENDED_DAYS_MAX * DAY_MS;
  const until = ctx.now + days * DAY_MS;
  return {
    list: { name: `due by ${column}`, form: TIME_FORM },
    positionOf: ({ at, secret_id }) => `${at} ${secret_id}`,
    async rowsAfter(position, limit) {
      if (vaults === 0) return [];
      const [at, secretId = ''] = position?.split(' ') ?? [];
      const after = { at: at === undefined ? since : Number(at), secretId };
      return dueSecretsOf.within(ctx.database.read, ctx.tenantId, column, { after, until, limit });
    },
  };
}
