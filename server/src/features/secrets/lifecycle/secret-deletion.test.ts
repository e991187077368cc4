import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addPerson, addTenant, ok, refused, uniqueName } from '../../../../../test/support/people.ts';
import { onBothDatabases, type Service, startService } from '../../../../../test/support/service.ts';
import {
  addPolicy,
  addSecret,
  addVault,
  auditOf,
  pathsIn,
  readValue,
  runPurges,
  secretUrl,
} from '../../../../../test/support/vaults.ts';
import { DAY_MS } from '../../../kernel/base/clock.ts';

onBothDatabases('deleted secrets', (database, { rule }) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  const send = (method: string, path: string, body?: object, token = service.adminToken) =>
    service.call(method, path, { token, ...(body !== undefined && { body }) });
  const count = async (vault: string) => (await ok(send('GET', `/v1/vaults/${vault}`))).secrets_count as number;

  rule('name the time until which the secrets are stored, and nothing lists these any more', async () => {
    const [vault, other] = [await addVault(service), await addVault(service)];
    const made = await addSecret(service, vault, 'a/b', { value: 'the same thing', metadata: { tags: ['t'] } });
    await addSecret(service, other, 'a/b', { value: 'the same thing' });
    const gone = await ok(send('DELETE', secretUrl(vault, 'a/b')));
    assert.deepEqual([gone.id, gone.path], [made.id, 'a/b']);
    assert.equal(Date.parse(gone.purge_at) - Date.parse(gone.deleted_at), 365 * DAY_MS);
    for (const [method, path, body] of [
      ['GET', secretUrl(vault, 'a/b')],
      ['GET', `${secretUrl(vault, 'a/b')}?version=1`],
      ['PUT', secretUrl(vault, 'a/b'), { value: 'x' }],
      ['DELETE', secretUrl(vault, 'a/b')],
      ['GET', secretUrl(vault, 'a/b', 'versions')],
      ['POST', secretUrl(vault, 'a/b', 'rotate'), { value: 'x' }],
      ['POST', secretUrl(vault, 'a/b', 'rollback'), { to_version: 1 }],
      ['POST', secretUrl(vault, 'a/b', 'move'), { to_path: 'c' }],
      ['POST', secretUrl(vault, 'a/b', 'copy'), { to_path: 'c' }],
    ] as [string, string, object?][]) {
      await refused(send(method, path, body), 404, 'SECRET_NOT_FOUND');
    }
    assert.deepEqual(await pathsIn(service, vault), []);
    assert.deepEqual(await pathsIn(service, vault, 'tags=t'), []);
    assert.deepEqual((await ok(send('GET', `/v1/vaults/${vault}/aggregate`))).secrets, []);
    const search = { query: 'same thing' };
    assert.deepEqual((await ok(send('POST', `/v1/vaults/${vault}/search`, search))).matches, []);
    assert.deepEqual(await ok(send('GET', `/v1/vaults/${vault}/export`)), {});
    const { collisions } = await ok(send('GET', '/vaults/collisions?limit=1000'));
    assert.ok(!JSON.stringify(collisions).includes(made.id));
    const detail = await ok(send('GET', `/v1/vaults/${vault}`));
    assert.deepEqual([detail.secret_ids, detail.secrets_count], [[], 0]);
  });

  test('free their path at once; the latest comes back when it is free again', async () => {
    const vault = await addVault(service);
    const ids: string[] = [];
    for (const value of ['first', 'second', 'third']) {
      ids.push((await addSecret(service, vault, 'a', { value, metadata: { tags: [value] } })).id);
      service.clock.advance(1000);
      await ok(send('DELETE', secretUrl(vault, 'a')));
    }
    const living = await addSecret(service, vault, 'a', { value: 'fourth' });
    await refused(send('POST', secretUrl(vault, 'a', 'restore')), 409, 'SECRET_ALREADY_EXISTS');
    assert.equal(await readValue(service, vault, 'a'), 'fourth');
    await ok(send('POST', secretUrl(vault, 'a', 'move'), { to_path: 'b' }));
    const back = await ok(send('POST', secretUrl(vault, 'a', 'restore')));
    assert.deepEqual([back.id, back.version, back.metadata.tags], [ids[2], 1, ['third']]);
    assert.equal(await readValue(service, vault, 'a'), 'third');
    assert.deepEqual(await pathsIn(service, vault, 'tags=third'), ['a']);
    await ok(send('POST', secretUrl(vault, 'a', 'move'), { to_path: 'c' }));
    assert.equal((await ok(send('POST', secretUrl(vault, 'a', 'restore')))).id, ids[1]);
    await ok(send('POST', secretUrl(vault, 'a', 'move'), { to_path: 'd' }));
    assert.equal((await ok(send('POST', secretUrl(vault, 'a', 'restore')))).id, ids[0]);
    await ok(send('POST', secretUrl(vault, 'a', 'move'), { to_path: 'e' }));
    await refused(send('POST', secretUrl(vault, 'a', 'restore')), 404, 'SECRET_NOT_FOUND');
    assert.deepEqual(await pathsIn(service, vault), ['b', 'c', 'd', 'e']);
    assert.equal(await readValue(service, vault, 'b'), 'fourth');
    assert.equal((await ok(send('GET', secretUrl(vault, 'b')))).id, living.id);
    assert.equal(await count(vault), 4);
  });

  test('are listed to who may list them, and each can be chosen by its number or id', async () => {
    const vault = await addVault(service);
    const made: { id: string; secret_id: number; path: string }[] = [];
    for (const [path, tag] of [
      ['a/x', 'first'],
      ['a/x', 'second'],
      ['b', 'third'],
    ] as const) {
      made.push(await addSecret(service, vault, path, { value: tag, metadata: { tags: [tag] } }));
      await ok(send('DELETE', secretUrl(vault, path)));
    }
    await addSecret(service, vault, 'living');
    const [first, second, third] = made;
    assert.ok(first && second && third);
    const listed = async (query = '', token = service.adminToken) => {
      const found: { id: string; deleted_at: string; metadata: unknown }[] = [];
      let cursor: string | null = '';
      do {
        const url: string = `/v1/vaults/${vault}/secrets?deleted=true&${query}&cursor=${cursor}`;
        const page = await ok(send('GET', url, undefined, token));
        found.push(...page.secrets);
        cursor = page.next_cursor;
      } while (cursor !== null);
      return found;
    };
    const ids = async (query = '', token = service.adminToken) =>
      (await listed(query, token)).map(({ id }) => id).sort();
    const all = made.map(({ id }) => id).sort();
    assert.deepEqual([await ids(), await ids('limit=1')], [all, all]);
    assert.ok((await listed()).every(({ deleted_at }) => Date.parse(deleted_at) > 0));
    assert.deepEqual([await ids('prefix=a/'), await ids('tags=third')], [[first.id, second.id].sort(), [third.id]]);
    assert.deepEqual(await ids('type=password'), []);
    assert.deepEqual(await pathsIn(service, vault, 'deleted=false'), ['living']);

    const person = await addPerson(service);
    await refused(
      send('GET', `/v1/vaults/${vault}/secrets?deleted=true`, undefined, person.token),
      403,
      'INSUFFICIENT_PRIVILEGE',
    );
    await addPolicy(service, { user: person.id }, [{ action: ['secrets:list'], resource: [`vault/${vault}/a/*`] }]);
    assert.deepEqual(await ids('', person.token), [first.id, second.id].sort());
    assert.ok((await listed('', person.token)).every(({ metadata }) => metadata === null));
    assert.deepEqual(await ids('tags=first', person.token), [], 'a filter tells no tags');

    const restore = (path: string, body: object) => send('POST', secretUrl(vault, path, 'restore'), body);
    await refused(restore('a/x', { secret_id: third.secret_id }), 404, 'SECRET_NOT_FOUND');
    await refused(restore('b', { secret_id: first.id }), 404, 'SECRET_NOT_FOUND');
    assert.equal((await ok(restore('a/x', { secret_id: first.secret_id }))).id, first.id);
    assert.equal(await readValue(service, vault, 'a/x'), 'first');
    await refused(restore('a/x', { secret_id: second.id }), 409, 'SECRET_ALREADY_EXISTS');
    await ok(send('POST', secretUrl(vault, 'a/x', 'move'), { to_path: 'a/y' }));
    assert.equal((await ok(restore('a/x', { secret_id: second.id }))).id, second.id);
    await refused(restore('a/x', { secret_id: second.id }), 404, 'SECRET_NOT_FOUND');
    assert.deepEqual(await ids(), [third.id]);
  });

  test('come back with their history, rotation and number', async () => {
    const vault = await addVault(service);
    const made = await addSecret(service, vault, 'a', { type: 'password', rotation: { interval_days: 3 } });
    await ok(send('PUT', secretUrl(vault, 'a'), { value: 'two', reason: 'r' }));
    const before = await ok(send('GET', secretUrl(vault, 'a', 'versions')));
    await ok(send('DELETE', secretUrl(vault, 'a')));
    const back = await ok(send('POST', secretUrl(vault, 'a', 'restore')));
    assert.deepEqual(
      [back.id, back.secret_id, back.version, back.rotation],
      [made.id, made.secret_id, 2, made.rotation],
    );
    assert.notEqual(back.next_rotation, null);
    assert.deepEqual(await ok(send('GET', secretUrl(vault, 'a', 'versions'))), before);
    assert.equal(await readValue(service, vault, 'a?version=1'), 'value of a');
    await refused(send('POST', secretUrl(vault, 'a', 'restore')), 404, 'SECRET_NOT_FOUND');
  });

  rule('are restored only by who may, decided by the tags and environment they have', async () => {
    const vault = await addVault(service, { environment: 'development' });
    const person = await addPerson(service);
    await addPolicy(service, { user: person.id }, [
      { action: ['secrets:restore'], resource: [`vault/${vault}/**`], condition: { tag_equals: ['mine'] } },
    ]);
    for (const [path, tag] of [
      ['a', 'mine'],
      ['b', 'theirs'],
    ] as const) {
      await addSecret(service, vault, path, { environment: 'staging', metadata: { tags: [tag] } });
      await ok(send('DELETE', secretUrl(vault, path)));
    }
    const restore = (path: string) => send('POST', secretUrl(vault, path, 'restore'), undefined, person.token);
    await refused(restore('b'), 403, 'INSUFFICIENT_PRIVILEGE');
    await ok(restore('a'));
    assert.deepEqual(await pathsIn(service, vault), ['a']);
    const other = await addPerson(service);
    await addPolicy(service, { user: other.id }, [
      { action: ['secrets:restore'], resource: [`vault/${vault}/**`] },
      { effect: 'deny', action: ['*'], resource: ['**'], condition: { environment: ['staging'] } },
    ]);
    const denied = send('POST', secretUrl(vault, 'b', 'restore'), undefined, other.token);
    await refused(denied, 403, 'INSUFFICIENT_PRIVILEGE');
    await refused(send('POST', secretUrl(vault, 'none', 'restore'), undefined, other.token), 404, 'SECRET_NOT_FOUND');
  });

  test('are destroyed after the time of the plan, and so are versions replaced so long ago', async () => {
    const { owner } = await addTenant(service, { plan: 'starter' });
    const own = (method: string, path: string, body?: object) => send(method, path, body, owner.token);
    const vault = await addVault(service, {}, owner.token);
    const make = (path: string, more = {}) => addSecret(service, vault, path, more, owner.token);
    const gone = await make('gone', { metadata: { tags: ['t'] } });
    const kept = await make('kept');
    await make('again');
    const { purge_at, deleted_at } = await ok(own('DELETE', secretUrl(vault, 'gone')));
    assert.equal(Date.parse(purge_at) - Date.parse(deleted_at), 30 * DAY_MS);
    await ok(own('PUT', secretUrl(vault, 'kept'), { value: 'two' }));
    await ok(own('PUT', secretUrl(vault, 'kept'), { metadata: { tags: ['x'] } }));
    service.clock.advance(20 * DAY_MS);
    await ok(own('PUT', secretUrl(vault, 'kept'), { value: 'four' }));
    await ok(own('DELETE', secretUrl(vault, 'again')));
    service.clock.advance(9 * DAY_MS);
    await runPurges(service);
    assert.equal((await ok(own('GET', secretUrl(vault, 'kept', 'versions')))).versions.length, 4);
    await ok(own('POST', secretUrl(vault, 'gone', 'restore')));
    await ok(own('DELETE', secretUrl(vault, 'gone')));

    service.clock.advance(2 * DAY_MS);
    await runPurges(service);
    const { versions } = await ok(own('GET', secretUrl(vault, 'kept', 'versions')));
    // Version 3 was the newest until 11 days ago, so it stays.
    assert.deepEqual(
      versions.map((one: { version: number }) => one.version),
      [4, 3],
    );
    await refused(own('GET', `${secretUrl(vault, 'kept')}?version=2`), 404, 'VERSION_NOT_FOUND');
    await refused(own('POST', secretUrl(vault, 'kept', 'rollback'), { to_version: 1 }), 404, 'VERSION_NOT_FOUND');
    assert.equal(await readValue(service, vault, 'kept?version=3', { token: owner.token }), 'two');
    const purged = await auditOf(service, 'action=secrets:purge_versions', owner.token);
    assert.deepEqual(
      purged.map((entry) => [entry.actor.id, entry.resource, entry.details]),
      [['job:purge-secrets', `vault/${vault}/kept`, { secret: kept.id, versions: 2, below: 3 }]],
    );

    service.clock.advance(29 * DAY_MS);
    await runPurges(service);
    await refused(own('POST', secretUrl(vault, 'gone', 'restore')), 404, 'SECRET_NOT_FOUND');
    await refused(own('POST', secretUrl(vault, 'again', 'restore')), 404, 'SECRET_NOT_FOUND');
    const { read } = service.app.kernel.database;
    const left = await read.selectFrom('secret_versions').select('version').where('secret_id', '=', gone.id).execute();
    assert.deepEqual(left, []);
    const entries = await auditOf(service, 'action=secrets:purge', owner.token);
    assert.deepEqual(entries.map((entry) => entry.resource).sort(), [`vault/${vault}/again`, `vault/${vault}/gone`]);
    assert.equal(await readValue(service, vault, 'kept', { token: owner.token }), 'four');
    assert.deepEqual((await ok(own('GET', `/v1/vaults/${vault}`))).secrets_count, 1);
    assert.equal((await ok(own('GET', '/v1/audit/verify'))).valid, true);
  });

  test('of another tenant stay: each has its own plan', async () => {
    const vault = await addVault(service);
    const path = uniqueName('kept');
    await addSecret(service, vault, path);
    await ok(send('DELETE', secretUrl(vault, path)));
    service.clock.advance(100 * DAY_MS);
    await runPurges(service);
    await ok(send('POST', secretUrl(vault, path, 'restore')));
  });
});
