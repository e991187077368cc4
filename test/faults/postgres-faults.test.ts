import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import {
  ANSWER_MS_MAX,
  assertOnlyPutOff,
  assertSaysSo,
  assertUnharmed,
  statusOf,
  untilReady,
} from '../support/faults.ts';
import { Load } from '../support/load.ts';
import { newPostgresDatabase, type PostgresServer, query, startPostgres } from '../support/postgres.ts';
import { pause, type ServiceProcess, spawnService, stopService } from '../support/process.ts';
import { call } from '../support/service.ts';

describe('PostgreSQL goes away under load and comes back', () => {
  let server: PostgresServer;
  let service: ServiceProcess;
  let load: Load;

  before(async () => {
    server = await startPostgres();
  });
  beforeEach(async () => {
    load = new Load();
    service = await spawnService({ databaseUrl: await newPostgresDatabase(server) });
  });
  /** The process that was there at the beginning is there at the end, and nothing surprised it. */
  afterEach(async () => {
    await load.stop();
    await stopService(service);
    assert.equal(service.stderr(), '');
  });
  after(() => server.remove());

  /** Takes the database away in the given way while requests run, and brings it back. */
  async function survives(takeAway: () => Promise<void>, bringBack: () => Promise<void>): Promise<string> {
    load.start(service.url, service.adminToken());
    await pause(500);
    await takeAway();
    try {
      await pause(1000);
      await assertSaysSo(service, load);
      await pause(1000);
    } finally {
      await bringBack();
    }
    const healedMs = await untilReady(service.url);
    const acknowledgedThen = load.acknowledged.length;
    await pause(1000);
    await load.stop();
    const { refused } = load;
    assert.ok(refused.length > 0, 'requests were refused meanwhile');
    assertOnlyPutOff(load);
    assert.ok(load.acknowledged.length > acknowledgedThen + 20, 'it works again');
    await assertUnharmed(service.url, service.adminToken(), load.acknowledged);
    return `${refused.length} refused, longest answer ${Math.round(load.longestMs)} ms, ready ${healedMs} ms after`;
  }

  test('it is stopped', async (t) => {
    t.diagnostic(
      await survives(
        () => server.stop(),
        () => server.start(),
      ),
    );
  });

  test('it is killed', async (t) => {
    t.diagnostic(
      await survives(
        () => server.kill(),
        () => server.start(),
      ),
    );
  });

  test('its sessions are cut off, again and again', async (t) => {
    load.start(service.url, service.adminToken());
    for (let cut = 0; cut < 8; cut++) {
      await pause(150);
      await query(
        server.url,
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'coffer%'",
      );
    }
    assert.equal(load.broken, 0, `every request got an answer: ${service.stderr()}`);
    await untilReady(service.url);
    await load.stop();
    assertOnlyPutOff(load);
    await assertUnharmed(service.url, service.adminToken(), load.acknowledged);
    t.diagnostic(`${load.acknowledged.length} requests acknowledged in all`);
  });

  test('a server that has gone silent holds no request for ever', async (t) => {
    const sessions = await query(server.url, "select pid from pg_stat_activity where application_name like 'coffer%'");
    const pids = sessions.map(({ pid }) => Number(pid));
    const started = performance.now();
    for (const pid of pids) process.kill(pid, 'SIGSTOP');
    try {
      const answer = await call(service.url, 'GET', '/auth/me', { token: service.adminToken() });
      assert.equal(answer.status, 503, answer.text);
      assert.equal(await statusOf(service.url, '/health'), 200);
    } finally {
      for (const pid of pids) process.kill(pid, 'SIGCONT');
    }
    const ms = Math.round(performance.now() - started);
    t.diagnostic(`answered after ${ms} ms`);
    assert.ok(ms < ANSWER_MS_MAX);
    await untilReady(service.url);
    assert.equal((await call(service.url, 'GET', '/auth/me', { token: service.adminToken() })).status, 200);
  });
});
