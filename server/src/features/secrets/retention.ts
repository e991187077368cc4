import { systemEntry } from '../../kernel/audit/system-entry.ts';
import { DAY_MS, HOUR_MS } from '../../kernel/clock.ts';
import { nextTurn } from '../../kernel/fairness/event-loop-turns.ts';
import type { RemovingJob } from '../../kernel/jobs/job-runner.ts';
import type { Share } from '../../kernel/jobs/share.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Plan } from '../../kernel/limits/rate-classes.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import { SECOND_LOOK_MS } from '../../kernel/time/clock-guard.ts';
import { type Cutoff, earlier } from '../../kernel/time/cutoff.ts';
import { secretResource } from './access.ts';
import * as store from './retention-store.ts';

/** How long deleted secrets and replaced versions are retained. */
const KEPT_DAYS: Record<Plan, number> = { starter: 30, professional: 90, enterprise: 365 };
const AT_ONCE = 200;
const SCANNED_AT_ONCE = 1000;
/** One run may remove this many secrets, or versions, whatever share of the total they are. */
const PURGED_AT_ONCE = 1000;

export function keptMs(plan: Plan): number {
  return KEPT_DAYS[plan] * DAY_MS;
}

/** What other features delete in the same transaction when secrets are destroyed. */
export interface SecretObservers {
  forget(tx: Tx, tenantId: string, secretIds: readonly string[]): Promise<void>;
}

/** The only code that destroys secrets for good. The caller has locked the rows. */
async function destroy(
  tx: Tx,
  tenantId: string,
  vaultId: string,
  rows: readonly store.DoomedRow[],
  observers: SecretObservers,
): Promise<void> {
  if (rows.length === 0) return;
  await observers.forget(
    tx,
    tenantId,
    rows.map((row) => row.secret_id),
  );
  await store.deleteSecrets(tx, tenantId, vaultId, rows);
}

/** Destroys some of a vault's secrets, deleted or not, and returns how many. */
export async function purgeSecrets(
  tx: Tx,
  tenantId: string,
  vaultId: string,
  limit: number,
  observers: SecretObservers,
): Promise<number> {
  const rows = await store.lockSomeOfVault(tx, tenantId, vaultId, limit);
  await destroy(tx, tenantId, vaultId, rows, observers);
  return rows.length;
}

/**
 * Destroys secrets and versions past the plan's retention, and records each in the audit log. It commits in small steps, so that a killed run loses
 * little.
 */
export function purgeSecretsJob(kernel: Kernel, observers: SecretObservers): RemovingJob {
  return {
    name: 'purge-secrets',
    intervalMs: 6 * HOUR_MS,
    removes: { secondLookMs: SECOND_LOOK_MS, share: (cutoff) => sharesOf(kernel, cutoff) },
    async run(signal, cutoff) {
      for (const { tenant_id, plan } of await store.everyTenant(kernel.database.read)) {
        const before = earlier(cutoff, keptMs(plan));
        await purgeDeleted(kernel, observers, tenant_id, before, signal);
        await purgeVersions(kernel, tenant_id, before, signal);
      }
    },
  };
}

async function sharesOf(kernel: Kernel, cutoff: Cutoff): Promise<Share[]> {
  const { read } = kernel.database;
  let secrets = 0;
  let versions = 0;
  for (const { tenant_id, plan } of await store.everyTenant(read)) {
    const before = earlier(cutoff, keptMs(plan));
    secrets += await store.countDeletedBefore(read, tenant_id, before);
    for await (const old of replacedBefore(kernel, tenant_id, before)) versions += old.newest_then - old.oldest;
  }
  return [
    { of: 'secrets', expired: secrets, floor: PURGED_AT_ONCE, total: () => store.countSecrets(read) },
    { of: 'versions', expired: versions, floor: PURGED_AT_ONCE, total: () => store.countVersions(read) },
  ];
}

async function purgeDeleted(
  kernel: Kernel,
  observers: SecretObservers,
  tenantId: string,
  before: Cutoff,
  signal: AbortSignal,
): Promise<void> {
  const headKey = await kernel.audit.headKey(tenantId);
  while (!signal.aborted) {
    const purged = await kernel.database.forTenant(tenantId, 'bulk').transaction(async (tx) => {
      const rows = await store.lockDeletedBefore(tx, tenantId, before, AT_ONCE);
      for (const [vaultId, group] of Map.groupBy(rows, (row) => row.vault_id)) {
        await destroy(tx, tenantId, vaultId, group, observers);
      }
      const entries = rows.map((row) =>
        purgeEntry(kernel, tenantId, 'secrets:purge', secretResource(row.vault, row.path), { secret: row.secret_id }),
      );
      if (entries.length > 0) await kernel.audit.recordIn(tx, entries, headKey);
      return rows.length;
    });
    if (purged < AT_ONCE) return;
  }
}

async function purgeVersions(kernel: Kernel, tenantId: string, before: Cutoff, signal: AbortSignal): Promise<void> {
  const headKey = await kernel.audit.headKey(tenantId);
  for await (const old of replacedBefore(kernel, tenantId, before)) {
    if (signal.aborted) return;
    await kernel.database.forTenant(tenantId, 'bulk').transaction(async (tx) => {
      const versions = await store.deleteVersionsBelow(tx, tenantId, old.secret_id, old.newest_then);
      const details = { secret: old.secret_id, versions, below: old.newest_then };
      const resource = secretResource(old.vault, old.path);
      await kernel.audit.recordIn(
        tx,
        [purgeEntry(kernel, tenantId, 'secrets:purge_versions', resource, details)],
        headKey,
      );
    });
  }
}

/** Reads in small chunks and yields between them, so that requests are served meanwhile. */
async function* replacedBefore(kernel: Kernel, tenantId: string, before: Cutoff): AsyncGenerator<store.OldVersions> {
  const { read } = kernel.database.forTenant(tenantId, 'bulk');
  for (let after: string | null = ''; after !== null; ) {
    const { ids, scannedTo }: Awaited<ReturnType<typeof store.changedSecrets>> = await store.changedSecrets(
      read,
      tenantId,
      after,
      SCANNED_AT_ONCE,
    );
    yield* await store.versionsReplacedBefore(read, tenantId, ids, before);
    after = scannedTo;
    await nextTurn(tenantId);
  }
}

function purgeEntry(
  kernel: Kernel,
  tenantId: string,
  action: string,
  resource: string,
  details: Record<string, unknown>,
) {
  const now = kernel.clock.now();
  return systemEntry({ tenantId, actorId: 'job:purge-secrets', action, resource, status: 200, details, now });
}
