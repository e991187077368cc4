import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { EventLoopLag } from '../../server/src/kernel/observability/event-loop-lag.ts';
import { createLogger } from '../../server/src/kernel/observability/log.ts';
import { TurnMonitor } from '../../server/src/kernel/observability/turn-monitor.ts';
import type { Answer, CallOptions, Service } from './service.ts';
import type { Sent } from './thread-that-sends.ts';

/** How long an answer took the thread of the service. */
export interface TimedAnswer extends Answer {
  turnMs: number;
}

/**
 * Sends requests from a thread of its own, so that this one, in which the service runs, does nothing else meanwhile. What a request and its answer
 * cost their sender is done before and after the turns are watched.
 */
export class SendingThread {
  readonly #worker = new Worker(new URL('./thread-that-sends.ts', import.meta.url));
  /** The longest turn since it was last set. */
  longestMs = 0;

  /** The same service, whose requests are sent one after the other. */
  callingBy(service: Service, token: string | null = service.adminToken): Service {
    return { ...service, call: (method, path, options) => this.call(service, method, path, { token, ...options }) };
  }

  async call(service: Service, method: string, path: string, options: CallOptions): Promise<TimedAnswer> {
    const { token, body, headers } = options;
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const allHeaders = {
      ...(token != null && { authorization: `Bearer ${token}` }),
      ...(text !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
      ...headers,
    };
    const monitor = new TurnMonitor(
      { gaugeOf() {}, eventLoopLag: new EventLoopLag() },
      createLogger({ level: 'error', format: 'json' }),
    );
    const answered = once(this.#worker, 'message');
    this.#worker.postMessage({ url: `${service.url}${path}`, method, headers: allHeaders, body: text });
    monitor.begin(path);
    const [sent] = (await answered) as [Sent];
    monitor.end(path);
    const turnMs = monitor.longestMs;
    monitor.close();
    this.longestMs = Math.max(this.longestMs, turnMs);
    return { ...answerOf(sent), turnMs };
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}

function answerOf({ status, rawHeaders, bytes, failure }: Sent): Answer {
  if (failure !== null) throw new Error(failure);
  const headers = new Headers();
  for (let i = 0; i < rawHeaders.length; i += 2) headers.append(rawHeaders[i] ?? '', rawHeaders[i + 1] ?? '');
  const text = Buffer.from(bytes).toString();
  const isJson = /^application\/(scim\+)?json/.test(headers.get('content-type') ?? '');
  return { status, headers, text, body: isJson ? JSON.parse(text) : undefined };
}
