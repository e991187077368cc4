import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { request as httpsRequest } from 'node:https';
import { text as readText } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { type Operation, valueText } from '../../server/src/features/regions/crdt/operation.ts';
import { Directory, type Write } from '../../server/src/features/regions/directory.ts';
import { RegionIdentity } from '../../server/src/features/regions/identity.ts';
import { regionSettings } from '../../server/src/features/regions/settings.ts';
import { addPerson, addTenant, addToken, ok, refused, uniqueName } from '../support/people.ts';
import { promote, ThreeRegions, withLease } from '../support/regions.ts';
import { call, onBothDatabases } from '../support/service.ts';
import { until } from '../support/until.ts';

/** Whose key and machine somebody stole. */
const STOLEN = 'ap';
const DAY_MS = 86_400_000;

onBothDatabases('somebody who has stolen a region', (database) => {
  const three = new ThreeRegions(database, { CV_REGION_LEASE_SECONDS: '10' });
  let identity: RegionIdentity;
  let stolen: Directory;

  const me = async (name: string, token: string) =>
    (await call(three.regions.urlOf(name), 'GET', '/auth/me', { token })).status;

  before(async () => {
    await three.startWithTenants();
    const { config, database: rows, clock } = three.service(STOLEN).app.kernel;
    const region = config.of(regionSettings);
    if (region === null) throw new Error('it is no region');
    identity = new RegionIdentity(region);
    stolen = new Directory({ region: STOLEN, database: rows, clock, identity, onConflict: () => {} });
  });
  after(() => three.close());

  /** The others pull what it says, as from any region. */
  const say = async (...writes: Write[]) => {
    await three.service(STOLEN).app.kernel.database.transaction((tx) => stolen.write(tx, ...writes));
    for (const [name, { app }] of three.services())
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
    const { certFile, keyFile } = three.regions.files(STOLEN);
    const { port } = new URL(`https://127.0.0.1:${three.regions.files('eu').tlsPort}`);
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
    const revoked = await push(signed(revocation(idOf(three.tenant.owner.token), three.tenant.id)));
    assert.deepEqual([revoked.status, /must be promotions/.test(revoked.text)], [422, true]);
    const promotion = { kind: 'primary', key: 'tenant_nobody', value: { epoch: 1, previous: null } } as const;
    for (const change of [{ seq: Number.MAX_SAFE_INTEGER }, { ms: Date.now() + DAY_MS }])
      assert.match((await push(signed(promotion, change))).text, /more than a minute ahead/);
    const ofOther = await push(signed(promotion, { origin: 'us' }));
    assert.match(ofOther.text, /not signed by its origin/);
  });

  test('cannot revoke tokens, rename or describe tenants that it was never the primary region of', async () => {
    const operator = (await ok(three.service('eu').call('GET', '/auth/me'))).tenant.id;
    const own = await addTenant(three.service(STOLEN), { plan: 'enterprise' });
    const before = await three.regionOf('us');
    await say(
      revocation(idOf(three.tenant.owner.token), three.tenant.id),
      { kind: 'tenant', key: three.tenant.id, value: { name: 'renamed' } },
      { kind: 'head', key: three.tenant.id, value: { seq: 1, hash: 'a'.repeat(64), at: Date.now() } },
      revocation(idOf(three.service('eu').adminToken), operator),
    );
    for (const name of ['eu', 'us']) {
      assert.equal(await me(name, three.tenant.owner.token), 200);
      assert.equal((await three.service(name).call('GET', '/auth/me')).status, 200);
      assert.equal((await three.regionOf(name)).name, three.tenant.name);
    }
    const { replica } = await three.regionOf('us');
    assert.ok(replica.published_seq >= before.replica.published_seq);
    await say(revocation(idOf(three.tenant.owner.token), own.id));
    for (const name of ['eu', 'us']) assert.equal(await me(name, three.tenant.owner.token), 200);
  });

  test('cannot make a token valid that another region revoked', async () => {
    const making = { token: three.tenant.owner.token, body: { name: uniqueName('token') } };
    const { id, token } = await ok(
      withLease(() => three.service('eu').call('POST', '/auth/tokens', making)),
      201,
    );
    const at = (name: string) => call(three.regions.urlOf(name), 'GET', '/v1/vaults', { token });
    await until('ap forwards it', async () => (await at('ap')).status === 307);
    await ok(
      withLease(() => three.service('eu').call('DELETE', `/auth/tokens/${id}`, { token: three.tenant.owner.token })),
    );
    await until('the revocation is known', async () => (await at('ap')).status === 401);
    await say(revocation(id, 'tenant_other'));
    await refused(at('eu'), 401, 'INVALID_TOKEN');
    for (const name of ['us', 'ap']) await refused(at(name), 401, 'INVALID_TOKEN');
  });

  test('can take a tenant over until it is expelled, and nothing that it said then counts', async () => {
    const { token } = await addToken(three.service('eu'), three.tenant.owner.token);
    await three.regions.stop('us');
    await three.regions.stop('eu');
    await three.regions.prepareCopy('us', 'eu');
    for (const name of ['eu', 'us']) await three.start(name);
    await until('us knows the token', async () => (await me('us', token)) === 200);
    await say(
      { kind: 'primary', key: three.tenant.id, value: { epoch: 2, previous: 'eu' } },
      revocation(idOf(token), three.tenant.id),
    );
    for (const name of ['eu', 'us']) {
      assert.deepEqual([(await three.regionOf(name)).region, await me(name, token)], [STOLEN, 401]);
      await three.regions.stop(name);
    }
    for (const name of ['eu', 'us']) await three.start(name, ['eu', 'us']);
    assert.deepEqual([(await three.regionOf('us')).region, (await three.regionOf('us')).url], [STOLEN, null]);
    for (const name of ['eu', 'us']) assert.equal(await me(name, token), 200, 'what it revoked counts no more');
    const second = await addPerson(three.service('us'), { role: 'admin' });
    await promote(three.service('us'), three.tenant.id, 'us', second.token);
    await until('us serves', async () => (await three.write('us')) === 201);
    assert.equal(await me('us', token), 200);
    assert.equal((await three.regionOf('us')).name, three.tenant.name);
  });
});
