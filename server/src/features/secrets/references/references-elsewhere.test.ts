import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addClusterPolicy, clusterWithSecret, sync } from '../../../../../test/support/fleet.ts';
import { addConnection, callAs } from '../../../../../test/support/machines.ts';
import { addColleague, addTenant, ok, refused, type Tenant } from '../../../../../test/support/people.ts';
import { recompute } from '../../../../../test/support/risk.ts';
import { type Answer, onBothDatabases, type Service, startService } from '../../../../../test/support/service.ts';
import { Receiver } from '../../../../../test/support/siem-receivers.ts';
import { until } from '../../../../../test/support/until.ts';
import { addPolicy, addSecret, addVault, auditOf, secretUrl } from '../../../../../test/support/vaults.ts';

onBothDatabases('templates elsewhere', (database, { rule }) => {
  let service: Service;
  before(async () => {
    service = await startService(database, { env: { CV_OUTBOUND_ALLOW: '127.0.0.1/32' } });
  });
  after(() => service.close());

  test('clusters get them resolved, with the rights of the author, and again when a part changes', async () => {
    const { cluster, vault } = await clusterWithSecret(service);
    const author = await addColleague(service, (await ok(service.call('GET', '/auth/me'))).tenant.id, 'member');
    const { id: user } = author;
    await addPolicy(service, { user }, [{ action: ['cluster_policies:create'], resource: ['cluster/*'] }]);
    await addPolicy(service, { user }, [{ action: ['secrets:read'], resource: [`vault/${vault}/app/*`] }]);
    const part = { action: ['secrets:read'], resource: [`vault/${vault}/db/*`] };
    const reading = await addPolicy(service, { user }, [part]);
    const body = { type: 'template', value: `<{{coffer://${vault}/db/password}}>` };
    const made = await addSecret(service, vault, 'app/url', body);
    const mappings = [
      { key: 'url', path: 'app/url' },
      { key: 'password', path: 'db/password' },
    ];
    await ok(addClusterPolicy(service, cluster, { secret_name: 'own', vault, mappings }, author.token), 201);
    const first = await sync(service, cluster);
    const urlOf = ({ secrets }: Answer['body']) => Buffer.from(secrets[0].data.url, 'base64').toString();
    assert.equal(urlOf(first.body), '<value of db/password>');
    const etag = first.headers.get('etag') ?? '';
    assert.equal((await sync(service, cluster, etag)).status, 304);
    await ok(service.call('PUT', secretUrl(vault, 'db/password'), { body: { value: 'n3w' } }));
    const second = await sync(service, cluster, etag);
    assert.equal(urlOf(second.body), '<n3w>');
    assert.equal(second.body.generation, 2);
    const entries = await auditOf(service, `action=secrets:read&resource=vault/${vault}/db/password`);
    const byTemplate = entries.find(({ details }: Answer['body']) => details.template !== undefined);
    assert.equal(byTemplate.details.template, `vault/${vault}/app/url`);
    assert.notEqual(byTemplate.details.secret, made.id);

    const again = second.headers.get('etag') ?? '';
    await ok(service.call('POST', `/v1/policies/${reading}/detach`, { body: { principal: { user } } }));
    const reason = async () => {
      const { secrets, withheld } = await ok(sync(service, cluster, again));
      assert.deepEqual(secrets, []);
      return withheld[0].reason;
    };
    assert.equal(await reason(), 'access_lost');
    await ok(service.call('POST', `/v1/policies/${reading}/attach`, { body: { principal: { user } } }));
    await ok(service.call('DELETE', secretUrl(vault, 'db/password')));
    assert.equal(await reason(), 'secret_missing');
  });

  test('a writer of what a policy delivers does not choose what else the rights of its author deliver', async () => {
    const { cluster, vault } = await clusterWithSecret(service);
    const crown = await addVault(service);
    await addSecret(service, crown, 'crown/password', { value: 'crown jewel' });
    const values = [
      `{{coffer://${crown}/crown/password}}`,
      `{{coffer://${crown}/no/such}}`,
      `{{coffer://${vault}/db/password}}`,
    ];
    for (const [at, value] of values.entries()) {
      await addSecret(service, vault, `app/url${at}`, { type: 'template', value });
      const mappings = [{ key: 'url', path: `app/url${at}` }];
      await ok(addClusterPolicy(service, cluster, { secret_name: `own${at}`, vault, mappings }), 201);
    }
    const { secrets, withheld } = await ok(sync(service, cluster));
    assert.deepEqual(secrets, []);
    assert.deepEqual(
      withheld.map(({ reason }: { reason: string }) => reason),
      ['access_lost', 'access_lost', 'access_lost'],
    );
  });

  rule('machines need every part within their vaults, paths and addresses', async () => {
    const vault = await addVault(service);
    await addSecret(service, vault, 'db/password', { value: '{"user":"a"}', type: 'json' });
    const value = `{"user":"{{coffer://${vault}/db/password#/user}}"}`;
    await addSecret(service, vault, 'app/url', { type: 'template', value });
    const connection = (allowed_paths: string[], scopes: string[]) =>
      addConnection(service, vault, { allowed_paths, scopes });
    const read = async (allowed_paths: string[]) =>
      callAs(service, await connection(allowed_paths, ['secrets:read']), 'GET', secretUrl(vault, 'app/url'));
    const whole = await ok(read(['app/*', 'db/*']));
    assert.equal(whole.value, '{"user":"a"}');
    await refused(read(['app/*']), 403, 'INSUFFICIENT_PRIVILEGE');
    const operated = async (allowed_paths: string[]) => {
      const machine = await connection(allowed_paths, ['eso:read']);
      return callAs(service, machine, 'GET', `/eso/secrets/by-name?vault=${vault}&name=app/url&property=user`);
    };
    const served = await ok(operated(['app/*', 'db/*']));
    assert.equal(served.value, 'a');
    assert.deepEqual(
      served.parts.map(({ path }: { path: string }) => path),
      ['db/password'],
    );
    await refused(operated(['app/*']), 403, 'INSUFFICIENT_PRIVILEGE');
  });

  test('a rotation of a part is announced for the template, and reports count who may read all of it', async () => {
    const tenant: Tenant = await addTenant(service);
    const { token } = tenant.owner;
    const call = (method: string, path: string, body?: unknown) =>
      service.call(method, path, { token, ...(body !== undefined && { body }) });
    const vault = await addVault(service, {}, token);
    const made = await addSecret(service, vault, 'db/key', { type: 'api_key' }, token);
    const value = `<{{coffer://${vault}/db/key}}>`;
    const whole = await addSecret(service, vault, 'app/url', { type: 'template', value }, token);
    const receiver = await Receiver.start();
    await ok(call('POST', '/webhooks', { url: receiver.url, events: ['secret.rotated'] }), 201);
    await ok(call('POST', secretUrl(vault, 'db/key', 'rotate'), {}));
    await until('the events do not arrive', () => receiver.requests.length >= 2);
    const events = receiver.requests.map(({ body }) => JSON.parse(body).secret);
    assert.deepEqual(events.map(({ id }) => id).toSorted(), [made.id, whole.id].toSorted());
    const ofTemplate = events.find(({ id }) => id === whole.id);
    assert.deepEqual(ofTemplate.part, { id: made.id, vault, path: 'db/key', version: 2 });
    await receiver.close();

    const colleague = await addColleague(service, tenant.id, 'member');
    const reading = (path: string) => ({ action: ['secrets:read'], resource: [`vault/${vault}/${path}/*`] });
    await addPolicy(service, { user: colleague.id }, [reading('app')], token);
    const resource = `vault/${vault}/app/url`;
    const isAmong = async () => {
      const { principals } = await ok(call('POST', '/v1/policies/who-can', { action: 'secrets:read', resource }));
      return principals.some(({ id }: { id: string }) => id === colleague.id);
    };
    const hasPath = async () => {
      await recompute(service, token);
      const { attack_paths } = await ok(call('GET', '/attack-paths?limit=1000'));
      return attack_paths.some(
        ({ steps }: Answer['body']) => steps[0].id === colleague.id && steps.at(-1).id === whole.id,
      );
    };
    assert.deepEqual([await isAmong(), await hasPath()], [false, false]);
    await addPolicy(service, { user: colleague.id }, [reading('db')], token);
    assert.equal(await isAmong(), true);
    await ok(call('DELETE', secretUrl(vault, 'db/key')));
    assert.equal(await hasPath(), false);
  });
});
