import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { assertChainValid, assertNothingLost, Load } from '../support/load.ts';
import { logLines } from '../support/log-lines.ts';
import { freePort } from '../support/ports.ts';
import { type ServiceProcess, stopService } from '../support/process.ts';
import { onBothDatabases } from '../support/service.ts';
import { until } from '../support/until.ts';
import {
  beginRequest,
  freshCall,
  isRefused,
  isRunning,
  metricsOf,
  metricsOfAll,
  replacedIn,
  spawnWorkers,
  spawnWorkersOnSqlite,
  sumOf,
  WORKERS,
  workerPids,
} from '../support/workers.ts';

const KILLS = 4;
/**
 * Longer than the service waits for a worker that does not report its metrics. A connection that is handed to a worker in the moment in which that is
 * killed is never answered.
 */
const ANSWER_MS = 20_000;

onBothDatabases('workers that are killed under load', (database) => {
  test('lose no acknowledged write, and are replaced one after the other', async (t) => {
    // The port is free while no worker runs, so it must be one that nobody else is given.
    const env = { CV_PORT: String(await freePort()) };
    const service = database === 'postgres' ? await spawnWorkers({ env }) : await spawnWorkersOnSqlite({ env });
    const token = service.adminToken();
    const load = new Load({ timeoutMs: ANSWER_MS });
    load.start(service.url, token);
    const requests = async () => sumOf(await metricsOfAll(service), 'cv_http_requests_total');
    let counted = 0;
    let replaced = 0;
    for (let kill = 1; kill <= KILLS; kill++) {
      const { length } = load.acknowledged;
      await until('the load goes on', () => load.acknowledged.length > length + 50);
      const number = 1 + (kill % WORKERS);
      // On SQLite the others cannot go on without the one that writes.
      const endAll = database === 'sqlite' && number === 1;
      const before = workerPids(service);
      process.kill(Number(before.get(number)), 'SIGKILL');
      replaced += endAll ? WORKERS : 1;
      await until('the end of the worker is logged', () => replacedIn(service).length === replaced);
      const during = load.acknowledged.length;
      await until('requests are answered', () => load.acknowledged.length > during + 20);
      const isReplaced = (worker: number) => workerPids(service).get(worker) !== before.get(worker);
      await until('it is replaced', () => (endAll ? [1, 2, 3] : [number]).every(isReplaced));
      const now = await requests();
      assert.ok(now >= counted, 'the number of requests fell');
      counted = now;
    }
    await load.stop();
    assert.equal(load.refused.filter(({ status }) => status >= 500 && status !== 503).length, 0);
    await assertNothingLost(service.url, token, load.acknowledged);
    await assertChainValid(service.url, token);
    assert.equal(sumOf(await metricsOf(service), 'cv_worker_restarts_total'), replaced);
    t.diagnostic(`${load.acknowledged.length} acknowledged, ${load.broken} without an answer`);
    await stopService(service);
  });
});

describe('workers on SQLite', () => {
  test('one that is stopped in the middle of a change holds up the others for seconds, and changes nothing', async () => {
    const service = await spawnWorkersOnSqlite();
    const token = service.adminToken();
    const load = new Load({ timeoutMs: ANSWER_MS });
    load.start(service.url, token);
    const { length } = load.acknowledged;
    await until('the load goes on', () => load.acknowledged.length > length + 50);
    const pid = Number(workerPids(service).get(2));
    process.kill(pid, 'SIGSTOP');
    const during = load.acknowledged.length;
    // Connections of the one that is stopped wait; those of the others go on once its transaction, if it has one, is given up.
    await until('the others go on', () => load.acknowledged.length > during + 50);
    process.kill(pid, 'SIGCONT');
    const after = load.acknowledged.length;
    await until('all go on', () => load.acknowledged.length > after + 50);
    await load.stop();
    await assertNothingLost(service.url, token, load.acknowledged);
    await assertChainValid(service.url, token);
    await stopService(service);
  });
});

describe('workers and signals', () => {
  test('npm start passes the signal on to all', async () => {
    const service = await spawnWorkers({ isByNpm: true });
    const begun = await beginRequest(service, '/v1/users', { email: 'late@example.com' });
    process.kill(-service.pid, 'SIGINT');
    await until('no connection is accepted any more', () => isRefused(service.url));
    assert.equal(await begun.finish(), 201);
    assert.equal((await service.exited).code, 0);
    for (const pid of workerPids(service).values()) assert.equal(isRunning(pid), false);
  });

  test('one worker that is ended by hand finishes its requests and is replaced', async () => {
    const service = await spawnWorkers();
    const begun = await Promise.all(
      [1, 2, 3].map((n) => beginRequest(service, '/v1/users', { email: `late-${n}@example.com` })),
    );
    const pid = Number(workerPids(service).get(1));
    process.kill(pid, 'SIGTERM');
    assert.deepEqual(await Promise.all(begun.map(({ finish }) => finish())), [201, 201, 201]);
    await until('it is replaced', () => workerPids(service).get(1) !== pid);
    assert.deepEqual(
      replacedIn(service).map(({ worker, exit_code, level }) => ({ worker, exit_code, level })),
      [{ worker: 1, exit_code: 0, level: 'warn' }],
    );
    await stopService(service);
  });

  test('one that does not respond is left out of the metrics, and killed at the end', async () => {
    const service = await spawnWorkers();
    const series = 'cv_http_requests_total{endpoint="listVaults",status="200"}';
    const token = service.adminToken();
    for (let i = 0; i < 2 * WORKERS; i++) await freshCall(service.url, 'GET', '/v1/vaults', { token });
    assert.equal(sumOf(await metricsOfAll(service), series), 2 * WORKERS);
    const pid = Number(workerPids(service).get(2));
    process.kill(pid, 'SIGSTOP');
    const lines = await metricsWithout(service);
    assert.equal(sumOf(lines, 'cv_workers'), WORKERS);
    assert.equal(sumOf(lines, 'cv_workers_reporting'), WORKERS - 1);
    assert.equal(sumOf(lines, series), 2 * WORKERS, 'its last known totals are missing');
    assert.equal(lines.filter((line) => line.startsWith('cv_process_resident_memory_bytes{')).length, WORKERS - 1);

    service.kill('SIGTERM');
    const { code } = await service.exited;
    assert.equal(code, 1);
    const killed = logLines(service).filter(({ msg }) => msg === 'a worker did not end in time and is killed');
    assert.deepEqual(
      killed.map(({ worker, level }) => [worker, level]),
      [[2, 'error']],
    );
    assert.equal(isRunning(pid), false);
  });

  /** One connection may be handed to the worker that does not respond; the next ones are not. */
  async function metricsWithout(service: ServiceProcess): Promise<string[]> {
    for (let attempt = 1; attempt <= 3; attempt++) {
      const lines = await Promise.race([metricsOf(service).catch(() => null), sleep(ANSWER_MS, null, { ref: false })]);
      if (lines !== null) return lines;
    }
    return assert.fail('no worker responds');
  }
});
