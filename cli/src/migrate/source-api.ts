import { setTimeout as sleep } from 'node:timers/promises';
import type { TransportResponse } from '../../../client/src/index.ts';
import { nodeTransport, readCredential } from '../../../client/src/node/index.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { CommandError, EXIT } from '../failure.ts';
import { note } from '../output.ts';
import { withoutTrailingSlashes } from '../trailing-slashes.ts';
import { parseExactly } from './exact-json.ts';

export interface SourceAnswer {
  status: number;
  body: unknown;
}

/** Asks a source for JSON. It follows no redirect, because the token goes to the address that was given and nowhere else. */
export type SourceApi = (target: string) => Promise<SourceAnswer>;

export interface SourceApiOptions {
  /** Its name, for messages. */
  name: string;
  address: string;
  /** The variable that the address comes from. */
  addressVariable: string;
  headers: Record<string, string>;
  caFile?: string | undefined;
}

const USER_AGENT = `coffer-cli/${packageJson.version}`;
const ATTEMPTS = 5;
const TIMEOUT_MS = 60_000;
const BACKOFF_MS = 250;
const WAIT_MS_MAX = 120_000;
const REPEATED: ReadonlySet<number> = new Set([429, 472, 473, 502, 503, 504]);

export function sourceApi({ name, address, addressVariable, headers, caFile }: SourceApiOptions): SourceApi {
  const base = addressOf(address, addressVariable);
  if (base.protocol === 'http:' && !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(base.hostname))
    note(`${addressVariable} is http: anyone on the network path can read the token and the secrets.`);
  const send = nodeTransport(caFile === undefined ? {} : { ca: readCredential(caFile) });
  const attempt = async (url: string): Promise<TransportResponse | { problem: string }> => {
    try {
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      return await send({ method: 'GET', url, headers: { 'user-agent': USER_AGENT, ...headers }, signal });
    } catch (error) {
      return { problem: String((error as NodeJS.ErrnoException).code ?? (error as Error).name) };
    }
  };
  return async (target) => {
    const url = `${base.origin}${withoutTrailingSlashes(base.pathname)}${target}`;
    for (let tried = 1; ; tried++) {
      const response = await attempt(url);
      if (!('problem' in response) && !REPEATED.has(response.status)) return answerOf(name, addressVariable, response);
      if (tried === ATTEMPTS) {
        const why = 'problem' in response ? `cannot be reached (${response.problem})` : `answers ${response.status}`;
        throw new CommandError(`${name} ${why}. Check ${addressVariable}, and try again.`, EXIT.remote);
      }
      await sleep('problem' in response ? waitOf(tried, null) : waitOf(tried, response.headers.get('retry-after')));
    }
  };
}

function addressOf(address: string, variable: string): URL {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.search !== '' || url.hash !== '')
    throw new CommandError(`${variable} is not an address such as https://vault.example.com:8200.`);
  return url;
}

/** As long as the source asks for, or a random time below a bound that doubles. */
function waitOf(tried: number, retryAfter: string | null): number {
  const random = Math.random() * BACKOFF_MS * 2 ** tried;
  const seconds = retryAfter !== null && /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) : 0;
  return Math.min(seconds * 1000 + random, WAIT_MS_MAX);
}

async function answerOf(name: string, variable: string, response: TransportResponse): Promise<SourceAnswer> {
  const { status } = response;
  if (status >= 300 && status < 400)
    throw new CommandError(
      `${name} refers to another address. Set ${variable} to that of the active node.`,
      EXIT.remote,
    );
  const text = await response.text();
  try {
    return { status, body: text === '' ? null : parseExactly(text) };
  } catch {
    throw new CommandError(`What answers at ${variable} is not ${name}: no JSON (status ${status}).`, EXIT.remote);
  }
}

/** For an answer that nothing can be made of. What the source wrote is not shown, because it may repeat what was sent. */
export function refusedBySource(name: string, status: number, what: string, advice: string): CommandError {
  const isRefusal = status === 401 || status === 403;
  const exitCode = isRefusal ? EXIT.refused : status === 404 ? EXIT.notFound : EXIT.remote;
  return new CommandError(`${name} answers ${status} to ${what}. ${advice}`, exitCode);
}
