import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  addCluster,
  addClusterPolicy,
  callAsCluster,
  clusterWithSecret,
  sync,
  type TestCluster,
} from '../../../../test/support/fleet.ts';
import { addPerson, addTenant, addToken, ok, refused, uniqueName } from '../../../../test/support/people.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { addPolicy } from '../../../../test/support/vaults.ts';

onSqliteAtLanding('tokens of clusters', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  test('are shown once and stored as a hash', async () => {
    const cluster = await addCluster(service);
    assert.match(cluster.cluster_token, /^cv_cluster_[0-9A-Za-z]{49}$/);
    const read = await ok(service.call('GET', `/clusters/${cluster.id}`));
    assert.equal('cluster_token' in read, false);
    const { clusters } = await ok(service.call('GET', '/clusters'));
    assert.ok(clusters.some(({ id }: TestCluster) => id === cluster.id));
    const { database: db } = service.app.kernel;
    const rows = await db.read.selectFrom('clusters').selectAll().execute();
    assert.equal(JSON.stringify(rows).includes(cluster.cluster_token), false);
    assert.equal(service.logs.join('').includes(cluster.cluster_token), false);
    await ok(sync(service, cluster));
  });

  test('replaced without overlap, it is refused at once', async () => {
    const cluster = await addCluster(service);
    await ok(sync(service, cluster));
    const rotated = await ok(service.call('POST', `/clusters/${cluster.id}/rotate-token`, { body: {} }));
    assert.equal(rotated.former_token_until, null);
    await refused(sync(service, cluster), 401, 'INVALID_TOKEN');
    await ok(sync(service, { ...cluster, cluster_token: rotated.cluster_token }));
  });

  test('replaced with overlap, both are accepted until it ends, and never one before', async () => {
    const cluster = await addCluster(service);
    const rotate = () =>
      ok(service.call('POST', `/clusters/${cluster.id}/rotate-token`, { body: { overlap_seconds: 600 } }));
    const second = { ...cluster, cluster_token: (await rotate()).cluster_token };
    await ok(sync(service, cluster));
    await ok(sync(service, second));
    const third = { ...cluster, cluster_token: (await rotate()).cluster_token };
    await refused(sync(service, cluster), 401, 'INVALID_TOKEN');
    await ok(sync(service, second));
    service.clock.advance(601_000);
    await refused(sync(service, second), 401, 'INVALID_TOKEN');
    await ok(sync(service, third));
    assert.equal((await ok(service.call('GET', `/clusters/${cluster.id}`))).former_token_until, null);
  });

  test('of a deleted cluster open nothing, and neither do forged ones', async () => {
    const cluster = await addCluster(service);
    await ok(service.call('DELETE', `/clusters/${cluster.id}`));
    await refused(sync(service, cluster), 401, 'INVALID_TOKEN');
    for (const token of ['cv_cluster_x', `${cluster.cluster_token}x`, cluster.cluster_token.replace(/.$/, '!')]) {
      await refused(sync(service, { ...cluster, cluster_token: token }), 401, 'INVALID_TOKEN');
    }
    await refused(service.call('GET', `/clusters/${cluster.id}`), 404, 'NOT_FOUND');
  });

  test('open nothing outside their own cluster, whether another exists or not', async () => {
    const cluster = await addCluster(service);
    const other = await addCluster(service);
    const tenant = await addTenant(service);
    const foreign = await addCluster(service, {}, tenant.owner.token);
    const alike = `${cluster.id.slice(0, -1)}${cluster.id.endsWith('0') ? '1' : '0'}`;
    const told = new Set<string>();
    for (const id of [other.id, foreign.id, alike, 'cluster_x']) {
      for (const [method, path, body] of [
        ['GET', 'desired-state', undefined],
        ['POST', 'status', { generation: 0, results: [] }],
      ] as const) {
        const answer = await callAsCluster(service, cluster, method, `/clusters/${id}/${path}`, { body });
        assert.equal(answer.status, 403, answer.text);
        told.add(answer.body.error.message.replace(/clusters:\w+/, ''));
      }
    }
    assert.equal(told.size, 1, 'every answer is the same');
    await refused(callAsCluster(service, cluster, 'GET', `/clusters/${cluster.id}`), 403, 'INSUFFICIENT_PRIVILEGE');
    await refused(callAsCluster(service, cluster, 'GET', '/v1/vaults'), 403, 'INSUFFICIENT_PRIVILEGE');
    await refused(service.call('GET', `/clusters/${cluster.id}/desired-state`), 403, 'INSUFFICIENT_PRIVILEGE');
    const both = { headers: { 'x-cluster-token': cluster.cluster_token } };
    await refused(service.call('GET', `/clusters/${cluster.id}/desired-state`, both), 401, 'INVALID_TOKEN');
  });

  test('are replaced only by callers who may read all that the cluster gets', async () => {
    const { cluster, vault } = await clusterWithSecret(service);
    const person = await addPerson(service);
    await addPolicy(service, { user: person.email }, [{ action: ['clusters:*'], resource: ['cluster/*'] }]);
    const rotate = () =>
      service.call('POST', `/clusters/${cluster.id}/rotate-token`, { token: person.token, body: {} });
    await ok(rotate());
    await ok(addClusterPolicy(service, cluster, { vault, mappings: [{ key: 'a', path: 'db/password' }] }), 201);
    await refused(rotate(), 403, 'INSUFFICIENT_PRIVILEGE');
    const scoped = await addToken(service, service.adminToken, { scope: { actions: ['clusters:*'] } });
    const body = { name: uniqueName('cluster'), kind: 'hosts' };
    await refused(service.call('POST', '/clusters', { token: scoped.token, body }), 403, 'INSUFFICIENT_PRIVILEGE');
  });
});
