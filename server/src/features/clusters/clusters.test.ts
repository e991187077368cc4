import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addCluster, type TestCluster } from '../../../../test/support/fleet.ts';
import { addPerson, addTenant, ok, refused, uniqueName } from '../../../../test/support/people.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { addPolicy } from '../../../../test/support/vaults.ts';

onSqliteAtLanding('clusters', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  test('are as many as the plan allows', async () => {
    const tenant = await addTenant(service, { plan: 'starter' });
    const { token } = tenant.owner;
    for (let i = 0; i < 3; i++) await addCluster(service, {}, token);
    const body = { name: uniqueName('cluster'), kind: 'hosts' };
    await refused(service.call('POST', '/clusters', { token, body }), 403, 'QUOTA_EXCEEDED');
  });

  test('are seen by callers who may', async () => {
    const cluster = await addCluster(service);
    const other = await addCluster(service);
    const person = await addPerson(service);
    await refused(service.call('GET', '/clusters', { token: person.token }), 403, 'INSUFFICIENT_PRIVILEGE');
    await addPolicy(service, { user: person.email }, [
      { action: ['clusters:list'], resource: ['cluster/*'] },
      { action: ['clusters:read'], resource: [`cluster/${cluster.id}`] },
    ]);
    const { clusters } = await ok(service.call('GET', '/clusters', { token: person.token }));
    assert.deepEqual(
      clusters.map(({ id }: TestCluster) => id),
      [cluster.id],
    );
    const read = (id: string) => service.call('GET', `/clusters/${id}`, { token: person.token });
    await refused(read(other.id), 403, 'INSUFFICIENT_PRIVILEGE');
    await refused(read('cluster_x'), 403, 'INSUFFICIENT_PRIVILEGE');
  });
});
