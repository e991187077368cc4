import type { Logger } from 'pino';
import { SECOND_MS } from '../base/clock.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { Attributes, Span } from '../observability/trace.ts';
import { AddressGuard } from './address-guard.ts';
import { HttpClient, type OutgoingAnswer } from './http-client.ts';

/** Spans that wait to be sent. Further ones are dropped and counted. */
const WAITING_MAX = 8192;
const BATCH_MAX = 512;
const SEND_EVERY_MS = SECOND_MS;
const TIMEOUT_MS = 10 * SECOND_MS;
const ANSWER_BYTES_MAX = 64 * 1024;
/** OTLP 1.x, "Failures": these may be sent again, and no others. */
const RETRIED = new Set([429, 502, 503, 504]);
const SPAN_KINDS = { internal: 1, server: 2, client: 3 } as const;
const STATUS_ERROR = 2;
/** The exporter belongs to no tenant. */
const OWNER = '';

const FAILING =
  'Check CV_OTLP_URL, and that the collector runs and accepts OTLP over HTTP with JSON. Nothing else depends on it.';

export interface TraceExporterParts {
  /** Without a slash at its end. */
  url: string;
  log: Logger;
  metrics: Metrics;
  version: string;
  nodeId: string;
}

/** Sends spans to a collector, by OTLP over HTTP with JSON, in batches. A collector that is away costs spans and nothing else. */
export class TraceExporter {
  readonly #parts: TraceExporterParts;
  readonly #http: HttpClient;
  #waiting: Span[] = [];
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | null = null;
  #isFailing = false;

  constructor(parts: TraceExporterParts) {
    this.#parts = parts;
    // The operator chose this host, so it may be private.
    this.#http = new HttpClient(new AddressGuard([new URL(parts.url).hostname.replace(/^\[|\]$/g, '')]));
  }

  start(): void {
    this.#timer = setInterval(() => this.#sendSoon(), SEND_EVERY_MS);
    this.#timer.unref();
  }

  add(spans: readonly Span[]): void {
    const room = WAITING_MAX - this.#waiting.length;
    this.#waiting.push(...spans.slice(0, room));
    if (spans.length > room) this.#count('dropped', spans.length - room);
    if (this.#waiting.length >= BATCH_MAX && !this.#isFailing) this.#sendSoon();
  }

  /** Sends what waits, unless the collector was away before. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    if (!this.#isFailing) this.#sendSoon();
    await this.#sending;
  }

  /** One batch at a time: a collector that is slow gets no more connections, and one that fails is tried again with the next tick. */
  #sendSoon(): void {
    this.#sending ??= this.#sendWaiting().finally(() => {
      this.#sending = null;
    });
  }

  async #sendWaiting(): Promise<void> {
    while (this.#waiting.length > 0) if (!(await this.#sendBatch())) return;
  }

  /** Returns whether the collector took the batch. */
  async #sendBatch(): Promise<boolean> {
    const batch = this.#waiting.splice(0, BATCH_MAX);
    try {
      this.#received(batch, await this.#post(batch));
    } catch (error) {
      this.#keep(batch);
      this.#report({ err: error });
    }
    return !this.#isFailing;
  }

  #post(batch: readonly Span[]): Promise<OutgoingAnswer> {
    const { url, version, nodeId } = this.#parts;
    const about = { 'service.name': 'coffer', 'service.version': version, 'service.instance.id': nodeId };
    const scopeSpans = [{ scope: { name: 'coffer' }, spans: batch.map(spanOf) }];
    return this.#http.send({
      owner: OWNER,
      url: `${url}/v1/traces`,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ resourceSpans: [{ resource: { attributes: attributesOf(about) }, scopeSpans }] }),
      bodyBytesMax: ANSWER_BYTES_MAX,
      timeoutMs: TIMEOUT_MS,
    });
  }

  #received(batch: readonly Span[], { status, body }: OutgoingAnswer): void {
    if (status !== 200) {
      if (RETRIED.has(status)) this.#keep(batch);
      else this.#count('rejected', batch.length);
      this.#report({ status });
      return;
    }
    const rejected = Math.min(rejectedIn(body), batch.length);
    this.#count('rejected', rejected);
    this.#count('exported', batch.length - rejected);
    this.#isFailing = false;
  }

  /** They are sent with the next batch, if there is room: what is newer is not dropped for them. */
  #keep(batch: readonly Span[]): void {
    const room = Math.max(0, WAITING_MAX - this.#waiting.length);
    this.#waiting.unshift(...batch.slice(0, room));
    this.#count('dropped', Math.max(0, batch.length - room));
  }

  #report(problem: { err: unknown } | { status: number }): void {
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#parts.log.warn({ ...problem, what_to_do: FAILING }, 'traces cannot be exported');
  }

  #count(outcome: 'exported' | 'rejected' | 'dropped', spans: number): void {
    if (spans > 0) this.#parts.metrics.traceSpans.labels(outcome).inc(spans);
  }
}

function rejectedIn(body: Buffer): number {
  try {
    const { partialSuccess } = JSON.parse(body.toString('utf8')) as { partialSuccess?: { rejectedSpans?: unknown } };
    return Number(partialSuccess?.rejectedSpans ?? 0) || 0;
  } catch (error) {
    // An empty body is a full success.
    if (error instanceof SyntaxError) return 0;
    throw error;
  }
}

function spanOf({ traceId, spanId, parentSpanId, name, kind, startMs, endMs, attributes, isError }: Span): object {
  return {
    traceId,
    spanId,
    ...(parentSpanId !== '' && { parentSpanId }),
    name,
    kind: SPAN_KINDS[kind],
    startTimeUnixNano: nanoseconds(startMs),
    endTimeUnixNano: nanoseconds(endMs),
    attributes: attributesOf(attributes),
    ...(isError && { status: { code: STATUS_ERROR } }),
  };
}

/** Nanoseconds do not fit into a JSON number. */
function nanoseconds(ms: number): string {
  return `${BigInt(Math.round(ms * 1000))}000`;
}

function attributesOf(attributes: Attributes): object[] {
  return Object.entries(attributes).map(([key, value]) => ({
    key,
    value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value },
  }));
}
