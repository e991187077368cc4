import { relative } from 'node:path';
import { type App, startApp } from './app.ts';
import { ConfigError, loadConfig } from './kernel/config.ts';
import { CofferError } from './kernel/errors.ts';
import { createLogger } from './kernel/observability/log.ts';
import { StartError } from './kernel/storage/data-folder.ts';

/** Longer than a request may take, shorter than service managers wait before they kill. */
const DRAIN_MS = 25_000;

try {
  const config = loadConfig(process.env);
  const log = createLogger({ level: config.logLevel, format: config.logFormat, ownErrors: [CofferError, StartError] });
  const app = await startApp(config, log);
  process.stdout.write(app.isFirstStart ? welcome(app) : `Coffer is ready at ${app.baseUrl}\n`);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop(app));
} catch (error) {
  process.stderr.write(`Coffer cannot start. ${explain(error)}\n`);
  process.exit(1);
}

function welcome(app: App): string {
  const file = relative(process.cwd(), app.tokenFile);
  const tokenFile = file.startsWith('..') ? app.tokenFile : file;
  return [
    `Coffer is ready at ${app.baseUrl}`,
    '',
    `  Your admin token is in ${tokenFile}, which only you can read. Try it:`,
    '',
    `    printf 'Authorization: Bearer %s' "$(cat ${tokenFile})" | curl -s -H @- ${app.baseUrl}/auth/me`,
    '',
    `  Keep ${tokenFile.replace(/admin\.token$/, 'root.key')} safe and backed up: without it no secret can be opened.`,
    `  The API is described at ${app.baseUrl}/docs`,
    '',
    '',
  ].join('\n');
}

/** Requests under way are answered first; whoever does not end in time is cut off. */
async function stop(app: App): Promise<void> {
  const cutOff = setTimeout(() => process.exit(1), DRAIN_MS);
  cutOff.unref();
  await app.close();
  process.exit(0);
}

/** Operators get a sentence that says what to do; only a defect of ours shows where it happened. */
function explain(error: unknown): string {
  if (error instanceof ConfigError || error instanceof StartError) return error.message;
  const { code, message, stack } = error as Error & { code?: string };
  if (code === 'EADDRINUSE') return 'The address is in use: stop the other program, or set CV_PORT to another port.';
  if (code === 'EACCES') return `Permission denied: ${message}`;
  if (error instanceof CofferError)
    return 'The database cannot be reached. Check CV_DATABASE_URL and that it is running.';
  return stack ?? message;
}
