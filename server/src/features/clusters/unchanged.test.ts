import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  addCluster,
  addClusterPolicy,
  clusterWithSecret,
  fortressWriter,
  sync,
  type TestCluster,
} from '../../../../test/support/fleet.ts';
import { addPerson, ok, type Person, uniqueName } from '../../../../test/support/people.ts';
import { queriesDuring } from '../../../../test/support/queries.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { addPolicy, addSecret, addVault, secretUrl } from '../../../../test/support/vaults.ts';
import { HOUR_MS, MINUTE_MS } from '../../kernel/base/clock.ts';

/** A cluster that gets secrets by a mapping and by a prefix, from an author with rights of their own. */
interface Delivery {
  cluster: TestCluster;
  vault: string;
  author: Person;
  /** The name of the policy that lets the author read. */
  reading: string;
}

onSqliteAtLanding('an unchanged desired state', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  const call = (method: string, path: string, body?: object, token?: string) =>
    service.call(method, path, { ...(body !== undefined && { body }), ...(token !== undefined && { token }) });

  const deliver = async (condition: object = {}): Promise<Delivery> => {
    const { cluster, vault } = await clusterWithSecret(service);
    await addSecret(service, vault, 'app/key');
    const author = await addPerson(service, { role: 'member' });
    await addPolicy(service, { user: author.email }, [
      { action: ['cluster_policies:create'], resource: ['cluster/*'] },
    ]);
    const reading = await addPolicy(service, { user: author.email }, [
      { action: ['secrets:read'], resource: [`vault/${vault}/**`], ...condition },
    ]);
    const mapped = { secret_name: 'mapped', vault, mappings: [{ key: 'a', path: 'db/password' }] };
    await ok(addClusterPolicy(service, cluster, mapped, author.token), 201);
    await ok(addClusterPolicy(service, cluster, { secret_name: 'below', vault, prefix: 'app' }, author.token), 201);
    return { cluster, vault, author, reading };
  };

  /** Fetches until the service has recognized more than once that nothing changed. */
  const settled = async ({ cluster }: Pick<Delivery, 'cluster'>) => {
    const etag = (await sync(service, cluster)).headers.get('etag') ?? '';
    for (let i = 0; i < 3; i++) assert.equal((await sync(service, cluster, etag)).status, 304);
    return etag;
  };

  test('is recognized without reading a row of a secret', async () => {
    const delivery = await deliver();
    const other = await addVault(service);
    const etag = await settled(delivery);
    // A change elsewhere, after which the version of the database no longer says that nothing changed.
    await addSecret(service, other, 'elsewhere');
    const { result, queries, rows } = await queriesDuring(() => sync(service, delivery.cluster, etag));
    assert.equal(result.status, 304);
    const reading = queries.filter((sql) => /from "secrets"/.test(sql));
    assert.equal(reading.length, 2, 'one statement for the mappings of the vault and one for the prefix');
    assert.ok(reading.every((sql) => /string_agg/.test(sql)));
    assert.ok(rows < 10, `${rows} rows`);
  });

  describe('is answered in full once', () => {
    const secret = (path: string) => (delivery: Delivery) => secretUrl(delivery.vault, path);
    const changes: Record<string, (delivery: Delivery) => Promise<unknown>> = {
      'a value is replaced': (d) => ok(call('PUT', secret('db/password')(d), { value: 'new' })),
      'metadata change, which is a new version': (d) =>
        ok(call('PUT', secret('db/password')(d), { metadata: { description: 'another' } })),
      'a secret is rotated': (d) =>
        ok(call('POST', `${secret('app/key')(d)}/rotate`, { reason: 'test', value: 'next' })),
      'an earlier version is back': async (d) => {
        await ok(call('PUT', secret('app/key')(d), { value: 'new' }));
        await ok(call('POST', `${secret('app/key')(d)}/rollback`, { to_version: 1, reason: 'test' }));
      },
      'a secret is deleted': (d) => ok(call('DELETE', secret('db/password')(d))),
      'a secret is created below the prefix': (d) => addSecret(service, d.vault, 'app/new'),
      'a secret is moved away': (d) => ok(call('POST', `${secret('app/key')(d)}/move`, { to_path: 'elsewhere/key' })),
      'a secret is moved to another vault': async (d) => {
        const vault = await addVault(service);
        await ok(call('POST', `${secret('db/password')(d)}/move`, { to_vault: vault, to_path: 'db/password' }));
      },
      'a fortress secret appears below the prefix': async (d) =>
        addSecret(service, d.vault, 'app/strong', { protection: 'fortress' }, await fortressWriter(service, d.vault)),
      'a secret is replaced by a fortress secret': async (d) => {
        await ok(call('DELETE', secret('db/password')(d)));
        const token = await fortressWriter(service, d.vault);
        await addSecret(service, d.vault, 'db/password', { protection: 'fortress' }, token);
      },
      'the vault is deleted': (d) => ok(call('DELETE', `/v1/vaults/${d.vault}`)),
      'the author loses the policy': (d) =>
        ok(call('POST', `/v1/policies/${d.reading}/detach`, { principal: { user: d.author.email } })),
      'the policy of the author is narrowed': (d) => {
        const resource = [`vault/${d.vault}/db/*`];
        const statement = [{ effect: 'allow', action: ['secrets:read'], resource }];
        return ok(call('PUT', `/v1/policies/${d.reading}`, { document: { version: '2026-01-01', statement } }));
      },
      'a deny is added': (d) =>
        addPolicy(service, { user: d.author.email }, [
          { effect: 'deny', action: ['secrets:read'], resource: [`vault/${d.vault}/app/*`] },
        ]),
      'the author is disabled': (d) => ok(call('PATCH', `/v1/users/${d.author.id}`, { status: 'disabled' })),
      'the author is deleted': (d) => ok(call('DELETE', `/v1/users/${d.author.id}`)),
      'a policy is added': (d) =>
        ok(addClusterPolicy(service, d.cluster, { vault: d.vault, prefix: 'app' }, d.author.token), 201),
      'a policy is deleted': async (d) => {
        const { policies } = await ok(call('GET', `/clusters/${d.cluster.id}/policies`));
        await ok(call('DELETE', `/clusters/${d.cluster.id}/policies/${policies[0].id}`));
      },
    };
    for (const [name, change] of Object.entries(changes)) {
      test(name, async () => {
        const delivery = await deliver();
        const etag = await settled(delivery);
        await change(delivery);
        const answer = await sync(service, delivery.cluster, etag);
        assert.equal(answer.status, 200);
        assert.deepEqual(answer.body, (await sync(service, delivery.cluster)).body);
        await settled(delivery);
      });
    }
  });

  test('is answered in full again when what was deleted is restored', async () => {
    const delivery = await deliver();
    const { cluster, vault } = delivery;
    const whole = await settled(delivery);
    await ok(call('DELETE', secretUrl(vault, 'db/password')));
    const without = (await sync(service, cluster, whole)).headers.get('etag') ?? '';
    assert.equal((await sync(service, cluster, without)).status, 304);
    await ok(call('POST', secretUrl(vault, 'db/password', 'restore'), {}));
    const restored = await sync(service, cluster, without);
    assert.deepEqual([restored.status, restored.body.secrets.length, restored.body.withheld], [200, 2, []]);
    await ok(call('DELETE', `/v1/vaults/${vault}`));
    const gone = await sync(service, cluster, restored.headers.get('etag') ?? '');
    assert.deepEqual([gone.status, gone.body.secrets], [200, []]);
    await ok(call('POST', `/v1/vaults/${vault}/restore`, {}));
    assert.equal((await sync(service, cluster, gone.headers.get('etag') ?? '')).body.secrets.length, 2);
  });

  test('ends when the hours end in which the author may read', async () => {
    const start = new Date(service.clock.now());
    const end = new Date(service.clock.now() + HOUR_MS);
    const text = (time: Date) => time.toISOString().slice(11, 16);
    const delivery = await deliver({ condition: { time_between: [{ from: text(start), to: text(end) }] } });
    const etag = await settled(delivery);
    service.clock.advance(HOUR_MS + MINUTE_MS);
    const { status, body } = await sync(service, delivery.cluster, etag);
    assert.deepEqual([status, body.secrets, body.withheld[0].reason], [200, [], 'access_lost']);
  });

  test('of a composed environment follows its bindings', async () => {
    const cluster = await addCluster(service);
    const vault = await addVault(service);
    const [one, two] = [await addSecret(service, vault, 'one'), await addSecret(service, vault, 'two')];
    const { id } = await ok(call('POST', '/environments', { name: uniqueName('env') }), 201);
    const bind = ({ secret_id }: { secret_id: number }) => ({ secret_id, key_name: 'KEY' });
    await ok(call('POST', `/environments/${id}/secrets`, bind(one)), 201);
    await ok(addClusterPolicy(service, cluster, { environment_id: id }), 201);
    const etag = await settled({ cluster });
    await ok(call('DELETE', `/environments/${id}/secrets/${one.secret_id}`));
    await ok(call('POST', `/environments/${id}/secrets`, bind(two)), 201);
    const { status, body } = await sync(service, cluster, etag);
    assert.deepEqual([status, Buffer.from(body.secrets[0].data.KEY, 'base64').toString()], [200, 'value of two']);
  });
});
