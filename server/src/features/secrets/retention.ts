import { setImmediate as nextTurn } from 'node:timers/promises';
import { systemEntry } from '../../kernel/audit/system-entry.ts';
import { DAY_MS, HOUR_MS } from '../../kernel/clock.ts';
import type { Job } from '../../kernel/jobs/job-runner.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Plan } from '../../kernel/limits/rate-classes.ts';
import { secretResource } from './access.ts';
import * as store from './retention-store.ts';
import { destroySecrets } from './store.ts';

/** How long deleted secrets and replaced versions are kept. */
const KEPT_DAYS: Record<Plan, number> = { starter: 30, professional: 90, enterprise: 365 };
const AT_ONCE = 200;
const SCANNED_AT_ONCE = 1000;

export function keptMs(plan: Plan): number {
  return KEPT_DAYS[plan] * DAY_MS;
}

/** Destroys what the plan no longer keeps, and records each. In small steps: a kill leaves the rest for the next run. */
export function purgeSecretsJob(kernel: Kernel): Job {
  return {
    name: 'purge-secrets',
    intervalMs: 6 * HOUR_MS,
    async run(signal) {
      for (const { tenant_id, plan } of await store.everyTenant(kernel.database.read)) {
        const before = kernel.clock.now() - keptMs(plan);
        await purgeDeleted(kernel, tenant_id, before, signal);
        await purgeVersions(kernel, tenant_id, before, signal);
      }
    },
  };
}

async function purgeDeleted(kernel: Kernel, tenantId: string, before: number, signal: AbortSignal): Promise<void> {
  const headKey = await kernel.audit.headKey(tenantId);
  while (!signal.aborted) {
    const purged = await kernel.database.transaction(async (tx) => {
      const rows = await store.lockDeletedBefore(tx, tenantId, before, AT_ONCE);
      for (const [vaultId, group] of Map.groupBy(rows, (row) => row.vault_id)) {
        await destroySecrets(tx, tenantId, vaultId, group);
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

async function purgeVersions(kernel: Kernel, tenantId: string, before: number, signal: AbortSignal): Promise<void> {
  const { read } = kernel.database;
  const headKey = await kernel.audit.headKey(tenantId);
  for (let after: string | null = ''; after !== null && !signal.aborted; ) {
    const { ids, scannedTo }: Awaited<ReturnType<typeof store.changedSecrets>> = await store.changedSecrets(
      read,
      tenantId,
      after,
      SCANNED_AT_ONCE,
    );
    for (const old of await store.versionsReplacedBefore(read, tenantId, ids, before)) {
      await kernel.database.transaction(async (tx) => {
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
    after = scannedTo;
    await nextTurn();
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
