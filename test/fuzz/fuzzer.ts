import assert from 'node:assert/strict';
import { MINUTE_MS } from '../../server/src/kernel/base/clock.ts';
import { assertChainValid } from '../support/load.ts';
import { METRICS_TOKEN } from '../support/metrics-token.ts';
import { ok } from '../support/people.ts';
import { Random } from '../support/random.ts';
import { call, type DatabaseKind, type Service, type ServiceOptions, startService } from '../support/service.ts';
import { asSentBy, type Caller, overhearing } from './caller.ts';
import { type Callers, makeCallers } from './callers.ts';
import { Checks, codeOf, type Exchange } from './checks.ts';
import { type Answer, Client, type Meddle } from './client.ts';
import { type Operation, operationsIn } from './document.ts';
import { idsIn, type Side, secretIn, withoutSecrets } from './marks.ts';
import { bend } from './mutations.ts';
import { Pool } from './pool.ts';
import { type Draft, encoded, type Sent, shown, validDraft } from './request.ts';

export interface Run {
  seed: number;
  /** Rounds over every operation; with `seconds` or `requests`, as many as fit. */
  rounds?: number;
  seconds?: number;
  requests?: number;
  /** Only these operations, by their ids. */
  only?: readonly string[];
  meddle?: Meddle;
}

/** A service with all who are going to ask it. */
export interface Prepared {
  service: Service;
  callers: Callers;
  operations: Operation[];
  close(): Promise<void>;
}

export interface Outcome {
  requests: number;
  failures: string[];
  /** How often each status was answered. */
  statuses: Map<number, number>;
  /** Operations that never answered with success. */
  unreached: string[];
  /** Callers who have a good credential, and to whom nothing opened that is not open to all. */
  unserved: string[];
}

interface Planned {
  caller: Caller;
  draft: Draft;
  /** Without its credential, which is made anew each time it is sent. */
  sent: Sent;
  isRepeated: boolean;
}

interface SentExchange extends Exchange {
  planned: Planned;
}

const UNBOUNDED = Number.POSITIVE_INFINITY;
const FAILURES_MAX = 10;
const AT_ONCE = 6;
/** Shares of what is sent. */
const BENT = 0.45;
const REPEATED = 0.04;
const TWICE_AT_ONCE = 0.04;
const BY_KIND = 0.4;
/** How much larger the process may be at the end than it was after its first rounds. */
const GROWTH_MAX_BYTES = 400 * 1024 * 1024;
/** Fields by which something is shown once and never again. */
const SHOWN_ONCE = /^(?:secret|client_secret|recovery_codes|private_key|token|cv_jwt|access_token)$/;
const SHOWN_ONCE_MAX = 400;
/** Entries of the audit log that are read at once afterwards. */
const PAGE = 200;

/** Issuers that callers have identities of are on this machine. */
const ENV = { CV_OUTBOUND_ALLOW: '127.0.0.1', CV_METRICS_TOKEN: METRICS_TOKEN };

export async function prepare(database: DatabaseKind, options: ServiceOptions = {}): Promise<Prepared> {
  const service = await startService(database, { ...options, env: ENV });
  const callers = await makeCallers(service);
  const response = await fetch(`${service.url}/openapi.json`);
  const close = async () => {
    callers.close();
    await service.close();
  };
  return { service, callers, operations: operationsIn(await response.text()), close };
}

export async function fuzz(prepared: Prepared, run: Run): Promise<Outcome> {
  const fuzzer = new Fuzzer(prepared, run);
  await fuzzer.run();
  await fuzzer.afterwards();
  return fuzzer.outcome();
}

class Fuzzer {
  readonly #service: Service;
  readonly #callers: Callers;
  readonly #operations: readonly Operation[];
  readonly #run: Run;
  readonly #random: Random;
  readonly #pools: Record<Side, Pool>;
  readonly #homes = new Map<string, Pool>();
  readonly #client: Client;
  readonly #checks: Checks;
  readonly #failures: string[] = [];
  readonly #statuses = new Map<number, number>();
  readonly #reached = new Set<string>();
  readonly #served = new Set<string>();
  #shownOnce: string[] = [];
  #requests = 0;

  constructor({ service, callers, operations }: Prepared, run: Run) {
    this.#service = service;
    this.#callers = callers;
    this.#operations = operations.filter(({ id }) => run.only?.includes(id) ?? true);
    this.#run = run;
    this.#random = new Random(run.seed);
    const pool = () => new Pool(this.#random, callers.protected);
    this.#pools = { ours: pool(), theirs: pool() };
    for (const { name, home } of callers.all) {
      if (home === null) continue;
      const own = new Pool(this.#random, new Set());
      own.know(home);
      this.#homes.set(name, own);
    }
    this.#client = new Client(service, run.meddle);
    this.#checks = new Checks(operations, callers.protected);
  }

  outcome(): Outcome {
    const unreached = this.#operations.map(({ id }) => id).filter((id) => !this.#reached.has(id));
    const able = this.#callers.all.filter(({ kinds }) => kinds.length > 0).map(({ name }) => name);
    const unserved = able.filter((name) => !this.#served.has(name));
    return { requests: this.#requests, failures: this.#failures, statuses: this.#statuses, unreached, unserved };
  }

  async run(): Promise<void> {
    const { rounds = UNBOUNDED, seconds = UNBOUNDED, requests = UNBOUNDED } = this.#run;
    const until = performance.now() + seconds * 1000;
    const isOver = () =>
      performance.now() > until || this.#requests >= requests || this.#failures.length >= FAILURES_MAX;
    let startedWith = 0;
    await this.#build();
    for (let round = 0; round < rounds && !isOver(); round++) {
      const operations = this.#random.shuffled(this.#operations.filter((one) => this.#isDue(one)));
      for (let at = 0; at < operations.length && !isOver(); at += AT_ONCE) {
        await this.#askTogether(operations.slice(at, at + AT_ONCE).flatMap((one) => this.#plan(one)));
      }
      if (round === 2) startedWith = process.memoryUsage().rss;
    }
    const grownBy = process.memoryUsage().rss - startedWith;
    if (startedWith > 0 && grownBy > GROWTH_MAX_BYTES) this.#fail(`the process grew by ${grownBy} bytes`, null);
    this.#client.close();
  }

  /** Lets both sides make things of every kind, those first that others are in. */
  async #build(): Promise<void> {
    const makers = this.#operations.filter((one) => one.method === 'POST' && one.answers.has(201));
    const inOrder = makers.toSorted((a, b) => a.parameters.length - b.parameters.length);
    const admins = this.#callers.all.filter(({ weight, seesValues }) => seesValues && weight > 5);
    for (const operation of inOrder) {
      await this.#askTogether(
        admins.flatMap((caller) => [this.#valid(caller, operation), this.#valid(caller, operation)]),
      );
    }
  }

  /** What is deleted must be made first, and what is made should live a while. */
  #isDue({ method }: Operation): boolean {
    return method !== 'DELETE' || this.#random.chance(0.25);
  }

  #valid(caller: Caller, operation: Operation): Planned {
    const pool = this.#homes.get(caller.name) ?? this.#pools[caller.side];
    const draft = validDraft(this.#random, pool, caller.side, operation);
    keepCallersIn(draft);
    return { caller, draft, sent: encoded(this.#random, draft), isRepeated: false };
  }

  /** What is going to be sent, and by whom: once, or twice at the same time. */
  #plan(operation: Operation): Planned[] {
    const caller = this.#whoAsks(operation);
    const pool = this.#homes.get(caller.name) ?? this.#pools[caller.side];
    const others = this.#pools[caller.side === 'ours' ? 'theirs' : 'ours'];
    const draft = validDraft(this.#random, pool, caller.side, operation);
    keepCallersIn(draft);
    if (this.#random.chance(BENT)) bend(draft, { random: this.#random, others });
    const sent = encoded(this.#random, draft);
    const how = this.#random.next();
    const isRepeated = how < REPEATED;
    if (isRepeated) sent.headers.push(['idempotency-key', `once-${this.#requests}-${operation.id}`]);
    const planned = { caller, draft, sent, isRepeated };
    return how > 1 - TWICE_AT_ONCE ? [planned, planned] : [planned];
  }

  /** Sent at the same time, checked in order: so a seed repeats what follows from it. */
  async #askTogether(planned: readonly Planned[]): Promise<void> {
    const all = await Promise.all(planned.map((one) => this.#send(one)));
    for (const exchange of all) {
      if (exchange === null) continue;
      await this.#look(exchange);
      if (exchange.planned.isRepeated) await this.#repeat(exchange);
      if (exchange.caller.isOnce && exchange.answer.status < 300) await this.#overhear(exchange);
    }
  }

  /** Mostly somebody who could get it, so that something comes of it; else anybody. */
  #whoAsks(operation: Operation): Caller {
    const { all } = this.#callers;
    const able = all.filter((caller) => !caller.isBreach(operation));
    if (able.length === 0 || !this.#random.chance(0.85)) return this.#byWeight(all);
    // Few are machines, and few operations are for them: by weight alone they would hardly get to ask.
    const kinds = operation.credentials.filter((kind) => able.some((caller) => caller.kinds.includes(kind)));
    if (kinds.length === 0 || !this.#random.chance(BY_KIND)) return this.#byWeight(able);
    const kind = this.#random.pick(kinds);
    return this.#byWeight(able.filter((caller) => caller.kinds.includes(kind)));
  }

  #byWeight(among: readonly Caller[]): Caller {
    let at = this.#random.next() * among.reduce((sum, { weight }) => sum + weight, 0);
    for (const caller of among) {
      at -= caller.weight;
      if (at < 0) return caller;
    }
    return this.#random.pick(among);
  }

  async #send(planned: Planned): Promise<SentExchange | null> {
    return this.#deliver(planned, await asSentBy(planned.caller, planned.sent));
  }

  async #deliver(planned: Planned, sent: Sent): Promise<SentExchange | null> {
    const { caller, draft } = planned;
    this.#requests++;
    try {
      const exchange = { planned, caller, draft, sent, answer: await this.#client.send(sent, caller.certificate()) };
      this.#checks.note(exchange);
      return exchange;
    } catch (error) {
      if (!(await this.#isCutOff(error as Error, planned, sent))) {
        this.#fail(`no answer: ${(error as Error).message}`, shown(sent, caller.name));
      }
      return null;
    }
  }

  /** A long answer breaks off when its caller is revoked by another of these requests: then the same is refused from the start. */
  async #isCutOff(error: Error, { caller }: Planned, sent: Sent): Promise<boolean> {
    if (error.message !== 'aborted' || sent.method !== 'GET') return false;
    const again = await this.#client.send(sent, caller.certificate()).catch(() => null);
    return again?.status === 401 || again?.status === 403;
  }

  async #look(exchange: SentExchange): Promise<void> {
    const { caller, draft, sent, answer } = exchange;
    this.#statuses.set(answer.status, (this.#statuses.get(answer.status) ?? 0) + 1);
    const problems = [...this.#checks.of(exchange), ...this.#problemsOfLog()];
    const how = draft.tricks.length === 0 ? 'valid' : draft.tricks.join(', ');
    for (const problem of problems) this.#fail(problem, `${shown(sent, caller.name)} (${how})`);
    await this.#learn(caller, draft, answer);
  }

  /** The same request under the same key is done once, and has the same response twice. */
  async #repeat({ planned, answer: first }: SentExchange): Promise<void> {
    const second = await this.#send(planned);
    if (second === null) return;
    await this.#look(second);
    if (second.answer.headers['idempotency-replayed'] !== 'true') return;
    if (first.status !== second.answer.status || first.text !== second.answer.text) {
      this.#fail('a replay is not the first answer', shown(second.sent, planned.caller.name));
    }
  }

  /** What was accepted once, byte for byte, sent again by an eavesdropper. */
  async #overhear({ planned, sent }: SentExchange): Promise<void> {
    const again = await this.#deliver({ ...planned, caller: overhearing(planned.caller) }, sent);
    if (again !== null) await this.#look(again);
  }

  async #learn(caller: Caller, draft: Draft, answer: Answer): Promise<void> {
    const { operation } = draft;
    if (answer.status === 429) this.#service.clock.advance(MINUTE_MS);
    if (draft.tricks.length === 0 && hasEnded(answer) && !caller.isBreach(operation)) await caller.renew?.();
    if (answer.status === 404 && draft.tricks.length === 0) this.#pools[caller.side].remove(draft.base);
    if (answer.status >= 300 || draft.method !== operation.method || draft.rawPath !== null) return;
    this.#reached.add(operation.id);
    if (!operation.isPublic) this.#served.add(caller.name);
    this.#keepShownOnce(answer.json);
    // A public answer is nobody's, and a page of one who sees less adds nothing.
    if (caller.seesNames) this.#pools[caller.side].learn(operation, draft.params, draft.body, answer.json);
    else this.#homes.get(caller.name)?.learn(operation, draft.params, draft.body, answer.json);
  }

  #keepShownOnce(json: unknown): void {
    for (const [field, value] of Object.entries(Object(json))) {
      if (!SHOWN_ONCE.test(field)) continue;
      // What stands for a value is no secret: it opens nothing by itself.
      const texts = [value]
        .flat()
        .filter((one) => typeof one === 'string')
        .filter((one) => one.length >= 8 && idsIn(one).size === 0);
      this.#shownOnce = [...texts, ...this.#shownOnce].slice(0, SHOWN_ONCE_MAX);
    }
  }

  /** Nothing is an error of the service, whatever it was sent; and what it logs holds no value. */
  #problemsOfLog(): string[] {
    const lines = this.#service.logs.splice(0);
    return lines.flatMap((line) => {
      const secret = secretIn(line, this.#shownOnce);
      const found = secret === null ? [] : [`the log holds ${secret}: ${withoutSecrets(line)}`];
      return /"level":"(?:error|fatal)"/.test(line) ? [...found, `logged ${withoutSecrets(line)}`] : found;
    });
  }

  /** Whole, well and telling nothing after all of it. */
  async afterwards(): Promise<void> {
    const { url } = this.#service;
    assert.equal((await call(url, 'GET', '/health/ready')).status, 200, 'not ready any more');
    for (const [side, token] of Object.entries(this.#callers.admins)) {
      this.#endLimits();
      await assertChainValid(url, token);
      for await (const entry of this.#entries(token)) {
        const secret = secretIn(JSON.stringify(entry), this.#shownOnce);
        if (secret !== null) this.#fail(`an audit entry of ${side} holds ${secret}: ${entry['action']}`, null);
      }
    }
    for (const problem of this.#problemsOfLog()) this.#fail(problem, null);
  }

  /** Some of the requests lower the limits of their tenant, and those hold for what is read afterwards too. */
  #endLimits(): void {
    this.#service.clock.advance(MINUTE_MS);
  }

  async *#entries(token: string): AsyncGenerator<Record<string, unknown>> {
    let cursor = '';
    do {
      this.#endLimits();
      const path = `/v1/audit?limit=${PAGE}&cursor=${cursor}`;
      const page = await ok(call(this.#service.url, 'GET', path, { token }));
      yield* page.entries;
      cursor = page.next_cursor ?? '';
    } while (cursor !== '');
  }

  #fail(problem: string, request: string | null): void {
    if (this.#failures.length >= FAILURES_MAX) return;
    const where = request === null ? 'after the run' : `request ${this.#requests}, ${request}`;
    this.#failures.push(
      `${withoutSecrets(problem)}\n  ${where}\n  again: npm run test:fuzz -- --seed ${this.#run.seed}`,
    );
  }
}

/** Whether it says that a credential which was good once is not any more. */
function hasEnded(answer: Answer): boolean {
  return answer.status === 401 || codeOf(answer) === 'CERTIFICATE_REQUIRED';
}

/** Where a second factor is required, no caller could do anything any more. */
function keepCallersIn({ body }: Draft): void {
  const settings = Object(body) as { require_mfa?: unknown };
  if (settings.require_mfa === true) settings.require_mfa = false;
}
