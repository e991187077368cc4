import { dirname, join, relative } from 'node:path';
import { type App, startApp } from './app.ts';
import { ROOT_FILE } from './features/certificates/index.ts';
import { createLogger } from './kernel/observability/log.ts';
import { loadConfig } from './kernel/platform/config.ts';
import { CofferError } from './kernel/platform/errors.ts';
import { differenceFromPinnedNode, RUNNING_NODE } from './kernel/platform/node-binary.ts';
import { StartError } from './kernel/storage/data-folder.ts';
import { explainFailure } from './operator/failure.ts';

/** Longer than a request may take, shorter than service managers wait before they kill the process. */
const DRAIN_MS = 25_000;
let isStopping = false;

try {
  const config = loadConfig(process.env);
  const log = createLogger({ level: config.logLevel, format: config.logFormat, ownErrors: [CofferError, StartError] });
  const app = await startApp(config, log);
  // The handlers are installed before the ready message, because anyone who reads it may stop the process at once.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop(app));
  process.stdout.write(app.isFirstStart ? welcome(app) : ready(app));
  const difference = await differenceFromPinnedNode(RUNNING_NODE);
  if (difference !== null) log.warn({ warning: 'other_node' }, difference);
} catch (error) {
  process.stderr.write(`Coffer cannot start. ${explainFailure(error)}\n`);
  process.exit(1);
}

function ready({ baseUrl, tlsUrl }: App): string {
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
async function stop(app: App): Promise<void> {
  if (isStopping) return;
  isStopping = true;
  const cutOff = setTimeout(() => process.exit(1), DRAIN_MS);
  cutOff.unref();
  await app.close();
  process.exit(0);
}
