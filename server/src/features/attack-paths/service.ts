import { timestamp, timestampOrNull } from '../../kernel/base/clock.ts';
import { notFound } from '../../kernel/base/errors.ts';
import { idForm } from '../../kernel/base/ids.ts';
import type { Query } from '../../kernel/endpoint/declaration.ts';
import { TimeSlice } from '../../kernel/fairness/time-slice.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import { decodeCursor, pageOf } from '../../kernel/wire/cursor.ts';
import { LIST_LIMIT_DEFAULT } from '../../kernel/wire/wire.ts';
import { findRiskRun, requestRiskRun, type SameRights } from '../risk/index.ts';
import { assessedSecrets, locateSecrets } from '../secrets/storage/index.ts';
import { vaultsById } from '../vaults/storage/index.ts';
import type * as contract from './contract.ts';
import { readAttackPath } from './contract.ts';
import { findPaths } from './finding.ts';
import type { AttackPath, Step } from './schemas.ts';
import * as store from './store.ts';
import { mayKnowLinks, mayKnowSecret } from './visibility.ts';
import { isBefore } from './worst-paths.ts';

const SCORE_FORM = /^(?:0|[1-9]\d{0,2})$/;

export async function list(ctx: Context, query: Query<typeof contract.listAttackPaths>) {
  const [score, id] = decodeCursor(query.cursor, SCORE_FORM, idForm('apath')) ?? [];
  // Read before the paths, so that those which are shown are never older than the time that is told.
  const run = await findRiskRun(ctx.database.read, ctx.tenantId);
  const shown = await shownOf(ctx, await store.listPaths(ctx.database.read, ctx.tenantId));
  const after = score === undefined || id === undefined ? null : { score: Number(score), id };
  const limit = query.limit ?? LIST_LIMIT_DEFAULT;
  const rest = shown.filter((path) => after === null || isBefore(after, path)).slice(0, limit + 1);
  const page = pageOf(rest, limit, (path) => [String(path.score), path.id]);
  return {
    attack_paths: page.rows,
    computed_at: timestampOrNull(run?.finished_at ?? null),
    next_cursor: page.next_cursor,
  };
}

export async function read(ctx: Context, pathId: string): Promise<AttackPath> {
  const row = await store.findPath(ctx.database.read, ctx.tenantId, pathId);
  const [shown] = row === undefined ? [] : await shownOf(ctx, [row]);
  if (shown === undefined) throw notFound('attack path');
  return shown;
}

export function recompute(ctx: Context) {
  return ctx.change(async (tx) => {
    await requestRiskRun(tx, ctx.tenantId);
    return { status: 'scheduled' as const, requested_at: timestamp(ctx.now) };
  });
}

/** Finds the paths of a tenant and replaces those that were found before. */
export async function recomputePaths(
  { database, clock }: Pick<Kernel, 'clock' | 'database'>,
  tenantId: string,
  readers: readonly SameRights[],
  signal: AbortSignal,
): Promise<void> {
  const own = database.forTenant(tenantId, 'bulk');
  const now = clock.now();
  const found = await findPaths(own.read, { tenantId, readers }, now, signal);
  if (found === null) return;
  const rows = found.map(
    ({ id, score, weakness, principalId, grantId, secretId, steps }): store.AttackPathRow => ({
      tenant_id: tenantId,
      path_id: id,
      score,
      weakness,
      principal_id: principalId,
      grant_id: grantId,
      secret_id: secretId,
      steps: JSON.stringify(steps),
      first_seen_at: now,
      computed_at: now,
    }),
  );
  await own.transaction((tx) => store.replacePaths(tx, tenantId, rows));
}

/** Paths of which the caller may know every link, with the present name of the secret. */
async function shownOf(ctx: Context, rows: readonly store.AttackPathRow[]): Promise<AttackPath[]> {
  const { read: db } = ctx.database;
  const ids = rows.map(({ secret_id }) => secret_id);
  const located = await locateSecrets(db, ctx.tenantId, ids);
  if (located.size === 0) return [];
  const vaultIds = [...new Set([...located.values()].map(({ vault_id }) => vault_id))];
  const vaults = new Map((await vaultsById(db, ctx.tenantId, vaultIds)).map((row) => [row.vault_id, row]));
  const secrets = new Map((await assessedSecrets.byIds(db, ctx.tenantId, ids)).map((row) => [row.secret_id, row]));
  const shown: AttackPath[] = [];
  const slice = TimeSlice.of(ctx.tenantId);
  for (const row of rows) {
    const pause = slice.pause();
    if (pause !== undefined) await pause;
    const at = located.get(row.secret_id);
    const secret = secrets.get(row.secret_id);
    const vault = vaults.get(at?.vault_id ?? '');
    if (at === undefined || secret === undefined || vault === undefined) continue;
    if (!ctx.access.may(readAttackPath.permission, `attack-path/${row.path_id}`)) continue;
    const steps = JSON.parse(row.steps) as Step[];
    if (!mayKnowSecret(ctx, vault, secret) || !(await mayKnowLinks(ctx, vault, steps))) continue;
    shown.push({
      id: row.path_id,
      score: row.score,
      weakness: row.weakness,
      steps: steps.map((step) => (step.kind === 'secret' ? { ...step, name: `${at.vault}/${at.path}` } : step)),
      first_seen_at: timestamp(row.first_seen_at),
      computed_at: timestamp(row.computed_at),
    });
  }
  return shown;
}
