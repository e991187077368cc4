import type { Logger } from 'pino';
import { isPretty } from '../kernel/observability/log.ts';
import { SharedSqlite } from '../kernel/storage/shared-sqlite/shared-sqlite.ts';
import { systemTime } from '../kernel/time/sources.ts';
import type { Config } from '../settings/config.ts';
import { type App, startApp, type WorkerPosition } from './app.ts';
import { differenceFromPinnedNode, RUNNING_NODE } from './node-binary.ts';
import { RootKeyLocked } from './open-root-key.ts';
import { readyFields, readyText } from './ready-message.ts';
import { type Environment, Reload } from './reload.ts';
import type { Worker } from './worker.ts';
import { CLOSE_MS, drainMsAfter } from './worker-timing.ts';

let isStopping = false;
/** The node ends because its release is too old for the schema. Starting it again does not help; a newer release does. */
const EXIT_OUTDATED = 1;

/** Serves requests in this process until a signal ends it. `worker` is null if it is the only one. */
export async function serveRequests(
  config: Config,
  ownLog: Logger,
  worker: Worker | null,
  env: Environment,
): Promise<void> {
  const log = worker === null ? ownLog : ownLog.child({ worker: worker.position.number });
  const isFirst = worker === null || worker.position.isFirst;
  const writer = worker?.writer ?? null;
  const app = await startWhenOpen(config, log, { isFirst, others: worker, writer });
  // The handlers are installed before the ready message, because anyone who reads it may stop the process at once.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop(app, worker, signal));
  const reload = new Reload(app, env);
  process.on('SIGHUP', () => {
    // A terminal that is closed sends it too, and what was started there ends with it.
    if (process.stdout.isTTY) void stop(app, worker, 'SIGINT');
    else reload.run().catch((error) => log.error({ err: error }, 'the settings could not be loaded again'));
  });
  app.kernel.schemaFence.onOutdated(() => void stop(app, worker, 'SIGTERM', EXIT_OUTDATED));
  const { database } = app.kernel;
  if (database instanceof SharedSqlite) {
    database.writer.onEnding = () => void stop(app, worker, 'SIGTERM');
    database.writer.onLost = () => {
      log.error('the worker that writes is gone, so this worker ends: it could record nothing');
      process.exit(1);
    };
  }
  worker?.onSupervisorLost(() => {
    log.error('the supervisor of the workers is gone; this worker ends after its requests');
    void stop(app, worker, 'SIGTERM');
  });
  worker?.ready(
    () => app.kernel.metrics.ofWorker(),
    (error) => log.warn({ err: error }, 'the metrics of this worker could not be read'),
  );
  if (!isFirst) return;
  if (isPretty(config.logFormat)) process.stdout.write(readyText(app));
  else log.info(readyFields(app), `Coffer is ready at ${app.baseUrl}`);
  const difference = await differenceFromPinnedNode(RUNNING_NODE);
  if (difference !== null) log.warn({ warning: 'other_node' }, difference);
}

/** Where no seal opens the root key now but one may later, the node waits for it and says so. */
async function startWhenOpen(config: Config, log: Logger, position: WorkerPosition): Promise<App> {
  try {
    return await startApp(config, log, systemTime, position);
  } catch (error) {
    if (!(error instanceof RootKeyLocked) || !error.mayOpenLater) throw error;
    const ending = new AbortController();
    const end = () => ending.abort();
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, end);
    const { LockedServer } = await import('./locked-server.ts');
    try {
      for (let locked = error; ; ) {
        const opened = await new LockedServer(config, log, locked).wait(ending.signal, position.isFirst);
        try {
          return await startApp(config, log, systemTime, { ...position, opened });
        } catch (failure) {
          // A rekey replaced the root key while this node waited.
          if (!(failure instanceof RootKeyLocked) || !failure.mayOpenLater) throw failure;
          locked = failure;
        }
      }
    } catch (failure) {
      if (!ending.signal.aborted) throw failure;
      log.info('Coffer has stopped, still sealed');
      return process.exit(0);
    } finally {
      for (const signal of ['SIGTERM', 'SIGINT'] as const) process.off(signal, end);
    }
  }
}

/**
 * Requests in flight are answered first; those that do not end in time are cut off. A repeated signal changes nothing: a signal to the whole process
 * group arrives twice, from the system and from npm, which passes it on.
 */
async function stop(app: App, worker: Worker | null, signal: NodeJS.Signals, exitCode = 0): Promise<void> {
  if (isStopping) return;
  isStopping = true;
  const { log } = app.kernel;
  const drainMs = drainMsAfter(signal, app.kernel.config);
  log.info({ signal, drain_ms: drainMs }, 'Coffer stops after its requests');
  const cutOff = setTimeout(() => process.exit(1), drainMs + CLOSE_MS);
  cutOff.unref();
  await app.close(drainMs);
  await worker?.lastReport(await app.kernel.metrics.ofWorker());
  log.info('Coffer has stopped');
  process.exit(exitCode);
}
