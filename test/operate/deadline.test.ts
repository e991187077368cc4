import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import pg from 'pg';
import { metricsText, seriesValue } from '../support/metric-lines.ts';
import { ok } from '../support/people.ts';
import { newMigratedDatabase, query } from '../support/postgres.ts';
import { DatabaseProxy } from '../support/proxy.ts';
import { DATABASES, type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { addSecret, addVault, secretUrl } from '../support/vaults.ts';

if (DATABASES.includes('postgres'))
  describe('a request that takes too long', () => {
    let databaseUrl: string;
    let proxy: DatabaseProxy;
    let service: Service;
    let vault: string;
    before(async () => {
      databaseUrl = await newMigratedDatabase();
      proxy = await DatabaseProxy.before(databaseUrl);
      const env = { CV_REQUEST_TIMEOUT_SECONDS: '2' };
      service = await startService('postgres', { databaseUrl: proxy.through(databaseUrl), env });
    });
    after(() => service.close());
    beforeEach(async () => {
      vault = await addVault(service);
    });

    const create = (path: string) =>
      service.call('POST', `/v1/vaults/${vault}/secrets`, { body: { path, value: 'x' } });
    const isIdle = async () => {
      const busy = `select 1 from pg_stat_activity where datname = current_database() and application_name like 'coffer%'
      and (state <> 'idle') and pid <> pg_backend_pid()`;
      return (await query(databaseUrl, busy)).length === 0;
    };

    test('is answered, and what it would have changed is not changed afterwards', async () => {
      const other = new pg.Client(databaseUrl);
      await other.connect();
      await other.query('begin');
      await other.query('select 1 from vaults where name = $1 for update', [vault]);
      const answer = await create('stuck');
      assert.equal(answer.status, 503, answer.text);
      assert.equal(
        answer.body.error.message,
        'The request took longer than 2 s and was stopped. Nothing was changed: try again shortly.',
      );
      assert.ok(Number(answer.headers.get('retry-after')) > 0);
      const line = service.logs.find((one) => one.includes(String(answer.headers.get('x-request-id')))) ?? '';
      assert.match(line, /"msg":"a request took too long"/);
      assert.match(line, /"what_to_do":"The database, the disk/);
      await other.query('commit');
      await other.end();
      await until('the transaction has ended', isIdle);
      assert.equal((await service.call('GET', secretUrl(vault, 'stuck'))).status, 404);
      await ok(create('stuck'), 201);
    });

    test('but whose commit was sent is waited for, and said to be committed', async () => {
      await query(
        databaseUrl,
        `create function slow_commit() returns trigger language plpgsql as $$ begin
        if new.path = 'slow' then perform pg_sleep(4); end if; return null; end $$`,
      );
      await query(
        databaseUrl,
        `create constraint trigger slow_commit after insert on secrets deferrable initially deferred
        for each row execute function slow_commit()`,
      );
      const started = performance.now();
      await ok(create('slow'), 201);
      assert.ok(performance.now() - started > 3500, 'the commit was not slow');
      await ok(service.call('GET', secretUrl(vault, 'slow')));
    });

    test('and whose commit nobody confirms says that nobody knows', async () => {
      const other = await addVault(service);
      const creating = service.call('POST', `/v1/vaults/${other}/secrets`, { body: { path: 'slow', value: 'x' } });
      const committing = `select 1 from pg_stat_activity where query = 'commit' and state = 'active'`;
      await until('the commit is under way', async () => (await query(databaseUrl, committing)).length > 0);
      proxy.reset();
      const answer = await creating;
      assert.equal(answer.status, 503, answer.text);
      assert.match(
        answer.body.error.message,
        /^The database did not confirm the change, so it may have been made or not/,
      );
      await query(databaseUrl, 'drop trigger slow_commit on secrets');
    });

    test('because the database went silent gets its answer too', async () => {
      await addSecret(service, vault, 'a');
      proxy.silence();
      const answers = await Promise.all([
        service.call('GET', secretUrl(vault, 'a')),
        create('b'),
        service.call('GET', '/v1/vaults'),
      ]);
      for (const { status, text, headers } of answers) {
        assert.equal(status, 503, text);
        assert.match(text, /took longer than 2 s/);
        const line = service.logs.find((one) => one.includes(String(headers.get('x-request-id')))) ?? '';
        assert.match(line, /"level":"warn".*"msg":"a request took too long"/);
        assert.match(line, /"what_to_do":"The database, the disk/);
      }
      await until('the service goes on', async () => (await service.call('GET', '/health/ready')).status === 200);
      assert.equal((await service.call('GET', secretUrl(vault, 'b'))).status, 404);
      const text = await metricsText(service);
      for (const endpoint of ['readSecret', 'createSecret', 'listVaults'])
        assert.ok(
          Number(seriesValue(text, `cv_http_requests_total{endpoint="${endpoint}",status="503"}`)) > 0,
          endpoint,
        );
    });
  });
