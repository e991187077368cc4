import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  addCluster,
  addClusterPolicy,
  clusterWithSecret,
  fortressWriter,
  sync,
} from '../../../../test/support/fleet.ts';
import {
  addColleague,
  addPerson,
  addTenant,
  approve,
  approved,
  ok,
  refused,
  uniqueName,
} from '../../../../test/support/people.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { addPolicy, addSecret, addVault } from '../../../../test/support/vaults.ts';

onSqliteAtLanding('policies of clusters', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  test('are listed and deleted, and hold one Secret name each', async () => {
    const { cluster, vault } = await clusterWithSecret(service);
    const body = { secret_name: 'db', vault, mappings: [{ key: 'password', path: 'db/password' }] };
    const made = await ok(addClusterPolicy(service, cluster, body), 201);
    assert.deepEqual([made.secret_type, made.vault, made.mappings], ['Opaque', vault, body.mappings]);
    await refused(addClusterPolicy(service, cluster, body), 409, 'ALREADY_EXISTS');
    const { policies } = await ok(service.call('GET', `/clusters/${cluster.id}/policies`));
    assert.deepEqual(policies, [made]);
    const other = await addCluster(service);
    const gone = (id: string) => service.call('DELETE', `/clusters/${id}/policies/${made.id}`);
    await refused(gone(other.id), 404, 'NOT_FOUND');
    await ok(gone(cluster.id));
    await refused(gone(cluster.id), 404, 'NOT_FOUND');
  });

  test('malformed, they are refused', async () => {
    const { cluster, vault } = await clusterWithSecret(service);
    const mappings = [{ key: 'a', path: 'db/password' }];
    const hosts = await addCluster(service, { kind: 'hosts' });
    await refused(addClusterPolicy(service, hosts, { vault, mappings }), 422, 'VALIDATION_FAILED');
    for (const wrong of [
      { vault },
      { mappings },
      { vault, mappings, prefix: 'db' },
      { vault, environment_id: 1 },
      { vault, mappings: [...mappings, ...mappings] },
      { vault, mappings: [{ key: '..', path: 'db/password' }] },
      { vault, mappings: [{ key: '__proto__', path: 'db/password' }] },
      { vault, mappings: [{ key: 'a/b', path: 'db/password' }] },
      { vault, mappings: [{ key: 'a', path: '../password' }] },
      { vault, prefix: 'db/../x' },
      { vault, mappings, namespace: 'Shop' },
      { vault, mappings, secret_name: '../x' },
      { vault, mappings, secret_type: 'a b' },
      { vault, mappings: Array.from({ length: 1001 }, (_, i) => ({ key: `k${i}`, path: 'db/password' })) },
    ]) {
      await refused(addClusterPolicy(service, cluster, wrong), 422, 'VALIDATION_FAILED');
    }
  });

  test('name only what their author may read, and what exists', async () => {
    const { cluster, vault } = await clusterWithSecret(service);
    const person = await addPerson(service);
    await addPolicy(service, { user: person.email }, [
      { action: ['cluster_policies:create'], resource: ['cluster/*'] },
      { action: ['secrets:read'], resource: [`vault/${vault}/open/*`] },
    ]);
    await addSecret(service, vault, 'open/a');
    const as = (body: object) => addClusterPolicy(service, cluster, { vault, ...body }, person.token);
    await ok(as({ mappings: [{ key: 'a', path: 'open/a' }] }), 201);
    await ok(as({ prefix: 'open' }), 201);
    const forbidden = [
      { mappings: [{ key: 'a', path: 'db/password' }] },
      { mappings: [{ key: 'a', path: 'db/never-was' }] },
      { vault: 'never-was', mappings: [{ key: 'a', path: 'open/a' }] },
      { prefix: 'db' },
      { vault: 'never-was', prefix: 'open' },
      { vault: undefined, environment_id: 1 },
    ];
    for (const body of forbidden) await refused(as(body), 403, 'INSUFFICIENT_PRIVILEGE');
    await refused(as({ mappings: [{ key: 'a', path: 'open/never-was' }] }), 404, 'SECRET_NOT_FOUND');
    const admin = (body: object) => addClusterPolicy(service, cluster, { vault, ...body });
    await refused(admin({ vault: 'never-was', prefix: 'x' }), 404, 'VAULT_NOT_FOUND');
    await refused(admin({ vault: undefined, environment_id: 999_999 }), 404, 'NOT_FOUND');
  });

  test('refuse fortress secrets and zero-knowledge vaults', async () => {
    const cluster = await addCluster(service);
    const vault = await addVault(service);
    await addSecret(service, vault, 'keep/a', { protection: 'fortress' }, await fortressWriter(service, vault));
    const mappings = [{ key: 'a', path: 'keep/a' }];
    await refused(addClusterPolicy(service, cluster, { vault, mappings }), 422, 'VALIDATION_FAILED');
    await refused(addClusterPolicy(service, cluster, { vault, prefix: 'keep' }), 422, 'VALIDATION_FAILED');
    const sealed = await addVault(service, { is_zero_knowledge: true });
    await refused(addClusterPolicy(service, cluster, { vault: sealed, prefix: 'keep' }), 409, 'ZkBoundaryViolation');
  });

  test('belong to one tenant', async () => {
    const { cluster, vault } = await clusterWithSecret(service);
    const tenant = await addTenant(service);
    const token = tenant.owner.token;
    await refused(addClusterPolicy(service, cluster, { vault, prefix: 'db' }, token), 404, 'NOT_FOUND');
    const own = await addCluster(service, {}, token);
    await refused(addClusterPolicy(service, own, { vault, prefix: 'db' }, token), 404, 'VAULT_NOT_FOUND');
  });

  describe('from production need a second person', () => {
    /** A tenant with two people who may approve. */
    const withTwo = async () => {
      const tenant = await addTenant(service);
      const { token } = tenant.owner;
      const second = await addColleague(service, tenant.id, 'admin');
      const cluster = await addCluster(service, {}, token);
      const vault = await addVault(service, { environment: 'production' }, token);
      await addSecret(service, vault, 'db/password', { environment: 'production' }, token);
      return { token, second: second.token, cluster, vault };
    };
    const policiesOf = async ({ id }: { id: string }, token: string) =>
      (await ok(service.call('GET', `/clusters/${id}/policies`, { token }))).policies;

    test('and deliver nothing before', async () => {
      const { token, second, cluster, vault } = await withTwo();
      for (const source of [{ prefix: 'db' }, { mappings: [{ key: 'a', path: 'db/password' }] }]) {
        const asked = await ok(addClusterPolicy(service, cluster, { vault, ...source }, token), 202);
        assert.equal(asked.approval, 'rbac_change');
        assert.deepEqual(await policiesOf(cluster, token), []);
        assert.deepEqual((await ok(sync(service, cluster))).secrets, []);
        const shown = await ok(service.call('GET', `/approvals/${asked.approval_id}`, { token: second }));
        assert.match(JSON.stringify(shown.request.differences), new RegExp(`"name":"${vault}"`));
        await refused(approve(service, asked.approval_id, token), 403, 'INSUFFICIENT_PRIVILEGE');
        const reject = `/approvals/${asked.approval_id}/reject`;
        await ok(service.call('POST', reject, { token: second, body: { reason: 'not there' } }));
        assert.deepEqual((await ok(sync(service, cluster))).secrets, []);
      }
      await approved(service, addClusterPolicy(service, cluster, { vault, prefix: 'db' }, token), second);
      assert.equal((await ok(sync(service, cluster))).secrets.length, 1);
      const [policy] = await policiesOf(cluster, token);
      await ok(service.call('DELETE', `/clusters/${cluster.id}/policies/${policy.id}`, { token }));
    });

    test('also by a composed environment, to which they can be bound later', async () => {
      const { token, second, cluster } = await withTwo();
      const body = { name: uniqueName('env') };
      const { id: environment_id } = await ok(service.call('POST', '/environments', { token, body }), 201);
      await approved(service, addClusterPolicy(service, cluster, { environment_id }, token), second);
      assert.equal((await policiesOf(cluster, token)).length, 1);
    });

    test('but not from another vault', async () => {
      const { token, cluster } = await withTwo();
      const vault = await addVault(service, {}, token);
      await ok(addClusterPolicy(service, cluster, { vault, prefix: 'db' }, token), 201);
    });

    test('for whom the secrets are still readable when it is approved', async () => {
      const { token, second, cluster, vault } = await withTwo();
      const asked = await ok(addClusterPolicy(service, cluster, { vault, prefix: 'db' }, token), 202);
      const factor = { protection: 'fortress', environment: 'production' };
      const { tenant } = await ok(service.call('GET', '/auth/me', { token }));
      const strong = await addColleague(service, tenant.id, 'owner', { mfaAt: service.clock.now() });
      await addSecret(service, vault, 'db/strong', factor, strong.token);
      const { status } = await ok(approve(service, asked.approval_id, second));
      assert.equal(status, 'failed');
      assert.deepEqual(await policiesOf(cluster, token), []);
    });
  });
});
