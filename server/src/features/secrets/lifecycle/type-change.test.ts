import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addPerson, invalid, ok, refused, uniqueName } from '../../../../../test/support/people.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../../test/support/service.ts';
import { LOCALHOST_CERTIFICATE } from '../../../../../test/support/test-keys.ts';
import { addPolicy, addSecret, addVault, auditOf, readValue, secretUrl } from '../../../../../test/support/vaults.ts';

onSqliteAtLanding('the type of a secret', (database) => {
  let service: Service;
  let vault: string;
  before(async () => {
    service = await startService(database);
    vault = await addVault(service);
  });
  after(() => service.close());

  const update = (path: string, body: object, token = service.adminToken) =>
    service.call('PUT', secretUrl(vault, path), { body, token });
  const listed = async (path: string, type: string) => {
    const { secrets } = await ok(service.call('GET', `/v1/vaults/${vault}/secrets?type=${type}&prefix=${path}`));
    return secrets.map((each: { path: string; version: number }) => [each.path, each.version]);
  };
  const storedEnd = async (path: string) => {
    const { id } = await ok(service.call('GET', secretUrl(vault, path)));
    const query = service.app.kernel.database.read
      .selectFrom('secrets')
      .select('expires_at')
      .where('secret_id', '=', id);
    return (await query.executeTakeFirstOrThrow()).expires_at;
  };

  test('changes with a value that fits it, and a rollback brings back the type of the older version', async () => {
    const path = uniqueName('s');
    await addSecret(service, vault, path, { value: 'not JSON' });
    const changed = await ok(update(path, { type: 'json', value: '{"a":1}', reason: 'it is JSON' }));
    assert.deepEqual([changed.type, changed.version], ['json', 2]);
    assert.deepEqual(await listed(path, 'json'), [[path, 2]]);
    assert.deepEqual(await listed(path, 'generic'), []);
    await invalid(update(path, { value: 'not JSON' }), '/body/value');
    const [entry] = await auditOf(service, `resource=vault/${vault}/${path}&action=secrets:update&decision=allow`);
    assert.deepEqual(entry.details.changed, ['type', 'value']);

    await ok(service.call('POST', secretUrl(vault, path, 'rollback'), { body: { to_version: 1 } }));
    assert.deepEqual(await listed(path, 'generic'), [[path, 3]]);
    assert.equal(await readValue(service, vault, path), 'not JSON');
    const { type } = await ok(service.call('GET', `${secretUrl(vault, path)}?version=2`));
    assert.equal(type, 'json');
  });

  test('needs a value of its form, from callers without permission to read it too, and nothing changes otherwise', async () => {
    const path = uniqueName('s');
    await addSecret(service, vault, path, { value: '{}' });
    await invalid(update(path, { type: 'json' }), '/body/value');
    await invalid(update(path, { type: 'json', metadata: { owner: 'ada' } }), '/body/value');
    await invalid(update(path, { type: 'json', value: 'not JSON' }), '/body/value');
    await invalid(update(path, { type: 'No Type', value: '{}' }), '/body/type');
    const writer = await addPerson(service);
    const statement = { action: ['secrets:update'], resource: [`vault/${vault}/*`] };
    await addPolicy(service, { user: writer.id }, [statement]);
    await invalid(update(path, { type: 'json' }, writer.token), '/body/value');
    await refused(
      update(path, { type: 'json', value: '{}' }, (await addPerson(service)).token),
      403,
      'INSUFFICIENT_PRIVILEGE',
    );
    await refused(update(path, { type: 'json', value: '{}', expected_version: 7 }), 409, 'VERSION_CONFLICT');
    assert.deepEqual(await listed(path, 'generic'), [[path, 1]]);
    assert.equal((await ok(update(path, { type: 'json', value: '[]' }, writer.token))).type, 'json');
  });

  test('is refused while the schedule of rotations does not fit it', async () => {
    const path = uniqueName('s');
    await addSecret(service, vault, path, { type: 'password', value: 'first', rotation: { interval_days: 30 } });
    const json = { type: 'json', value: '{}' };
    await refused(update(path, json), 422, 'ROTATION_NOT_CONFIGURED');
    assert.equal((await ok(update(path, { ...json, rotation: null }))).type, 'json');
    // Back to a password with a schedule, and then not to a version that was none.
    await ok(update(path, { type: 'password', value: 'second', rotation: { interval_days: 30 } }));
    await refused(
      service.call('POST', secretUrl(vault, path, 'rollback'), { body: { to_version: 2 } }),
      422,
      'ROTATION_NOT_CONFIGURED',
    );
    assert.deepEqual(await listed(path, 'password'), [[path, 3]]);
  });

  test('of a certificate lets its end be known, and another type removes it', async () => {
    const path = uniqueName('s');
    await addSecret(service, vault, path, { value: LOCALHOST_CERTIFICATE });
    assert.equal(await storedEnd(path), null);
    await ok(update(path, { type: 'certificate', value: LOCALHOST_CERTIFICATE }));
    assert.notEqual(await storedEnd(path), null);
    await ok(service.call('POST', secretUrl(vault, path, 'rollback'), { body: { to_version: 1 } }));
    assert.equal(await storedEnd(path), null);
  });
});
