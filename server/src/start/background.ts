import { PROOF_LIFE_MS } from '../kernel/auth/dpop-guard.ts';
import { HOUR_MS, MINUTE_MS } from '../kernel/base/clock.ts';
import type { Job, JobRunner } from '../kernel/jobs/job-runner.ts';
import { deleteRateWindows, RateSharing, WINDOWS_STORED_MS } from '../kernel/limits/rate-sharing.ts';
import { DELETED_AFTER_MS } from '../kernel/nodes/node-list.ts';
import type { Kernel } from '../kernel/request/kernel.ts';
import { SECOND_CHECK_MS } from '../kernel/time/clock-guard.ts';

/** The jobs that belong to no feature. */
export function kernelJobs(kernel: Kernel): Job[] {
  const { idempotency, dpop, database, nodes, signingKeys } = kernel;
  return [
    {
      name: 'forget-idempotency-keys',
      intervalMs: HOUR_MS,
      // All keys expire within a day or two, so it is normal to delete a large share of them.
      removes: { secondCheckMs: SECOND_CHECK_MS, share: null },
      run: (_, cutoff) => idempotency.deleteExpired(cutoff),
    },
    {
      name: 'forget-dpop-proofs',
      intervalMs: 5 * MINUTE_MS,
      // Each request stores one proof, and nearly all are expired at any time. The second check waits one proof lifetime instead of an hour, or
      // expired proofs would fill the disk.
      removes: { secondCheckMs: PROOF_LIFE_MS, share: null },
      run: (_, cutoff) => dpop.deleteExpired(cutoff),
    },
    {
      name: 'forget-rate-windows',
      intervalMs: 5 * MINUTE_MS,
      // Deleting a window too early only restarts a minute's count, and all but the newest windows are expired at any time.
      removes: { secondCheckMs: WINDOWS_STORED_MS, share: null },
      run: (_, cutoff) => deleteRateWindows(database, cutoff),
    },
    {
      name: 'forget-nodes',
      intervalMs: HOUR_MS,
      // All rows but those of the nodes that run now are of nodes that were killed.
      removes: { secondCheckMs: DELETED_AFTER_MS, share: null },
      run: (_, cutoff) => nodes.deleteUnseen(cutoff),
    },
    {
      name: 'forget-signing-keys',
      intervalMs: HOUR_MS,
      removes: { secondCheckMs: SECOND_CHECK_MS, share: (cutoff) => signingKeys.endedShare(cutoff) },
      run: (_, cutoff) => signingKeys.deleteEnded(cutoff),
    },
  ];
}

/** Starts the work that runs beside requests. On SQLite entries are linked as they are written. */
export function startBackground(kernel: Kernel, jobs: JobRunner): { stop(): Promise<void> } {
  const { audit, heads, refusals, unlistedReads, log } = kernel;
  const sharing = new RateSharing(kernel);
  if (kernel.database.kind === 'postgres') audit.startLinking();
  if (kernel.database.isShared) sharing.start();
  kernel.clockGuard.start();
  kernel.traces?.start();
  heads.startAnchoring(kernel.database);
  jobs.start();
  const writeCounts = async () => {
    await refusals
      .flush(kernel.clock.now())
      .catch((error) => log.warn({ err: error }, 'refused calls could not be recorded in the audit log'));
    await unlistedReads
      .flush()
      .catch((error) =>
        log.warn({ err: error }, 'counts of reads could not be recorded in the audit log; they are recorded later'),
      );
  };
  const timer = setInterval(writeCounts, MINUTE_MS);
  return {
    async stop() {
      clearInterval(timer);
      sharing.stop();
      await jobs.stop();
      await kernel.clockGuard.stop();
      await kernel.traces?.stop();
      await writeCounts();
      await audit.close();
      await heads.stopAnchoring(kernel.database);
    },
  };
}
