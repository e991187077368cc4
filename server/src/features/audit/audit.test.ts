import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import * as OTPAuth from 'otpauth';
import {
  addPerson,
  addTenant,
  addToken,
  allPages,
  holdClock,
  invalid,
  logIn,
  ok,
  type Person,
  refused,
  tryLogIn,
} from '../../../../test/support/people.ts';
import { type Answer, call, onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { addVault } from '../../../../test/support/vaults.ts';
import { DAY_MS, MINUTE_MS } from '../../kernel/base/clock.ts';
import type { Tx } from '../../kernel/storage/database.ts';

type Entry = Answer['body'];

onBothDatabases('the audit log', (database, { rule }) => {
  let service: Service;
  let auditor: Person;

  before(async () => {
    service = await startService(database, { env: { CV_TRUSTED_PROXIES: '127.0.0.1' } });
    auditor = await addPerson(service, { role: 'auditor' });
  });
  after(() => service.close());

  const entries = (query = ''): Promise<Entry[]> =>
    allPages(service, `/v1/audit${query === '' ? '' : `?${query}`}`, 'entries', { token: auditor.token });
  const entryOf = async ({ headers }: Answer): Promise<Entry> => {
    const id = headers.get('x-request-id');
    const found = (await entries()).filter((entry) => entry.request_id === id);
    assert.equal(found.length, 1, `one entry for ${id}`);
    return found[0];
  };

  describe('records', () => {
    rule('a change: who, with which key, what, from where and the outcome', async () => {
      const headers = { 'user-agent': 'the test', 'x-forwarded-for': '203.0.113.9' };
      const body = { email: 'recorded@example.com' };
      const answer = await service.call('POST', '/v1/users', { body, headers });
      const me = await ok(service.call('GET', '/auth/me'));
      const entry = await entryOf(answer);
      const { id: _, timestamp, seq: __, hash: ___, rows, ...rest } = entry;
      assert.deepEqual(rest, {
        actor: { kind: 'user', id: me.user.id, name: me.user.email, key: me.credential.id },
        action: 'users:create',
        resource: 'user',
        vault: null,
        decision: 'allow',
        status: 201,
        ip: '203.0.113.9',
        user_agent: 'the test',
        request_id: answer.headers.get('x-request-id'),
        reason: null,
        details: { email: body.email, role: 'member', user: answer.body.id },
      });
      assert.ok(Math.abs(Date.parse(timestamp) - service.clock.now()) < MINUTE_MS);
      assert.deepEqual(rows, [{ table: 'users', row: answer.body.id, digest: rows?.[0]?.digest, before: null }]);
      assert.match(String(rows?.[0]?.digest), /^[\w-]{43}$/);
    });

    rule('the entries of one request are found by its id, and by nobody else', async () => {
      const answer = await service.call('GET', '/v1/groups');
      const id = answer.headers.get('x-request-id');
      await service.call('GET', '/v1/groups');
      const found = await entries(`request_id=${id}`);
      assert.deepEqual(found, [await entryOf(answer)]);
      assert.deepEqual(await entries(`request_id=${id}&action=users:create`), []);
      const before = new Date(Date.parse(found[0].timestamp)).toISOString();
      assert.deepEqual(await entries(`request_id=${id}&to=${before}`), []);
      const stranger = await addTenant(service);
      const theirs = service.call('GET', `/v1/audit?request_id=${id}`, { token: stranger.owner.token });
      assert.deepEqual((await ok(theirs)).entries, []);
      await invalid(service.call('GET', '/v1/audit?request_id=req_1'), '/query/request_id');
    });

    rule('reads too, and who read the log', async () => {
      assert.equal((await entryOf(await service.call('GET', '/v1/groups'))).action, 'groups:list');
      assert.equal((await entryOf(await service.call('GET', '/v1/audit?limit=1'))).action, 'audit:read');
    });

    rule('a refusal for lack of permission', async () => {
      const member = await addPerson(service);
      const entry = await entryOf(await service.call('GET', '/v1/users', { token: member.token }));
      assert.deepEqual([entry.decision, entry.status, entry.actor.id], ['deny', 403, member.id]);
      assert.match(entry.reason, /^users:list: /);
    });

    rule('a refused token, under its owner where that is certain', async () => {
      const member = await addPerson(service);
      const { id, token } = await addToken(service, member.token);
      await ok(service.call('DELETE', `/auth/tokens/${id}`, { token: member.token }), 200);
      const entry = await entryOf(await service.call('GET', '/v1/users', { token }));
      assert.deepEqual([entry.decision, entry.status, entry.actor.id, entry.actor.key], ['deny', 401, member.id, id]);
      assert.equal(entry.reason, 'the token is revoked');
      const unknown = await entryOf(await service.call('GET', '/v1/users', { token: 'nonsense' }));
      assert.deepEqual([unknown.actor.kind, unknown.actor.id], ['anonymous', '']);
    });

    rule('an expired token, under its owner, also if the service never saw it work', async () => {
      const member = await addPerson(service);
      const { id, token } = await addToken(service, member.token, { ttl_days: 1 });
      service.clock.advance(DAY_MS + MINUTE_MS);
      const entry = await entryOf(await service.call('GET', '/v1/users', { token }));
      assert.deepEqual([entry.status, entry.reason, entry.actor.key], [401, 'the token has expired', id]);
    });

    rule('logins, refused ones with the true reason, which the caller does not get', async () => {
      const person = await addPerson(service);
      const good = await entryOf(await tryLogIn(service, person));
      assert.deepEqual([good.action, good.decision, good.actor.id], ['auth:login', 'allow', person.id]);
      const bad = await entryOf(await tryLogIn(service, { ...person, password: 'wrong' }));
      assert.deepEqual([bad.decision, bad.status, bad.actor.name], ['deny', 401, person.email]);
      assert.equal(bad.reason, 'wrong e-mail address or password');
    });

    rule('invalid requests, and requests for what does not exist', async () => {
      const missing = await entryOf(await service.call('GET', '/v1/users/user_none'));
      assert.deepEqual([missing.decision, missing.status, missing.resource], ['error', 404, 'user/user_none']);
      const invalidEntry = await entryOf(await service.call('POST', '/v1/users', { body: { email: 1 } }));
      assert.deepEqual([invalidEntry.decision, invalidEntry.status], ['error', 422]);
    });

    rule('nothing of another tenant', async () => {
      const tenant = await addTenant(service);
      await ok(service.call('GET', '/v1/users', { token: tenant.owner.token }));
      const theirs = await allPages(service, '/v1/audit', 'entries', { token: tenant.owner.token });
      const made = theirs.pop();
      assert.deepEqual([made?.action, made?.actor.kind, made?.actor.name], ['tenants:create', 'operator', '']);
      assert.ok(theirs.length > 0 && theirs.every((entry) => entry.actor.id === tenant.owner.id));
      assert.ok((await entries()).every((entry) => entry.actor.id !== tenant.owner.id));
    });
  });

  describe('filters', () => {
    let person: Person;
    let from: string;
    let to: string;

    before(async () => {
      person = await addPerson(service, { role: 'admin' });
      service.clock.advance(MINUTE_MS);
      from = new Date(service.clock.now()).toISOString();
      const token = person.token;
      const group = await ok(service.call('POST', '/v1/groups', { token, body: { name: `audited-${database}` } }), 201);
      await ok(service.call('GET', `/v1/groups/${group.id}`, { token }));
      await ok(service.call('GET', '/v1/groups', { token }));
      await refused(service.call('GET', '/v1/groups/group_none', { token }), 404, 'NOT_FOUND');
      await refused(
        service.call('DELETE', `/v1/users/${auditor.id}`, { token: auditor.token }),
        403,
        'INSUFFICIENT_PRIVILEGE',
      );
      service.clock.advance(MINUTE_MS);
      to = new Date(service.clock.now()).toISOString();
      await ok(service.call('GET', '/v1/groups', { token }));
    });

    const within = (query: string) => entries(`from=${from}&to=${to}&${query}`);

    test('by time: from is included, to is not', async () => {
      const found = await within('');
      assert.equal(found.length, 5);
      assert.ok(found.every((entry) => entry.timestamp >= from && entry.timestamp < to));
      const [newest, second] = found;
      assert.ok((await entries(`from=${newest.timestamp}`)).some((entry) => entry.id === newest.id));
      assert.ok((await entries(`to=${newest.timestamp}`)).every((entry) => entry.id !== newest.id));
      assert.ok((await entries(`to=${newest.timestamp}`)).some((entry) => entry.id === second.id));
      assert.deepEqual(await entries(`from=${to}&to=${from}`), []);
      const day = from.slice(0, 10);
      assert.ok(
        (await entries(`from=${day}&limit=1000`)).some((entry) => entry.id === newest.id),
        'a date is its first moment',
      );
      assert.ok((await entries(`to=${day}&limit=1000`)).every((entry) => entry.timestamp < `${day}T00`));
      for (const bad of ['2026-13-01', '2026-11', 'yesterday', '2026-11-10T10:00:00']) {
        await invalid(service.call('GET', `/v1/audit?from=${bad}`), '/query/from');
      }
      const elsewhere = from.replace('Z', '+00:00');
      assert.equal((await entries(`from=${encodeURIComponent(elsewhere)}&to=${to}`)).length, 5);
    });

    test('by actor: id, name or key', async () => {
      const { credential } = await ok(service.call('GET', '/auth/me', { token: person.token }));
      for (const actor of [person.id, person.email, credential.id]) {
        assert.equal((await within(`actor=${encodeURIComponent(actor)}`)).length, 4, actor);
        assert.equal((await within(`actor=${encodeURIComponent(actor.slice(0, -1))}*`)).length, 4, `${actor} in part`);
        assert.deepEqual(await within(`actor=${encodeURIComponent(actor.slice(0, -1))}`), [], 'a part needs a *');
      }
      assert.deepEqual(await within(`actor=${person.id.toUpperCase()}`), []);
    });

    test('by action, decision and resource, alone and together', async () => {
      assert.equal((await within('action=groups:create')).length, 1);
      assert.deepEqual(await within('action=groups'), []);
      assert.equal((await within('action=groups:*')).length, 4);
      assert.equal((await within('action=groups:c*')).length, 1);
      assert.deepEqual(await within('action=*groups:create'), []);
      assert.equal((await within('decision=allow')).length, 3);
      assert.equal((await within('decision=error')).length, 1);
      assert.equal((await within('decision=deny')).length, 1);
      assert.equal((await within('resource=group')).length, 2);
      assert.equal((await within('resource=group/*')).length, 2);
      assert.equal((await within('resource=group*')).length, 4);
      assert.equal((await within('resource=group/*&decision=error&action=groups:read')).length, 1);
      assert.deepEqual(await within('resource=group/*&decision=deny'), []);
      assert.deepEqual(await within('vault=prod'), []);
      const vault = await addVault(service, { name: 'whole-name' });
      for (const name of [vault, `${vault.slice(0, -1)}*`]) {
        const found = await entries(`vault=${name}&action=vault_created`);
        assert.ok(
          found.some((entry) => entry.vault === vault),
          name,
        );
      }
      assert.deepEqual(await entries(`vault=${vault.slice(0, -1)}`), []);
      await invalid(service.call('GET', '/v1/audit?decision=maybe'), '/query/decision');
    });

    test('text in a filter is text: wildcards of the database mean nothing', async () => {
      for (const text of ['%', '_', 'group%', '%25', "'", '"', '\\', '*']) {
        const value = encodeURIComponent(text);
        if (text !== '*') assert.deepEqual(await within(`actor=${value}`), [], text);
        if (text !== '*') assert.deepEqual(await within(`vault=${value}*`), [], text);
        if (text !== '*') assert.deepEqual(await within(`action=${value}`), [], text);
        if (text !== '*') assert.deepEqual(await within(`action=${value}*`), [], text);
        if (text !== '*') assert.deepEqual(await within(`resource=${value}`), [], text);
        if (text !== '*') assert.deepEqual(await within(`resource=${value}*`), [], text);
      }
    });
  });

  test('pages are newest first, without gaps or repeats, while the log grows', async () => {
    const first = await ok(service.call('GET', '/v1/audit?limit=3'));
    for (let i = 0; i < 10; i++) await ok(service.call('GET', '/auth/me'));
    const seen: Entry[] = [...first.entries];
    let cursor: string | null = first.next_cursor;
    while (cursor !== null) {
      const page: Entry = await ok(service.call('GET', `/v1/audit?limit=7&cursor=${cursor}`));
      seen.push(...page.entries);
      cursor = page.next_cursor;
    }
    const ids = seen.map((entry) => entry.id);
    assert.deepEqual(ids, [...ids].sort().reverse());
    assert.equal(new Set(ids).size, ids.length);
    const [newest] = seen;
    const all = await entries(`to=${new Date(Date.parse(newest.timestamp) + 1).toISOString()}`);
    assert.ok(all.length >= seen.length);
    assert.deepEqual(
      ids,
      all.map((entry) => entry.id).filter((id) => id <= newest.id),
    );
  });

  rule('no credential, password or code is ever in an entry', async () => {
    const person = await addPerson(service);
    const secrets = [person.password, person.token, service.adminToken];
    const token = await logIn(service, person);
    const { secret, otpauth_uri } = await ok(service.call('POST', '/auth/mfa/totp', { token }), 201);
    const otp = new OTPAuth.TOTP({ secret }).generate({ timestamp: service.clock.now() });
    const confirm = service.call('POST', '/auth/mfa/totp/confirm', { token, body: { otp } });
    const { recovery_codes } = await ok(confirm);
    const login = await ok(tryLogIn(service, person, { otp: recovery_codes[0] }));
    const tries = { password: 'a wrong but secret guess', otp: 'secret-otp-guess' };
    await refused(tryLogIn(service, { ...person, password: tries.password }, { otp: tries.otp }), 401, 'LOGIN_DENIED');
    secrets.push(secret, otpauth_uri, ...recovery_codes, login.token, ...Object.values(tries));
    // Misplaced: in the query, the path, an unknown field, another header.
    const misplaced = (await addToken(service, person.token)).token;
    secrets.push(misplaced, 'Secret-Field-Value');
    await service.call('GET', `/v1/users?token=${misplaced}`);
    await service.call('GET', `/v1/users?token=${misplaced}`, { token: null });
    await service.call('GET', `/auth/me?access_token=${misplaced}`, { token: null });
    await service.call('POST', '/v1/users', { body: { email: 'Secret-Field-Value', password: 'Secret-Field-Value' } });
    await service.call('POST', '/v1/users', { body: '{"password": "Secret-Field-Value' });
    await service.call('GET', '/auth/me', { headers: { 'x-client-secret': 'Secret-Field-Value' } });
    await service.call('GET', '/auth/me', { token: null, headers: { authorization: 'Basic Secret-Field-Value' } });
    await service.app.kernel.audit.settle();
    const rows = await service.app.kernel.database.read.selectFrom('audit_segments').selectAll().execute();
    const text = JSON.stringify(rows);
    for (const hidden of secrets) assert.ok(!text.includes(hidden), `an entry holds ${hidden.slice(0, 24)}…`);
    assert.ok(!service.logs.some((line) => secrets.some((hidden) => line.includes(hidden))));
  });

  test('verifying finds the chain whole, and every entry has its place', async () => {
    const { valid, entries: count, first_broken } = await ok(service.call('GET', '/v1/audit/verify'));
    assert.deepEqual([valid, first_broken], [true, null]);
    const sealed = (await entries()).filter((entry) => entry.seq !== null && entry.seq <= count);
    assert.deepEqual(
      sealed.map((entry) => entry.seq).sort((a, b) => a - b),
      Array.from({ length: count }, (_, i) => i + 1),
    );
  });

  test('the chain stays whole while many write and several verify', async () => {
    const reads = Array.from({ length: 100 }, () => service.call('GET', '/auth/me'));
    const writes = Array.from({ length: 20 }, (_, i) =>
      service.call('POST', '/v1/groups', { body: { name: `chained-${database}-${i}` } }),
    );
    const checks = Array.from({ length: 5 }, () => ok(service.call('GET', '/v1/audit/verify')));
    await Promise.all([...reads, ...writes]);
    for (const check of await Promise.all(checks)) assert.equal(check.valid, true, JSON.stringify(check));
    assert.equal((await ok(service.call('GET', '/v1/audit/verify'))).valid, true);
  });

  test('rows that change without pause are not mistaken for tampering', async () => {
    const people = [await addPerson(service), await addPerson(service)];
    let isOver = false;
    const rename = async (id: string) => {
      for (let i = 0; i < 25; i++) {
        await ok(service.call('PATCH', `/v1/users/${id}`, { body: { name: `Renamed ${i}` } }));
      }
    };
    const check = async () => {
      while (!isOver) {
        const result = await ok(service.call('GET', '/v1/audit/verify'));
        assert.equal(result.valid, true, JSON.stringify(result));
      }
    };
    const checks = Promise.all([check(), check()]);
    await Promise.all([...people, ...people, ...people].map(({ id }) => rename(id)));
    isOver = true;
    await checks;
  });
});

onBothDatabases('tampering with the audit log', (database) => {
  /** A service with a short log of its own, changed behind its back. */
  async function verifyAfter(tamper: (tx: Tx, tenantId: string, last: number) => Promise<unknown>): Promise<Entry> {
    const service = await startService(database);
    const { kernel } = service.app;
    // Whatever reads the log in the background may meet what was changed.
    service.expectErrorLogs(
      /work on due audit logs|was cut back to an older state|a segment of the audit log is damaged/,
    );
    for (let i = 0; i < 6; i++) {
      await ok(service.call('GET', '/auth/me'));
      await kernel.audit.settle();
    }
    const { entries: last } = await ok(service.call('GET', '/v1/audit/verify'));
    await kernel.database.transaction((tx) => tamper(tx, kernel.operatorTenantId, last));
    // Entries that come later, of either kind, must not make what was done look whole.
    await ok(service.call('POST', '/v1/groups', { body: { name: 'recorded-after' } }), 201);
    for (let i = 0; i < 3; i++) await ok(service.call('GET', '/auth/me'));
    const result = await ok(service.call('GET', '/v1/audit/verify'));
    await service.close();
    assert.equal(result.valid, false, 'the tampering was not found');
    return result.first_broken;
  }
  const at = (seq: number) => ({ seq });

  /** Entries here are settled one after another, so each has a segment to itself. */
  async function rewrite(tx: Tx, seq: number, change: (entries: string) => string): Promise<void> {
    const segment = tx.selectFrom('audit_segments').select('entries').where('first_seq', '=', seq);
    const { entries } = await segment.executeTakeFirstOrThrow();
    assert.notEqual(change(entries), entries);
    await tx
      .updateTable('audit_segments')
      .set({ entries: change(entries) })
      .where('first_seq', '=', seq)
      .execute();
  }

  test('what cannot even be read is found', async () => {
    for (const spoiled of ['', '{', '[]', '[[]]', '[1]', '{"a":1}', 'null']) {
      const broken = await verifyAfter((tx) => rewrite(tx, 3, () => spoiled));
      assert.equal(broken.seq, 3, spoiled);
    }
  });

  test('a changed entry is found', async () => {
    const broken = await verifyAfter((tx) =>
      rewrite(tx, 3, (entries) => entries.replace('admin@localhost', 'somebody@else')),
    );
    assert.deepEqual({ seq: broken.seq }, at(3));
  });

  test('a changed entry with a hash to fit is found', async () => {
    const broken = await verifyAfter(async (tx) => {
      await rewrite(tx, 3, (entries) => entries.replace('"allow",200', '"allow",500'));
      await tx
        .updateTable('audit_segments')
        .set({ hashes: Buffer.alloc(32, 7) })
        .where('first_seq', '=', 3)
        .execute();
    });
    assert.deepEqual({ seq: broken.seq }, at(3));
  });

  test('a deleted entry is found', async () => {
    const broken = await verifyAfter((tx) => tx.deleteFrom('audit_segments').where('first_seq', '=', 4).execute());
    assert.deepEqual(broken, { seq: 4, reason: 'the entry is missing' });
  });

  test('a log with its end cut off is found', async () => {
    await verifyAfter((tx, _, last) =>
      tx
        .deleteFrom('audit_segments')
        .where('first_seq', '>', last - 2)
        .execute(),
    );
  });

  test('a log with its end cut off and the head moved back is found', async () => {
    await verifyAfter(async (tx, tenantId, last) => {
      const row = await tx
        .selectFrom('audit_segments')
        .selectAll()
        .where('first_seq', '=', last - 2)
        .executeTakeFirstOrThrow();
      await tx
        .deleteFrom('audit_segments')
        .where('tenant_id', '=', tenantId)
        .where('first_seq', '>', last - 2)
        .execute();
      const head = { seq: last - 2, hash: row.hashes ?? Buffer.alloc(0) };
      await tx.updateTable('audit_heads').set(head).where('tenant_id', '=', tenantId).execute();
    });
  });

  test('a log that was emptied, head and all, is found', async () => {
    await verifyAfter(async (tx, tenantId) => {
      await tx.deleteFrom('audit_segments').where('tenant_id', '=', tenantId).execute();
      await tx.deleteFrom('audit_heads').where('tenant_id', '=', tenantId).execute();
    });
  });

  test('two entries that changed places are found', async () => {
    await verifyAfter(async (tx) => {
      for (const [from, to] of [
        [3, 1_000_003],
        [4, 3],
        [1_000_003, 4],
      ] as const) {
        await tx.updateTable('audit_segments').set({ first_seq: to }).where('first_seq', '=', from).execute();
      }
    });
  });
});

onBothDatabases('a flood of bad tokens', (database) => {
  test('makes few entries, which say how many were left out', async () => {
    const service = await startService(database);
    const count = async () => {
      const { entries } = await ok(service.call('GET', '/v1/audit?limit=1000'));
      return entries.filter((entry: Entry) => entry.decision === 'deny');
    };
    assert.equal((await count()).length, 0);
    const statuses = new Set<number>();
    const flood = async () => {
      for (let batch = 0; batch < 20; batch++) {
        const guesses = Array.from({ length: 100 }, (_, i) =>
          call(service.url, 'GET', '/v1/users', { token: `bad-${batch}-${i}` }),
        );
        for (const { status } of await Promise.all(guesses)) statuses.add(status);
      }
    };
    await holdClock(service, flood());
    assert.deepEqual([...statuses].sort(), [401, 429]);
    // The admin's token has worked here before, so the guesses of others do not shut it out.
    await ok(service.call('GET', '/auth/me'));
    service.clock.advance(MINUTE_MS);
    await refused(call(service.url, 'GET', '/v1/users', { token: 'one-more' }), 401, 'INVALID_TOKEN');
    const denied = await count();
    assert.ok(denied.length <= 50, `${denied.length} entries`);
    const left = denied.reduce((sum: number, entry: Entry) => sum + (entry.details.suppressed ?? 0), 0);
    const told = denied.filter((entry: Entry) => entry.details.suppressed === undefined).length;
    assert.equal(left + told, 2001);
    await service.close();
  });
});
