import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { assertUnharmed } from '../support/faults.ts';
import { Load, readAll } from '../support/load.ts';
import { newPostgresDatabase, query } from '../support/postgres.ts';
import { newDataDir, pause, type ServiceProcess, spawnService, stopService } from '../support/process.ts';
import { call, onBothDatabases } from '../support/service.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const SETTLES_WITHIN_MS = 60_000;

/** A service whose clock is set by the test, in a process of its own. */
class Clocked {
  readonly file = `${newDataDir()}.clock`;
  readonly databaseUrl: string | undefined;
  readonly dataDir: string = newDataDir();
  service: ServiceProcess | undefined;

  constructor(databaseUrl: string | undefined) {
    this.databaseUrl = databaseUrl;
  }

  async start(offsetMs: number): Promise<ServiceProcess> {
    writeFileSync(this.file, String(offsetMs));
    const { dataDir, databaseUrl } = this;
    const env = { COFFER_TEST_CLOCK_FILE: this.file };
    this.service = await spawnService({ dataDir, databaseUrl, env, preloaded: 'clock.ts' });
    return this.service;
  }

  /** Sets the clock, and waits until an entry shows that the service sees it. */
  async set(offsetMs: number): Promise<void> {
    const { service } = this;
    assert.ok(service !== undefined);
    writeFileSync(this.file, String(offsetMs));
    service.kill('SIGUSR2');
    for (const since = performance.now(); ; await pause(50)) {
      const { headers } = await call(service.url, 'GET', '/auth/me', { token: service.adminToken() });
      const entries = await readAll(service.url, service.adminToken(), '/v1/audit', 'entries');
      const own = entries.find((entry) => entry['request_id'] === headers.get('x-request-id'));
      if (Math.abs(Date.parse(String(own?.['timestamp'])) - Date.now() - offsetMs) < DAY_MS / 2) return;
      assert.ok(performance.now() - since < SETTLES_WITHIN_MS, 'the service does not see its clock');
    }
  }

  async jobs(): Promise<{ job: string; next_run_at: number; last_outcome: string }[]> {
    const sql = 'select job, next_run_at, last_outcome from job_leases';
    if (this.databaseUrl !== undefined) return (await query(this.databaseUrl, sql)) as never;
    const database = new DatabaseSync(join(this.dataDir, 'coffer.db'), { readOnly: true });
    try {
      return database.prepare(sql).all() as never;
    } finally {
      database.close();
    }
  }

  /** Every job ran, and none waits for a time that its clock has not reached by far. */
  async untilJobsRunAt(offsetMs: number): Promise<void> {
    for (const since = performance.now(); ; await pause(200)) {
      const late = (await this.jobs()).filter(
        ({ next_run_at }) => Math.abs(Number(next_run_at) - Date.now() - offsetMs) > 3 * DAY_MS,
      );
      if (late.length === 0) return;
      assert.ok(performance.now() - since < SETTLES_WITHIN_MS, `jobs that do not run: ${JSON.stringify(late)}`);
    }
  }
}

onBothDatabases('a clock that jumps', (kind) => {
  const databaseOf = async () => (kind === 'postgres' ? newPostgresDatabase() : undefined);

  test('forwards and back, under load: nothing is refused, nothing is lost, tokens and jobs go on', async (t) => {
    const clocked = new Clocked(await databaseOf());
    const service = await clocked.start(0);
    const token = service.adminToken();
    const load = new Load();
    load.start(service.url, token);
    await clocked.untilJobsRunAt(0);
    const tokens: string[] = [];
    for (const days of [40, -3, 20, -60, 0]) {
      await clocked.set(days * DAY_MS);
      await clocked.untilJobsRunAt(days * DAY_MS);
      const made = await call(service.url, 'POST', '/auth/tokens', {
        token,
        body: { name: `at ${days}`, ttl_days: 300 },
      });
      assert.equal(made.status, 201, made.text);
      tokens.push(made.body.token);
      for (const one of tokens) assert.equal((await call(service.url, 'GET', '/auth/me', { token: one })).status, 200);
      const checkpoint = await call(service.url, 'POST', '/v1/audit/checkpoints', { token });
      assert.ok(checkpoint.status < 300, checkpoint.text);
    }
    await load.stop();
    assert.deepEqual([load.refused, load.broken], [[], 0]);
    await assertUnharmed(service.url, token, load.acknowledged);
    for (const { job, last_outcome } of await clocked.jobs()) assert.equal(last_outcome, 'success', job);
    t.diagnostic(`${load.acknowledged.length} requests acknowledged over five jumps`);
    await stopService(service);
    assert.equal(service.stderr(), '');
  });

  test('was ahead at the first start, and is right from the next one on', async () => {
    const clocked = new Clocked(await databaseOf());
    const first = await clocked.start(40 * DAY_MS);
    const token = first.adminToken();
    const load = new Load();
    load.start(first.url, token);
    await clocked.untilJobsRunAt(40 * DAY_MS);
    await load.stop();
    await stopService(first);

    const again = await clocked.start(0);
    assert.ok(existsSync(join(again.dataDir, 'admin.token')));
    await clocked.untilJobsRunAt(0);
    const made = await call(again.url, 'POST', '/auth/tokens', { token, body: { name: 'signed' } });
    assert.equal(made.status, 201, made.text);
    assert.equal((await call(again.url, 'GET', '/auth/me', { token: made.body.token })).status, 200);
    await assertUnharmed(again.url, token, load.acknowledged);
    await stopService(again);
  });
});
