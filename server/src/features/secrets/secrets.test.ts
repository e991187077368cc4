import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addPerson, addTenant, invalid, ok, refused, uniqueName } from '../../../../test/support/people.ts';
import { type CallOptions, onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import {
  addPolicy,
  addSecret,
  addVault,
  auditOf,
  pathsIn,
  readValue,
  secretUrl,
} from '../../../../test/support/vaults.ts';
import { DAY_MS } from '../../kernel/base/clock.ts';

onBothDatabases('secrets', (database, { rule }) => {
  let service: Service;
  let vault: string;
  before(async () => {
    service = await startService(database);
    vault = await addVault(service);
  });
  after(() => service.close());

  const send = (method: string, path: string, body?: object, more: CallOptions = {}) =>
    service.call(method, path, { ...(body !== undefined && { body }), ...more });
  const make = async (more: object = {}) => {
    const path = uniqueName('app/db');
    return { path, made: await addSecret(service, vault, path, more) };
  };
  const put = (path: string, body: object, headers: Record<string, string> = {}) =>
    send('PUT', secretUrl(vault, path), body, { headers });
  const versionsOf = async (path: string) =>
    (await ok(send('GET', secretUrl(vault, path, 'versions')))).versions as Record<string, unknown>[];

  test('a secret reads back as made, with its value, and no other answer has the value', async () => {
    const path = uniqueName('shop/Payment.api_key-1@x+y=z');
    const metadata = { description: 'To pay\nwith', owner: 'ann@example.com', tags: ['pay', 'eu'], ticket: 'X-1' };
    const body = { path, type: 'api_key', value: 'sk_live_0', metadata, reason: 'first' };
    const answer = await send('POST', `/v1/vaults/${vault}/secrets`, body);
    const made = await ok(Promise.resolve(answer), 201);
    assert.ok(!answer.text.includes('sk_live_0'));
    assert.match(made.id, /^sec_/);
    assert.ok(Number.isSafeInteger(made.secret_id) && made.secret_id > 0);
    assert.deepEqual(
      { ...made, id: '', secret_id: 0, created_at: '', updated_at: '' },
      {
        id: '',
        secret_id: 0,
        path,
        vault,
        type: 'api_key',
        environment: 'staging',
        protection: 'standard',
        version: 1,
        metadata,
        created_at: '',
        updated_at: '',
        rotated_at: null,
        next_rotation: null,
        rotation: null,
        rotation_status: null,
        expires_at: null,
        risk_score: null,
      },
    );
    const read = await send('GET', secretUrl(vault, path));
    assert.deepEqual(await ok(Promise.resolve(read)), { ...made, value: 'sk_live_0' });
    assert.equal(read.headers.get('etag'), '"v1"');
    assert.match(read.headers.get('cache-control') ?? '', /no-store/);
    const { secrets_count } = await ok(send('GET', `/v1/vaults/${vault}`));
    assert.ok(secrets_count >= 1);
  });

  rule('a path is the same with its slashes raw or as %2F, in every verb', async () => {
    const { path } = await make();
    const encoded = path.replaceAll('/', '%2F');
    assert.equal(await readValue(service, vault, encoded), `value of ${path}`);
    assert.equal(await readValue(service, vault, encoded.replace('%2F', '%2f')), `value of ${path}`);
    assert.equal((await ok(put(encoded, { value: 'two' }))).version, 2);
    assert.equal((await ok(send('GET', secretUrl(vault, `${encoded}%2Fversions`)))).versions.length, 2);
    assert.equal((await ok(send('POST', secretUrl(vault, encoded, 'rotate'), { value: 'three' }))).version, 3);
    assert.equal((await ok(send('POST', secretUrl(vault, encoded, 'rollback'), { to_version: 1 }))).version, 4);
    assert.equal((await ok(send('DELETE', secretUrl(vault, encoded)))).path, path);
    assert.equal((await ok(send('POST', secretUrl(vault, encoded, 'restore')))).path, path);
    const bare = `/vaults/${vault}/secrets/${path}`;
    assert.equal((await ok(send('GET', bare))).path, path, 'without /v1');
  });

  test('reads at the same moment get their own answers, also beside one that is malformed', async () => {
    const [one, two] = [await make({ value: 'one' }), await make({ value: 'two' })];
    const paths = [one.path, two.path, `${one.path}%00`, 'nothing/here', one.path, `${two.path}//x`, two.path];
    const read = () => Promise.all(paths.map((path) => send('GET', `/v1/vaults/${vault}/secrets/${path}`)));
    await read();
    const answers = await read();
    assert.deepEqual(
      answers.map(({ status, body }) => body.value ?? status),
      ['one', 'two', 422, 404, 'one', 422, 'two'],
    );
  });

  test('an update is a new version, with what it changes and nothing else', async () => {
    const { path, made } = await make({ metadata: { description: 'd', tags: ['t'] } });
    service.clock.advance(1000);
    const second = await ok(put(path, { value: 'two', reason: 'leaked' }));
    assert.deepEqual(second, { ...made, version: 2, updated_at: second.updated_at });
    assert.ok(second.updated_at > made.updated_at);
    const third = await ok(put(path, { metadata: { owner: 'bob' } }));
    assert.deepEqual([third.version, third.metadata], [3, { description: 'd', owner: 'bob', tags: ['t'] }]);
    assert.equal(await readValue(service, vault, path), 'two');
    const fourth = await ok(put(path, { rotation: { interval_days: 5, generator: {} } }));
    assert.equal(fourth.version, 4);
    assert.deepEqual(fourth.rotation, { interval_days: 5, generator: {} });
    const fifth = await ok(put(path, { rotation: null }));
    assert.deepEqual([fifth.version, fifth.rotation, fifth.next_rotation], [5, null, null]);
    await invalid(put(path, {}), '/body');
    await invalid(put(path, { reason: 'nothing' }), '/body');
    await invalid(put(path, { type: 'password' }), '/body/value');
    await invalid(put(path, { value: 'x', environment: 'staging' }), '/body/environment');
    await refused(put(path, { value: 'x', protection: 'fortress' }), 403, 'MFA_REQUIRED');
    assert.equal((await ok(send('GET', secretUrl(vault, path)))).version, 5);
  });

  rule('metadata merges: what is given replaces, null removes, the rest stays', async () => {
    const { path } = await make({ metadata: { description: 'd', tags: ['t', 'u'], ticket: 'X-1' } });
    const changed = async (metadata: object) => (await ok(put(path, { metadata }))).metadata;
    assert.deepEqual(await changed({ owner: 'ann' }), {
      description: 'd',
      owner: 'ann',
      tags: ['t', 'u'],
      ticket: 'X-1',
    });
    assert.deepEqual(await changed({ description: null, ticket: 'X-2', never: null }), {
      owner: 'ann',
      tags: ['t', 'u'],
      ticket: 'X-2',
    });
    assert.deepEqual(await changed({ tags: ['v'] }), { owner: 'ann', tags: ['v'], ticket: 'X-2' });
    assert.deepEqual(await changed({ tags: null, owner: null, ticket: null }), { tags: [] });
    await invalid(put(path, { metadata: { owner: 1 } }), '/body/metadata/owner');
    const many = (n: number, from = 0) =>
      Object.fromEntries(Array.from({ length: n }, (_, i) => [`k${from + i}`, 'x']));
    await ok(put(path, { metadata: many(60) }));
    await invalid(put(path, { metadata: many(10, 60) }), '/body/metadata');
    await ok(put(path, { metadata: { ...many(4, 60), k0: null } }));
  });

  rule('each version can be read with the metadata it had', async () => {
    const { path } = await make({ value: 'one', metadata: { description: 'first', tags: ['a'] } });
    await ok(put(path, { value: 'two' }));
    await ok(put(path, { metadata: { description: 'second', tags: ['b'] } }));
    await ok(put(path, { value: 'four' }));
    const rows = [
      [1, 'one', 'first', ['a']],
      [2, 'two', 'first', ['a']],
      [3, 'two', 'second', ['b']],
      [4, 'four', 'second', ['b']],
    ] as const;
    for (const [version, value, description, tags] of rows) {
      const answer = await send('GET', `${secretUrl(vault, path)}?version=${version}`);
      const read = await ok(Promise.resolve(answer));
      assert.deepEqual([read.version, read.value, read.metadata], [version, value, { description, tags }]);
      assert.equal(answer.headers.get('etag'), `"v${version}"`);
    }
    assert.equal((await ok(send('GET', `${secretUrl(vault, path)}?version=`))).version, 4, 'empty counts as absent');
    await refused(send('GET', `${secretUrl(vault, path)}?version=5`), 404, 'VERSION_NOT_FOUND');
    await refused(send('GET', `${secretUrl(vault, path)}?version=2147483647`), 404, 'VERSION_NOT_FOUND');
    for (const bad of ['0', '-1', '1.0', '1e0', 'latest', '2147483648', '01']) {
      await invalid(send('GET', `${secretUrl(vault, path)}?version=${bad}`), '/query/version');
    }
  });

  test('the versions say what, why, when and by whom, newest first, in pages', async () => {
    const { path } = await make({ reason: 'for the shop' });
    const writer = await addPerson(service);
    await ok(send('POST', `/v1/vaults/${vault}/members`, { user: writer.id, role: 'writer' }), 201);
    await ok(send('PUT', secretUrl(vault, path), { value: 'two', reason: 'leaked' }, { token: writer.token }));
    await ok(send('POST', secretUrl(vault, path, 'rotate'), { value: 'three', reason: 'monthly' }));
    await ok(send('POST', secretUrl(vault, path, 'rollback'), { to_version: 2, reason: 'broke' }));
    await ok(send('PUT', secretUrl(vault, path), { metadata: { owner: 'shop' } }));
    const all = await versionsOf(path);
    const { user } = await ok(send('GET', '/auth/me'));
    assert.deepEqual(
      all.map(({ version, operation, reason, restored_from, author, has_new_value, is_current }) => [
        version,
        operation,
        reason,
        restored_from,
        (author as { id: string }).id,
        has_new_value,
        is_current,
      ]),
      [
        [5, 'update', '', null, user.id, false, true],
        [4, 'rollback', 'broke', 2, user.id, true, false],
        [3, 'rotate', 'monthly', null, user.id, true, false],
        [2, 'update', 'leaked', null, writer.id, true, false],
        [1, 'create', 'for the shop', null, user.id, true, false],
      ],
    );
    assert.deepEqual(all[3]?.['author'], { kind: 'user', id: writer.id, name: writer.email });
    assert.ok(all.every((one) => !('value' in one)));
    const first = await ok(send('GET', `${secretUrl(vault, path, 'versions')}?limit=3`));
    const rest = await ok(send('GET', `${secretUrl(vault, path, 'versions')}?limit=3&cursor=${first.next_cursor}`));
    assert.deepEqual([...first.versions, ...rest.versions], all);
    assert.equal(rest.next_cursor, null);
    await invalid(send('GET', `${secretUrl(vault, path, 'versions')}?limit=0`), '/query/limit');
    await invalid(send('GET', `${secretUrl(vault, path, 'versions')}?cursor=x`), '/query/cursor');
    await refused(send('GET', secretUrl(vault, 'no/such', 'versions')), 404, 'SECRET_NOT_FOUND');
  });

  test('an update with a stale version is refused; in the body, as If-Match, or both saying the same', async () => {
    const { path } = await make();
    await ok(put(path, { value: 'two', expected_version: 1 }));
    const stale = await refused(put(path, { value: 'lost', expected_version: 1 }), 409, 'VERSION_CONFLICT');
    const { version, current, expected } = stale.details;
    assert.deepEqual([version, current.version, expected.version], [2, 2, 1]);
    assert.equal(JSON.stringify(stale.details).includes('two'), false, 'no value is in it');
    await refused(put(path, { value: 'lost' }, { 'if-match': '"v1"' }), 409, 'VERSION_CONFLICT');
    await refused(put(path, { value: 'lost', expected_version: 7 }), 409, 'VERSION_CONFLICT');
    await ok(put(path, { value: 'three' }, { 'if-match': '"v2"' }));
    await ok(put(path, { value: 'four', expected_version: 3 }, { 'if-match': '"v3"' }));
    await invalid(put(path, { value: 'x', expected_version: 4 }, { 'if-match': '"v3"' }), '/body/expected_version');
    for (const bad of ['v4', '4', '"4"', 'W/"v4"', '*', '"v4", "v3"', '"v04"', '"v-1"', '"v99999999999"']) {
      await invalid(put(path, { value: 'x' }, { 'if-match': bad }), '/headers/if-match');
    }
    for (const bad of [0, -1, 1.5, '4', null]) {
      await invalid(put(path, { value: 'x', expected_version: bad }), '/body/expected_version');
    }
    const verbs: [string, object][] = [
      ['rotate', { value: 'x' }],
      ['rollback', { to_version: 1 }],
    ];
    for (const [verb, body] of verbs) {
      const url = secretUrl(vault, path, verb);
      await refused(send('POST', url, { ...body, expected_version: 3 }), 409, 'VERSION_CONFLICT');
      await refused(send('POST', url, body, { headers: { 'if-match': '"v1"' } }), 409, 'VERSION_CONFLICT');
    }
    for (const [method, url, body] of [
      ['DELETE', secretUrl(vault, path), undefined],
      ['POST', secretUrl(vault, path, 'move'), { to_path: `${path}.moved` }],
    ] as const) {
      await refused(send(method, url, body, { headers: { 'if-match': '"v3"' } }), 409, 'VERSION_CONFLICT');
      await invalid(send(method, url, body, { headers: { 'if-match': 'v4' } }), '/headers/if-match');
    }
    assert.equal(await readValue(service, vault, path), 'four');
    assert.equal((await versionsOf(path)).length, 4);
    await ok(send('DELETE', secretUrl(vault, path), undefined, { headers: { 'if-match': '"v4"' } }));
  });

  test('rolling back is a new version with the old value and metadata, and says from which', async () => {
    const { path } = await make({ value: 'one', metadata: { description: 'first', tags: ['old'] } });
    await ok(put(path, { value: 'two', metadata: { tags: ['new'] } }));
    await ok(put(path, { value: 'three' }));
    const rolled = await ok(send('POST', secretUrl(vault, path, 'rollback'), { to_version: 1, reason: 'bad' }));
    assert.deepEqual([rolled.version, rolled.restored_from], [4, 1]);
    assert.deepEqual(rolled.metadata, { description: 'first', tags: ['old'] });
    assert.equal(await readValue(service, vault, path), 'one');
    assert.equal(await readValue(service, vault, `${path}?version=3`), 'three');
    assert.ok((await pathsIn(service, vault, 'tags=old')).includes(path));
    assert.ok(!(await pathsIn(service, vault, 'tags=new')).includes(path));
    const again = await ok(send('POST', secretUrl(vault, path, 'rollback'), { to_version: 4 }));
    assert.deepEqual([again.version, again.restored_from], [5, 4]);
    assert.equal(await readValue(service, vault, path), 'one');
    await ok(put(path, { value: 'six' }));
    assert.equal(await readValue(service, vault, path), 'six');
    assert.equal((await ok(send('POST', secretUrl(vault, path, 'rollback'), { to_version: 6 }))).version, 7);
    await refused(send('POST', secretUrl(vault, path, 'rollback'), { to_version: 8 }), 404, 'VERSION_NOT_FOUND');
    for (const to_version of [0, -1, 1.5, '1', 2 ** 31]) {
      await invalid(send('POST', secretUrl(vault, path, 'rollback'), { to_version }), '/body/to_version');
    }
    await invalid(send('POST', secretUrl(vault, path, 'rollback'), {}), '/body/to_version');
  });

  rule('rotating replaces the value at once and says when next', async () => {
    const { path, made } = await make({ type: 'api_key', rotation: { interval_days: 30 } });
    assert.equal(Date.parse(made.next_rotation) - Date.parse(made.created_at), 30 * DAY_MS);
    service.clock.advance(DAY_MS);
    const rotated = await ok(send('POST', secretUrl(vault, path, 'rotate'), { reason: 'weekly' }));
    assert.match(rotated.rotation_id, /^rotation_/);
    assert.deepEqual([rotated.status, rotated.version], ['completed', 2]);
    assert.equal(Date.parse(rotated.next_rotation) - Date.parse(rotated.rotated_at), 30 * DAY_MS);
    const read = await ok(send('GET', secretUrl(vault, path)));
    assert.match(read.value, /^[A-Za-z0-9]{40}$/);
    assert.deepEqual([read.rotated_at, read.next_rotation], [rotated.rotated_at, rotated.next_rotation]);
    const chosen = await ok(send('POST', secretUrl(vault, path, 'rotate'), { value: 'mine', reason: 'r' }));
    assert.equal(chosen.version, 3);
    assert.equal(await readValue(service, vault, path), 'mine');
    assert.equal(await readValue(service, vault, `${path}?version=2`), read.value);
    const plain = await make();
    await refused(send('POST', secretUrl(vault, plain.path, 'rotate'), {}), 422, 'ROTATION_NOT_CONFIGURED');
    await refused(send('POST', secretUrl(vault, plain.path, 'rotate')), 422, 'ROTATION_NOT_CONFIGURED');
    const made2 = await ok(send('POST', secretUrl(vault, plain.path, 'rotate'), { generator: { length: 20 } }));
    assert.equal(made2.next_rotation, null);
    assert.match(await readValue(service, vault, plain.path), /^[A-Za-z0-9]{20}$/);
  });

  test('the same Idempotency-Key makes one secret, and tells the answer again', async () => {
    const path = uniqueName('once');
    const headers = { 'idempotency-key': uniqueName('key') };
    const body = { path, value: 'x' };
    const first = await send('POST', `/v1/vaults/${vault}/secrets`, body, { headers });
    const again = await send('POST', `/v1/vaults/${vault}/secrets`, body, { headers });
    assert.deepEqual([first.status, again.status, again.text], [201, 201, first.text]);
    assert.equal(again.headers.get('idempotency-replayed'), 'true');
    const other = { path, value: 'y' };
    await invalid(send('POST', `/v1/vaults/${vault}/secrets`, other, { headers }), '/headers/idempotency-key');
    const elsewhere = await addVault(service);
    await invalid(send('POST', `/v1/vaults/${elsewhere}/secrets`, body, { headers }), '/headers/idempotency-key');
    const twice = { 'idempotency-key': uniqueName('key') };
    for (let i = 0; i < 2; i++) await ok(send('PUT', secretUrl(vault, path), { value: 'z' }, { headers: twice }));
    assert.equal((await versionsOf(path)).length, 2);
  });

  rule('a repeated key is answered by what the caller may, conditions included', async () => {
    const person = await addPerson(service);
    const on = [`vault/${vault}/**`];
    const condition = { environment: ['staging'], tag_equals: ['mine'] };
    const policy = await addPolicy(service, { user: person.id }, [{ action: ['secrets:*'], resource: on, condition }]);
    const path = uniqueName('conditional');
    const headers = { 'idempotency-key': uniqueName('key') };
    const body = { path, value: 'x', metadata: { tags: ['mine'] } };
    const create = () => send('POST', `/v1/vaults/${vault}/secrets`, body, { token: person.token, headers });
    const [first, again] = [await ok(create(), 201), await ok(create(), 201)];
    assert.deepEqual(again, first);
    const change = { 'idempotency-key': uniqueName('key') };
    const update = () => send('PUT', secretUrl(vault, path), { value: 'y' }, { token: person.token, headers: change });
    for (let i = 0; i < 2; i++) assert.equal((await ok(update())).version, 2);
    await ok(send('POST', `/v1/policies/${policy}/detach`, { principal: { user: person.id } }));
    await refused(create(), 403, 'INSUFFICIENT_PRIVILEGE');
  });

  rule('a path that exists already is refused, whatever else the request says', async () => {
    const { path } = await make();
    const again = (more: object) => send('POST', `/v1/vaults/${vault}/secrets`, { path, value: 'x', ...more });
    await refused(again({}), 409, 'SECRET_ALREADY_EXISTS');
    await refused(again({ type: 'password' }), 409, 'SECRET_ALREADY_EXISTS');
    await addSecret(service, vault, `${path}/below`);
    await addSecret(service, vault, path.toUpperCase());
    assert.equal(await readValue(service, vault, path), `value of ${path}`);
  });

  rule('that a secret does not exist is shown only to callers who may read it', async () => {
    const { path } = await make();
    const stranger = await addPerson(service);
    const { token } = stranger;
    const rows: [string, string][] = [
      [secretUrl(vault, path), 'SECRET'],
      [secretUrl(vault, 'no/such'), 'SECRET_NOT_FOUND'],
      [secretUrl('no-such-vault', path), 'VAULT_NOT_FOUND'],
    ];
    for (const [url, code] of rows) {
      await refused(send('GET', url, undefined, { token }), 403, 'INSUFFICIENT_PRIVILEGE');
      await refused(send('PUT', url, { value: 'x' }, { token }), 403, 'INSUFFICIENT_PRIVILEGE');
      await refused(send('DELETE', url, undefined, { token }), 403, 'INSUFFICIENT_PRIVILEGE');
      await refused(send('GET', `${url}/versions`, undefined, { token }), 403, 'INSUFFICIENT_PRIVILEGE');
      if (code === 'SECRET') continue;
      await refused(send('GET', url), 404, code);
      await refused(send('PUT', url, { value: 'x' }), 404, code);
      await refused(send('DELETE', url), 404, code);
      for (const verb of ['rotate', 'restore']) await refused(send('POST', `${url}/${verb}`), 404, code);
      await refused(send('POST', `${url}/rollback`, { to_version: 1 }), 404, code);
    }
    const { owner } = await addTenant(service);
    await refused(send('GET', secretUrl(vault, path), undefined, { token: owner.token }), 404, 'VAULT_NOT_FOUND');
  });

  rule('the log has each change with the secret and its version, and no reason or value', async () => {
    const { path, made } = await make({ reason: 'why on earth' });
    await ok(put(path, { value: 'two', metadata: { tags: ['x'] }, reason: 'because' }));
    await ok(send('POST', secretUrl(vault, path, 'rotate'), { value: 'three' }));
    await ok(send('POST', secretUrl(vault, path, 'rollback'), { to_version: 1 }));
    await ok(send('DELETE', secretUrl(vault, path)));
    await ok(send('POST', secretUrl(vault, path, 'restore')));
    const entries = await auditOf(service, `resource=vault/${vault}/${path}`);
    const { rotation, ...rotated } = entries[3]?.details ?? {};
    assert.match(rotation, /^rotation_/);
    assert.deepEqual(
      entries.map((entry) => [entry.action, entry === entries[3] ? rotated : entry.details]),
      [
        ['secrets:restore', { secret: made.id, version: 4 }],
        ['secrets:delete', { secret: made.id, version: 4 }],
        ['secrets:rollback', { secret: made.id, version: 4, restored_from: 1 }],
        ['secrets:rotate', { secret: made.id, version: 3 }],
        ['secrets:update', { secret: made.id, version: 2, changed: ['value', 'metadata'] }],
        ['secrets:create', { secret: made.id, type: 'generic', version: 1 }],
      ],
    );
  });
});
