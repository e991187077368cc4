import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { CompiledQuery } from 'kysely';
import { DAY_MS, MINUTE_MS } from '../../server/src/kernel/base/clock.ts';
import { SYSTEM_TENANT } from '../../server/src/kernel/storage/tables.ts';
import { Clocked } from '../support/clocked.ts';
import { addToken, ok } from '../support/people.ts';
import { newPostgresDatabase, query } from '../support/postgres.ts';
import { pause, type ServiceProcess, spawnService, stopService } from '../support/process.ts';
import { call, onBothDatabases, type Service, type ServiceOptions, startService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { addSecret, addVault, runJobs, secretUrl } from '../support/vaults.ts';

/** What must still be there, whatever a clock says, and what tells one row from another. New rows may come. */
const TABLES = {
  secret_versions: ['tenant_id', 'secret_id', 'version'],
  secrets: ['tenant_id', 'secret_id'],
  tokens: ['tenant_id', 'token_id'],
  vaults: ['tenant_id', 'vault_id'],
  vault_members: ['tenant_id', 'vault_id', 'principal_id'],
  keys: ['tenant_id', 'purpose', 'version'],
  signing_keys: ['tenant_id', 'kid'],
};
const NOTICED_WITHIN_MS = 5000;
const SECOND_LOOK = 60 * MINUTE_MS;
/** For so long the first token is good, by the clock of the reader. */
const TOKEN_DAYS = 365;

type Rows = Set<string>;

async function rowsIn(select: (statement: string) => Promise<unknown[]>): Promise<Rows> {
  const found: Rows = new Set();
  for (const [table, columns] of Object.entries(TABLES)) {
    for (const row of await select(`select ${columns.join(', ')} from ${table}`))
      found.add(`${table} ${JSON.stringify(row)}`);
  }
  for (const table of Object.keys(TABLES))
    assert.ok(
      [...found].some((row) => row.startsWith(`${table} `)),
      table,
    );
  return found;
}

function rowsOf({ app }: Service): Promise<Rows> {
  return rowsIn(async (statement) => (await app.kernel.database.read.executeQuery(CompiledQuery.raw(statement))).rows);
}

function assertNoneIsMissing(before: Rows, now: Rows, when: string): void {
  assert.deepEqual([...before.difference(now)], [], when);
}

/** Makes every job due, however long its interval. */
async function makeAllDue({ app }: Service): Promise<void> {
  await app.kernel.database.transaction((tx) =>
    tx.updateTable('job_leases').set({ next_run_at: 0 }).where('tenant_id', '=', SYSTEM_TENANT).execute(),
  );
}

/** A secret with an old version, a deleted secret and a deleted vault: all of them can be had back today. */
async function makeDeleted(service: Service): Promise<{ vault: string; gone: string }> {
  const vault = await addVault(service);
  await addSecret(service, vault, 'changed', { value: 'first' });
  await ok(service.call('PUT', secretUrl(vault, 'changed'), { body: { value: 'second' } }));
  await addSecret(service, vault, 'deleted');
  await ok(service.call('DELETE', secretUrl(vault, 'deleted')));
  const gone = await addVault(service);
  await addSecret(service, gone, 'inside');
  await ok(service.call('DELETE', `/v1/vaults/${gone}`));
  return { vault, gone };
}

async function assertCanBeHadBack(service: Service, { vault, gone }: { vault: string; gone: string }): Promise<void> {
  const first = await ok(service.call('GET', `${secretUrl(vault, 'changed')}?version=1`));
  assert.equal(first.value, 'first');
  await ok(service.call('POST', secretUrl(vault, 'deleted', 'restore')));
  await ok(service.call('POST', `/v1/vaults/${gone}/restore`));
}

onBothDatabases('every clock there is, set ahead together', (kind) => {
  for (const days of [40, 400]) {
    test(`by ${days} days, for less than an hour, does not delete anything, then or after it is set back`, async () => {
      const service = await startService(kind);
      const { clock } = service;
      const made = await makeDeleted(service);
      // The first look is long over, so that only the jump itself can make the jobs wait.
      clock.advance(2 * SECOND_LOOK);
      await runJobs(service);
      const there = await rowsOf(service);
      clock.set({ node: days * DAY_MS, database: days * DAY_MS });
      for (let minutes = 0; minutes < 59; minutes += 10) {
        await makeAllDue(service);
        await service.app.jobs.runDue();
        assertNoneIsMissing(there, await rowsOf(service), `after ${minutes} minutes`);
        clock.advance(10 * MINUTE_MS - 1000);
      }
      clock.set({});
      for (const _ of [1, 2, 3]) {
        clock.advance(SECOND_LOOK);
        await makeAllDue(service);
        await service.app.jobs.runDue();
        assertNoneIsMissing(there, await rowsOf(service), 'set back');
      }
      await assertCanBeHadBack(service, made);
      await service.close();
    });
  }
});

onBothDatabases('a clock 400 days ahead from the start on', (kind) => {
  test('does not empty a table: not before the second look, and not after it', async () => {
    const databaseUrl = kind === 'postgres' ? await newPostgresDatabase() : undefined;
    const stored: ServiceOptions = { ...(databaseUrl !== undefined && { databaseUrl }), keepData: true };
    const first = await startService(kind, stored);
    const { dataDir } = first;
    const made = await makeDeleted(first);
    await makeMany(first);
    const there = await rowsOf(first);
    await first.close();

    const ahead = await startService(kind, { ...stored, dataDir, at: Date.now() + 400 * DAY_MS });
    assert.ok(ahead.logs.some((line) => line.includes('the clock is ahead')));
    ahead.expectErrorLogs(/a job would delete more than its limit: nothing was deleted/);
    for (const minutes of [0, 30, 29]) {
      ahead.clock.advance(minutes * MINUTE_MS);
      await ahead.app.jobs.runDue();
      assertNoneIsMissing(there, await rowsOf(ahead), 'before the second look');
    }
    ahead.clock.advance(MINUTE_MS);
    for (const _ of [1, 2, 3]) {
      await makeAllDue(ahead);
      await ahead.app.jobs.runDue();
      assertNoneIsMissing(there, await rowsOf(ahead), 'after the second look');
      ahead.clock.advance(SECOND_LOOK);
    }
    const refusals = ahead.logs.map((line) => JSON.parse(line)).filter((line) => 'excess' in line);
    assert.deepEqual([...new Set(refusals.map((line) => line.job))].sort(), [
      'forget-expired-tokens',
      'forget-signing-keys',
      'purge-secrets',
      'purge-vaults',
    ]);
    for (const line of refusals) assert.match(line.what_to_do, /run: coffer server allow-purge /);
    await ahead.close();

    // Set right again it is behind its own records: it says so, and still removes nothing.
    const right = await startService(kind, { ...stored, dataDir, keepData: false });
    assert.ok(right.logs.some((line) => line.includes('the clock is behind the newest record')));
    right.clock.advance(2 * SECOND_LOOK);
    await right.app.jobs.runDue();
    assertNoneIsMissing(there, await rowsOf(right), 'in the end');
    await assertCanBeHadBack(right, made);
    await right.close();
  });
});

/** More versions, tokens and deleted vaults than one run may remove. */
async function makeMany(service: Service): Promise<void> {
  const vault = await addVault(service);
  for (const value of ['old', 'new']) {
    for (const part of [0, 1]) {
      const paths = Array.from({ length: 520 }, (_, i) => [`part-${part}/${i}`, value]);
      await ok(service.call('POST', `/v1/vaults/${vault}/import`, { body: { secrets: Object.fromEntries(paths) } }));
    }
  }
  for (let n = 0; n < 101; n++) await addToken(service, service.adminToken, { ttl_days: 30 });
  for (let n = 0; n < 21; n++) await ok(service.call('DELETE', `/v1/vaults/${await addVault(service)}`));
}

describe('on PostgreSQL, a node whose clock is wrong', () => {
  let url: string;
  let good: ServiceProcess;
  before(async () => {
    url = await newPostgresDatabase();
    good = await spawnService({ databaseUrl: url });
    const send = (method: string, path: string, body?: object) =>
      ok(
        call(good.url, method, path, { token: good.adminToken(), ...(body && { body }) }),
        method === 'POST' ? 201 : 200,
      );
    await send('POST', '/v1/vaults', { name: 'used', environment: 'staging' });
    await send('POST', '/v1/vaults/used/secrets', { path: 'k', value: '1' });
    for (let n = 2; n < 30; n++) await send('PUT', '/v1/vaults/used/secrets/k', { value: String(n) });
    await send('POST', '/v1/vaults', { name: 'deleted', environment: 'staging' });
    await send('DELETE', '/v1/vaults/deleted');
    for (let n = 0; n < 5; n++) await send('POST', '/auth/tokens', { name: `token ${n}` });
  });
  after(() => stopService(good));

  const rows = () => rowsIn((statement) => query(url, statement));
  /** Beside the others, with their root key. */
  const nodeBeside = () => {
    const node = new Clocked(url);
    mkdirSync(node.dataDir, { mode: 0o700 });
    for (const file of ['root.key', 'admin.token']) copyFileSync(join(good.dataDir, file), join(node.dataDir, file));
    return node;
  };

  /** Makes every job due until the node with this clock has run one of them twice. By then it has also passed by the jobs that remove something. */
  const untilJobsRunTwice = async (offsetMs: number) => {
    const starts = new Map<string, Set<number>>();
    await until('the node runs no job twice', async () => {
      await query(url, 'update job_leases set next_run_at = 0');
      for (const { job, last_started_at } of await query(url, 'select job, last_started_at from job_leases')) {
        const at = Number(last_started_at);
        if (Math.abs(at - Date.now() - offsetMs) > DAY_MS / 2) continue;
        starts.set(String(job), (starts.get(String(job)) ?? new Set()).add(at));
      }
      return [...starts.values()].some(({ size }) => size >= 2);
    });
  };

  test('does not start, and so does not delete a version, a token or a just-deleted vault', async () => {
    const there = await rows();
    for (const days of [400, 40, 1, -1, -400]) {
      await query(url, 'update job_leases set next_run_at = 0');
      const { code, stdout, stderr } = await nodeBeside().run(days * DAY_MS);
      assert.deepEqual([code, stdout], [1, ''], `${days} days`);
      assert.match(
        stderr,
        /^Coffer cannot start\. The clock of this machine is at \S+Z, that of the database server at \S+Z/,
      );
      assert.match(
        stderr,
        /Correct the one that is wrong, check that its time service is running, and start again\.\n$/,
      );
      assertNoneIsMissing(there, await rows(), `${days} days`);
    }
  });

  test('does not stay in the balancer when it goes wrong while it runs, deletes nothing, and comes back when it is right', async () => {
    const there = await rows();
    const clocked = nodeBeside();
    const node = await clocked.start(0);
    const untilReadiness = async (expected: number) => {
      for (const since = performance.now(); ; await pause(100)) {
        const answer = await call(node.url, 'GET', '/health/ready');
        if (answer.status === expected) return answer;
        assert.ok(performance.now() - since < NOTICED_WITHIN_MS, `readiness is ${answer.status}: ${answer.text}`);
      }
    };
    const metrics = async () => (await call(node.url, 'GET', '/metrics', { token: node.adminToken() })).text;
    for (const days of [400, 40, -40]) {
      clocked.tell(days * DAY_MS);
      const { body } = await untilReadiness(503);
      assert.match(body.error.message, /^The clock of this node differs from the database’s/);
      await untilJobsRunTwice(days * DAY_MS);
      assertNoneIsMissing(there, await rows(), `${days} days`);
      if (days < TOKEN_DAYS) {
        const text = await metrics();
        assert.match(text, /^cv_clock_trusted 0$/m);
        const offset = Number(/^cv_clock_offset_seconds (\S+)$/m.exec(text)?.[1]);
        assert.ok(Math.abs(offset - (days * DAY_MS) / 1000) < 5, String(offset));
      }
      assert.equal((await call(good.url, 'GET', '/health/ready')).status, 200, 'the others go on');
      clocked.tell(0);
      await untilReadiness(200);
      assert.match(await metrics(), /^cv_clock_trusted 1$/m);
    }
    const said = node
      .stdout()
      .split('\n')
      .filter((line) => line.includes('differs from the database’s'));
    assert.equal(said.length, 3, 'once for each time');
    for (const line of said) assert.match(line, /"what_to_do":"Correct the clock of this machine/);
    await stopService(node);
  });

  test('does not delete anything either when it is the database whose clock was set', async () => {
    const service = await startService('postgres');
    service.expectErrorLogs(/differs from the database’s/);
    const made = await makeDeleted(service);
    service.clock.advance(2 * SECOND_LOOK);
    await runJobs(service);
    const there = await rowsOf(service);
    service.clock.set({ database: 400 * DAY_MS });
    await service.app.kernel.clockGuard.check();
    assert.equal((await service.call('GET', '/health/ready', { token: null })).status, 503);
    for (const _ of [1, 2, 3]) {
      await makeAllDue(service);
      await service.app.jobs.runDue();
      service.clock.advance(SECOND_LOOK);
    }
    service.clock.set({});
    await service.app.kernel.clockGuard.check();
    assert.equal((await service.call('GET', '/health/ready', { token: null })).status, 200);
    assertNoneIsMissing(there, await rowsOf(service), 'in the end');
    await assertCanBeHadBack(service, made);
    await service.close();
  });
});
