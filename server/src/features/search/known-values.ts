import { HOUR_MS, SECOND_MS } from '../../kernel/base/clock.ts';
import { CofferError } from '../../kernel/base/errors.ts';
import { isGuessable } from '../../kernel/crypto/guessable.ts';
import { nextTurn } from '../../kernel/fairness/event-loop-turns.ts';
import { filterInSlices } from '../../kernel/fairness/time-slice.ts';
import { countedWithin } from '../../kernel/limits/attempt-counters.ts';
import { recheck } from '../../kernel/request/acceptance.ts';
import type { Context } from '../../kernel/request/context.ts';
import { fingerprintVersions, secretsWithValue, visibleSecrets } from '../secrets/index.ts';
import { listableVaults } from './listable-vaults.ts';

/**
 * Values that a principal may have compared in an hour with secrets that it may not read. The answer confirms a guess, and a word list has values
 * that look random.
 */
export const UNREAD_VALUES_PER_HOUR_MAX = 10_000;
/** Secrets listed for one value. */
const SECRETS_MAX = 50;
const READABLE = ['secrets:list', 'secrets:read'];

interface Compared {
  secrets: { id: string; vault: string; path: string }[];
  /** Whether the answer says something about a secret that the caller may not read. */
  isUnread: boolean;
}

/**
 * Says which secrets have the values. The values are in neither the response nor the audit log, which has how many were sent and how many are
 * known.
 */
export async function findKnown(ctx: Context, values: readonly string[]) {
  ctx.access.authorizeListing('vault');
  // The fingerprints that zero-knowledge vaults had before 0.3.0 may be stored still.
  const vaults = await listableVaults(ctx, ({ is_zero_knowledge }) => is_zero_knowledge === 0);
  const compared = new Map<string, Compared>();
  // Skipped for a caller who may list nothing: the time would tell how many secrets there are.
  const versions = vaults.size === 0 ? [] : await fingerprintVersions(ctx.database.read, ctx.tenantId);
  for (const value of new Set(values)) {
    compared.set(value, await compare(ctx, vaults, { value, versions }));
    await nextTurn(ctx.tenantId);
    await recheck(ctx);
  }
  const unread = [...compared.values()].filter(({ isUnread }) => isUnread).length;
  if (vaults.size > 0 && unread > 0) await countUnread(ctx, unread);
  const known = values.flatMap((value, index) => {
    const { secrets } = compared.get(value) as Compared;
    if (secrets.length === 0) return [];
    return [{ index, secrets: secrets.slice(0, SECRETS_MAX), secrets_total: secrets.length }];
  });
  ctx.record.describe({ values: compared.size, known: known.length, unread });
  const indexes = await filterInSlices(ctx.tenantId, [...values.keys()], (index) => isGuessable(values[index] ?? ''));
  return { known, guessable: indexes };
}

/** A value that can be guessed is found only where the caller may read it, because then there is nothing to guess. */
async function compare(
  ctx: Context,
  vaults: ReadonlyMap<string, string>,
  { value, versions }: { value: string; versions: readonly number[] },
): Promise<Compared> {
  const rows = await secretsWithValue(ctx.kernel, ctx.database.read, ctx.tenantId, { value, versions });
  const located = rows.flatMap((row) => {
    const vault = vaults.get(row.vault_id);
    return vault === undefined ? [] : [{ ...row, vault }];
  });
  const found = async (actions: readonly string[]) =>
    (await filterInSlices(ctx.tenantId, located, (row) => visibleSecrets.isAllowed(ctx, row.vault, row, actions)))
      .map(({ secret_id, vault, path }) => ({ id: secret_id, vault, path }))
      .sort((a, b) => (`${a.vault}/${a.path}` < `${b.vault}/${b.path}` ? -1 : 1));
  const readable = await found(READABLE);
  if (isGuessable(value)) return { secrets: readable, isUnread: false };
  // Anyone who reads one of the secrets knows the value, so that others have it too is no guess.
  return { secrets: await found(visibleSecrets.LISTED), isUnread: readable.length === 0 };
}

/** Counted before the response, also for values that no secret has: each is a guess. */
async function countUnread(ctx: Context, count: number): Promise<void> {
  const { principal, tenantId, now, database } = ctx;
  const subject = ['known values', tenantId, principal.kind, principal.id];
  const counted = await database.transaction((tx) => countedWithin(tx, subject, { count, now, periodMs: HOUR_MS }));
  if (counted <= UNREAD_VALUES_PER_HOUR_MAX) return;
  throw new CofferError(
    'RATE_LIMIT_EXCEEDED',
    `In the last hour you sent more than ${UNREAD_VALUES_PER_HOUR_MAX} values that are in no secret you may read: try again later, or send fewer.`,
    { retryAfterSeconds: HOUR_MS / SECOND_MS, auditReason: 'too many values that the caller may not read' },
  );
}
