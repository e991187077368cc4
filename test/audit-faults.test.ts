import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { prepareTenant } from '../server/src/features/tenants/index.ts';
import { systemEntry } from '../server/src/kernel/audit/entry/system-entry.ts';
import { OPEN_WAIT_MS } from '../server/src/kernel/audit/postgres/tombstones.ts';
import { unlocked } from './support/attacker.ts';
import { failWrites } from './support/disk.ts';
import { ok } from './support/people.ts';
import { newPostgresDatabase, query } from './support/postgres.ts';
import { killService, spawnService } from './support/process.ts';
import { behindItsBack } from './support/rows.ts';
import { type Answer, call, onBothDatabases, type Service, startService } from './support/service.ts';
import { until } from './support/until.ts';
import { auditOf } from './support/vaults.ts';

interface Fault {
  begin(): Promise<void>;
  end(): Promise<void>;
}

/**
 * The database itself refuses entries, by a trigger: what a full disk or a lost permission would do, for one table only. On SQLite the
 * journal cannot be written either.
 */
async function auditFault(service: Service, databaseUrl: string | undefined): Promise<Fault> {
  if (databaseUrl === undefined) {
    const run = async (sql: string) => {
      const database = new DatabaseSync(join(service.dataDir, 'coffer.db'));
      await unlocked(() => database.exec(sql));
      database.close();
    };
    let writes = { end() {} };
    return {
      begin: async () => {
        writes = failWrites('ENOSPC');
        await run(
          `create trigger no_audit before insert on audit_segments begin select raise(abort, 'MARKER no audit'); end`,
        );
      },
      end: async () => {
        writes.end();
        await run('drop trigger no_audit');
      },
    };
  }
  const run = async (sql: string) => {
    await query(databaseUrl, sql);
  };
  await run(`create function no_audit() returns trigger language plpgsql as $$ begin raise 'MARKER no audit'; end $$`);
  return {
    begin: () =>
      run('create trigger no_audit before insert on audit_segments for each row execute function no_audit()'),
    end: () => run('drop trigger no_audit on audit_segments'),
  };
}

function assertUnavailable(answer: Answer, what: string): void {
  assert.equal(answer.status, 503, `${what}: ${answer.text}`);
  assert.equal(answer.body.error.code, 'UNAVAILABLE');
  assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/, `${what}: Retry-After`);
  assert.deepEqual(Object.keys(answer.body), ['error'], `${what}: nothing of the answer leaks`);
  assert.doesNotMatch(answer.text, /MARKER|secret@example\.com/, what);
}

onBothDatabases('an audit log that cannot be written', (kind) => {
  test('lets nothing out, changes nothing, and heals', async () => {
    const databaseUrl = kind === 'postgres' ? await newPostgresDatabase() : undefined;
    const service = await startService(kind, { ...(databaseUrl !== undefined && { databaseUrl }) });
    service.expectErrorLogs(/no_audit|audit|SQLITE|unexpected error/i);
    const made = await service.call('POST', '/v1/users', { body: { email: 'secret@example.com', role: 'member' } });
    assert.equal(made.status, 201, made.text);
    const userPath = `/v1/users/${made.body.id}`;
    const weak = await service.call('POST', '/auth/tokens', {
      body: { name: 'weak', scope: { actions: ['users:read'] } },
    });
    assert.equal(weak.status, 201, weak.text);
    const fault = await auditFault(service, databaseUrl);

    await fault.begin();
    for (const path of ['/auth/me', '/v1/users', userPath, '/v1/audit', '/metrics']) {
      assertUnavailable(await service.call('GET', path), `read ${path}`);
    }
    assertUnavailable(
      await service.call('GET', '/v1/groups', { token: weak.body.token }),
      'refusal for lack of a right',
    );
    assertUnavailable(await service.call('GET', '/auth/me', { token: 'nonsense' }), 'refusal of a bad token');
    assertUnavailable(await service.call('GET', '/v1/users/user_nobody'), 'a missing row');
    assertUnavailable(await service.call('POST', '/v1/users', { body: { email: 'not an address' } }), 'a wrong body');
    const bad = { tenant: 'default', email: 'secret@example.com', password: 'a wrong password, long enough' };
    assertUnavailable(await service.call('POST', '/auth/login', { token: null, body: bad }), 'a failed login');

    assertUnavailable(await service.call('POST', '/v1/users', { body: { email: 'new@example.com' } }), 'creating');
    assertUnavailable(await service.call('PATCH', userPath, { body: { name: 'changed' } }), 'changing');
    assertUnavailable(await service.call('DELETE', userPath), 'deleting');
    assertUnavailable(await service.call('DELETE', `/auth/tokens/${weak.body.id}`), 'revoking');
    const headers = { 'idempotency-key': 'during-the-fault' };
    const keyed = { body: { email: 'keyed@example.com' }, headers };
    assertUnavailable(await service.call('POST', '/v1/users', keyed), 'creating with an Idempotency-Key');
    assert.equal((await service.call('GET', '/health', { token: null })).status, 200);

    await fault.end();
    const { body } = await service.call('GET', '/v1/users');
    const emails = body.users.map((user: { email: string; name: string }) => `${user.email} ${user.name}`);
    assert.deepEqual(emails.sort(), ['admin@localhost ', 'secret@example.com '], 'nothing was changed');
    assert.equal((await service.call('GET', '/auth/me', { token: weak.body.token })).status, 200, 'nor revoked');
    const retried = await service.call('POST', '/v1/users', keyed);
    assert.equal(retried.status, 201, retried.text);
    assert.equal(retried.headers.get('idempotency-replayed'), null, 'the failed attempt left no answer behind');
    const verified = await service.call('GET', '/v1/audit/verify');
    assert.equal(verified.body.valid, true, verified.text);
    assert.doesNotMatch(service.logs.join(''), /MARKER/, 'the database’s own words may hold a value');
    await service.close();
  });
});

onBothDatabases('an audit log whose entries wait for each other', (kind) => {
  let service: Service;
  before(async () => {
    service = await startService(kind);
  });
  after(() => service.close());

  const assertValid = async () => {
    const verified = await ok(service.call('GET', '/v1/audit/verify'));
    assert.equal(verified.valid, true, JSON.stringify(verified));
  };

  const entryOf = (tenantId: string) => {
    const facts = { actorId: 'operator', action: 'test:entry', resource: 'test', status: 200, details: {} } as const;
    return systemEntry({ tenantId, now: service.clock.now(), ...facts });
  };

  test('is linked on after the creation of a tenant was undone', async () => {
    const { kernel } = service.app;
    const facts = { name: 'undone', plan: 'starter', rates: {}, isOperator: false } as const;
    const made = await prepareTenant(kernel, { ...facts, ownerEmail: 'owner@x.example' });
    const undone = kernel.database.transaction(async (tx) => {
      const { headKey } = await made.insert(tx);
      await kernel.audit.recordIn(tx, [entryOf(made.row.tenant_id)], headKey);
      throw new Error('undone');
    });
    await assert.rejects(undone, /undone/);
    await assertValid();
  });

  if (kind === 'postgres') {
    test('is not mistaken for one that tells nothing of a deletion', async () => {
      const { kernel } = service.app;
      const invited = await ok(
        service.call('POST', '/v1/users', { body: { email: 'gone@x.example', invite: true } }),
        201,
      );
      const open = Promise.withResolvers<void>();
      const begun = Promise.withResolvers<void>();
      const headKey = await kernel.audit.headKey(kernel.operatorTenantId);
      const slow = kernel.database.transaction(async (tx) => {
        await kernel.audit.recordIn(tx, [entryOf(kernel.operatorTenantId)], headKey);
        begun.resolve();
        await open.promise;
      });
      await begun.promise;
      await ok(service.call('DELETE', `/v1/users/${invited.id}`));
      const verified = assertValid();
      await sleep(300);
      open.resolve();
      await Promise.all([slow, verified]);
    });

    test('hides no deletion by somebody else, whether its row was recorded before or only now', async () => {
      const { kernel } = service.app;
      const body = (email: string) => ({ body: { email, invite: true } });
      const before = await ok(service.call('POST', '/v1/users', body('before@x.example')), 201);
      const open = Promise.withResolvers<void>();
      const begun = Promise.withResolvers<void>();
      const headKey = await kernel.audit.headKey(kernel.operatorTenantId);
      await kernel.audit.link();
      const slow = kernel.database.transaction(async (tx) => {
        await kernel.audit.recordIn(tx, [entryOf(kernel.operatorTenantId)], headKey);
        begun.resolve();
        await open.promise;
      });
      await begun.promise;
      const now = await ok(service.call('POST', '/v1/users', body('now@x.example')), 201);
      const gone = [before.id, now.id];
      await behindItsBack(kernel.database, (db) => db.deleteFrom('invitations').where('user_id', 'in', gone).execute());
      const { rows } = await ok(service.call('GET', '/v1/audit/verify'));
      open.resolve();
      await slow;
      const problems = gone.map((row) => ({ table: 'invitations', row, problem: 'missing' }));
      assert.deepEqual(rows.problems, problems);
    });

    test('is not mistaken for tampered with after a node was killed', async () => {
      const databaseUrl = await newPostgresDatabase();
      const killed = await spawnService({ databaseUrl });
      const token = killed.adminToken();
      await query(
        databaseUrl,
        `create function hold() returns trigger language plpgsql as $$ begin perform pg_sleep(30); return new; end $$;
         create trigger hold before insert on audit_segments for each row when (new.entries like '%vault/held%') execute function hold()`,
      );
      const held = { name: 'held', environment: 'staging' };
      const unanswered = assert.rejects(call(killed.url, 'POST', '/v1/vaults', { token, body: held }));
      await until('the change was not held', () => isHeld(databaseUrl));
      await ok(call(killed.url, 'GET', '/v1/groups', { token }));
      await killService(killed);
      await unanswered;
      const next = await startService('postgres', { databaseUrl, dataDir: killed.dataDir });
      await next.app.kernel.audit.link();
      const atOnce = await ok(next.call('GET', '/v1/audit/verify', { token }));
      assert.equal(atOnce.valid, true, JSON.stringify(atOnce));
      next.clock.advance(OPEN_WAIT_MS);
      // PostgreSQL may still be busy with the statement of the killed node.
      await until('the change is not declared lost', async () => {
        return (await auditOf(next, 'action=audit:lost', token)).length > 0;
      });
      const verified = await ok(next.call('GET', '/v1/audit/verify', { token }));
      assert.equal(verified.valid, true, JSON.stringify(verified));
      const [told] = await auditOf(next, 'action=audit:lost', token);
      assert.equal(told.details.lost.length, 1);
      assert.equal((await auditOf(next, 'action=groups:list', token)).length, 1);
      await next.close();
    });
  }
});

async function isHeld(databaseUrl: string): Promise<boolean> {
  const found = await query(databaseUrl, "select 1 from pg_stat_activity where wait_event = 'PgSleep'");
  return found.length > 0;
}
