import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addPerson, addTenant, type Tenant, uniqueName } from '../support/people.ts';
import { promote, TestRegions } from '../support/regions.ts';
import { call, onBothDatabases, type Service } from '../support/service.ts';
import { until } from '../support/until.ts';

const HOUR_MS = 3_600_000;
const NAMES = ['eu', 'us', 'ap'];

onBothDatabases('quorums of regions', (database) => {
  // So long that no lease ends during the test: what a region refuses, it refuses because it knows of the promotion.
  const regions = new TestRegions(database, { CV_REGION_LEASE_SECONDS: '600' });
  const services = new Map<string, Service>();
  let tenant: Tenant;
  let other: Tenant;
  let second = '';

  const service = (name: string) => services.get(name) as Service;
  const start = async (name: string) => void services.set(name, await regions.start(name, NAMES));
  const regionOf = async (name: string, { id } = tenant) =>
    (await service(name).call('GET', `/admin/tenant-region/${id}`)).body;
  const write = async (region: string) => {
    const options = { token: tenant.owner.token, body: { name: uniqueName('group') } };
    return (await call(regions.urlOf(region), 'POST', '/v1/groups', options)).status;
  };

  /** How often us has tried in vain to tell a region of a promotion. */
  const triesOf = () => service('us').logs.filter((line) => line.includes('could not be told of a promotion')).length;

  before(async () => {
    for (const name of ['eu', 'ap']) await regions.prepare(name);
    await regions.prepareCopy('us', 'eu');
    for (const name of ['eu', 'ap']) await start(name);
    tenant = await addTenant(service('eu'), { plan: 'enterprise' });
    other = await addTenant(service('eu'), { plan: 'enterprise' });
    await until('eu serves', async () => (await write('eu')) === 201);
    await regions.stop('eu');
    await regions.prepareCopy('us', 'eu');
    for (const name of ['eu', 'us']) await start(name);
    await until('us knows the tenant', async () => (await regionOf('us')).region === 'eu');
    await until('eu serves again', async () => (await write('eu')) === 201);
  });
  after(() => regions.close());

  const eachNodeHasItsOwn = async () => {
    const isolated = await regions.startIsolatedNode('eu', NAMES);
    const options = { token: tenant.owner.token, body: { name: uniqueName('group') } };
    const answer = await call(isolated.url, 'POST', '/v1/groups', options);
    assert.deepEqual([answer.status, answer.body.error.code], [503, 'UNAVAILABLE']);
    assert.equal((await call(isolated.url, 'GET', '/v1/groups', { token: tenant.owner.token })).status, 200);
    assert.equal(await write('eu'), 201, 'a node that reaches the others goes on');
  };
  // On SQLite there is one node.
  if (database === 'postgres') test('each node of a region has a lease of its own', eachNodeHasItsOwn);

  test('a region that was only told of a promotion passes it on to the former region', async () => {
    // us can tell ap, and nothing else of it arrives anywhere.
    for (const [from, to] of [
      ['eu', 'us'],
      ['us', 'eu'],
      ['ap', 'us'],
    ] as const)
      regions.setLink(from, to, false);
    second = (await addPerson(service('us'), { role: 'admin' })).token;
    await promote(service('us'), tenant.id, 'us', second);
    await until('ap has noted it', async () => (await regionOf('ap')).region === 'us');
    await until('eu learns of it from ap', async () => (await regionOf('eu')).region === 'us');
    assert.notEqual(await write('eu'), 201);
    assert.equal((await regionOf('us')).state, 'starting', 'the lease of eu may still last');
  });

  test('a promotion waits for the time that passes, whatever the clocks say', async () => {
    const before = triesOf();
    service('us').clock.set({ node: HOUR_MS, database: HOUR_MS });
    await until('us has tried some more', () => triesOf() >= before + 3);
    assert.equal((await regionOf('us')).state, 'starting');
    service('us').clock.set({});
  });

  test('a promotion waits although the former region has noted it, until every region has', async () => {
    const connect = (isConnected: boolean, ...links: [from: string, to: string][]) => {
      for (const [from, to] of links) regions.setLink(from, to, isConnected);
    };
    connect(true, ['eu', 'us'], ['us', 'eu']);
    connect(false, ['us', 'ap'], ['ap', 'us']);
    await promote(service('us'), other.id, 'us', second);
    await until('eu has noted it', async () => (await regionOf('eu', other)).region === 'us');
    const before = triesOf();
    await until('us has tried to tell ap some more', () => triesOf() >= before + 3);
    // A region that eu itself had replaced before could still rely on ap.
    assert.equal((await regionOf('us', other)).state, 'starting');
    connect(true, ['us', 'ap'], ['ap', 'us']);
    await until('us serves once ap has noted it', async () => (await regionOf('us', other)).state === 'active');
  });
});
