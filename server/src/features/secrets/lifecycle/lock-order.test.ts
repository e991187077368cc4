import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { ok, uniqueName } from '../../../../../test/support/people.ts';
import { newMigratedDatabase, query } from '../../../../../test/support/postgres.ts';
import { type Answer, DATABASES, type Service, startService } from '../../../../../test/support/service.ts';
import { until } from '../../../../../test/support/until.ts';
import { addSecret, addVault, runJobs, secretUrl } from '../../../../../test/support/vaults.ts';
import { DAY_MS } from '../../../kernel/base/clock.ts';
import { SECOND_CHECK_MS } from '../../../kernel/time/clock-guard.ts';

const HELD = 4711;

if (DATABASES.includes('postgres'))
  describe('changes of a secret beside an import that has locked it', () => {
    let databaseUrl: string;
    let service: Service;
    let holder: pg.Client;
    before(async () => {
      databaseUrl = await newMigratedDatabase();
      service = await startService('postgres', { databaseUrl });
      holder = new pg.Client(databaseUrl);
      await holder.connect();
      // An import stops before it inserts this path, with all that it has locked and inserted before.
      await query(
        databaseUrl,
        `create function wait_for_test() returns trigger language plpgsql as $$ begin
        if new.path = 'z/held' then perform pg_advisory_xact_lock(${HELD}); end if; return new; end $$`,
      );
      await query(
        databaseUrl,
        'create trigger wait_for_test before insert on secrets for each row execute function wait_for_test()',
      );
    });
    after(async () => {
      await holder.end();
      await service.close();
    });

    const waiting = async () => {
      const sql = `select count(*)::integer as count from pg_stat_activity
        where wait_event_type = 'Lock' and datname = current_database()`;
      return Number((await query(databaseUrl, sql))[0]?.['count']);
    };
    const post = (path: string, body: object = {}) => service.call('POST', path, { body });

    const changes: Record<string, [(vault: string, other: string) => Promise<Answer>, number]> = {
      'a deletion': [(vault) => service.call('DELETE', secretUrl(vault, 'a/existing')), 200],
      'a move': [(vault) => post(secretUrl(vault, 'a/existing', 'move'), { to_path: 'b/elsewhere' }), 200],
      'a move to another vault': [
        (vault, other) => post(secretUrl(vault, 'a/existing', 'move'), { to_vault: other, to_path: 'b/elsewhere' }),
        200,
      ],
      'a copy': [(vault) => post(secretUrl(vault, 'a/existing', 'copy'), { to_path: 'b/elsewhere' }), 201],
      'a creation at a path that it has taken': [
        (vault) => post(`/v1/vaults/${vault}/secrets`, { path: 'c/new', value: 'x' }),
        409,
      ],
      'a move to a path that it has taken': [
        (vault) => post(secretUrl(vault, 'd/other', 'move'), { to_path: 'c/new' }),
        409,
      ],
      'a restore at a path that it has taken': [(vault) => post(secretUrl(vault, 'c/new', 'restore')), 409],
    };
    for (const [name, [change, status]] of Object.entries(changes)) {
      test(`${name} waits for it, and holds up nobody else in the vault`, async () => {
        const [vault, other] = [await addVault(service), await addVault(service)];
        for (const path of ['a/existing', 'd/other']) await addSecret(service, vault, path);
        if (name.startsWith('a restore')) {
          await addSecret(service, vault, 'c/new');
          await ok(service.call('DELETE', secretUrl(vault, 'c/new')));
        }
        await holder.query('select pg_advisory_lock($1)', [HELD]);
        let importing: Promise<Answer>;
        let changing: Promise<Answer>;
        try {
          const secrets = { 'a/existing': 'imported', 'c/new': 'imported', 'z/held': 'imported' };
          importing = post(`/v1/vaults/${vault}/import`, { secrets });
          await until('the import is held', async () => (await waiting()) === 1);
          changing = change(vault, other);
          await until('the change waits for it', async () => (await waiting()) === 2);
          // The vault is locked by neither of them.
          await ok(post(`/v1/vaults/${vault}/secrets`, { path: uniqueName('beside'), value: 'x' }), 201);
        } finally {
          await holder.query('select pg_advisory_unlock($1)', [HELD]);
        }
        assert.equal((await importing).status, 200);
        const answer = await changing;
        assert.equal(answer.status, status, answer.text);
      });
    }

    test('the purge of a vault waits for a secret that another transaction has locked, and leaves the vault to it', async () => {
      const vault = await addVault(service);
      await addSecret(service, vault, 'a/existing');
      await ok(service.call('DELETE', `/v1/vaults/${vault}`));
      service.clock.advance(31 * DAY_MS);
      assert.notEqual(await service.app.kernel.clockGuard.check(), null);
      service.clock.advance(SECOND_CHECK_MS);
      // As the purge of secrets and every change of one lock them: the secret first, then its vault.
      await holder.query('begin');
      await holder.query(`select 1 from secrets where path = 'a/existing' and vault_id =
        (select vault_id from vaults where name = '${vault}') for update`);
      const purging = runJobs(service);
      try {
        await until('the purge waits for the secret', async () => (await waiting()) === 1);
        const locked = await holder.query(`select 1 from vaults where name = '${vault}' for update nowait`);
        assert.equal(locked.rowCount, 1);
      } finally {
        await holder.query('rollback');
      }
      await purging;
      assert.deepEqual(await query(databaseUrl, `select 1 from vaults where name = '${vault}'`), []);
    });

    test('two moves that exchange their paths are refused, and wait for no deadlock', async () => {
      const vault = await addVault(service);
      for (const path of ['x', 'y']) await addSecret(service, vault, path);
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, i) => {
          const [from, to] = i % 2 === 0 ? ['x', 'y'] : ['y', 'x'];
          return post(secretUrl(vault, String(from), 'move'), { to_path: to });
        }),
      );
      assert.deepEqual([...new Set(answers.map(({ status }) => status))], [409]);
    });
  });
