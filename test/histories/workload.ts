import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../support/random.ts';
import { type Answer, call } from '../support/service.ts';
import { until } from '../support/until.ts';
import type { Exchange, Operation, Outcome } from './history.ts';

const CLIENTS = 8;
const REGISTERS = 5;
export const VAULT = 'registers';
const SECRETS = `/v1/vaults/${VAULT}/secrets`;
/** Longer than a request may take, so that most late responses are still seen. */
const TIMEOUT_MS = 25_000;
const PAUSE_MAX_MS = 60;
const PAUSE_AFTER_FAILURE_MS = 150;
/** How often one idempotent write is repeated until its outcome is known. */
const REPEATS_MAX = 30;
/** Shares of operations. */
const READS = 0.45;
const SWAPS = 0.2;
const IDEMPOTENT = 0.5;
/** Of idempotent writes that were acknowledged, those that are sent once more, to another node. */
const SENT_AGAIN = 0.4;

/** Where requests can be sent; the address of a node may change when it is started again. */
export interface Place {
  name: string;
  url(): string;
}

interface Plan {
  kind: Operation['kind'];
  register: string;
  places: readonly Place[];
  isIdempotent: boolean;
  isSentAgain: boolean;
  isByHeader: boolean;
}

/** Clients that read and write registers at any of several places, and note what they saw. The seed decides what each client does in turn. */
export class Workload {
  readonly operations: Operation[] = [];
  readonly registers = Array.from({ length: REGISTERS }, (_, i) => `r${i}`);
  readonly #places: readonly Place[];
  readonly #token: string;
  readonly #seed: number;
  readonly #stopping = new AbortController();
  #clients: Promise<void>[] = [];
  #count = 0;

  constructor(places: readonly Place[], token: string, seed: number) {
    this.#places = places;
    this.#token = token;
    this.#seed = seed;
  }

  /** Makes the registers, each with a first version. */
  async prepare(): Promise<void> {
    const [place] = this.#places;
    assert.ok(place !== undefined);
    await this.#make(place, '/v1/vaults', { name: VAULT, environment: 'staging' });
    for (const register of this.registers) {
      const value = this.#newValue(0);
      const invokedAt = performance.now();
      const sent = await this.#make(place, SECRETS, { path: register, value });
      this.#note({ client: 0, register, kind: 'write', invokedAt, value, expected: null }, [sent]);
    }
  }

  /** A region that has just started serves a moment later. */
  async #make(place: Place, path: string, body: object): Promise<Sent> {
    const headers = { 'idempotency-key': `make-${++this.#count}` };
    let answer: Answer | null = null;
    await until('it is made', async () => {
      answer = await this.#call(place, 'POST', path, { body, headers });
      return isSuccess(answer);
    });
    return { place, answer, at: performance.now() };
  }

  start(): void {
    this.#clients = Array.from({ length: CLIENTS }, (_, i) => this.#work(i + 1));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#clients);
  }

  get acknowledged(): number {
    return this.operations.filter(({ outcome }) => outcome === 'ok').length;
  }

  #newValue(client: number): string {
    this.#count++;
    return `value ${this.#count} of client ${client}`;
  }

  async #work(client: number): Promise<void> {
    const random = new Random(this.#seed * CLIENTS + client);
    const newest = new Map<string, number>();
    while (!this.#stopping.signal.aborted) {
      const outcome = await this.#operate(client, this.#plan(random), newest);
      await sleep(random.integer(0, PAUSE_MAX_MS) + (outcome === 'ok' ? 0 : PAUSE_AFTER_FAILURE_MS));
    }
  }

  /** All choices are made here, whatever becomes of them, so that the next operation is the same in each run. */
  #plan(random: Random): Plan {
    const kind = random.next();
    return {
      kind: kind < READS ? 'read' : kind < READS + SWAPS ? 'compare-and-set' : 'write',
      register: random.pick(this.registers),
      places: random.shuffled(this.#places),
      isIdempotent: kind >= READS && random.chance(IDEMPOTENT),
      isSentAgain: random.chance(SENT_AGAIN),
      isByHeader: random.chance(0.5),
    };
  }

  async #operate(client: number, plan: Plan, newest: Map<string, number>): Promise<Outcome> {
    const { register } = plan;
    const known = newest.get(register) ?? null;
    const kind = plan.kind === 'compare-and-set' && known === null ? 'write' : plan.kind;
    const expected = kind === 'compare-and-set' ? known : null;
    const invokedAt = performance.now();
    const value = kind === 'read' ? null : this.#newValue(client);
    const begun = { client, register, kind, invokedAt, value, expected };
    const sent = kind === 'read' ? [await this.#read(plan)] : await this.#change(plan, begun);
    const { outcome, version } = this.#note(begun, sent);
    if (version !== null) newest.set(register, Math.max(version, known ?? 0));
    return outcome;
  }

  async #read({ register, places: [place] }: Plan): Promise<Sent> {
    assert.ok(place !== undefined);
    const answer = await this.#call(place, 'GET', `${SECRETS}/${register}`);
    return { place, answer, at: performance.now() };
  }

  /** Without a key it is sent once. With one it is repeated, at each place in turn, until its outcome is known. */
  async #change(plan: Plan, { register, value, expected }: Begun): Promise<Sent[]> {
    const condition = expected === null ? {} : plan.isByHeader ? 'header' : { expected_version: expected };
    const body = { value, ...(condition === 'header' ? {} : condition) };
    const headers = {
      ...(condition === 'header' && { 'if-match': `"v${expected}"` }),
      ...(plan.isIdempotent && { 'idempotency-key': `${this.#seed} ${value}`.replaceAll(' ', '-') }),
    };
    const all: Sent[] = [];
    const send = async () => {
      const place = plan.places[all.length % plan.places.length] as Place;
      const answer = await this.#call(place, 'PUT', `${SECRETS}/${register}`, { body, headers });
      all.push({ place, answer, at: performance.now() });
      return answer;
    };
    for (let answer = await send(); plan.isIdempotent && !isDefinite(answer); answer = await send()) {
      if (all.length >= REPEATS_MAX || this.#stopping.signal.aborted) break;
      await sleep(PAUSE_AFTER_FAILURE_MS);
    }
    if (plan.isIdempotent && plan.isSentAgain && isSuccess(all.at(-1)?.answer ?? null)) await send();
    return all;
  }

  #note(begun: Begun, sent: readonly Sent[]): Operation {
    const acknowledged = sent.find(({ answer }) => isSuccess(answer));
    // What was sent before and has an unknown outcome could be done still, whatever the last response says.
    const isFailed = begun.kind === 'read' || sent.every(({ answer }) => isDefinite(answer));
    const operation: Operation = {
      ...begun,
      id: this.operations.length + 1,
      returnedAt: acknowledged?.at ?? performance.now(),
      outcome: acknowledged !== undefined ? 'ok' : isFailed ? 'failed' : 'unknown',
      version: acknowledged?.answer?.body.version ?? null,
      value: begun.value ?? acknowledged?.answer?.body.value ?? null,
      exchanges: sent.map(exchangeOf),
    };
    this.operations.push(operation);
    return operation;
  }

  #call(place: Place, method: string, path: string, more: { body?: unknown; headers?: Record<string, string> } = {}) {
    return call(place.url(), method, path, { token: this.#token, timeoutMs: TIMEOUT_MS, ...more }).catch(noAnswer);
  }
}

type Begun = Pick<Operation, 'client' | 'register' | 'kind' | 'invokedAt' | 'value' | 'expected'>;

interface Sent {
  place: Place;
  /** Null if there was none. */
  answer: Answer | null;
  at: number;
}

function exchangeOf({ place, answer }: Sent): Exchange {
  return {
    place: place.name,
    status: answer?.status ?? 0,
    code: answer?.body?.error?.code ?? '',
    requestId: answer?.headers.get('x-request-id') ?? '',
    version: isSuccess(answer) ? answer.body.version : null,
  };
}

function isSuccess(answer: Answer | null): answer is Answer {
  return answer !== null && answer.status < 300;
}

/** A request that another one with the same key overtook is still running there. */
const RUNNING = 'IN_USE';

/** Whether it is certain that the request was done, or that it never will be. */
function isDefinite(answer: Answer | null): boolean {
  if (answer === null || answer.status >= 500 || answer.status === 429) return false;
  return answer.body?.error?.code !== RUNNING;
}

/** A place that is down, or does not respond in time, has no answer. Everything else is the test's own failure. */
export function noAnswer(error: NodeJS.ErrnoException): null {
  assert.ok(error.code !== undefined && error.code !== 'ERR_ASSERTION', error);
  return null;
}
