import { type CofferClient, RefusedError, TokenFileError } from '../coffer-client.ts';
import { NoAnswerError } from '../http-client.ts';
import type { Log } from '../log.ts';
import { nextScanSeconds, pause, type Random, retrySeconds, systemRandom } from '../schedule.ts';
import type { Settings } from '../settings.ts';
import { UnreadError } from './root-folder.ts';
import { type Scan, scanHost } from './scan.ts';

export interface EndpointAgentOptions {
  settings: Settings;
  client: CofferClient;
  log: Log;
  signal: AbortSignal;
  now?: () => Date;
  random?: Random;
}

const PATH = '/kube-guardian/endpoint-accounts';

/** Scans and reports until it is told to stop. True if the last attempt succeeded. */
export async function runEndpointAgent(options: EndpointAgentOptions): Promise<boolean> {
  const { settings, log, signal, random = systemRandom } = options;
  for (let failures = 0; ; ) {
    const failure = await attempt(options);
    if (settings.isOnce || signal.aborted) return failure === null;
    failures = failure === null ? 0 : failures + 1;
    const seconds =
      failure === null
        ? nextScanSeconds(settings.intervalSeconds, random)
        : retrySeconds(failures, settings.intervalSeconds, failure.retryAfterSeconds, random);
    if (failure !== null) log.info('trying again', { in_seconds: Math.ceil(seconds) });
    await pause(seconds, signal);
    if (signal.aborted) return failure === null;
  }
}

/** Null if the report was accepted. */
async function attempt(options: EndpointAgentOptions): Promise<{ retryAfterSeconds: number | null } | null> {
  const { settings, log, signal, now = () => new Date() } = options;
  try {
    const scan = scanHost({ root: settings.root, clusterId: settings.clusterId, now: now() });
    await send(options, scan);
    return null;
  } catch (error) {
    if (signal.aborted) return { retryAfterSeconds: null };
    log.error(describe(error), error instanceof RefusedError ? { status: error.status, code: error.code } : {});
    return { retryAfterSeconds: error instanceof RefusedError ? error.retryAfterSeconds : null };
  }
}

async function send({ client, log, signal }: EndpointAgentOptions, { report, excluded }: Scan): Promise<void> {
  const { body } = await client.send({ method: 'POST', path: PATH, body: report, signal });
  const answer = JSON.parse(body.toString('utf8')) as { accepted?: unknown; is_newest?: unknown };
  if (!Number.isSafeInteger(answer.accepted)) throw new Error('the service answered something else than expected');
  log.info('reported', {
    host_id: report.host_id,
    accounts: report.accounts.length,
    excluded,
    ssh_keys: report.accounts.reduce((sum, { ssh_keys }) => sum + ssh_keys.length, 0),
    accepted: Number(answer.accepted),
  });
  if (answer.is_newest === false) log.warn('the service has a newer scan of this host: check the clock of the host');
}

/** Texts of errors of the system may have paths of people in them, so only the code is logged. */
function describe(error: unknown): string {
  if (error instanceof UnreadError) return `the host could not be scanned: a file of /etc is ${error.reason}`;
  const isOurs = [RefusedError, TokenFileError, NoAnswerError].some((kind) => error instanceof kind);
  if (isOurs || (error instanceof Error && !('code' in error))) return (error as Error).message;
  return `the scan failed (${(error as { code?: string }).code ?? 'unknown'})`;
}
