import { isGuessable } from '../../../../detection/src/index.ts';
import { HOUR_MS, SECOND_MS } from '../../kernel/base/clock.ts';
import { CofferError, invalidField } from '../../kernel/base/errors.ts';
import type { Body } from '../../kernel/endpoint/declaration.ts';
import { nextTurn } from '../../kernel/fairness/event-loop-turns.ts';
import { filterInSlices } from '../../kernel/fairness/time-slice.ts';
import { countedWithin } from '../../kernel/limits/attempt-counters.ts';
import { recheck } from '../../kernel/request/acceptance.ts';
import type { Context } from '../../kernel/request/context.ts';
import { visibleSecrets } from '../secrets/reading/index.ts';
import {
  comparedSecrets,
  digestOf,
  type Fingerprint,
  type FingerprintKey,
  fingerprintKey,
  fingerprintKeys,
  secretsWithFingerprints,
} from '../secrets/value/index.ts';
import type * as contract from './contract.ts';
import { listableVaults } from './listable-vaults.ts';

/**
 * Values that a principal may have compared in an hour with secrets that it may not read. The answer confirms a guess, and a word list has values
 * that look random.
 */
export const UNREAD_VALUES_PER_HOUR_MAX = 10_000;
/** Secrets listed for one value. */
const SECRETS_MAX = 50;
const READABLE = ['secrets:list', 'secrets:read'];

/** What a caller has compared. Of a digest nobody can tell whether its value could be guessed: the fingerprints of secrets say it. */
interface Sought {
  digest: Buffer;
  value: string | null;
}

interface Compared {
  secrets: { id: string; vault: string; path: string }[];
  /** Whether the answer says something about a secret that the caller may not read. */
  isUnread: boolean;
}

/**
 * Says which secrets have the values. Neither values nor digests are in the response or the audit log, which has how many were sent and how many are
 * known.
 */
export async function findKnown(ctx: Context, body: Body<typeof contract.findKnownValues>) {
  const sought = soughtIn(body);
  ctx.access.authorizeListing('vault');
  // The fingerprints that zero-knowledge vaults had before 0.3.0 may be stored still.
  const vaults = await listableVaults(ctx, ({ is_zero_knowledge }) => is_zero_knowledge === 0);
  const { kernel, tenantId } = ctx;
  const { read } = ctx.database;
  // Skipped for a caller who may list nothing: the time would tell how many secrets there are.
  const keys = vaults.size === 0 ? [] : await fingerprintKeys(kernel, read, tenantId);
  const compared = new Map<string, Compared>();
  for (const one of sought) {
    const text = one.digest.toString('hex');
    if (compared.has(text)) continue;
    compared.set(text, await compare(ctx, vaults, keys, one));
    await nextTurn(tenantId);
    await recheck(ctx);
  }
  const unread = [...compared.values()].filter(({ isUnread }) => isUnread).length;
  if (vaults.size > 0 && unread > 0) await countUnread(ctx, unread);
  const known = sought.flatMap(({ digest }, index) => {
    const { secrets } = compared.get(digest.toString('hex')) as Compared;
    if (secrets.length === 0) return [];
    return [{ index, secrets: secrets.slice(0, SECRETS_MAX), secrets_total: secrets.length }];
  });
  ctx.record.describe({ values: compared.size, known: known.length, unread });
  const isOfGuessable = (index: number) => isGuessable(sought[index]?.value ?? '');
  const guessable = await filterInSlices(tenantId, body.values === undefined ? [] : [...sought.keys()], isOfGuessable);
  const { version } = await fingerprintKey(kernel, tenantId);
  const hasOthers = vaults.size > 0 && (await comparedSecrets.hasOtherFingerprints(read, tenantId, version));
  return { known, guessable, complete: !hasOthers };
}

function soughtIn({ digests, values }: Body<typeof contract.findKnownValues>): Sought[] {
  if (digests !== undefined && values !== undefined)
    throw invalidField('/body/values', 'cannot be combined with digests: send digests alone');
  if (values !== undefined) return values.map((value) => ({ digest: digestOf(value), value }));
  if (digests === undefined) throw invalidField('/body/digests', 'is required: the digests of the values to be found');
  return digests.map((digest) => ({ digest: Buffer.from(digest, 'hex'), value: null }));
}

/** The fingerprints of secrets with the value: if it can be guessed, and if it cannot. */
function fingerprintsOf(keys: readonly FingerprintKey[], { digest, value }: Sought, isOfGuessable: boolean) {
  return keys.flatMap((key): Fingerprint[] => {
    const ofText = value !== null && isGuessable(value) === isOfGuessable ? key.ofValue(value) : null;
    const fingerprint = key.ofDigest(digest, isOfGuessable) ?? ofText;
    return fingerprint === null ? [] : [{ fingerprint, fingerprint_version: key.version }];
  });
}

/** A value that can be guessed is found only where the caller may read it, because then there is nothing to guess. */
async function compare(
  ctx: Context,
  vaults: ReadonlyMap<string, string>,
  keys: readonly FingerprintKey[],
  sought: Sought,
): Promise<Compared> {
  const located = async (isOfGuessable: boolean) => {
    const fingerprints = fingerprintsOf(keys, sought, isOfGuessable);
    const rows = await secretsWithFingerprints(ctx.database.read, ctx.tenantId, fingerprints);
    return rows.flatMap((row) => {
      const vault = vaults.get(row.vault_id);
      return vault === undefined ? [] : [{ ...row, vault }];
    });
  };
  const [guessable, others] = [await located(true), await located(false)];
  const allowed = async (rows: typeof others, actions: readonly string[]) =>
    (await filterInSlices(ctx.tenantId, rows, (row) => visibleSecrets.isAllowed(ctx, row.vault, row, actions)))
      .map(({ secret_id, vault, path }) => ({ id: secret_id, vault, path }))
      .sort((a, b) => (`${a.vault}/${a.path}` < `${b.vault}/${b.path}` ? -1 : 1));
  const readable = await allowed([...guessable, ...others], READABLE);
  // Anyone who reads one of the secrets knows the value, so that others have it too is no guess.
  const isUnread = readable.length === 0 && (sought.value === null || !isGuessable(sought.value));
  return { secrets: guessable.length > 0 ? readable : await allowed(others, visibleSecrets.LISTED), isUnread };
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
