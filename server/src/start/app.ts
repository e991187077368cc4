import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { assemble } from '../assembly/assemble.ts';
import { sharedApprovalQueue } from '../features/approvals/index.ts';
import { type Certificates, OwnIdentity, sharedCertificates } from '../features/certificates/index.ts';
import { Authentication } from '../kernel/auth/authentication.ts';
import { PROOF_LIFE_MS } from '../kernel/auth/dpop-guard.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../kernel/base/clock.ts';
import { setPasswordSlots } from '../kernel/crypto/passwords.ts';
import { HttpServer } from '../kernel/http/server.ts';
import { CurrentIdentity, IdentityFiles } from '../kernel/http/tls-identity.ts';
import type { BackgroundWorker } from '../kernel/jobs/due-work.ts';
import { type Job, JobRunner } from '../kernel/jobs/job-runner.ts';
import { deleteRateWindows, RateSharing, WINDOWS_STORED_MS } from '../kernel/limits/rate-sharing.ts';
import { DELETED_AFTER_MS } from '../kernel/nodes/node-list.ts';
import type { OtherWorkers } from '../kernel/observability/merged-metrics.ts';
import type { Kernel } from '../kernel/request/kernel.ts';
import { Pipeline } from '../kernel/request/pipeline.ts';
import { connectionShortage } from '../kernel/storage/connection-check.ts';
import { findLastBackup } from '../kernel/storage/last-backup.ts';
import { refuseWrongStart, SECOND_CHECK_MS } from '../kernel/time/clock-guard.ts';
import { systemTime, type TimeSources } from '../kernel/time/sources.ts';
import type { Config } from '../settings/config.ts';
import { certificateWarning, presentWarnings } from '../settings/start-warnings.ts';
import { workerShares } from '../settings/worker-shares.ts';
import { numberConnections } from '../upgrade/from-0-4/number-connections.ts';
import { alreadyBootstrapped, bootstrap } from './first-start.ts';
import { isFirstTokenUnused } from './first-token.ts';
import { openKernel, openStorage } from './open-kernel.ts';

export interface App {
  kernel: Kernel;
  baseUrl: string;
  /** Where client certificates are accepted; null without a TLS listener. */
  tlsUrl: string | null;
  /** Whether the TLS certificate comes from the service's own authority. */
  hasOwnIdentity: boolean;
  isFirstStart: boolean;
  /** Whether nobody has used the service since its first start. */
  isTokenUnused: boolean;
  tokenFile: string;
  schemaVersion: number;
  jobs: JobRunner;
  /** The background work of the features. */
  workers: readonly BackgroundWorker[];
  /** Uses a TLS certificate that was replaced since the last look. */
  lookForCertificate(): Promise<void>;
  /** Requests are accepted for another `drainMs`, while the service says that it is no longer ready. */
  close(drainMs?: number): Promise<void>;
}

/** How a process stands among the workers of one command. */
export interface WorkerPosition {
  /** Whether it is the first one to start, which migrates the database and creates what a first start creates. */
  isFirst: boolean;
  /** How it gets the metrics of the others; null if there are none. */
  others: OtherWorkers | null;
}

const ALONE: WorkerPosition = { isFirst: true, others: null };

/** Opens everything in order, then listens. Closing undoes it in the opposite order, after requests in flight have ended. */
export async function startApp(
  config: Config,
  log: Logger,
  time: TimeSources = systemTime,
  { isFirst, others }: WorkerPosition = ALONE,
): Promise<App> {
  setPasswordSlots(workerShares(config).passwordSlots);
  const storage = await openStorage(config, { isMigrated: !isFirst, mayBeNewer: true, needsRoom: true });
  try {
    await refuseWrongStart(time, storage.database);
    const opened = await openKernel({ config, time, log, database: storage.database });
    const { operatorTenantId, isFirstStart, tokenFile } = await (isFirst
      ? bootstrap(opened)
      : alreadyBootstrapped(opened));
    const kernel: Kernel = { ...opened, operatorTenantId };
    if (others !== null) kernel.metrics.joinWorkers(others);
    const { schemaVersion } = storage;
    const { version, commit } = kernel;
    kernel.metrics.setBuild({ version, commit, schema: String(schemaVersion), node: process.version });
    await numberConnections(kernel);
    const { features, wiring, shared } = assemble(kernel);
    const authentication = new Authentication(
      features.flatMap((feature) => feature.credentialSchemes ?? []),
      kernel,
    );
    const pipeline = new Pipeline(kernel, authentication, shared(sharedApprovalQueue));
    for (const feature of features) await feature.open?.();
    const identity = await openIdentity(kernel, shared(sharedCertificates));
    if (identity !== null) showExpiry(kernel, identity);
    kernel.metrics.collect(
      'cv_last_backup_timestamp_seconds',
      'When "coffer server backup" last wrote a backup of the database of this node; 0 if it never did.',
      async () => (await findLastBackup(kernel.database, config.dataDir)) / SECOND_MS,
    );
    const isTokenUnused = isFirst && !isFirstStart && (await isFirstTokenUnused(kernel, tokenFile));
    const server = new HttpServer(kernel, wiring.endpoints, pipeline, identity);
    const declaredJobs = [...features.flatMap((feature) => feature.jobs ?? []), ...kernelJobs(kernel)];
    const jobs = new JobRunner({ ...kernel, jobs: declaredJobs });
    kernel.jobs.use(declaredJobs, () => jobs.wake());
    await kernel.clockGuard.firstCheck();
    if (isFirst) await logWarnings(kernel);
    kernel.addresses.listening(await server.listen());
    await kernel.nodes.start();
    const background = startBackground(kernel, jobs);
    for (const feature of features) feature.started?.();
    const workers = features.flatMap((feature) => feature.workers ?? []);
    for (const worker of workers) worker.start();
    const close = async (drainMs = 0) => {
      kernel.shutdown.abort();
      await sleep(drainMs);
      await server.close();
      await identity?.close();
      await background.stop();
      await kernel.nodes.stop();
      await Promise.all([...workers.map((worker) => worker.stop()), ...features.map((feature) => feature.settled?.())]);
      await storage.close();
    };
    const lookForCertificate = async () => identity?.look();
    const { baseUrl, tlsUrl } = kernel.addresses;
    const hasOwnIdentity = config.tls === null;
    return {
      kernel,
      baseUrl,
      tlsUrl,
      hasOwnIdentity,
      isFirstStart,
      isTokenUnused,
      tokenFile,
      schemaVersion,
      jobs,
      workers,
      lookForCertificate,
      close,
    };
  } catch (error) {
    await storage.close();
    throw error;
  }
}

async function logWarnings({ warnings, database, config, log }: Kernel): Promise<void> {
  for (const { code, message } of presentWarnings(warnings)) log.warn({ warning: code }, message);
  const shortage = await connectionShortage(database, config);
  if (shortage !== null) log.warn({ warning: 'database_connections' }, shortage);
}

/** The certificate that TLS listeners present: the operator's, or one of the service's own authority. */
async function openIdentity(kernel: Kernel, certificates: Certificates): Promise<CurrentIdentity | null> {
  const { tls, tlsPort } = kernel.config;
  if (tls !== null) return CurrentIdentity.open(new IdentityFiles(tls), kernel.log);
  return tlsPort === null ? null : CurrentIdentity.open(new OwnIdentity(kernel, certificates), kernel.log);
}

function showExpiry(kernel: Kernel, identity: CurrentIdentity): void {
  const { metrics, config, clock } = kernel;
  // The service renews a certificate of its own authority itself.
  if (config.tls !== null) {
    kernel.warnings.push(certificateWarning(() => identity.expiresAt <= clock.now()));
  }
  metrics.gaugeOf(
    'cv_tls_certificate_expiry_timestamp_seconds',
    'When the certificate expires that the service presents to its clients.',
    'min',
    () => identity.expiresAt / SECOND_MS,
  );
}

function kernelJobs(kernel: Kernel): Job[] {
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

/** Starts the work that runs beside requests. Linking and rate sharing are for several nodes; SQLite has one. */
function startBackground(kernel: Kernel, jobs: JobRunner): { stop(): Promise<void> } {
  const { audit, heads, refusals, unlistedReads, log } = kernel;
  const sharing = new RateSharing(kernel);
  if (kernel.database.kind === 'postgres') {
    audit.startLinking();
    sharing.start();
  }
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
