import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { createServer } from 'node:net';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { connectionShares, defaultPool } from '../../server/src/kernel/storage/connection-shares.ts';
import { logLines } from '../support/log-lines.ts';
import { metricNames, metricsText } from '../support/metric-lines.ts';
import { freePort } from '../support/ports.ts';
import { newPostgresDatabase } from '../support/postgres.ts';
import {
  type Exit,
  newDataDir,
  runService,
  type ServiceProcess,
  spawnService,
  stopService,
} from '../support/process.ts';
import { DATABASES, type DatabaseKind, startService } from '../support/service.ts';
import { until } from '../support/until.ts';
import {
  beginRequest,
  freshCall,
  isRefused,
  isRunning,
  metricsOfAll,
  queryOf,
  replacedIn,
  spawnWorkers,
  spawnWorkersOnSqlite,
  sumOf,
  WORKERS,
  workerPids,
} from '../support/workers.ts';

for (const database of DATABASES) describe(`several workers, ${database}`, () => severalWorkers(database));

function severalWorkers(database: DatabaseKind): void {
  let service: ServiceProcess & { databaseUrl?: string };
  let token: string;
  const rows = (sql: string) => queryOf(service, sql);
  const send = (method: string, path: string, body?: unknown, as = token) =>
    freshCall(service.url, method, path, { token: as, ...(body !== undefined && { body }) });

  before(async () => {
    // The port is free while no worker runs, so it must be one that nobody else is given.
    const env = { CV_PORT: String(await freePort()) };
    service = database === 'postgres' ? await spawnWorkers({ env }) : await spawnWorkersOnSqlite({ env });
    token = service.adminToken();
  });
  after(() => stopService(service));

  test('make one installation, and one of them says so', async () => {
    assert.equal(service.stdout().match(/Coffer is ready at /g)?.length, 1);
    assert.equal(service.stdout().match(/"token_file":/g)?.length, 1);
    assert.deepEqual((await send('GET', '/v1/tenants')).body.tenants.length, 1);
    assert.equal((await rows('select 1 from tokens')).length, 1);
    const left = readdirSync(service.dataDir).filter((name) => /pending|\.tmp$|\.new$/.test(name));
    assert.deepEqual(left, []);
    assert.equal(existsSync(join(service.dataDir, 'admin.token')), true);
    assert.equal(new Set(workerPids(service).values()).size, WORKERS);
    assert.ok(!workerPids(service).values().toArray().includes(service.pid), 'the supervisor serves no request');
  });

  test('all answer, and each is a node', async () => {
    // On PostgreSQL each has its own part of the audit log; on SQLite one of them writes it.
    const table = database === 'postgres' ? 'audit_nodes' : 'nodes';
    await until('every worker has answered', async () => {
      assert.equal((await send('GET', '/auth/me')).status, 200);
      const nodes = await rows(`select distinct node_id from ${table}`);
      return nodes.length === WORKERS;
    });
    const { body } = await send('GET', '/v1/audit/verify');
    assert.equal(body.valid, true, JSON.stringify(body));
  });

  test('return the metrics of all, whichever responds', async () => {
    const series = 'cv_http_requests_total{endpoint="listVaults",status="200"}';
    const before = sumOf(await metricsOfAll(service), series);
    for (let i = 0; i < 10; i++) assert.equal((await send('GET', '/v1/vaults')).status, 200);
    for (let i = 0; i < 2 * WORKERS; i++) {
      const lines = await metricsOfAll(service);
      assert.equal(sumOf(lines, series), before + 10);
      assert.equal(sumOf(lines, 'cv_workers'), WORKERS);
      const shown = lines
        .filter((line) => line.startsWith('cv_process_resident_memory_bytes{'))
        .map((line) => line.split(' ')[0]);
      const expected = [1, 2, 3].map((number) => `cv_process_resident_memory_bytes{worker="${number}"}`);
      assert.deepEqual(shown.sort(), expected);
    }
  });

  test('have every metric that one process alone has', async () => {
    const alone = await startService(database);
    try {
      const names = metricNames(await metricsText(alone)).sort();
      const ofAll = metricNames((await send('GET', '/metrics')).text).sort();
      assert.deepEqual(ofAll, names);
    } finally {
      await alone.close();
    }
    const lines = await metricsOfAll(service);
    const [slots] = lines.filter((line) => line.startsWith('cv_database_slots{queue="changes"}'));
    const { transactions } = connectionShares(defaultPool(availableParallelism(), WORKERS));
    // Each worker has its own connections to PostgreSQL, and one of them writes to SQLite.
    assert.equal(Number(slots?.split(' ')[1]), database === 'postgres' ? transactions * WORKERS : 1);
    assert.equal(lines.filter((line) => line.startsWith('coffer_build_info{')).length, 1);
  });

  test('return metrics to nobody else than before', async () => {
    assert.equal((await freshCall(service.url, 'GET', '/metrics')).status, 401);
    const tenant = await send('POST', '/v1/tenants', { name: 'other', owner_email: 'owner@example.com' });
    assert.equal(tenant.status, 201, tenant.text);
    assert.equal((await send('GET', '/metrics', undefined, tenant.body.owner.token)).status, 403);
  });

  test('refuse a token at once that any of them revoked', async () => {
    for (let round = 0; round < 15; round++) {
      const made = await send('POST', '/auth/tokens', { name: `round ${round}` });
      assert.equal(made.status, 201, made.text);
      const uses = () =>
        Promise.all(Array.from({ length: 2 * WORKERS }, () => send('GET', '/auth/me', undefined, made.body.token)));
      assert.ok(
        (await uses()).every(({ status }) => status === 200),
        `round ${round}`,
      );
      assert.equal((await send('DELETE', `/auth/tokens/${made.body.id}`)).status, 200);
      assert.ok(
        (await uses()).every(({ status }) => status === 401),
        `round ${round}`,
      );
    }
  });

  test('run each job once', async () => {
    const runs = async (job: string) => {
      const [row] = await rows(`select runs from job_leases where job = '${job}'`);
      return Number(row?.['runs']);
    };
    const jobs = (await rows('select job from job_leases')).map(({ job }) => String(job));
    const job = 'rotate-signing-keys';
    assert.ok(jobs.includes(job), jobs.join());
    await until('the first run of the job has ended', async () => (await runs(job)) === 1);
    for (let expected = 2; expected <= 4; expected++) {
      await rows(`update job_leases set next_run_at = 0 where job = '${job}'`);
      await until('the job has run again', async () => (await runs(job)) >= expected);
      assert.equal(await runs(job), expected);
    }
    assert.equal(sumOf(await metricsOfAll(service), `cv_job_runs_total{job="${job}",outcome="success"}`), 4);
  });

  test('all take client certificates at the TLS port', async () => {
    const ca = readFileSync(join(service.dataDir, 'ca.pem'));
    for (let i = 0; i < 2 * WORKERS; i++) {
      const [response] = await once(get(`${service.tlsUrl}/health`, { ca, agent: false }), 'response');
      assert.equal(response.statusCode, 200);
      response.resume();
    }
  });

  test('one that is killed is replaced, with a line in the log, and the others go on', async () => {
    const requests = 'cv_http_requests_total{endpoint="listVaults",status="200"}';
    const before = sumOf(await metricsOfAll(service), requests);
    const pid = Number(workerPids(service).get(2));
    process.kill(pid, 'SIGKILL');
    await until('the end of the worker is logged', () => replacedIn(service).length === 1);
    assert.equal((await send('GET', '/auth/me')).status, 200);
    const [line] = replacedIn(service);
    assert.ok(line !== undefined);
    const { worker, exit_code, signal, restart_in_ms, level } = line;
    assert.deepEqual(
      { worker, exit_code, signal, level },
      { worker: 2, exit_code: null, signal: 'SIGKILL', level: 'error' },
    );
    assert.ok(Number(restart_in_ms) > 0);
    await until('it is replaced', () => workerPids(service).get(2) !== pid);
    const lines = await metricsOfAll(service);
    assert.equal(sumOf(lines, 'cv_worker_restarts_total'), 1);
    assert.ok(sumOf(lines, requests) >= before, 'what it had counted is not lost');
    assert.equal(existsSync(join(service.dataDir, 'admin.token.pending')), false);
  });

  test('one that cannot start again is tried again, and says why, while the others go on', async () => {
    const [key, aside] = [join(service.dataDir, 'root.key'), join(service.dataDir, 'root.key.aside')];
    const pid = Number(workerPids(service).get(3));
    renameSync(key, aside);
    const before = replacedIn(service).length;
    process.kill(pid, 'SIGKILL');
    await until('two attempts have failed', () => replacedIn(service).length >= before + 3);
    assert.match(service.stderr(), /^Coffer cannot start\. The root key file \S+ is missing/m);
    assert.equal(existsSync(key), false, 'a worker made another root key');
    assert.equal((await send('GET', '/auth/me')).status, 200);
    const failed = replacedIn(service).at(-1);
    assert.deepEqual([failed?.['worker'], failed?.['exit_code'], failed?.['signal']], [3, 1, null]);
    renameSync(aside, key);
    await until('it is replaced', () => workerPids(service).get(3) !== pid);
    assert.equal((await send('GET', '/auth/me')).status, 200);
  });

  if (database === 'postgres') {
    test('one that starts later leaves the schema alone', async () => {
      const change = (by: number) => rows(`update schema_version set version = version + ${by}`);
      const pid = Number(workerPids(service).get(1));
      await change(-1);
      process.kill(pid, 'SIGKILL');
      await until('it says why', () => /they were replaced while the service was running/.test(service.stderr()));
      assert.equal((await send('GET', '/auth/me')).status, 200);
      await change(1);
      await until('it is replaced', () => workerPids(service).get(1) !== pid);
    });
  } else {
    test('if the one that writes is killed, all are replaced', async () => {
      const before = workerPids(service);
      process.kill(Number(before.get(1)), 'SIGKILL');
      await until('all are replaced', () =>
        workerPids(service)
          .entries()
          .every(([number, pid]) => pid !== before.get(number)),
      );
      assert.equal((await send('GET', '/auth/me')).status, 200);
      const { body } = await send('GET', '/v1/audit/verify');
      assert.equal(body.valid, true, JSON.stringify(body));
    });
  }

  test('none of it is in the log: no token, no password of the database', () => {
    const said = `${service.stdout()}${service.stderr()}`;
    assert.ok(!said.includes(token));
    if (service.databaseUrl !== undefined) assert.ok(!said.includes(new URL(service.databaseUrl).href));
    assert.ok(!said.includes(readFileSync(join(service.dataDir, 'root.key'), 'utf8').trim()));
  });
}

describe('the end of several workers', () => {
  test('SIGTERM: requests under way are answered, and all processes end well', async () => {
    const service = await spawnWorkers();
    const begun = await Promise.all(
      [1, 2, 3].map((n) => beginRequest(service, '/v1/users', { email: `late-${n}@example.com` })),
    );
    service.kill('SIGTERM');
    await until('no connection is accepted any more', () => isRefused(service.url));
    assert.deepEqual(await Promise.all(begun.map(({ finish }) => finish())), [201, 201, 201]);
    assert.equal((await service.exited).code, 0, service.stderr());
    for (const pid of workerPids(service).values()) assert.equal(isRunning(pid), false);
    assert.deepEqual(replacedIn(service), [], 'a worker that was told to end was replaced');
  });

  test('workers whose supervisor is killed answer their requests and end', async () => {
    const service = await spawnWorkers({ env: { CV_PORT: String(await freePort()) } });
    const begun = await Promise.all(
      [1, 2, 3].map((n) => beginRequest(service, '/v1/users', { email: `orphan-${n}@example.com` })),
    );
    const pids = [...workerPids(service).values()];
    // The test waits for the standard output of the supervisor to close, which its workers hold open until they end.
    service.kill('SIGKILL');
    await until('no connection is accepted any more', () => isRefused(service.url));
    assert.deepEqual(await Promise.all(begun.map(({ finish }) => finish())), [201, 201, 201]);
    await until('no worker is left', () => pids.every((pid) => !isRunning(pid)));
    await service.exited;
    assert.equal(logLines(service).filter(({ msg }) => msg.startsWith('the supervisor')).length, WORKERS);

    const { dataDir, databaseUrl } = service;
    const again = await spawnService({ dataDir, databaseUrl, env: { CV_PORT: new URL(service.url).port } });
    const { body } = await freshCall(again.url, 'GET', '/v1/users', { token: again.adminToken() });
    assert.equal(body.users.filter(({ email }: { email: string }) => email.startsWith('orphan-')).length, 3);
    await stopService(again);
  });
});

describe('workers that cannot start', () => {
  /** One sentence that says what to do, once, and the same exit as of one process. */
  const assertSame = (several: Exit, one: Exit, expected: RegExp) => {
    assert.match(several.stderr, expected);
    assert.deepEqual([several.code, several.stderr], [one.code, one.stderr]);
    assert.equal(several.stdout, '');
  };
  const both = async (options: Parameters<typeof runService>[0] & { env?: Record<string, string> }) =>
    [await runService({ ...options, env: { ...options.env, CV_WORKERS: '3' } }), await runService(options)] as const;

  test('a wrong setting', async () => {
    for (const [wrong, databaseUrl] of [
      ['0', 'postgres://u:MARKER@localhost/x'],
      ['65', undefined],
      ['many', undefined],
    ] as const) {
      const { code, stderr } = await runService({ databaseUrl, env: { CV_WORKERS: wrong } });
      assert.equal(code, 1);
      assert.equal(stderr, 'Coffer cannot start. CV_WORKERS must be a whole number from 1 to 64, or `auto`.\n');
    }
  });

  test('another root key', async () => {
    const databaseUrl = await newPostgresDatabase();
    const service = await spawnService({ databaseUrl });
    const { dataDir } = service;
    await stopService(service);
    writeFileSync(join(dataDir, 'root.key'), `${Buffer.alloc(32, 3).toString('base64')}\n`);
    assertSame(...(await both({ dataDir, databaseUrl })), /cannot decrypt this database/);
  });

  test('a database that is not there', async () => {
    const databaseUrl = `postgres://coffer:coffer@127.0.0.1:${await freePort()}/none`;
    assertSame(...(await both({ databaseUrl })), /The database cannot be reached/);
  });

  test('a port that is in use, and a second command on the same port', async (t) => {
    const databaseUrl = await newPostgresDatabase();
    const other = createServer().listen(0, '127.0.0.1');
    t.after(() => other.close());
    await once(other, 'listening');
    const { port } = other.address() as { port: number };
    const sameAddress = { databaseUrl, dataDir: newDataDir(), env: { CV_PORT: String(port) } };
    assertSame(...(await both(sameAddress)), /The address is in use/);
    other.close();
    await once(other, 'close');
    const first = await spawnWorkers(sameAddress);
    assertSame(...(await both(sameAddress)), /The address is in use/);
    assert.equal((await freshCall(first.url, 'GET', '/health')).status, 200);
    await stopService(first);
  });
});
