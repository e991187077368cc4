import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { assertChainValid, assertNothingLost, Load } from './support/load.ts';
import { newPostgresDatabase, type PostgresServer, query, startPostgres } from './support/postgres.ts';
import { pause, type ServiceProcess, spawnService, stopService } from './support/process.ts';
import { call } from './support/service.ts';

const ANSWER_MS_MAX = 20_000;
const HEALS_MS_MAX = 15_000;

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

  const status = async (path: string) => (await call(service.url, 'GET', path, { token: null })).status;

  async function untilReady(): Promise<number> {
    const started = performance.now();
    while ((await status('/health/ready')) !== 200) {
      assert.ok(performance.now() - started < HEALS_MS_MAX, 'it does not heal by itself');
      await pause(50);
    }
    return Math.round(performance.now() - started);
  }

  async function assertSaysSo(): Promise<void> {
    assert.equal(load.broken, 0, `the process lives: ${service.stderr()}`);
    assert.equal(await status('/health'), 200);
    const ready = await call(service.url, 'GET', '/health/ready', { token: null });
    assert.equal(ready.status, 503);
    assert.match(ready.headers.get('retry-after') ?? '', /^\d+$/);
    const asked = await call(service.url, 'GET', '/auth/me', { token: service.adminToken() });
    assert.equal(asked.status, 503, asked.text);
  }

  /** Takes the database away in the given way while requests run, and brings it back. */
  async function survives(takeAway: () => Promise<void>, bringBack: () => Promise<void>): Promise<string> {
    load.start(service.url, service.adminToken());
    await pause(500);
    await takeAway();
    try {
      await pause(1000);
      await assertSaysSo();
      await pause(1000);
    } finally {
      await bringBack();
    }
    const healedMs = await untilReady();
    const acknowledgedThen = load.acknowledged.length;
    await pause(1000);
    await load.stop();
    const { refused } = load;
    assert.ok(refused.length > 0, 'requests were refused meanwhile');
    for (const { action, status: code, retryAfter } of refused) {
      assert.equal(code, 503, `${action} answered ${code}`);
      assert.match(retryAfter ?? '', /^[1-9]\d*$/, `${action}: Retry-After`);
    }
    assert.equal(load.broken, 0, 'every request got an answer');
    assert.ok(load.longestMs < ANSWER_MS_MAX, `an answer took ${load.longestMs} ms`);
    assert.ok(load.acknowledged.length > acknowledgedThen + 20, 'it works again');
    const token = service.adminToken();
    await assertChainValid(service.url, token);
    await assertNothingLost(service.url, token, load.acknowledged);
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
    const [row] = await query(server.url, "select pg_read_file('postmaster.pid') as text");
    const pid = Number(String(row?.['text']).split('\n')[0]);
    const killed = async () => {
      const down = server.stop();
      process.kill(pid, 'SIGKILL');
      await down;
    };
    t.diagnostic(await survives(killed, () => startAgain()));
  });

  /** Processes that the killed one left must end first; until then the new one refuses to start. */
  async function startAgain(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await server.start();
      } catch (error) {
        if (attempt === 20) throw error;
        await pause(250);
      }
    }
  }

  test('its sessions are cut off, again and again', async (t) => {
    load.start(service.url, service.adminToken());
    for (let cut = 0; cut < 8; cut++) {
      await pause(150);
      await query(
        server.url,
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'coffer'",
      );
    }
    assert.equal(load.broken, 0, `every request got an answer: ${service.stderr()}`);
    await untilReady();
    await load.stop();
    for (const { action, status: code } of load.refused) assert.equal(code, 503, `${action} answered ${code}`);
    await assertChainValid(service.url, service.adminToken());
    await assertNothingLost(service.url, service.adminToken(), load.acknowledged);
    t.diagnostic(`${load.acknowledged.length} requests acknowledged in all`);
  });

  test('a server that has gone silent holds no request for ever', async (t) => {
    const sessions = await query(server.url, "select pid from pg_stat_activity where application_name = 'coffer'");
    const pids = sessions.map(({ pid }) => Number(pid));
    const started = performance.now();
    for (const pid of pids) process.kill(pid, 'SIGSTOP');
    try {
      const answer = await call(service.url, 'GET', '/auth/me', { token: service.adminToken() });
      assert.equal(answer.status, 503, answer.text);
      assert.equal(await status('/health'), 200);
    } finally {
      for (const pid of pids) process.kill(pid, 'SIGCONT');
    }
    const ms = Math.round(performance.now() - started);
    t.diagnostic(`answered after ${ms} ms`);
    assert.ok(ms < ANSWER_MS_MAX);
    await untilReady();
    assert.equal((await call(service.url, 'GET', '/auth/me', { token: service.adminToken() })).status, 200);
  });
});
