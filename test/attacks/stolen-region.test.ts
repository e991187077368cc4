import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { request as httpsRequest } from 'node:https';
import { text as readText } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { type Operation, valueText } from '../../server/src/features/regions/crdt/operation.ts';
import { Directory, type Write } from '../../server/src/features/regions/directory.ts';
import { RegionIdentity } from '../../server/src/features/regions/identity.ts';
import { addPerson, addTenant, addToken, ok, refused, type Tenant, uniqueName } from '../support/people.ts';
import { promote, TestRegions, withLease } from '../support/regions.ts';
import { call, onBothDatabases, type Service } from '../support/service.ts';
import { until } from '../support/until.ts';

const NAMES = ['eu', 'us', 'ap'];
/** Whose key and machine somebody stole. */
const STOLEN = 'ap';
const DAY_MS = 86_400_000;

onBothDatabases('whoever has stolen a region', (database) => {
  const regions = new TestRegions(database, { CV_REGION_LEASE_SECONDS: '10' });
  const services = new Map<string, Service>();
  let tenant: Tenant;
  let identity: RegionIdentity;
  let stolen: Directory;

  const service = (name: string) => services.get(name) as Service;
  const start = async (name: string, names = NAMES) => void services.set(name, await regions.start(name, names));
  const regionOf = async (name: string) => (await service(name).call('GET', `/admin/tenant-region/${tenant.id}`)).body;
  const asOwner = (name: string, method: string, path: string, more: object = {}) =>
    call(regions.urlOf(name), method, path, { token: tenant.owner.token, ...more });
  const write = async (name: string) =>
    (await asOwner(name, 'POST', '/v1/groups', { body: { name: uniqueName('group') } })).status;
  const me = async (name: string, token: string) =>
    (await call(regions.urlOf(name), 'GET', '/auth/me', { token })).status;

  before(async () => {
    for (const name of ['eu', 'ap']) await regions.prepare(name);
    await regions.prepareCopy('us', 'eu');
    for (const name of ['eu', 'ap']) await start(name);
    tenant = await addTenant(service('eu'), { plan: 'enterprise' });
    await until('eu serves', async () => (await write('eu')) === 201);
    await regions.stop('eu');
    await regions.prepareCopy('us', 'eu');
    for (const name of ['eu', 'us']) await start(name);
    for (const name of ['us', 'ap'])
      await until(`${name} knows the tenant`, async () => (await regionOf(name)).region === 'eu');
    await until('eu serves again', async () => (await write('eu')) === 201);
    const { config, database: rows, clock } = service(STOLEN).app.kernel;
    if (config.region === null) throw new Error('it is no region');
    identity = new RegionIdentity(config.region);
    stolen = new Directory({ region: STOLEN, database: rows, clock, identity, onConflict: () => {} });
  });
  after(() => regions.close());

  /** The others pull what it says, as from any region. */
  const say = async (...writes: Write[]) => {
    await service(STOLEN).app.kernel.database.transaction((tx) => stolen.write(tx, ...writes));
    for (const [name, { app }] of services)
      for (const { kind, key, value } of writes)
        await until(`${name} has pulled what it says`, async () => {
          const query = app.kernel.database.read.selectFrom('region_cells').select('value');
          const cells = await query.where('cell_key', '=', key).where('origin', '=', STOLEN).execute();
          return cells.some((cell) => cell.value === valueText(kind, value as never));
        });
  };
  const revocation = (key: string, tenant_id: string): Write => ({
    kind: 'revoked_token',
    key,
    value: { tenant_id, expires_at: Date.now() + DAY_MS },
  });
  const idOf = (token: string): string =>
    JSON.parse(Buffer.from(token.replace(/^.*?(?=eyJ)/, '').split('.')[1] ?? '', 'base64url').toString()).jti;

  const push = async (operation: Operation) => {
    const { certFile, keyFile } = regions.files(STOLEN);
    const { port } = new URL(`https://127.0.0.1:${regions.files('eu').tlsPort}`);
    const url = `https://127.0.0.1:${port}/crdt/sync`;
    const pair = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
    const headers = { 'content-type': 'application/json' };
    const options = { method: 'POST', rejectUnauthorized: false, agent: false, headers, ...pair };
    const response = await new Promise<import('node:http').IncomingMessage>((resolve, reject) =>
      httpsRequest(url, options, resolve)
        .once('error', reject)
        .end(JSON.stringify({ operations: [operation] })),
    );
    return { status: response.statusCode, text: await readText(response) };
  };
  const signed = (write: Write, change: Partial<Operation> = {}): Operation => {
    const now = Date.now();
    const plain = { origin: STOLEN, seq: now * 1000, ms: now, counter: 0, tag: '', isRemoved: false };
    return identity.sign({
      ...plain,
      kind: write.kind,
      key: write.key,
      value: valueText(write.kind, write.value),
      ...change,
    });
  };

  test('cannot push anything but promotions, nor with numbers that hide what comes later', async () => {
    const revoked = await push(signed(revocation(idOf(tenant.owner.token), tenant.id)));
    assert.deepEqual([revoked.status, /must be promotions/.test(revoked.text)], [422, true]);
    const promotion = { kind: 'primary', key: 'tenant_nobody', value: { epoch: 1, previous: null } } as const;
    for (const change of [{ seq: Number.MAX_SAFE_INTEGER }, { ms: Date.now() + DAY_MS }])
      assert.match((await push(signed(promotion, change))).text, /more than a minute ahead/);
    const ofOther = await push(signed(promotion, { origin: 'us' }));
    assert.match(ofOther.text, /not signed by its origin/);
  });

  test('cannot revoke tokens, rename or describe tenants that it was never the primary region of', async () => {
    const operator = (await ok(service('eu').call('GET', '/auth/me'))).tenant.id;
    const own = await addTenant(service(STOLEN), { plan: 'enterprise' });
    const before = await regionOf('us');
    await say(
      revocation(idOf(tenant.owner.token), tenant.id),
      { kind: 'tenant', key: tenant.id, value: { name: 'renamed' } },
      { kind: 'head', key: tenant.id, value: { seq: 1, hash: 'a'.repeat(64), at: Date.now() } },
      revocation(idOf(service('eu').adminToken), operator),
    );
    for (const name of ['eu', 'us']) {
      assert.equal(await me(name, tenant.owner.token), 200);
      assert.equal((await service(name).call('GET', '/auth/me')).status, 200);
      assert.equal((await regionOf(name)).name, tenant.name);
    }
    const { replica } = await regionOf('us');
    assert.ok(replica.published_seq >= before.replica.published_seq);
    await say(revocation(idOf(tenant.owner.token), own.id));
    for (const name of ['eu', 'us']) assert.equal(await me(name, tenant.owner.token), 200);
  });

  test('cannot make a token valid that another region revoked', async () => {
    const making = { token: tenant.owner.token, body: { name: uniqueName('token') } };
    const { id, token } = await ok(
      withLease(() => service('eu').call('POST', '/auth/tokens', making)),
      201,
    );
    const at = (name: string) => call(regions.urlOf(name), 'GET', '/v1/vaults', { token });
    await until('ap forwards it', async () => (await at('ap')).status === 307);
    await ok(withLease(() => service('eu').call('DELETE', `/auth/tokens/${id}`, { token: tenant.owner.token })));
    await until('the revocation is known', async () => (await at('ap')).status === 401);
    await say(revocation(id, 'tenant_other'));
    await refused(at('eu'), 401, 'INVALID_TOKEN');
    for (const name of ['us', 'ap']) await refused(at(name), 401, 'INVALID_TOKEN');
  });

  test('can take a tenant over until it is expelled, and nothing that it said then counts', async () => {
    const { token } = await addToken(service('eu'), tenant.owner.token);
    await regions.stop('us');
    await regions.stop('eu');
    await regions.prepareCopy('us', 'eu');
    for (const name of ['eu', 'us']) await start(name);
    await until('us knows the token', async () => (await me('us', token)) === 200);
    await say(
      { kind: 'primary', key: tenant.id, value: { epoch: 2, previous: 'eu' } },
      revocation(idOf(token), tenant.id),
    );
    for (const name of ['eu', 'us']) {
      assert.deepEqual([(await regionOf(name)).region, await me(name, token)], [STOLEN, 401]);
      await regions.stop(name);
    }
    for (const name of ['eu', 'us']) await start(name, ['eu', 'us']);
    assert.deepEqual([(await regionOf('us')).region, (await regionOf('us')).url], [STOLEN, null]);
    for (const name of ['eu', 'us']) assert.equal(await me(name, token), 200, 'what it revoked counts no more');
    const second = await addPerson(service('us'), { role: 'admin' });
    await promote(service('us'), tenant.id, 'us', second.token);
    await until('us serves', async () => (await write('us')) === 201);
    assert.equal(await me('us', token), 200);
    assert.equal((await regionOf('us')).name, tenant.name);
  });
});
