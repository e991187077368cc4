import { systemEntry } from '../../../kernel/audit/entry/system-entry.ts';
import { HOUR_MS, MINUTE_MS } from '../../../kernel/base/clock.ts';
import { CofferError } from '../../../kernel/base/errors.ts';
import type { KeepingJob } from '../../../kernel/jobs/job-runner.ts';
import type { Kernel } from '../../../kernel/request/kernel.ts';
import type { Tx } from '../../../kernel/storage/database.ts';
import { findVaultById, type VaultRow } from '../../vaults/storage/index.ts';
import type { Rotation } from '../contract.ts';
import type { SecretKernel } from '../links.ts';
import { secretResource } from '../location.ts';
import type { Author } from '../storage/secret-rows.ts';
import * as store from '../storage/secret-store.ts';
import { appendVersion } from '../storage/secret-writes.ts';
import type { SecretRow } from '../storage/tables.ts';
import { sealerFor } from '../value/sealing.ts';
import type { BackendRotations } from './backend-rotation.ts';
import { newValue } from './rotate.ts';
import { emitRotated, emitRotationFailed } from './rotation-events.ts';
import * as rotations from './rotation-store.ts';
import { nextRotation } from './schedule.ts';

const AT_ONCE = 100;
const RETRY_MS = HOUR_MS;
const ACTOR = 'job:rotate-secrets';
const AUTHOR: Author = { kind: 'system', id: ACTOR, name: '' };
const REASON = 'scheduled';

interface Due {
  tenant_id: string;
  secret_id: string;
  vault_id: string;
}

/** Rotates due secrets, exactly once on any number of nodes: the row is locked and checked again before it is changed. */
export function rotateSecretsJob(kernel: SecretKernel, backends: BackendRotations): KeepingJob {
  return {
    name: 'rotate-secrets',
    intervalMs: MINUTE_MS,
    removes: 'nothing',
    async run(signal) {
      await backends.resume(signal);
      for (;;) {
        const due = await rotations.dueSecrets(kernel.database.read, kernel.clock.now(), AT_ONCE);
        const served = await kernel.regionGate.servedHere(due);
        for (const at of served) {
          if (signal.aborted) return;
          await rotateOrPostpone(kernel, backends, at);
        }
        // Bounds how many backend rotations run at once.
        await backends.settled();
        // Secrets of tenants that another region handles stay due here.
        if (due.length < AT_ONCE || served.length === 0) return;
      }
    },
  };
}

/** A secret that cannot be rotated now is tried again later, and does not hold up the others. If the service itself is unavailable, the run ends. */
async function rotateOrPostpone(kernel: SecretKernel, backends: BackendRotations, at: Due): Promise<void> {
  const vault = await findVaultById(kernel.database.read, at.tenant_id, at.vault_id);
  if (vault === undefined) return;
  try {
    await rotateDue(kernel, backends, vault, at);
  } catch (error) {
    const isKnown = error instanceof CofferError;
    if (isKnown && error.code === 'UNAVAILABLE') throw error;
    if (!isKnown)
      kernel.log.error({ err: error, secret: at.secret_id }, 'a scheduled rotation failed; it is retried in an hour');
    await postpone(kernel, vault, at, isKnown ? error : new CofferError('INTERNAL_ERROR', ''));
  }
}

async function rotateDue(kernel: SecretKernel, backends: BackendRotations, vault: VaultRow, at: Due): Promise<void> {
  const sealer = await sealerFor(kernel, vault);
  const headKey = await kernel.audit.headKey(at.tenant_id);
  const started = await kernel.database.forTenant(at.tenant_id).transaction(async (tx) => {
    const now = kernel.clock.now();
    const row = await lockDue(tx, at, now);
    if (row === null) return null;
    const rotation = JSON.parse(row.rotation ?? 'null') as Rotation | null;
    if (rotation?.backend !== undefined) {
      const by = { reason: REASON, author: AUTHOR };
      const begun = await backends.start(tx, row, { kind: rotation.backend.kind, ...by, sealer, now });
      const details = { secret: row.secret_id, rotation: begun.rotation_id };
      await kernel.audit.recordIn(tx, [entryOf(vault, row, { status: 202, details, now })], headKey);
      return begun;
    }
    const changed = await appendVersion(tx, row, {
      operation: 'rotate',
      reason: REASON,
      author: AUTHOR,
      value: newValue(vault, row.type, rotation?.generator),
      more: { rotated_at: now, next_rotation_at: nextRotation(rotation, now) },
      sealer,
      now,
    });
    await emitRotated(tx, { vault, row }, changed.version, now);
    const details = { secret: row.secret_id, version: changed.version };
    await kernel.audit.recordIn(tx, [entryOf(vault, row, { status: 200, details, now })], headKey);
    return null;
  });
  if (started !== null) backends.carryOutSoon(started);
}

async function postpone(
  kernel: Pick<Kernel, 'audit' | 'clock' | 'database'>,
  vault: VaultRow,
  at: Due,
  error: CofferError,
): Promise<void> {
  const headKey = await kernel.audit.headKey(at.tenant_id);
  await kernel.database.forTenant(at.tenant_id).transaction(async (tx) => {
    const now = kernel.clock.now();
    const row = await lockDue(tx, at, now);
    if (row === null) return;
    await store.updateSecret(tx, row, { next_rotation_at: now + RETRY_MS });
    await emitRotationFailed(tx, { vault, row }, error.code, now);
    const details = { secret: row.secret_id, failure: error.code };
    const entry = entryOf(vault, row, { status: error.status, details, now });
    await kernel.audit.recordIn(tx, [{ ...entry, decision: 'error' }], headKey);
  });
}

/** Returns null if the rotation is no longer due: another node was first, or the secret was changed, moved or deleted. */
async function lockDue(tx: Tx, at: Due, now: number): Promise<SecretRow | null> {
  const row = await store.lockSecretById(tx, at.tenant_id, at.secret_id);
  if (row?.next_rotation_at == null || row.next_rotation_at > now) return null;
  return row.rotation_id !== null || row.deleted_no !== 0 || row.vault_id !== at.vault_id ? null : row;
}

function entryOf(
  vault: VaultRow,
  row: SecretRow,
  facts: { status: number; details: Record<string, unknown>; now: number },
) {
  return systemEntry({
    tenantId: row.tenant_id,
    actorId: ACTOR,
    action: 'secrets:rotate',
    resource: secretResource(vault.name, row.path),
    ...facts,
  });
}
