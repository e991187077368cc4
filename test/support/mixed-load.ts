import { after } from 'node:test';
import { ok } from './people.ts';
import { call } from './service.ts';
import { until } from './until.ts';

const CALLERS = 6;
const SOME = 100;
const VAULT = 'mixed';

const running = new Set<MixedLoad>();
after(async () => {
  for (const load of running) await load.stop();
});

/** Reads and writes by way of one URL, and keeps what did not succeed. */
export class MixedLoad {
  readonly failures: string[] = [];
  /** The newest value of each secret whose write was acknowledged. */
  readonly acknowledged = new Map<string, number>();
  answered = 0;
  #isOver = false;
  #callers: Promise<void>[] = [];

  /** Makes the secrets that are read and written. */
  static async prepare(url: string, token: string): Promise<void> {
    await ok(call(url, 'POST', '/v1/vaults', { token, body: { name: VAULT, environment: 'staging' } }), 201);
    for (let i = 0; i < CALLERS; i++) {
      const body = { path: `key-${i}`, value: '0' };
      await ok(call(url, 'POST', `/v1/vaults/${VAULT}/secrets`, { token, body }), 201);
    }
  }

  start(url: string, token: string): void {
    running.add(this);
    this.#callers = Array.from({ length: CALLERS }, async (_, i) => {
      for (let n = 1; !this.#isOver; n++) await this.#one(url, token, `key-${i}`, n);
    });
  }

  async #one(url: string, token: string, key: string, n: number): Promise<void> {
    const isWrite = n % 4 === 3;
    try {
      const change = isWrite ? { method: 'PUT', body: JSON.stringify({ value: String(n) }) } : {};
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const answer = await fetch(`${url}/v1/vaults/${VAULT}/secrets/${key}`, { headers, ...change });
      const text = await answer.text();
      if (answer.status !== 200) this.failures.push(`${answer.status} ${text}`);
      else {
        this.answered++;
        if (isWrite) this.acknowledged.set(key, n);
      }
    } catch (error) {
      this.failures.push(String((error as Error).cause ?? error));
    }
  }

  /** Resolves when some more requests were answered. With `isFailing` those that failed do not end the wait. */
  async more({ isFailing = false } = {}): Promise<void> {
    const before = this.answered;
    await until(
      'requests are answered',
      () => this.answered > before + SOME || (!isFailing && this.failures.length > 0),
    );
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    running.delete(this);
    await Promise.all(this.#callers);
  }

  /** Secrets whose last acknowledged write is lost. A write without an answer may have been made too. */
  async lost(url: string, token: string): Promise<string[]> {
    const lost: string[] = [];
    for (const [key, n] of this.acknowledged) {
      const { value } = await ok(call(url, 'GET', `/v1/vaults/${VAULT}/secrets/${key}`, { token }));
      if (Number(value) < n) lost.push(`${key}: ${value} instead of ${n}`);
    }
    return lost;
  }
}
