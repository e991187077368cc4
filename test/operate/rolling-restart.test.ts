import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { startHaProxy } from '../support/haproxy.ts';
import { ok } from '../support/people.ts';
import { freePort, newPostgresDatabase } from '../support/postgres.ts';
import { newDataDir, type ServiceProcess, spawnService, stopService } from '../support/process.ts';
import { programOf } from '../support/running-program.ts';
import { call } from '../support/service.ts';
import { until } from '../support/until.ts';

const program = programOf('haproxy');
const skip = 'missing' in program ? program.missing : false;
const path = 'path' in program ? program.path : '';
const CALLERS = 6;
const SOME = 100;
const SHOWN = 5;

/** Reads and writes by way of one URL, and keeps what did not succeed. */
class MixedLoad {
  readonly failures: string[] = [];
  answered = 0;
  #isOver = false;
  #callers: Promise<void>[] = [];

  start(url: string, token: string): void {
    this.#callers = Array.from({ length: CALLERS }, async (_, i) => {
      for (let n = 0; !this.#isOver; n++) await this.#one(url, token, `key-${i}`, n);
    });
  }

  async #one(url: string, token: string, key: string, n: number): Promise<void> {
    const secret = `/v1/vaults/rolling/secrets/${key}`;
    try {
      const change = n % 4 === 3 ? { method: 'PUT', body: JSON.stringify({ value: `value-${n}` }) } : {};
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const answer = await fetch(`${url}${secret}`, { headers, ...change });
      const text = await answer.text();
      if (answer.status === 200) this.answered++;
      else this.failures.push(`${answer.status} ${text}`);
    } catch (error) {
      this.failures.push(String((error as Error).cause ?? error));
    }
  }

  async more(): Promise<void> {
    const before = this.answered;
    await until('requests are answered', () => this.answered > before + SOME || this.failures.length > 0);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#callers);
  }
}

describe('two nodes behind a load balancer that repeats nothing', { skip }, () => {
  test('are restarted one after the other without one failed request', async (t: TestContext) => {
    const databaseUrl = await newPostgresDatabase();
    const ports = [await freePort(), await freePort()];
    const start = (i: number, dataDir: string): Promise<ServiceProcess> =>
      spawnService({ databaseUrl, dataDir, env: { CV_PORT: String(ports[i]), CV_DRAIN_SECONDS: '2' } });
    const nodes = [await start(0, newDataDir())];
    const [first] = nodes;
    assert.ok(first !== undefined);
    const token = first.adminToken();
    const dataDir = newDataDir();
    mkdirSync(dataDir, { mode: 0o700 });
    copyFileSync(join(first.dataDir, 'root.key'), join(dataDir, 'root.key'));
    nodes.push(await start(1, dataDir));
    await ok(call(first.url, 'POST', '/v1/vaults', { token, body: { name: 'rolling', environment: 'staging' } }), 201);
    for (let i = 0; i < CALLERS; i++) {
      const body = { path: `key-${i}`, value: 'first' };
      await ok(call(first.url, 'POST', '/v1/vaults/rolling/secrets', { token, body }), 201);
    }
    const balancer = await startHaProxy(path, ports);
    await until('the balancer has a ready node', async () => {
      return (await call(balancer.url, 'GET', '/health/ready', {})).status === 200;
    });
    const load = new MixedLoad();
    load.start(balancer.url, token);
    for (let round = 0; round < 2; round++) {
      for (const [i, node] of nodes.entries()) {
        await load.more();
        await stopService(node);
        await load.more();
        nodes[i] = await start(i, node.dataDir);
        await load.more();
      }
    }
    await load.stop();
    t.diagnostic(`${load.answered} requests, ${load.failures.length} failed`);
    assert.deepEqual(load.failures.slice(0, SHOWN), []);
    for (const node of nodes) await stopService(node);
    await balancer.stop();
  });
});
