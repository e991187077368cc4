import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { addClusterPolicy, clusterWithSecret, sync } from '../../../../test/support/fleet.ts';
import { ok, uniqueName } from '../../../../test/support/people.ts';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { addSecret, auditOf, secretUrl } from '../../../../test/support/vaults.ts';

const sha256 = (value: unknown) => createHash('sha256').update(JSON.stringify(value)).digest('hex');
const base64 = (text: string) => Buffer.from(text).toString('base64');
const put = (service: Service, vault: string, path: string, value: string) =>
  ok(service.call('PUT', secretUrl(vault, path), { body: { value } }));

onBothDatabases('the desired state of a cluster', (database, { rule }) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  rule('has values in base64, with checksums that anybody can compute', async () => {
    const { cluster, vault } = await clusterWithSecret(service);
    await addSecret(service, vault, 'db/user', { value: 'ada' });
    const mappings = [
      { key: 'password', path: 'db/password' },
      { key: 'user', path: 'db/user' },
    ];
    const body = { secret_name: 'db', secret_type: 'kubernetes.io/basic-auth', vault, mappings };
    await ok(addClusterPolicy(service, cluster, body), 201);
    await ok(addClusterPolicy(service, cluster, { namespace: 'a', secret_name: 'all', vault, prefix: 'db/' }), 201);
    const state = await ok(sync(service, cluster));
    const [all, db] = state.secrets;
    assert.deepEqual([all.namespace, all.name, all.type], ['a', 'all', 'Opaque']);
    const data = { password: base64('value of db/password'), user: base64('ada') };
    assert.deepEqual(all.data, data);
    assert.deepEqual(db.data, data);
    assert.equal(db.checksum, sha256(['shop', 'db', 'kubernetes.io/basic-auth', Object.entries(data)]));
    assert.equal(state.checksum, sha256([cluster.id, 1, [all.checksum, db.checksum], []]));
  });

  test('keeps its generation until the content changes, and answers 304 while it does not', async () => {
    const { cluster, vault } = await clusterWithSecret(service);
    await ok(addClusterPolicy(service, cluster, { vault, mappings: [{ key: 'a', path: 'db/password' }] }), 201);
    const first = await sync(service, cluster);
    const etag = first.headers.get('etag') ?? '';
    assert.equal(first.body.generation, 1);
    const same = await sync(service, cluster, etag);
    assert.deepEqual([same.status, same.text, same.headers.get('etag')], [304, '', etag]);
    assert.equal((await sync(service, cluster)).body.generation, 1);
    assert.equal((await sync(service, cluster, '"1-0"')).status, 200);
    await ok(service.call('PUT', secretUrl(vault, 'db/password'), { body: { metadata: { description: 'another' } } }));
    const described = await sync(service, cluster, etag);
    assert.deepEqual([described.status, described.body.generation], [200, 1], 'a new version of the same value');
    assert.equal(described.headers.get('etag'), etag);
    assert.equal((await sync(service, cluster, etag)).status, 304);
    await put(service, vault, 'db/password', 'new');
    const changed = await sync(service, cluster, etag);
    assert.deepEqual([changed.status, changed.body.generation], [200, 2]);
    assert.notEqual(changed.headers.get('etag'), etag);
    await put(service, vault, 'db/password', 'value of db/password');
    assert.equal((await sync(service, cluster)).body.generation, 3, 'an old value back is a change too');
  });

  test('fetched by many at once, has one generation', async () => {
    const { cluster, vault } = await clusterWithSecret(service);
    await ok(addClusterPolicy(service, cluster, { vault, prefix: 'db' }), 201);
    const answers = await Promise.all(Array.from({ length: 8 }, () => sync(service, cluster)));
    const statuses = new Set(answers.map(({ status }) => status));
    assert.deepEqual([...statuses], [200]);
    assert.deepEqual([...new Set(answers.map(({ body }) => body.generation))], [1]);
    await put(service, vault, 'db/password', 'next');
    const next = await Promise.all(Array.from({ length: 8 }, () => sync(service, cluster)));
    assert.deepEqual([...new Set(next.map(({ body }) => body.generation))], [2]);
  });

  test('follows a composed environment', async () => {
    const { cluster, vault } = await clusterWithSecret(service);
    const { secret_id } = await addSecret(service, vault, 'env/a');
    const body = { name: uniqueName('env') };
    const environment = await ok(service.call('POST', '/environments', { body }), 201);
    await ok(addClusterPolicy(service, cluster, { secret_name: 'env', environment_id: environment.id }), 201);
    const empty = await ok(sync(service, cluster));
    assert.deepEqual([empty.secrets, empty.withheld[0].reason], [[], 'empty']);
    const binding = { secret_id, key_name: 'TOKEN' };
    await ok(service.call('POST', `/environments/${environment.id}/secrets`, { body: binding }), 201);
    const state = await ok(sync(service, cluster));
    assert.deepEqual(state.secrets[0].data, { TOKEN: base64('value of env/a') });
    await ok(service.call('DELETE', `/environments/${environment.id}`));
    assert.equal((await ok(sync(service, cluster))).withheld[0].reason, 'environment_missing');
  });

  rule('is in the audit log with each path, and without a value', async () => {
    const { cluster, vault } = await clusterWithSecret(service);
    await addSecret(service, vault, 'db/user');
    await ok(addClusterPolicy(service, cluster, { vault, prefix: 'db' }), 201);
    const { headers } = await sync(service, cluster);
    const read = async () => (await auditOf(service, `vault=${vault}&action=secrets:read`)).filter(isSync);
    const isSync = (entry: { actor: { kind: string } }) => entry.actor.kind === 'cluster';
    const entries = await read();
    assert.deepEqual(entries.map(({ resource }) => resource).sort(), [
      `vault/${vault}/db/password`,
      `vault/${vault}/db/user`,
    ]);
    assert.equal(entries[0].actor.id, cluster.id);
    assert.equal(JSON.stringify(entries).includes('value of'), false);
    await sync(service, cluster, headers.get('etag') ?? '');
    assert.equal((await read()).length, 2, 'a 304 delivers nothing');
    const calls = await auditOf(service, `action=clusters:sync&actor=${cluster.id}`);
    assert.deepEqual(
      calls.map(({ status }) => status),
      [304, 200],
    );
  });
});
