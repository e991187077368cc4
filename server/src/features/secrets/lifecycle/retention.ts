import { systemEntry } from '../../../kernel/audit/entry/system-entry.ts';
import { DAY_MS, HOUR_MS } from '../../../kernel/base/clock.ts';
import { nextTurn } from '../../../kernel/fairness/event-loop-turns.ts';
import type { Announcer } from '../../../kernel/feature/links.ts';
import { everyTenant } from '../../../kernel/integrity/tenant-rows.ts';
import type { RemovingJob } from '../../../kernel/jobs/job-runner.ts';
import type { Share } from '../../../kernel/jobs/share.ts';
import type { Plan } from '../../../kernel/limits/rate-classes.ts';
import type { Kernel } from '../../../kernel/request/kernel.ts';
import type { Tx } from '../../../kernel/storage/database.ts';
import { SECOND_CHECK_MS } from '../../../kernel/time/clock-guard.ts';
import { type Cutoff, earlier } from '../../../kernel/time/cutoff.ts';
import type { SecretKernel, secretsRemoved } from '../links.ts';
import { secretResource } from '../location.ts';
import * as store from './retention-store.ts';

/** How long deleted secrets and replaced versions are retained. */
const RETENTION_DAYS: Record<Plan, number> = { starter: 30, professional: 90, enterprise: 365 };
const AT_ONCE = 200;
const SCANNED_AT_ONCE = 1000;
/** One run may remove this many secrets, or versions, whatever share of the total they are. */
const PURGE_FLOOR = 1000;

export function retentionMs(plan: Plan): number {
  return RETENTION_DAYS[plan] * DAY_MS;
}

/** A subscription that ends must not destroy what it retained, so a tenant that ever had one keeps everything longest. */
function retainingPlan({ plan, base_plan }: { plan: Plan; base_plan: Plan | null }): Plan {
  return base_plan === null ? plan : 'enterprise';
}

/** The only code that destroys secrets for good. The caller has locked the rows. */
async function destroy(
  tx: Tx,
  { tenantId, vaultId }: { tenantId: string; vaultId: string },
  rows: readonly store.DoomedRow[],
  removed: Announcer<typeof secretsRemoved>,
): Promise<void> {
  if (rows.length === 0) return;
  await removed(
    tx,
    tenantId,
    rows.map((row) => row.secret_id),
  );
  await store.deleteSecrets(tx, tenantId, vaultId, rows);
}

/** Destroys some of a vault's secrets, deleted or not, and returns how many. */
export async function purgeSecrets(
  tx: Tx,
  { tenantId, vaultId }: { tenantId: string; vaultId: string },
  limit: number,
  removed: Announcer<typeof secretsRemoved>,
): Promise<number> {
  const rows = await store.lockSomeOfVault(tx, tenantId, vaultId, limit);
  await destroy(tx, { tenantId, vaultId }, rows, removed);
  return rows.length;
}

/**
 * Destroys secrets and versions past the plan's retention, and records each in the audit log. It commits in small steps, so that a killed run loses
 * little.
 */
export function purgeSecretsJob(kernel: SecretKernel, removed: Announcer<typeof secretsRemoved>): RemovingJob {
  return {
    name: 'purge-secrets',
    intervalMs: 6 * HOUR_MS,
    removes: { secondCheckMs: SECOND_CHECK_MS, share: (cutoff) => sharesOf(kernel, cutoff) },
    async run(signal, cutoff) {
      for (const { tenant_id, ...tenant } of await kernel.regionGate.servedHere(
        await everyTenant(kernel.database.read),
      )) {
        const before = earlier(cutoff, retentionMs(retainingPlan(tenant)));
        const purge = { tenantId: tenant_id, before, signal };
        await purgeDeleted(kernel, removed, purge);
        await purgeVersions(kernel, purge);
      }
    },
  };
}

async function sharesOf(kernel: Pick<Kernel, 'database' | 'regionGate'>, cutoff: Cutoff): Promise<Share[]> {
  const { read } = kernel.database;
  let secrets = 0;
  let versions = 0;
  for (const { tenant_id, ...tenant } of await kernel.regionGate.servedHere(await everyTenant(read))) {
    const before = earlier(cutoff, retentionMs(retainingPlan(tenant)));
    secrets += await store.countDeletedBefore(read, tenant_id, before);
    for await (const old of replacedBefore(kernel, tenant_id, before)) versions += old.newest_then - old.oldest;
  }
  return [
    { of: 'secrets', expired: secrets, floor: PURGE_FLOOR, total: () => store.countSecrets(read) },
    { of: 'versions', expired: versions, floor: PURGE_FLOOR, total: () => store.countVersions(read) },
  ];
}

interface TenantPurge {
  tenantId: string;
  before: Cutoff;
  signal: AbortSignal;
}

async function purgeDeleted(
  kernel: Pick<Kernel, 'audit' | 'clock' | 'database'>,
  removed: Announcer<typeof secretsRemoved>,
  { tenantId, before, signal }: TenantPurge,
): Promise<void> {
  const headKey = await kernel.audit.headKey(tenantId);
  while (!signal.aborted) {
    const purged = await kernel.database.forTenant(tenantId, 'bulk').transaction(async (tx) => {
      const rows = await store.lockDeletedBefore(tx, tenantId, before, AT_ONCE);
      for (const [vaultId, group] of Map.groupBy(rows, (row) => row.vault_id)) {
        await destroy(tx, { tenantId, vaultId }, group, removed);
      }
      const entries = rows.map((row) =>
        purgeEntry(kernel, tenantId, {
          action: 'secrets:purge',
          resource: secretResource(row.vault, row.path),
          details: { secret: row.secret_id },
        }),
      );
      if (entries.length > 0) await kernel.audit.recordIn(tx, entries, headKey);
      return rows.length;
    });
    if (purged < AT_ONCE) return;
  }
}

async function purgeVersions(
  kernel: Pick<Kernel, 'audit' | 'clock' | 'database'>,
  { tenantId, before, signal }: TenantPurge,
): Promise<void> {
  const headKey = await kernel.audit.headKey(tenantId);
  for await (const old of replacedBefore(kernel, tenantId, before)) {
    if (signal.aborted) return;
    await kernel.database.forTenant(tenantId, 'bulk').transaction(async (tx) => {
      const versions = await store.deleteVersionsBelow(tx, tenantId, old.secret_id, old.newest_then);
      const details = { secret: old.secret_id, versions, below: old.newest_then };
      const resource = secretResource(old.vault, old.path);
      const entry = purgeEntry(kernel, tenantId, { action: 'secrets:purge_versions', resource, details });
      await kernel.audit.recordIn(tx, [entry], headKey);
    });
  }
}

/** Reads in small chunks and yields between them, so that requests are served meanwhile. */
async function* replacedBefore(
  kernel: Pick<Kernel, 'database'>,
  tenantId: string,
  before: Cutoff,
): AsyncGenerator<store.OldVersions> {
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
  kernel: Pick<Kernel, 'clock'>,
  tenantId: string,
  purged: { action: string; resource: string; details: Record<string, unknown> },
) {
  const now = kernel.clock.now();
  return systemEntry({ tenantId, actorId: 'job:purge-secrets', ...purged, status: 200, now });
}
