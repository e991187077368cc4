import { RESTORE_ACTION, skipLostNumbers } from '../kernel/audit/chain/restored-chain.ts';
import { systemEntry } from '../kernel/audit/entry/system-entry.ts';
import { adoptLog } from '../kernel/audit/journal/adopted-log.ts';
import { StartError } from '../kernel/base/data-folder.ts';
import { CofferError } from '../kernel/base/errors.ts';
import type { RootKey } from '../kernel/crypto/root-key.ts';
import { UnsealError } from '../kernel/crypto/sealing.ts';
import type { MacKey } from '../kernel/keys/keyring.ts';
import { raiseCounters } from '../kernel/limits/counters.ts';
import { createLogger } from '../kernel/observability/log.ts';
import type { Kernel } from '../kernel/request/kernel.ts';
import type { Database, Tx } from '../kernel/storage/database.ts';
import { raiseEpochTo } from '../kernel/storage/epochs.ts';
import { SYSTEM_TENANT } from '../kernel/storage/tables.ts';
import { systemTime } from '../kernel/time/sources.ts';
import type { Config } from '../settings/config.ts';
import { findInstallation } from '../start/installation.ts';
import { openKernel } from '../start/open-kernel.ts';
import { type GoodToken, goodTokens, revokeTokens } from './issued-tokens.ts';

export interface RestoredFrom {
  madeAt: string;
  root: RootKey;
  isRevokingTokens: boolean;
  /** The audit journal that was beside the database, if it was SQLite and had one. */
  journal: Buffer | null;
  /** Verifies the imported data before any node can start on it. */
  check?(kernel: Kernel): Promise<void>;
}

export interface Restored {
  /** Tokens that are usable after the restore. */
  good: GoodToken[];
  revoked: number;
  /** Tenants whose log could not record the restore, because their keys cannot be unsealed. */
  unrecorded: string[];
}

/**
 * Turns the imported data into an installation, in one transaction. It raises every epoch, because nodes that ran before may have stale caches. It
 * does not reuse numbers issued since the backup, and records the restore in every tenant's log.
 */
export async function finishRestore(config: Config, database: Database, from: RestoredFrom): Promise<Restored> {
  const installation = await findInstallation(database);
  if (installation === null) throw new Error('nothing was imported');
  const log = createLogger({ level: 'error', format: 'auto', ownErrors: [CofferError, StartError] });
  const { root } = from;
  const known = { ...installation, rootKeyId: root.id };
  const opened = await openKernel({
    config,
    time: systemTime,
    log,
    database,
    installation: known,
    opened: { root, by: '', failures: [] },
  });
  // No tenant is the operator's here, so a check of the rows leaves out those of the installation itself.
  const kernel: Kernel = { ...opened, operatorTenantId: '' };
  const tenants = await database.read.selectFrom('tenants').select('tenant_id').orderBy('tenant_id').execute();
  const headKeys = new Map<string, MacKey | null>();
  for (const { tenant_id } of tenants) headKeys.set(tenant_id, await headKeyOf(kernel, tenant_id));
  // Audit entries not yet linked belong before the restore.
  await adoptLog({ ...kernel, headKeys }, from.journal);
  await kernel.audit.link();
  await from.check?.(kernel);
  const now = kernel.clock.now();
  const restored = await database.transaction(async (tx) => {
    const done: Restored = { good: [], revoked: 0, unrecorded: [] };
    for (const [tenantId, headKey] of headKeys) {
      await raiseEpochTo(tx, tenantId, now);
      await raiseCounters(tx, tenantId);
      if (headKey === null) {
        done.unrecorded.push(tenantId);
        continue;
      }
      const revoked = from.isRevokingTokens ? await revokeTokens(tx, tenantId, now) : 0;
      const good = await goodTokens(tx, tenantId, now);
      const resumesAfter = await skipLostNumbers(tx, kernel.heads, tenantId, { headKey, now });
      const counts = { resumes_after: resumesAfter, tokens_good: good.length, tokens_ended: revoked };
      await record(kernel, tx, tenantId, { headKey, details: { backup_made_at: from.madeAt, ...counts }, now });
      done.good.push(...good);
      done.revoked += revoked;
    }
    await tx.updateTable('installation').set({ root_key_id: root.id }).where('tenant_id', '=', SYSTEM_TENANT).execute();
    return done;
  });
  await kernel.audit.close();
  return restored;
}

async function headKeyOf(kernel: Kernel, tenantId: string): Promise<MacKey | null> {
  try {
    return await kernel.audit.headKey(tenantId);
  } catch (error) {
    if (error instanceof UnsealError) return null;
    throw error;
  }
}

async function record(
  kernel: Kernel,
  tx: Tx,
  tenantId: string,
  { headKey, details, now }: { headKey: MacKey; details: Record<string, unknown>; now: number },
): Promise<void> {
  const facts = { actorId: 'operator', action: RESTORE_ACTION, resource: 'database', status: 200 } as const;
  await kernel.audit.recordIn(tx, [systemEntry({ tenantId, details, now, ...facts })], headKey);
}
