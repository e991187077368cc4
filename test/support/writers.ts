import assert from 'node:assert/strict';
import { after } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { readAll } from './load.ts';
import { uniqueName } from './people.ts';
import { call } from './service.ts';

const PAUSE_MS = 20;
const SECRETS = '/v1/vaults/written/secrets';

export interface Write {
  /** Who acknowledged it. */
  by: string;
  path: string;
  value: string;
  /** When it was sent and acknowledged, by `performance.now()`. */
  sentAt: number;
  at: number;
}

const running = new Set<Writers>();
after(async () => {
  for (const writers of running) await writers.stop();
});

/** Keep writing new secrets to several places at once, follow no redirect, and note each write that was acknowledged. */
export class Writers {
  readonly acknowledged: Write[] = [];
  /** How often each place answered with each status; 0 stands for no answer. */
  readonly answers = new Map<string, number>();
  readonly #token: string;
  readonly #stopping = new AbortController();
  #loops: Promise<void>[] = [];

  constructor(token: string) {
    this.#token = token;
    running.add(this);
  }

  async makeVault(url: string): Promise<number> {
    const body = { name: 'written', environment: 'staging' };
    return (await call(url, 'POST', '/v1/vaults', { token: this.#token, body })).status;
  }

  start(by: string, url: string): void {
    const work = async () => {
      while (!this.#stopping.signal.aborted) {
        await this.write(by, url);
        await sleep(PAUSE_MS);
      }
    };
    this.#loops.push(work());
  }

  async stop(): Promise<void> {
    running.delete(this);
    this.#stopping.abort();
    await Promise.all(this.#loops);
  }

  /** Returns the status and where a redirect leads. */
  async write(by: string, url: string): Promise<{ status: number; location: string | null }> {
    const [path, value] = [uniqueName('path'), uniqueName('value')];
    const sentAt = performance.now();
    const options = { token: this.#token, body: { path, value } };
    const answer = await call(url, 'POST', SECRETS, options).catch(noAnswer);
    const status = answer?.status ?? 0;
    this.answers.set(`${by} ${status}`, this.count(by, status) + 1);
    if (status === 201) this.acknowledged.push({ by, path, value, sentAt, at: performance.now() });
    return { status, location: answer?.headers.get('location') ?? null };
  }

  by(place: string): Write[] {
    return this.acknowledged.filter(({ by }) => by === place);
  }

  count(by: string, status: number): number {
    return this.answers.get(`${by} ${status}`) ?? 0;
  }

  /** How many acknowledged writes are not there any more, or say something else. */
  async lost(url: string): Promise<number> {
    const listed = await readAll(url, this.#token, SECRETS, 'secrets');
    const present = new Set(listed.map(({ path }) => String(path)));
    let lost = 0;
    for (const { path, value } of this.acknowledged) {
      const read = present.has(path) ? await call(url, 'GET', `${SECRETS}/${path}`, { token: this.#token }) : null;
      if (read?.body?.value !== value) lost++;
    }
    return lost;
  }
}

/** A place that is down has no answer. Everything else is the test's own failure. */
function noAnswer(error: NodeJS.ErrnoException): null {
  assert.ok(error.code !== undefined && error.code !== 'ERR_ASSERTION', error);
  return null;
}
