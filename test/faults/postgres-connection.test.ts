import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { assertSaysSo, assertWorksAgain, untilReady } from '../support/faults.ts';
import { Load } from '../support/load.ts';
import { newPostgresDatabase } from '../support/postgres.ts';
import { pause, type ServiceProcess, spawnService, stopService } from '../support/process.ts';
import { DatabaseProxy } from '../support/proxy.ts';

describe('the connection to PostgreSQL', () => {
  let proxy: DatabaseProxy;
  let service: ServiceProcess;
  let load: Load;

  beforeEach(async () => {
    const url = await newPostgresDatabase();
    proxy = await DatabaseProxy.before(url);
    service = await spawnService({ databaseUrl: proxy.through(url) });
    load = new Load();
    load.start(service.url, service.adminToken());
    await pause(500);
  });
  afterEach(async () => {
    await load.stop();
    await stopService(service);
    await proxy.close();
    assert.equal(service.stderr(), '');
  });

  /** After the fault: it is ready again by itself, answers, and nothing is lost. */
  async function assertHeals(): Promise<string> {
    const healedMs = await untilReady(service.url);
    await assertWorksAgain(service.url, service.adminToken(), load);
    const { refused, acknowledged, longestMs } = load;
    return `${acknowledged.length} acknowledged, ${refused.length} refused, longest answer ${Math.round(longestMs)} ms, ready ${healedMs} ms after`;
  }

  test('is slow: answers are slow, and none is refused', async (t) => {
    proxy.weather = { kind: 'slow', delayMs: 60 };
    const before = load.acknowledged.length;
    await pause(5000);
    assert.ok(load.acknowledged.length > before, 'it goes on');
    proxy.weather = { kind: 'clear' };
    t.diagnostic(await assertHeals());
    assert.deepEqual(load.refused, []);
  });

  for (const [how, end] of [
    ['cut', () => proxy.cut()],
    ['reset', () => proxy.reset()],
  ] as const) {
    test(`is ${how}, again and again`, async (t) => {
      for (let i = 0; i < 12; i++) {
        end();
        await pause(200);
      }
      t.diagnostic(await assertHeals());
    });
  }

  test('goes silent for good: what waited is refused in time, and new connections are made', async (t) => {
    proxy.silence();
    await pause(4000);
    t.diagnostic(await assertHeals());
    assert.ok(load.refused.length > 0, 'what was under way got no answer from the database');
  });

  test('goes silent for all: every request is refused in time, until it is back', async (t) => {
    proxy.weather = { kind: 'silent' };
    await pause(8000);
    await assertSaysSo(service, load);
    proxy.weather = { kind: 'clear' };
    t.diagnostic(await assertHeals());
    assert.ok(load.refused.length > 0);
  });
});
