import { type AuditDecision, detailsText } from '../../../kernel/audit/entry/entry.ts';
import { systemEntry } from '../../../kernel/audit/entry/system-entry.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../../kernel/base/clock.ts';
import { invalidField } from '../../../kernel/base/errors.ts';
import { newId } from '../../../kernel/base/ids.ts';
import type { Metrics } from '../../../kernel/observability/metrics.ts';
import type { Tx } from '../../../kernel/storage/database.ts';
import { findVaultById, type VaultRow } from '../../vaults/storage/index.ts';
import type { Rotation } from '../contract.ts';
import type { SecretKernel } from '../links.ts';
import { secretResource } from '../location.ts';
import type { VersionContent, VersionOrigin } from '../storage/secret-rows.ts';
import * as store from '../storage/secret-store.ts';
import { appendVersion } from '../storage/secret-writes.ts';
import type { SecretRow } from '../storage/tables.ts';
import { openValue, type SealedValue, sealerFor } from '../value/sealing.ts';
import { BackendFailure, type RotationBackend } from './backends/backend.ts';
import { emitRotated, emitRotationFailed } from './rotation-events.ts';
import * as rotations from './rotation-store.ts';
import { nextRotation } from './schedule.ts';

/** A rotation is leased to the node that runs it. The lease is longer than all steps may take. */
const LEASE_MS = 2 * MINUTE_MS;
const STEPS_TIMEOUT_MS = 45 * SECOND_MS;
/** Delay before a rotation whose outcome is unknown is probed again. */
const RETRY_MS = 5 * MINUTE_MS;
/** Delay before a failed scheduled rotation is tried again, so that it does not retry in a tight loop. */
const SCHEDULE_RETRY_MS = HOUR_MS;

const RESUMED_AT_ONCE = 100;

const UNREACHABLE =
  'The database server could not be reached to find out which of the two passwords works: Coffer tries again in 5 minutes.';
const NEITHER =
  'Neither the old nor the new password works: set the password of the role manually, then store it with PUT.';

interface NewRotation extends Pick<VersionOrigin, 'reason' | 'author'>, Pick<VersionContent, 'sealer' | 'now'> {
  /** The kind of the backend. */
  kind: string;
}

/** A rotation under way, with the value it would bring. */
interface Attempt {
  vault: VaultRow;
  rotation: rotations.RotationRow;
  /** The secret's row with the new value, sealed. */
  pending: SecretRow;
  next: string;
}

type Outcome = { ended: 'next' } | { ended: 'current' | 'unknown'; failure: string; message: string };

function failuresIn(metrics: Metrics) {
  return metrics.counter(
    'cv_rotations_failed_total',
    'Rotations through a backend that failed or whose outcome is unknown, by failure.',
    ['failure'],
  );
}

/**
 * Rotations that change a credential in an external system. The new value is sealed and stored before the external system is touched, so that after a
 * crash between any two steps both candidate values are known, and `probe` finds out which one works. Until then the old value stays current, and
 * every other change of the secret is refused.
 */
export class BackendRotations {
  readonly #kernel: SecretKernel;
  readonly #backends: ReadonlyMap<string, RotationBackend>;
  readonly #underWay = new Set<Promise<void>>();
  readonly #failed: ReturnType<typeof failuresIn>;

  constructor(kernel: SecretKernel, backends: readonly RotationBackend[]) {
    this.#kernel = kernel;
    this.#backends = new Map(backends.map((backend) => [backend.kind, backend]));
    this.#failed = failuresIn(kernel.metrics);
  }

  /** Runs in the transaction that marks the secret as being rotated; the caller has locked the row. */
  async start(
    tx: Tx,
    row: SecretRow,
    { kind, reason, author, sealer, now }: NewRotation,
  ): Promise<rotations.RotationRow> {
    const backend = this.#backend(kind);
    const current = await openValue(this.#kernel, row.tenant_id, row.vault_id, row);
    const problem = backend.problem(current);
    if (problem !== null) throw invalidField('/body', `cannot rotate the current value, which ${problem}`);
    const { sealed, data_key } = sealer.seal(row, row.version + 1, backend.propose(current));
    const rotation: rotations.RotationRow = {
      tenant_id: row.tenant_id,
      rotation_id: newId('rotation', now),
      secret_id: row.secret_id,
      status: 'in_progress',
      backend: kind,
      reason,
      author_kind: author.kind,
      author_id: author.id,
      author_name: author.name,
      sealed_next: sealed,
      data_key_next: data_key,
      failure: '',
      started_at: now,
      lease_until: now + LEASE_MS,
      finished_at: null,
    };
    await rotations.insertRotation(tx, rotation);
    await store.updateSecret(tx, row, { rotation_id: rotation.rotation_id });
    return rotation;
  }

  /** Runs in the background after the request that started it. A rotation that fails here is picked up again by `resume`. */
  carryOutSoon(rotation: rotations.RotationRow): void {
    this.#begin(rotation, 'apply');
  }

  /**
   * Resumes rotations whose node died or whose outcome is unknown. They run concurrently, so that an unresponsive server does not delay the others.
   */
  async resume(signal: AbortSignal): Promise<void> {
    const { database, clock } = this.#kernel;
    for (const rotation of await rotations.abandonedRotations(database.read, clock.now(), RESUMED_AT_ONCE)) {
      if (signal.aborted) return;
      const now = clock.now();
      const isOurs = await database.transaction((tx) => rotations.takeLease(tx, rotation, now, now + LEASE_MS));
      if (isOurs) this.#begin(rotation, 'probe');
    }
  }

  #begin(rotation: rotations.RotationRow, how: 'apply' | 'probe'): void {
    const run = this.#carryOut(rotation, how).catch((error: unknown) => {
      this.#kernel.log.error(
        { err: error, rotation: rotation.rotation_id },
        'a rotation was aborted by an internal error; it will be resumed',
      );
    });
    this.#underWay.add(run);
    run.finally(() => this.#underWay.delete(run));
  }

  async settled(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  async #carryOut(rotation: rotations.RotationRow, how: 'apply' | 'probe'): Promise<void> {
    const { database } = this.#kernel;
    const { tenant_id, secret_id } = rotation;
    const row = await store.findSecretById(database.read, tenant_id, secret_id);
    const vault = row && (await findVaultById(database.read, tenant_id, row.vault_id));
    if (row === undefined || vault === undefined || rotation.sealed_next === null) return;
    const current = await openValue(this.#kernel, tenant_id, vault.vault_id, row);
    const { sealed_next: sealed, data_key_next: data_key } = rotation;
    const pending = { ...row, sealed, data_key, sealed_version: row.version + 1 };
    const next = await openValue(this.#kernel, tenant_id, vault.vault_id, pending);
    const outcome = await this.#bring(this.#backend(rotation.backend), current, next, how);
    await this.#record({ vault, rotation, pending, next }, outcome);
    if (outcome.ended !== 'next') this.#tell(vault, rotation, outcome);
  }

  /** Nobody waits for a scheduled rotation, so its failure is reported in metrics and logs. */
  #tell(
    vault: VaultRow,
    rotation: rotations.RotationRow,
    { ended, failure, message }: Exclude<Outcome, { ended: 'next' }>,
  ) {
    this.#failed.inc({ failure });
    const { rotation_id, secret_id: secret, tenant_id: tenant } = rotation;
    const state =
      ended === 'unknown' ? 'its outcome is unknown and will be checked again' : 'the old value stays current';
    this.#kernel.log.warn(
      { tenant, vault: vault.name, secret, rotation: rotation_id, failure, what_to_do: message },
      `a rotation failed; ${state}`,
    );
  }

  async #bring(backend: RotationBackend, current: string, next: string, how: 'apply' | 'probe'): Promise<Outcome> {
    const signal = AbortSignal.timeout(STEPS_TIMEOUT_MS);
    if (how === 'probe') {
      const working = await backend.probe(current, next, signal);
      if (working === 'next') return { ended: 'next' };
      if (working === 'unreachable') return { ended: 'unknown', failure: 'unreachable', message: UNREACHABLE };
      if (working === 'neither') return { ended: 'current', failure: 'neither_value_works', message: NEITHER };
    }
    try {
      await backend.apply(current, next, signal);
      return { ended: 'next' };
    } catch (error) {
      if (!(error instanceof BackendFailure)) throw error;
      const { code: failure, message } = error;
      return { ended: error.isUncertain ? 'unknown' : 'current', failure, message };
    }
  }

  async #record(attempt: Attempt, outcome: Outcome): Promise<void> {
    const { vault, rotation } = attempt;
    const { database, clock, audit } = this.#kernel;
    const sealer = await sealerFor(this.#kernel, vault);
    const headKey = await audit.headKey(rotation.tenant_id);
    await database.forTenant(rotation.tenant_id).transaction(async (tx) => {
      const now = clock.now();
      const row = await store.lockSecretById(tx, rotation.tenant_id, rotation.secret_id);
      if (row?.rotation_id !== rotation.rotation_id) return;
      if (outcome.ended === 'unknown') {
        const { failure } = outcome;
        await rotations.updateRotation(tx, rotation, { failure, lease_until: now + RETRY_MS });
        // It is probed again every few minutes, and told once.
        if (rotation.failure !== failure) await emitRotationFailed(tx, { vault, row }, failure, now);
        const entry = entryOf(attempt, row, { decision: 'error', more: { state: 'unknown', failure }, now });
        await audit.recordIn(tx, [entry], headKey);
        return;
      }
      if (outcome.ended === 'next') await this.#commit(tx, row, attempt, { sealer, now });
      else {
        const scheduled = row.next_rotation_at !== null && row.next_rotation_at <= now;
        await store.updateSecret(tx, row, {
          rotation_id: null,
          ...(scheduled && { next_rotation_at: now + SCHEDULE_RETRY_MS }),
        });
      }
      const isDone = outcome.ended === 'next';
      const failure = isDone ? '' : outcome.failure;
      await rotations.updateRotation(tx, rotation, {
        status: isDone ? 'completed' : 'failed',
        sealed_next: null,
        data_key_next: null,
        failure,
        finished_at: now,
      });
      if (isDone) await emitRotated(tx, { vault, row }, row.version + 1, now);
      else await emitRotationFailed(tx, { vault, row }, failure, now);
      const more = isDone ? { version: row.version + 1 } : { state: 'unchanged', failure };
      const entry = entryOf(attempt, row, { decision: isDone ? 'allow' : 'error', more, now });
      await audit.recordIn(tx, [entry], headKey);
    });
  }

  async #commit(
    tx: Tx,
    row: SecretRow,
    { rotation, pending, next }: Attempt,
    { sealer, now }: Pick<VersionContent, 'sealer' | 'now'>,
  ): Promise<void> {
    const schedule = row.rotation === null ? null : (JSON.parse(row.rotation) as Rotation);
    const { sealed, sealed_version, data_key } = pending;
    const value: SealedValue = { sealed, sealed_version, data_key, ...sealer.clearColumns(row, next) };
    await appendVersion(tx, row, {
      operation: 'rotate',
      reason: rotation.reason,
      author: { kind: rotation.author_kind, id: rotation.author_id, name: rotation.author_name },
      sealed: value,
      more: { rotation_id: null, rotated_at: now, next_rotation_at: nextRotation(schedule, now) },
      sealer,
      now,
    });
  }

  #backend(kind: string): RotationBackend {
    const backend = this.#backends.get(kind);
    if (backend === undefined) throw new Error(`no backend ${kind}`);
    return backend;
  }
}

function entryOf(
  { vault, rotation }: Attempt,
  row: SecretRow,
  { decision, more, now }: { decision: AuditDecision; more: Record<string, unknown>; now: number },
) {
  const details = { secret: row.secret_id, rotation: rotation.rotation_id, backend: rotation.backend, ...more };
  const entry = systemEntry({
    tenantId: row.tenant_id,
    actorId: 'job:rotate-secrets',
    action: 'secrets:rotate',
    resource: secretResource(vault.name, row.path),
    status: decision === 'allow' ? 200 : 500,
    details,
    now,
  });
  return { ...entry, decision, details: detailsText(details) };
}
