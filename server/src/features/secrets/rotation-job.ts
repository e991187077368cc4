import { systemEntry } from '../../kernel/audit/system-entry.ts';
import { HOUR_MS, MINUTE_MS } from '../../kernel/clock.ts';
import { CofferError } from '../../kernel/errors.ts';
import type { Job } from '../../kernel/jobs/job-runner.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { findVaultById } from '../vaults/index.ts';
import { secretResource } from './access.ts';
import type { BackendRotations } from './backend-rotation.ts';
import type { Rotation } from './contract.ts';
import { newValue } from './rotation.ts';
import * as rotations from './rotation-store.ts';
import { nextRotation } from './schedule.ts';
import { openDataKey, sealerFor } from './sealing.ts';
import * as store from './store.ts';
import { type Author, appendVersion } from './versions.ts';

const AT_ONCE = 100;
const RETRY_MS = HOUR_MS;
const AUTHOR: Author = { kind: 'system', id: 'job:rotate-secrets', name: '' };
const REASON = 'scheduled';

/** Rotates what is due, once, on any number of nodes: the row is locked and looked at again before it is changed. */
export function rotateSecretsJob(kernel: Kernel, backends: BackendRotations): Job {
  return {
    name: 'rotate-secrets',
    intervalMs: MINUTE_MS,
    async run(signal) {
      await backends.resume(signal);
      for (;;) {
        const due = await rotations.dueSecrets(kernel.database.read, kernel.clock.now(), AT_ONCE);
        for (const at of due) {
          if (signal.aborted) return;
          await rotateDue(kernel, backends, at);
        }
        if (due.length < AT_ONCE) break;
      }
      await backends.settled();
    },
  };
}

async function rotateDue(
  kernel: Kernel,
  backends: BackendRotations,
  at: { tenant_id: string; secret_id: string; vault_id: string },
): Promise<void> {
  const vault = await findVaultById(kernel.database.read, at.tenant_id, at.vault_id);
  if (vault === undefined) return;
  const sealer = await sealerFor(kernel, vault);
  const headKey = await kernel.audit.headKey(at.tenant_id);
  const started = await kernel.database.transaction(async (tx) => {
    const now = kernel.clock.now();
    const row = await store.lockSecretById(tx, at.tenant_id, at.secret_id);
    const isDue = row?.next_rotation_at != null && row.next_rotation_at <= now;
    if (!isDue || row.rotation_id !== null || row.deleted_no !== 0 || row.vault_id !== at.vault_id) return null;
    const rotation = JSON.parse(row.rotation ?? 'null') as Rotation | null;
    const record = (status: number, decision: 'allow' | 'error', details: Record<string, unknown>) => {
      const entry = systemEntry({
        tenantId: at.tenant_id,
        actorId: 'job:rotate-secrets',
        action: 'secrets:rotate',
        resource: secretResource(vault.name, row.path),
        status,
        details: { secret: row.secret_id, ...details },
        now,
      });
      return kernel.audit.recordIn(tx, [{ ...entry, decision }], headKey);
    };
    try {
      if (rotation?.backend !== undefined) {
        const by = { reason: REASON, author: AUTHOR };
        return await backends.start(tx, vault, row, rotation.backend.kind, by, sealer, now);
      }
      const changed = await appendVersion(
        tx,
        row,
        {
          operation: 'rotate',
          reason: REASON,
          author: AUTHOR,
          value: newValue(vault, row.type, rotation?.generator),
          more: { rotated_at: now, next_rotation_at: nextRotation(rotation, now) },
        },
        now,
        sealer,
        await openDataKey(kernel, at.tenant_id, vault.vault_id, row),
      );
      await record(200, 'allow', { version: changed.version });
    } catch (error) {
      if (!(error instanceof CofferError)) throw error;
      // What cannot be rotated now is tried again later, and the log says why it was not.
      await store.updateSecret(tx, row, { next_rotation_at: now + RETRY_MS });
      await record(error.status, 'error', { failure: error.code });
    }
    return null;
  });
  if (started !== null) backends.carryOutSoon(started);
}
