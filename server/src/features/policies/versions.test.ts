import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  addColleague,
  addPerson,
  addTenant,
  approve,
  invalid,
  ok,
  refused,
  uniqueName,
} from '../../../../test/support/people.ts';
import { behindItsBack } from '../../../../test/support/rows.ts';
import { type Answer, onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { addPolicy } from '../../../../test/support/vaults.ts';
import { VERSIONS_MAX } from './contract.ts';

const allowing = (action: string) => ({
  version: '2026-01-01',
  statement: [{ effect: 'allow', action: [action], resource: ['audit'] }],
});

onSqliteAtLanding('versions of a policy', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  const write = async (): Promise<string> => {
    const body = { name: uniqueName('policy'), description: 'first', document: allowing('audit:read') };
    await ok(service.call('POST', '/v1/policies', { body }), 201);
    return body.name;
  };
  const put = (name: string, body: object) => service.call('PUT', `/v1/policies/${name}`, { body });
  const list = (name: string, query = '', token = service.adminToken) =>
    service.call('GET', `/v1/policies/${name}/versions${query}`, { token });
  const numbers = ({ versions }: Answer['body']) => versions.map(({ version }: { version: number }) => version);

  test('are listed newest first, each as it was written', async () => {
    const name = await write();
    const first = await ok(service.call('GET', `/v1/policies/${name}`));
    service.clock.advance(1000);
    const second = await ok(put(name, { description: 'second', document: allowing('audit:verify') }));
    service.clock.advance(1000);
    const third = await ok(put(name, { document: allowing('audit:*') }));
    const { versions, next_cursor } = await ok(list(name));
    assert.equal(next_cursor, null);
    assert.deepEqual(
      versions,
      [third, second, first].map(({ version, description, document, updated_at }, at) => ({
        version,
        description,
        document,
        written_at: updated_at,
        is_current: at === 0,
      })),
    );
    assert.deepEqual([third.description, third.version], ['second', 3]);
  });

  test('come page by page, also while the policy changes', async () => {
    const name = await write();
    for (let i = 0; i < 4; i++) await ok(put(name, { document: allowing('audit:read') }));
    const page = await ok(list(name, '?limit=2'));
    assert.deepEqual(numbers(page), [5, 4]);
    await ok(put(name, { document: allowing('audit:read') }));
    const next = await ok(list(name, `?limit=2&cursor=${page.next_cursor}`));
    assert.deepEqual(numbers(next), [3, 2]);
    const last = await ok(list(name, `?limit=2&cursor=${next.next_cursor}`));
    assert.deepEqual([numbers(last), last.next_cursor], [[1], null]);
    await invalid(list(name, '?limit=0'), '/query/limit');
    await invalid(list(name, '?cursor=x'), '/query/cursor');
  });

  test('leave out a change that was refused or waits for approval', async () => {
    const tenant = await addTenant(service);
    const { token } = tenant.owner;
    const admin = await addColleague(service, tenant.id, 'admin');
    const send = (method: string, path: string, body: object) =>
      service.call(method, `/v1/policies${path}`, { token, body });
    const name = uniqueName('policy');
    await ok(send('POST', '', { name, document: allowing('audit:read') }), 201);
    const stale = { document: allowing('audit:verify'), expected_version: 7 };
    await refused(send('PUT', `/${name}`, stale), 409, 'VERSION_CONFLICT');
    const attached = await ok(send('POST', `/${name}/attach`, { principal: { user: admin.id } }), 202);
    await ok(approve(service, attached.approval_id, admin.token));
    const waiting = await ok(send('PUT', `/${name}`, { document: allowing('audit:verify') }), 202);
    assert.deepEqual(numbers(await ok(list(name, '', token))), [1]);
    await ok(approve(service, waiting.approval_id, admin.token));
    assert.deepEqual(numbers(await ok(list(name, '', token))), [2, 1]);
  });

  test('of changes at once have each number once', async () => {
    const name = await write();
    await Promise.all(Array.from({ length: 8 }, () => ok(put(name, { document: allowing('audit:read') }))));
    assert.deepEqual(numbers(await ok(list(name))), [9, 8, 7, 6, 5, 4, 3, 2, 1]);
  });

  test('are limited, and go with the policy', async () => {
    const name = await write();
    for (let i = 0; i < VERSIONS_MAX + 1; i++) await ok(put(name, { document: allowing('audit:read') }));
    const { versions } = await ok(list(name, '?limit=1000'));
    assert.equal(versions.length, VERSIONS_MAX);
    assert.equal(versions.at(-1).version, 3);
    await ok(service.call('DELETE', `/v1/policies/${name}`));
    await refused(list(name), 404, 'NOT_FOUND');
    await ok(service.call('POST', '/v1/policies', { body: { name, document: allowing('audit:read') } }), 201);
    assert.deepEqual(numbers(await ok(list(name))), [1], 'a new policy of the name has none of the former one');
  });

  test('are shown to who may read the policy, and to no other tenant', async () => {
    const name = await write();
    await ok(put(name, { document: allowing('audit:verify') }));
    const [person, reader, stranger] = [await addPerson(service), await addPerson(service), await addTenant(service)];
    await refused(list(name, '', person.token), 403, 'INSUFFICIENT_PRIVILEGE');
    await addPolicy(service, { user: reader.id }, [{ action: ['policies:read'], resource: [`policy/${name}`] }]);
    assert.deepEqual(numbers(await ok(list(name, '', reader.token))), [2, 1]);
    await refused(list(await write(), '', reader.token), 403, 'INSUFFICIENT_PRIVILEGE');
    await refused(list(name, '', stranger.owner.token), 404, 'NOT_FOUND');
  });

  test('that somebody changed in the database are refused', async () => {
    const name = await write();
    service.expectErrorLogs(/"table":"policy_versions"/);
    const { id } = await ok(put(name, { document: allowing('audit:verify') }));
    await behindItsBack(service.app.kernel.database, (db) =>
      db
        .updateTable('policy_versions')
        .set({ document: JSON.stringify(allowing('audit:*')) })
        .where('policy_id', '=', id)
        .execute(),
    );
    await refused(list(name), 500, 'INTERNAL_ERROR');
  });
});
