import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { readAll } from '../support/load.ts';
import { newPostgresDatabase, query } from '../support/postgres.ts';
import {
  killService,
  newDataDir,
  randomBetween,
  type ServiceProcess,
  spawnService,
  stopService,
} from '../support/process.ts';
import { type Answer, call, DATABASES } from '../support/service.ts';

/** Longer than a lease and the time between two counts, so that each start begins to count at once. */
const CLOCK_STEP_MS = 10 * 60_000;
const ROUNDS = 8;
/** On PostgreSQL, what a killed node wrote last is linked a minute later, and is counted after that. */
const COUNTED_WITHIN_MS = 180_000;

for (const kind of DATABASES) {
  test(`a process that is killed while it counts counts nothing twice and leaves nothing out, ${kind}`, async () => {
    const dataDir = newDataDir();
    const clockFile = `${dataDir}.clock`;
    const databaseUrl = kind === 'postgres' ? await newPostgresDatabase() : undefined;
    // A node whose clock differs from the server's does not start, so on PostgreSQL the lease is ended instead.
    const setProgress = async (columns: string) => {
      if (databaseUrl !== undefined) await query(databaseUrl, `update rollup_progress set ${columns}`);
    };
    const start = async (no: number) => {
      writeFileSync(clockFile, String(databaseUrl === undefined ? no * CLOCK_STEP_MS : 0));
      if (no > 0) await setProgress('due_at = 0, lease_until = 0');
      return spawnService({ dataDir, databaseUrl, env: { COFFER_TEST_CLOCK_FILE: clockFile }, preloaded: 'clock.ts' });
    };
    const rows = async (sql: string): Promise<Record<string, unknown>[]> => {
      if (databaseUrl !== undefined) return query(databaseUrl, sql);
      const database = new DatabaseSync(join(dataDir, 'coffer.db'), { readOnly: true });
      try {
        return database.prepare(sql).all();
      } finally {
        database.close();
      }
    };

    let service = await start(0);
    const token = service.adminToken();
    const body = { name: 'shop', environment: 'staging' };
    await ok(call(service.url, 'POST', '/v1/vaults', { token, body }), 201);
    const secret = { path: 'key', value: 'marker' };
    await ok(call(service.url, 'POST', '/v1/vaults/shop/secrets', { token, body: secret }), 201);
    const countedAfter: number[] = [];
    for (let round = 1; round <= ROUNDS; round++) {
      await readUntilKilled(service, token, randomBetween(100, 2500));
      const [{ reads = 0 } = {}] = await rows(
        "select sum(reads) as reads from hourly_counts where resource = 'vault/shop/key'",
      );
      countedAfter.push(Number(reads));
      service = await start(round);
    }
    const isCounted = async () => {
      const [state] = await rows(
        'select cursor_seq, seq, lease_owner from rollup_progress join audit_heads using (tenant_id) where seq > 0 order by seq desc',
      );
      return state?.['cursor_seq'] === state?.['seq'] && state?.['lease_owner'] === null;
    };
    const deadline = performance.now() + COUNTED_WITHIN_MS;
    while (!(await isCounted())) {
      assert.ok(performance.now() < deadline, 'the log is not counted');
      await setProgress('due_at = 0');
      await sleep(1000);
    }
    const [counted] = await rows("select sum(reads) as reads from hourly_counts where resource = 'vault/shop/key'");
    const entries = await readAll(service.url, token, '/v1/audit', 'entries');
    const isRead = (entry: Record<string, unknown>) =>
      entry['action'] === 'secrets:read' && entry['resource'] === 'vault/shop/key' && entry['decision'] === 'allow';
    assert.equal(Number(counted?.['reads']), entries.filter(isRead).length);
    assert.ok(new Set(countedAfter).size > 2, `it was never killed after a count: ${countedAfter}`);
    await stopService(service);
  });
}

/** Reads until the process is gone. Requests of the moment in which it is killed have no answer. */
async function readUntilKilled(service: ServiceProcess, token: string, afterMs: number): Promise<void> {
  const end = performance.now() + afterMs;
  const reader = async () => {
    while (performance.now() < end) {
      await call(service.url, 'GET', '/v1/vaults/shop/secrets/key', { token }).catch(() => sleep(10));
    }
  };
  await Promise.all([reader(), reader(), sleep(afterMs).then(() => killService(service))]);
}

async function ok(answer: Promise<Answer>, status: number): Promise<void> {
  const { status: actual, text } = await answer;
  assert.equal(actual, status, text);
}
