import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { complaints } from '../support/log-lines.ts';
import { metricsText, seriesValue } from '../support/metric-lines.ts';
import { ok } from '../support/people.ts';
import { startPgBouncer } from '../support/pgbouncer.ts';
import { newPostgresDatabase, query } from '../support/postgres.ts';
import { runService, spawnService, stopService } from '../support/process.ts';
import { programOf } from '../support/running-program.ts';
import { call } from '../support/service.ts';

const program = programOf('pgbouncer');
const skip = 'missing' in program ? program.missing : false;
const path = 'path' in program ? program.path : '';
const WRITERS = 16;
const ROUNDS = 10;

describe('behind PgBouncer', { skip }, () => {
  test('with session pooling the service works, with as many sessions as it opens', async () => {
    const databaseUrl = await newPostgresDatabase();
    const pooler = await startPgBouncer(path, databaseUrl, 'session');
    const node = await spawnService({ databaseUrl: pooler.url });
    const token = node.adminToken();
    const send = (method: string, to: string, body?: object) => call(node.url, method, to, { token, body });
    await ok(send('POST', '/v1/vaults', { name: 'pooled', environment: 'staging' }), 201);
    await Promise.all(
      Array.from({ length: WRITERS }, async (_, i) => {
        const url = `/v1/vaults/pooled/secrets/key-${i}`;
        await ok(send('POST', '/v1/vaults/pooled/secrets', { path: `key-${i}`, value: 'first' }), 201);
        for (let round = 0; round < ROUNDS; round++) {
          await ok(send('PUT', url, { value: `${i}-${round}` }));
          assert.equal((await ok(send('GET', url))).value, `${i}-${round}`);
        }
      }),
    );
    assert.equal((await ok(send('GET', '/v1/audit/verify'))).valid, true);
    const sessions = await query(
      databaseUrl,
      `select count(*)::integer as count from pg_stat_activity where application_name like 'coffer%' and datname = current_database()`,
    );
    assert.ok(Number(sessions[0]?.['count']) > 2, 'each connection has a process of its own');
    const text = await metricsText({ call: send });
    for (const queue of ['changes', 'reads'])
      assert.equal(seriesValue(text, `cv_database_waits_refused_total{queue="${queue}"}`), 0, queue);
    assert.ok(Number(seriesValue(text, 'cv_database_wait_seconds_count{queue="changes"}')) > 0);
    assert.doesNotMatch(text, /^cv_http_requests_total\{[^}]*status="5\d\d"[^}]*\} [1-9]/m);
    await stopService(node);
    assert.deepEqual(complaints(node), []);
    await pooler.stop();
  });

  test('with transaction pooling it does not start, says why, and changes nothing', async () => {
    const databaseUrl = await newPostgresDatabase();
    const pooler = await startPgBouncer(path, databaseUrl, 'transaction');
    const { code, stderr } = await runService({ databaseUrl: pooler.url });
    assert.equal(code, 1);
    assert.match(stderr, /^Coffer cannot start\. The database is behind a pooler .* pool_mode = session .*\n$/);
    const tables = await query(
      databaseUrl,
      `select count(*)::integer as count from pg_tables where schemaname = 'public'`,
    );
    assert.deepEqual(tables[0]?.['count'], 0);
    await pooler.stop();
  });
});
