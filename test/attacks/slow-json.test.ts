import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newPostgresDatabase } from '../support/postgres.ts';
import { pause, type ServiceProcess, spawnService, stopService } from '../support/process.ts';
import { call, onBothDatabases } from '../support/service.ts';

const LARGE_BYTES = 12 * 1024 * 1024;
const ROUNDS = 10;
/** It was 700 ms to 1.2 s with 0.4.0. A quiet machine shows 50 ms; a busy one stalls any process for longer. */
const STALL_MS_MAX = 500;

onBothDatabases('a tenant whose JSON is slow to parse', (database) => {
  let service: ServiceProcess;

  before(async () => {
    service = await spawnService({ databaseUrl: database === 'postgres' ? await newPostgresDatabase() : undefined });
    await call(service.url, 'POST', '/v1/vaults', {
      token: service.adminToken(),
      body: { name: 'slow', environment: 'development' },
    });
  });
  after(() => stopService(service));

  const post = (body: string) =>
    call(service.url, 'POST', '/v1/vaults/slow/import', { token: service.adminToken(), body });
  /** The longest stall since the last call. */
  const stallMs = async () => {
    const { text } = await call(service.url, 'GET', '/metrics', { token: service.adminToken() });
    return Number(/^cv_nodejs_eventloop_lag_max_seconds (\S+)/m.exec(text)?.[1]) * 1000;
  };
  const escaped = '\\ud83d\\ude00';
  const BODIES: Record<string, string> = {
    escapes: `{"dotenv":"${escaped.repeat(Math.floor((LARGE_BYTES - 100) / escaped.length))}"}`,
    members: `{"secrets":{${Array.from({ length: 19_000 }, (_, i) => `"${'k/'.repeat(290)}${i}":0`).join(',')}}}`,
  };

  for (const [kind, body] of Object.entries(BODIES)) {
    test(`does not stop others from being answered, with many ${kind}`, async () => {
      // The first starts the thread, and compiles what everyone uses.
      assert.equal((await post(body)).status, 422);
      // The least of some: what else the machine does can only add.
      let least = { stalled: Number.POSITIVE_INFINITY, served: 0 };
      for (let round = 0; round < ROUNDS && least.stalled >= STALL_MS_MAX; round++) {
        await stallMs();
        let isDone = false;
        const answers = Promise.all([post(body), post(body)]).finally(() => {
          isDone = true;
        });
        let served = 0;
        while (!isDone) {
          await call(service.url, 'GET', '/health');
          served++;
          await pause(5);
        }
        assert.deepEqual(new Set((await answers).map(({ status }) => status)), new Set([422]));
        const stalled = await stallMs();
        if (stalled < least.stalled) least = { stalled, served };
      }
      assert.ok(least.stalled < STALL_MS_MAX, `${Math.round(least.stalled)} ms`);
      assert.ok(least.served > 2, `${least.served} others were answered meanwhile`);
    });
  }
});
