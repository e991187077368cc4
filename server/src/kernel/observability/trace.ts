import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';

/** The steps of a request, which are spans below that of the request, and what it waits for. */
export type SpanName = 'parse' | 'authenticate' | 'authorize' | 'handle' | 'database' | 'audit' | 'outgoing';
export type Attributes = Readonly<Record<string, string | number>>;

/** A finished span. Times are in milliseconds since 1970. */
export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: 'internal' | 'server' | 'client';
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Attributes;
  readonly isError: boolean;
}

/** The spans of one request. Later ones are left out. */
const SPANS_MAX = 64;
/** W3C Trace Context, section 3.2: version, trace id, parent id, flags. Version ff is forbidden; later versions may add fields at the end. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const ZEROS = /^0+$/;
const SAMPLED = 1;

export interface TraceParent {
  readonly traceId: string;
  readonly parentSpanId: string;
  readonly isSampled: boolean;
}

/** Returns null for a header that is absent or malformed: the standard then starts a new trace. */
export function parseTraceparent(header: string | undefined): TraceParent | null {
  const [, version, traceId = '', parentSpanId = '', flags = '', rest] = TRACEPARENT.exec(header ?? '') ?? [];
  if (version === undefined || (version === '00' && rest !== undefined)) return null;
  if (ZEROS.test(traceId) || ZEROS.test(parentSpanId)) return null;
  return { traceId, parentSpanId, isSampled: (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED };
}

function now(): number {
  return performance.timeOrigin + performance.now();
}

/** What is measured about one request. */
export class Trace {
  readonly #traceId: string;
  readonly #parentSpanId: string;
  readonly #rootId = randomBytes(8).toString('hex');
  readonly #startMs = now();
  readonly #spans: Span[] = [];
  #endStep: (() => void) | null = null;

  /** `traceparent` is that of the caller. Returns null if the caller does not want its trace to be recorded. */
  static begin(traceparent: string | undefined): Trace | null {
    const parent = parseTraceparent(traceparent);
    return parent === null || parent.isSampled ? new Trace(parent) : null;
  }

  private constructor(parent: TraceParent | null) {
    this.#traceId = parent?.traceId ?? randomBytes(16).toString('hex');
    this.#parentSpanId = parent?.parentSpanId ?? '';
  }

  /** Ends the step before, and begins the next. */
  step(name: SpanName): void {
    this.#endStep?.();
    this.#endStep = this.child(name);
  }

  /** Begins a span below that of the request, and returns what ends it. */
  child(name: SpanName, attributes: Attributes = {}, kind: Span['kind'] = 'internal'): (isError?: boolean) => void {
    const startMs = now();
    const spanId = randomBytes(8).toString('hex');
    let isOpen = true;
    return (isError = false) => {
      if (!isOpen) return;
      isOpen = false;
      if (this.#spans.length >= SPANS_MAX) return;
      const place = { traceId: this.#traceId, spanId, parentSpanId: this.#rootId };
      this.#spans.push({ ...place, name, kind, startMs, endMs: now(), attributes, isError });
    };
  }

  /** Ends the request, and returns all of its spans. */
  end(name: string, attributes: Attributes, isError: boolean): readonly Span[] {
    this.#endStep?.();
    const place = { traceId: this.#traceId, spanId: this.#rootId, parentSpanId: this.#parentSpanId };
    const root: Span = {
      ...place,
      name,
      kind: 'server',
      startMs: this.#startMs,
      endMs: now(),
      attributes,
      isError,
    };
    return [root, ...this.#spans.splice(0)];
  }
}

let active: AsyncLocalStorage<Trace> | null = null;

/** Runs `work` so that outgoing calls made in it find its trace. Nothing is set up until there is a first one. */
export function withinTrace<T>(trace: Trace, work: () => T): T {
  active ??= new AsyncLocalStorage();
  return active.run(trace, work);
}

export function activeTrace(): Trace | undefined {
  return active?.getStore();
}
