import assert from 'node:assert/strict';
import { createHash, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { after, before, test } from 'node:test';
import { DAY_MS, MINUTE_MS } from '../server/src/kernel/base/clock.ts';
import { UnsealError, unseal } from '../server/src/kernel/crypto/sealing.ts';
import {
  addPerson,
  addToken,
  allPages,
  approved,
  invalid,
  ok,
  type Person,
  refused,
  uniqueName,
} from './support/people.ts';
import { type Answer, onBothDatabases, type Service, startService } from './support/service.ts';

onBothDatabases('an Idempotency-Key', (database) => {
  let service: Service;
  let admin: Person;

  before(async () => {
    service = await startService(database);
    admin = await addPerson(service, { role: 'admin' });
  });
  after(() => service.close());

  const post = (path: string, key: string, body?: object, token = service.adminToken) =>
    service.call('POST', path, { token, ...(body !== undefined && { body }), headers: { 'idempotency-key': key } });
  const newEmail = () => `${uniqueName('idempotent')}@example.com`;
  const usersWith = async (email: string) =>
    (await allPages(service, '/v1/users', 'users')).filter((user) => user.email === email);
  const isReplay = ({ headers }: Answer) => headers.get('idempotency-replayed') === 'true';

  test('makes the same request answer the same, once carried out', async () => {
    const body = { email: newEmail() };
    const first = await post('/v1/users', 'same', body);
    const second = await post('/v1/users', 'same', body);
    assert.deepEqual([first.status, isReplay(first)], [201, false]);
    assert.deepEqual([second.status, isReplay(second), second.text], [201, true, first.text]);
    assert.notEqual(second.headers.get('x-request-id'), first.headers.get('x-request-id'));
    assert.equal((await usersWith(body.email)).length, 1);
  });

  test('also for requests that would not fail by themselves, and shows a credential again to its maker', async () => {
    const first = await post('/auth/tokens', 'token', { name: 'once' });
    const second = await post('/auth/tokens', 'token', { name: 'once' });
    assert.equal(second.body.token, first.body.token);
    assert.equal(second.text, first.text);
  });

  test('holds across both spellings of the path, whatever the order of the fields', async () => {
    const email = newEmail();
    const first = await ok(post('/v1/users', 'spelling', { email, name: 'A' }), 201);
    assert.deepEqual(await ok(post('/users', 'spelling', { email, name: 'A' }), 201), first);
  });

  test('works for answers without a body', async () => {
    const { token, password } = await addPerson(service);
    const headers = { 'idempotency-key': 'changed' };
    const body = { current_password: password, new_password: `another ${password}` };
    const first = await service.call('POST', '/auth/password', { token, headers, body });
    const second = await service.call('POST', '/auth/password', { token, headers, body });
    assert.deepEqual([first.status, second.status, second.text], [204, 204, '']);
    assert.equal(second.headers.get('content-type'), null);
    assert.ok(isReplay(second));
  });

  test('is refused for another body, endpoint or resource', async () => {
    const email = newEmail();
    await ok(post('/v1/users', 'other', { email }), 201);
    await invalid(post('/v1/users', 'other', { email: newEmail() }), '/headers/idempotency-key');
    await invalid(post('/v1/users', 'other', { email, name: 'more' }), '/headers/idempotency-key');
    await invalid(post('/v1/groups', 'other', { name: uniqueName('group') }), '/headers/idempotency-key');
  });

  test('is refused for another condition: who asks for it if nothing changed does not ask for it in any case', async () => {
    const vault = uniqueName('conditions');
    await ok(service.call('POST', '/v1/vaults', { body: { name: vault, environment: 'development' } }), 201);
    await ok(service.call('POST', `/v1/vaults/${vault}/secrets`, { body: { path: 'a', value: 'one' } }), 201);
    const put = (condition: string | null) =>
      service.call('PUT', `/v1/vaults/${vault}/secrets/a`, {
        body: { value: 'two' },
        headers: { 'idempotency-key': 'condition', ...(condition !== null && { 'if-match': condition }) },
      });
    const first = await put('"v1"');
    assert.equal(first.status, 200);
    const again = await put('"v1"');
    assert.deepEqual([again.status, isReplay(again), again.text], [200, true, first.text]);
    await invalid(put('"v2"'), '/headers/idempotency-key');
    await invalid(put(null), '/headers/idempotency-key');
  });

  test('is deleted after 24 hours and not before', async () => {
    const body = { name: 'daily' };
    const first = await ok(post('/auth/tokens', 'daily', body), 201);
    service.clock.advance(DAY_MS - MINUTE_MS);
    assert.equal((await ok(post('/auth/tokens', 'daily', body), 201)).id, first.id);
    service.clock.advance(2 * MINUTE_MS);
    const later = await ok(post('/auth/tokens', 'daily', body), 201);
    assert.notEqual(later.id, first.id);
    assert.equal((await ok(post('/auth/tokens', 'daily', body), 201)).id, later.id, 'a new day begins');
  });

  test('is each caller’s own: nobody is shown what another was answered', async () => {
    const body = { name: 'mine' };
    const mine = await ok(post('/auth/tokens', 'shared', body), 201);
    const theirs = await ok(post('/auth/tokens', 'shared', body, admin.token), 201);
    assert.notEqual(theirs.token, mine.token);
    const sibling = (await addToken(service, service.adminToken)).token;
    const again = await ok(post('/auth/tokens', 'shared', body, sibling), 201);
    assert.notEqual(again.token, mine.token, 'another token of the same person is another caller');
  });

  test('is checked after permission: who lost it gets no replay', async () => {
    const person = await addPerson(service, { role: 'admin' });
    const body = { email: newEmail() };
    await ok(post('/v1/users', 'demoted', body, person.token), 201);
    const demotion = service.call('PATCH', `/v1/users/${person.id}`, { body: { role: 'member' } });
    await approved(service, demotion, admin.token);
    await refused(post('/v1/users', 'demoted', body, person.token), 403, 'INSUFFICIENT_PRIVILEGE');
  });

  test('does not keep a failure: the request can be corrected or repeated', async () => {
    const email = newEmail();
    const { id } = await ok(service.call('POST', '/v1/users', { body: { email } }), 201);
    await refused(post('/v1/users', 'failed', { email }), 409, 'ALREADY_EXISTS');
    await ok(service.call('DELETE', `/v1/users/${id}`), 200);
    await ok(post('/v1/users', 'failed', { email }), 201);
    await refused(post('/v1/users', 'invalid', { email: 1 }), 422, 'VALIDATION_FAILED');
    await ok(post('/v1/users', 'invalid', { email: newEmail() }), 201);
  });

  test('sent twenty times at once makes one user', async () => {
    for (let round = 0; round < 3; round++) {
      const body = { email: newEmail() };
      const key = uniqueName('burst');
      const answers = await Promise.all(Array.from({ length: 20 }, () => post('/v1/users', key, body)));
      const made = answers.filter(({ status }) => status === 201);
      assert.ok(made.length >= 1);
      assert.equal(new Set(made.map(({ text }) => text)).size, 1);
      for (const {
        status,
        body: { error },
      } of answers) {
        if (status !== 201) assert.deepEqual([status, error.code], [409, 'IN_USE']);
      }
      assert.equal((await usersWith(body.email)).length, 1);
      assert.equal((await ok(post('/v1/users', key, body), 201)).id, made[0]?.body.id);
    }
  });

  test('sent twenty times at once makes one token', async () => {
    const name = uniqueName('burst');
    const answers = await Promise.all(Array.from({ length: 20 }, () => post('/auth/tokens', name, { name })));
    const ids = new Set(answers.filter(({ status }) => status === 201).map(({ body }) => body.id));
    assert.equal(ids.size, 1);
    const listed = (await allPages(service, '/auth/tokens', 'tokens')).filter((token) => token.name === name);
    assert.equal(listed.length, 1);
  });

  test('has a form', async () => {
    const body = { email: newEmail() };
    for (const key of ['x'.repeat(256), 'with space', 'tab\tinside', 'ümlaut']) {
      await invalid(post('/v1/users', key, body), '/headers/idempotency-key');
    }
    assert.deepEqual(await usersWith(body.email), []);
    await ok(post('/v1/users', 'x'.repeat(255), body), 201);
  });

  test('means nothing to a read', async () => {
    const headers = { 'idempotency-key': 'read' };
    await ok(service.call('GET', '/v1/users?limit=1', { headers }));
    assert.equal(isReplay(await service.call('GET', '/auth/me', { headers })), false);
  });

  test('is needed to open its answer: the database and every key of the service do not do', async () => {
    const key = uniqueName('only-the-caller-knows');
    const body = { name: uniqueName('bound') };
    const first = await ok(post('/auth/tokens', key, body), 201);
    const { database, keyring } = service.app.kernel;
    const keyHash = createHash('sha256').update(key).digest();
    const row = await database.read
      .selectFrom('idempotency_keys')
      .selectAll()
      .where('key_hash', '=', keyHash)
      .executeTakeFirstOrThrow();
    const place = {
      tenantId: row.tenant_id,
      table: 'idempotency_keys',
      row: `${row.actor_id} ${keyHash.toString('hex')}`,
    };
    const opens = (candidate: KeyObject) => {
      try {
        return unseal(candidate, place, row.sealed_body).length > 0;
      } catch (error) {
        assert.ok(error instanceof UnsealError);
        return false;
      }
    };
    const derived = (ours: KeyObject, salt: string | Buffer) =>
      createSecretKey(Buffer.from(hkdfSync('sha256', ours, salt, 'idempotent-answers', 32)));
    const ours = await keyring.keyAt(row.tenant_id, 'idempotent-answers', 1);
    assert.ok(opens(derived(ours, key)), 'with it, it opens');
    const keys = await database.read.selectFrom('keys').selectAll().where('tenant_id', '=', row.tenant_id).execute();
    assert.ok(keys.length > 2);
    for (const { purpose, version } of keys) {
      const held = await keyring.keyAt(row.tenant_id, purpose, version);
      assert.ok(!opens(held), purpose);
      assert.ok(!opens(derived(held, keyHash)), 'what is stored of it does not do either');
    }
    assert.equal((await ok(post('/auth/tokens', key, body), 201)).token, first.token);
  });

  test('whose answer was put in the place of another’s, or said to be sealed another way, answers nothing', async () => {
    const [one, two] = [uniqueName('one'), uniqueName('two')];
    const body = { name: uniqueName('swapped') };
    const other = await ok(post('/auth/tokens', one, body), 201);
    await ok(post('/auth/tokens', two, body), 201);
    const { database } = service.app.kernel;
    const hashOf = (key: string) => createHash('sha256').update(key).digest();
    const stored = (key: string) =>
      database.read
        .selectFrom('idempotency_keys')
        .select(['sealed_body', 'is_key_bound'])
        .where('key_hash', '=', hashOf(key))
        .executeTakeFirstOrThrow();
    const [foreign, own] = [await stored(one), await stored(two)];
    service.expectErrorLogs(/UnsealError/);
    for (const change of [foreign, { is_key_bound: 0 }]) {
      await database.transaction(async (tx) => {
        await tx
          .updateTable('idempotency_keys')
          .set({ ...own, ...change })
          .where('key_hash', '=', hashOf(two))
          .execute();
      });
      const answer = await post('/auth/tokens', two, body);
      assert.equal(answer.status, 500);
      assert.ok(!answer.text.includes(other.token));
    }
  });

  test('leaves no readable answer in the database, and a replay is audited as one', async () => {
    const body = { name: uniqueName('sealed') };
    const first = await post('/auth/tokens', 'sealed', body);
    const second = await post('/auth/tokens', 'sealed', body);
    const rows = await service.app.kernel.database.read.selectFrom('idempotency_keys').selectAll().execute();
    assert.ok(rows.length > 0);
    assert.ok(rows.every((row) => !Buffer.from(row.sealed_body).includes(first.body.token)));
    const { entries } = await ok(service.call('GET', '/v1/audit?action=tokens:create&limit=5'));
    const replay = entries.find((e: Answer['body']) => e.request_id === second.headers.get('x-request-id'));
    assert.equal(replay.details.idempotent_replay, true);
  });
});
