import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addPerson, ok, uniqueName } from '../../../../test/support/people.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { addPolicy, addSecret, addVault, secretUrl } from '../../../../test/support/vaults.ts';

onSqliteAtLanding('where the secrets of a composed environment are', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  test('is said to callers who may list them, as it is now', async () => {
    const vault = await addVault(service);
    const { id } = await ok(service.call('POST', '/environments', { body: { name: uniqueName('env') } }), 201);
    const url = `/environments/${id}/secrets`;
    const placesFor = async (token?: string) => {
      const { secrets } = await ok(service.call('GET', url, token === undefined ? {} : { token }));
      return secrets.map((each: { vault: unknown; path: unknown }) => [each.vault, each.path]);
    };
    for (const [key_name, path] of Object.entries({ A: 'db/one', B: 'db/two', C: 'mail' })) {
      const secret = await addSecret(service, vault, path);
      const bound = await ok(service.call('POST', url, { body: { key_name, secret_id: secret.id } }), 201);
      assert.deepEqual([bound.vault, bound.path], [vault, path]);
    }
    const environments = { action: ['environments:*'], resource: ['environment', 'environment/**'] };
    const [blind, partly] = [await addPerson(service), await addPerson(service)];
    await addPolicy(service, { user: blind.id }, [environments]);
    const listing = { action: ['secrets:list'], resource: [`vault/${vault}/db/*`] };
    await addPolicy(service, { user: partly.id }, [environments, listing]);
    assert.deepEqual(await placesFor(), [
      [vault, 'db/one'],
      [vault, 'db/two'],
      [vault, 'mail'],
    ]);
    assert.deepEqual(await placesFor(partly.token), [
      [vault, 'db/one'],
      [vault, 'db/two'],
      [null, null],
    ]);
    assert.deepEqual(await placesFor(blind.token), Array(3).fill([null, null]));

    await ok(service.call('POST', secretUrl(vault, 'db/one', 'move'), { body: { to_path: 'hidden' } }));
    await ok(service.call('DELETE', secretUrl(vault, 'mail')));
    assert.deepEqual(await placesFor(), [
      [vault, 'hidden'],
      [vault, 'db/two'],
      [null, null],
    ]);
    assert.deepEqual(await placesFor(partly.token), [
      [null, null],
      [vault, 'db/two'],
      [null, null],
    ]);
  });
});
