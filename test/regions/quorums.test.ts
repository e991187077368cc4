import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addPerson, type Tenant, uniqueName } from '../support/people.ts';
import { promote, ThreeRegions } from '../support/regions.ts';
import { call, onBothDatabases } from '../support/service.ts';
import { until } from '../support/until.ts';

const HOUR_MS = 3_600_000;

onBothDatabases('quorums of regions', (database) => {
  // So long that no lease ends during the test: what a region refuses, it refuses because it knows of the promotion.
  const three = new ThreeRegions(database, { CV_REGION_LEASE_SECONDS: '600' });
  let second = '';

  /** How often us has tried in vain to tell a region of a promotion. */
  const triesOf = () =>
    three.service('us').logs.filter((line) => line.includes('could not be told of a promotion')).length;

  before(() => three.startWithTenants(2));
  after(() => three.close());

  const eachNodeHasItsOwn = async () => {
    const isolated = await three.regions.startIsolatedNode('eu', ThreeRegions.NAMES);
    const options = { token: three.tenant.owner.token, body: { name: uniqueName('group') } };
    const answer = await call(isolated.url, 'POST', '/v1/groups', options);
    assert.deepEqual([answer.status, answer.body.error.code], [503, 'UNAVAILABLE']);
    assert.equal((await call(isolated.url, 'GET', '/v1/groups', { token: three.tenant.owner.token })).status, 200);
    assert.equal(await three.write('eu'), 201, 'a node that reaches the others goes on');
  };
  // On SQLite there is one node.
  if (database === 'postgres') test('each node of a region has a lease of its own', eachNodeHasItsOwn);

  test('a region that was only notified of a promotion passes it on to the former region', async () => {
    // us can tell ap, and nothing else of it arrives anywhere.
    for (const [from, to] of [
      ['eu', 'us'],
      ['us', 'eu'],
      ['ap', 'us'],
    ] as const)
      three.regions.setLink(from, to, false);
    second = (await addPerson(three.service('us'), { role: 'admin' })).token;
    await promote(three.service('us'), three.tenant.id, 'us', second);
    await until('ap has noted it', async () => (await three.regionOf('ap')).region === 'us');
    await until('eu learns of it from ap', async () => (await three.regionOf('eu')).region === 'us');
    assert.notEqual(await three.write('eu'), 201);
    assert.equal((await three.regionOf('us')).state, 'starting', 'the lease of eu may still last');
  });

  test('a promotion waits for the time that passes, whatever the clocks say', async () => {
    const before = triesOf();
    three.service('us').clock.set({ node: HOUR_MS, database: HOUR_MS });
    await until('us has tried some more', () => triesOf() >= before + 3);
    assert.equal((await three.regionOf('us')).state, 'starting');
    three.service('us').clock.set({});
  });

  test('a promotion waits although the former region has noted it, until every region has', async () => {
    const connect = (isConnected: boolean, ...links: [from: string, to: string][]) => {
      for (const [from, to] of links) three.regions.setLink(from, to, isConnected);
    };
    connect(true, ['eu', 'us'], ['us', 'eu']);
    connect(false, ['us', 'ap'], ['ap', 'us']);
    const other = three.tenants[1] as Tenant;
    await promote(three.service('us'), other.id, 'us', second);
    await until('eu has noted it', async () => (await three.regionOf('eu', other)).region === 'us');
    const before = triesOf();
    await until('us has tried to tell ap some more', () => triesOf() >= before + 3);
    // A region that eu itself had replaced before could still rely on ap.
    assert.equal((await three.regionOf('us', other)).state, 'starting');
    connect(true, ['us', 'ap'], ['ap', 'us']);
    await until('us serves once ap has noted it', async () => (await three.regionOf('us', other)).state === 'active');
  });
});
