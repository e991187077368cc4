import { systemEntry } from '../../kernel/audit/entry/system-entry.ts';
import { vaultResource } from '../../kernel/authz/pattern.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import type { Cutoff } from '../../kernel/time/cutoff.ts';
import { vaultRowsById } from '../vaults/storage/index.ts';
import { endedTimedAccess, endTimedAccess, lockTimedAccess } from '../vaults/timed-access/index.ts';

const BATCH = 100;

type Parts = Pick<Kernel, 'audit' | 'clock' | 'database'>;

/** Marks access whose time is over as ended, and records that. It gives no rights from its last second on, whether or not this has run. */
export async function markEnded(parts: Parts, cutoff: Cutoff, signal: AbortSignal): Promise<void> {
  for (;;) {
    const over = await endedTimedAccess(parts.database.read, cutoff, BATCH);
    const failures: unknown[] = [];
    for (const { tenant_id, access_id } of over) {
      if (signal.aborted) return;
      // A row that cannot be ended must not keep those of other tenants.
      await endOne(parts, tenant_id, access_id, cutoff).catch((error) => failures.push(error));
    }
    if (failures.length > 0) throw failures[0];
    if (over.length < BATCH) return;
  }
}

async function endOne({ audit, clock, database }: Parts, tenantId: string, accessId: string, cutoff: Cutoff) {
  const headKey = await audit.headKey(tenantId);
  await database.forTenant(tenantId).transaction(async (tx) => {
    const row = await lockTimedAccess(tx, tenantId, accessId);
    if (row === undefined || row.ended_at !== null || row.expires_at > cutoff) return;
    await endTimedAccess(tx, row, { ended_at: row.expires_at, ended_by: null });
    await raiseEpoch(tx, tenantId);
    const vault = (await vaultRowsById(tx, tenantId, [row.vault_id])).get(row.vault_id);
    const entry = systemEntry({
      tenantId,
      actorId: 'job:end-timed-access',
      action: 'access_expired',
      resource: vaultResource(vault?.name ?? row.vault_id),
      status: 200,
      details: { access: accessId, user: row.user_id, role: row.role },
      now: clock.now(),
    });
    await audit.recordIn(tx, [entry], headKey);
  });
}
