import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { addClusterPolicy, clusterWithSecret, fortressWriter, sync } from '../../../../test/support/fleet.ts';
import { addPerson, ok } from '../../../../test/support/people.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { addPolicy, addSecret, auditOf, secretUrl } from '../../../../test/support/vaults.ts';

onSqliteAtLanding('what clusters do not get', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  describe('a policy delivers nothing once', () => {
    const authored = async () => {
      const { cluster, vault } = await clusterWithSecret(service);
      const author = await addPerson(service, { role: 'member' });
      await addPolicy(service, { user: author.email }, [
        { action: ['cluster_policies:create'], resource: ['cluster/*'] },
      ]);
      const reading = await addPolicy(service, { user: author.email }, [
        { action: ['secrets:read'], resource: [`vault/${vault}/**`] },
      ]);
      await ok(addClusterPolicy(service, cluster, { secret_name: 'own', vault, prefix: 'db' }, author.token), 201);
      const first = await sync(service, cluster);
      assert.equal(first.body.secrets.length, 1);
      const etag = first.headers.get('etag') ?? '';
      const reason = async () => {
        const { status, body } = await sync(service, cluster, etag);
        assert.equal(status, 200);
        assert.deepEqual(body.secrets, []);
        assert.equal(body.generation, 2);
        return body.withheld[0].reason as string;
      };
      return { cluster, vault, author, reading, reason };
    };

    test('its author has lost access', async () => {
      const { cluster, author, reading, reason } = await authored();
      await ok(service.call('POST', `/v1/policies/${reading}/detach`, { body: { principal: { user: author.email } } }));
      assert.equal(await reason(), 'access_lost');
      const [entry] = await auditOf(service, `action=cluster_policies:withhold&actor=${cluster.id}`);
      assert.equal(entry.details.reason, 'access_lost');
    });

    test('its author is disabled, and delivers again once they are back', async () => {
      const { cluster, author, reason } = await authored();
      const set = (status: string) => ok(service.call('PATCH', `/v1/users/${author.id}`, { body: { status } }));
      await set('disabled');
      assert.equal(await reason(), 'author_inactive');
      await set('active');
      assert.equal((await ok(sync(service, cluster))).secrets.length, 1);
    });

    test('its author is deleted', async () => {
      const { author, reason } = await authored();
      await ok(service.call('DELETE', `/v1/users/${author.id}`));
      assert.equal(await reason(), 'author_inactive');
    });

    test('its secret has become a fortress secret', async () => {
      const { cluster, vault, reason } = await authored();
      const token = await fortressWriter(service, vault);
      await addSecret(service, vault, 'db/strong', { protection: 'fortress' }, token);
      assert.equal(await reason(), 'fortress');
      await ok(service.call('DELETE', secretUrl(vault, 'db/strong'), { token }));
      assert.equal((await ok(sync(service, cluster))).secrets.length, 1);
      const named = { namespace: 'b', vault, mappings: [{ key: 'a', path: 'db/password' }] };
      await ok(addClusterPolicy(service, cluster, named), 201);
      await ok(service.call('DELETE', secretUrl(vault, 'db/password')));
      await addSecret(service, vault, 'db/password', { protection: 'fortress' }, token);
      const { secrets, withheld } = await ok(sync(service, cluster));
      assert.deepEqual(secrets, []);
      assert.deepEqual(
        withheld.map(({ reason: why }: { reason: string }) => why),
        ['fortress', 'fortress'],
      );
    });

    test('its secret or vault is deleted', async () => {
      const { cluster, vault } = await clusterWithSecret(service);
      await ok(addClusterPolicy(service, cluster, { vault, mappings: [{ key: 'a', path: 'db/password' }] }), 201);
      await ok(sync(service, cluster));
      await ok(service.call('DELETE', secretUrl(vault, 'db/password')));
      assert.equal((await ok(sync(service, cluster))).withheld[0].reason, 'secret_missing');
      await ok(service.call('DELETE', `/v1/vaults/${vault}`));
      assert.equal((await ok(sync(service, cluster))).withheld[0].reason, 'vault_missing');
    });

    test('two secrets would have one key, or it is too large', async () => {
      const { cluster, vault } = await clusterWithSecret(service, 'a/b/c');
      await addSecret(service, vault, 'a/b.c');
      await ok(addClusterPolicy(service, cluster, { vault, prefix: 'a' }), 201);
      assert.equal((await ok(sync(service, cluster))).withheld[0].reason, 'key_conflict');
      for (const path of ['big/1', 'big/2']) await addSecret(service, vault, path, { value: 'x'.repeat(600_000) });
      await ok(addClusterPolicy(service, cluster, { namespace: 'zz', vault, prefix: 'big' }), 201);
      assert.equal((await ok(sync(service, cluster))).withheld[1].reason, 'too_large');
    });
  });
});
