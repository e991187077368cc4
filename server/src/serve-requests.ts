import { dirname, join, relative } from 'node:path';
import type { Logger } from 'pino';
import { type App, startApp } from './app.ts';
import { ROOT_FILE } from './features/certificates/index.ts';
import type { Config } from './kernel/platform/config.ts';
import { differenceFromPinnedNode, RUNNING_NODE } from './kernel/platform/node-binary.ts';
import { systemTime } from './kernel/time/sources.ts';
import { CLOSE_MS, drainMsAfter } from './workers/timing.ts';
import type { Worker } from './workers/worker.ts';

let isStopping = false;

/** Serves requests in this process until a signal ends it. `worker` is null if it is the only one. */
export async function serveRequests(config: Config, ownLog: Logger, worker: Worker | null): Promise<void> {
  const log = worker === null ? ownLog : ownLog.child({ worker: worker.position.number });
  const isFirst = worker === null || worker.position.isFirst;
  const app = await startApp(config, log, systemTime, { isFirst, others: worker });
  // The handlers are installed before the ready message, because anyone who reads it may stop the process at once.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop(app, worker, signal));
  worker?.onSupervisorLost(() => {
    log.error('the supervisor of the workers is gone; this worker ends after its requests');
    void stop(app, worker, 'SIGTERM');
  });
  worker?.ready(
    () => app.kernel.metrics.ofWorker(),
    (error) => log.warn({ err: error }, 'the metrics of this worker could not be read'),
  );
  if (!isFirst) return;
  process.stdout.write(app.isFirstStart ? welcome(app) : readyText(app));
  const difference = await differenceFromPinnedNode(RUNNING_NODE);
  if (difference !== null) log.warn({ warning: 'other_node' }, difference);
}

function readyText({ baseUrl, tlsUrl }: App): string {
  const tls = tlsUrl === null ? '' : `Client certificates are taken at ${tlsUrl}\n`;
  return `Coffer is ready at ${baseUrl}\n${tls}`;
}

function welcome(app: App): string {
  const file = relative(process.cwd(), app.tokenFile);
  const tokenFile = file.startsWith('..') ? app.tokenFile : file;
  return [
    `Coffer is ready at ${app.baseUrl}`,
    '',
    `  Your admin token is in ${tokenFile}, which only you can read. Try it:`,
    '',
    `    printf 'Authorization: Bearer %s' "$(cat ${quoted(tokenFile)})" | curl -s -H @- ${app.baseUrl}/auth/me`,
    '',
    `  Keep ${tokenFile.replace(/admin\.token$/, 'root.key')} safe and backed up: without it no secret can be opened.`,
    ...(app.tlsUrl === null ? [] : [tlsLine(app, dirname(tokenFile))]),
    `  The API is described at ${app.baseUrl}/docs`,
    '',
    '',
  ].join('\n');
}

function tlsLine({ tlsUrl, hasOwnIdentity }: App, folder: string): string {
  const trust = hasOwnIdentity ? `; its clients trust ${join(folder, ROOT_FILE)}` : '';
  return `  Client certificates are taken at ${tlsUrl}${trust}`;
}

/** Quotes a path for the shell: folder names may contain spaces and worse. */
function quoted(file: string): string {
  return /^[\w./-]+$/.test(file) ? file : `'${file.replaceAll("'", `'\\''`)}'`;
}

/**
 * Requests in flight are answered first; those that do not end in time are cut off. A repeated signal changes nothing: a signal to the whole process
 * group arrives twice, from the system and from npm, which passes it on.
 */
async function stop(app: App, worker: Worker | null, signal: NodeJS.Signals): Promise<void> {
  if (isStopping) return;
  isStopping = true;
  const drainMs = drainMsAfter(signal, app.kernel.config);
  const cutOff = setTimeout(() => process.exit(1), drainMs + CLOSE_MS);
  cutOff.unref();
  await app.close(drainMs);
  await worker?.lastReport(await app.kernel.metrics.ofWorker());
  process.exit(0);
}
