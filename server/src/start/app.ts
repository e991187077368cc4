import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { assemble } from '../assembly/assemble.ts';
import { sharedApprovalQueue } from '../features/approvals/index.ts';
import { sharedCertificates } from '../features/certificates/index.ts';
import { auditCalls } from '../kernel/audit/journal/shared-audit-store.ts';
import { SqliteAuditStore } from '../kernel/audit/journal/sqlite-audit-store.ts';
import { Authentication } from '../kernel/auth/authentication.ts';
import { SECOND_MS } from '../kernel/base/clock.ts';
import { setPasswordSlots } from '../kernel/crypto/passwords.ts';
import { HttpServer } from '../kernel/http/server.ts';
import type { BackgroundWorker } from '../kernel/jobs/due-work.ts';
import { JobRunner } from '../kernel/jobs/job-runner.ts';
import type { OtherWorkers } from '../kernel/observability/merged-metrics.ts';
import type { Kernel } from '../kernel/request/kernel.ts';
import { Pipeline } from '../kernel/request/pipeline.ts';
import { connectionShortage } from '../kernel/storage/connection-check.ts';
import { findLastBackup } from '../kernel/storage/last-backup.ts';
import { WriteServer } from '../kernel/storage/shared-sqlite/write-server.ts';
import { refuseWrongStart } from '../kernel/time/clock-guard.ts';
import { systemTime, type TimeSources } from '../kernel/time/sources.ts';
import type { Config } from '../settings/config.ts';
import { presentWarnings } from '../settings/start-warnings.ts';
import { workerShares } from '../settings/worker-shares.ts';
import { numberConnections } from '../upgrade/from-0-4/number-connections.ts';
import { kernelJobs, startBackground } from './background.ts';
import { alreadyBootstrapped, bootstrap } from './first-start.ts';
import { isFirstTokenUnused } from './first-token.ts';
import { openKernel } from './open-kernel.ts';
import type { OpenedRoot } from './open-root-key.ts';
import { openSharedStorage, openStorage } from './open-storage.ts';
import { openIdentity, showExpiry } from './tls-certificate.ts';

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
  /** The worker that writes to SQLite for the others; null if each process writes for itself. */
  writer: { path: string; isThis: boolean } | null;
  /** The root key, if it was opened before. */
  opened?: OpenedRoot;
}

const ALONE: WorkerPosition = { isFirst: true, others: null, writer: null };

/** Opens everything in order, then listens. Closing undoes it in the opposite order, after requests in flight have ended. */
export async function startApp(
  config: Config,
  log: Logger,
  time: TimeSources = systemTime,
  { isFirst, others, writer, opened: root }: WorkerPosition = ALONE,
): Promise<App> {
  setPasswordSlots(workerShares(config).passwordSlots);
  const options = { isMigrated: !isFirst, mayBeNewer: true, needsRoom: true, isShared: writer !== null };
  const storage =
    writer === null || writer.isThis
      ? await openStorage(config, options)
      : await openSharedStorage(config, writer.path);
  try {
    await refuseWrongStart(time, storage.database);
    const opened = await openKernel({
      config,
      time,
      log,
      database: storage.database,
      ...(root !== undefined && { opened: root }),
    });
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
    const writeServer = writer?.isThis === true ? await serveWrites(kernel, writer.path) : null;
    kernel.addresses.listening(await server.listen());
    await kernel.nodes.start();
    const background = startBackground(kernel, jobs);
    for (const feature of features) feature.started?.();
    const workers = features.flatMap((feature) => feature.workers ?? []);
    for (const worker of workers) worker.start();
    const close = async (drainMs = 0) => {
      kernel.shutdown.abort();
      writeServer?.announceEnd();
      await sleep(drainMs);
      await server.close();
      await identity?.close();
      await writeServer?.close();
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

/** Lets the other workers write through this process. */
async function serveWrites({ database, audit, log }: Kernel, path: string): Promise<WriteServer> {
  const { store } = audit;
  if (!(store instanceof SqliteAuditStore)) throw new Error('only SQLite needs a worker that writes');
  const server = new WriteServer({ database, calls: auditCalls(store, audit), log });
  await server.listen(path);
  return server;
}

async function logWarnings({ warnings, database, config, log }: Kernel): Promise<void> {
  for (const { code, message } of presentWarnings(warnings)) log.warn({ warning: code }, message);
  const shortage = await connectionShortage(database, config);
  if (shortage !== null) log.warn({ warning: 'database_connections' }, shortage);
}
