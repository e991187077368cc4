import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { addPerson, addTenant, type Tenant, uniqueName } from '../support/people.ts';
import { promote, TestRegions } from '../support/regions.ts';
import { call, onBothDatabases, type Service } from '../support/service.ts';
import { until } from '../support/until.ts';

const NAMES = ['eu', 'us', 'ap'];
const MINUTE_MS = 60_000;

interface Acknowledged {
  region: string;
  sentAt: number;
  at: number;
  name: string;
}

onBothDatabases('fail-over', (database) => {
  const regions = new TestRegions(database, { CV_REGION_LEASE_SECONDS: '3' });
  const services = new Map<string, Service>();
  const acknowledged: Acknowledged[] = [];
  const stopping = new AbortController();
  let tenant: Tenant;
  let writers: Promise<unknown> = Promise.resolve();
  let second = '';

  const service = (name: string) => services.get(name) as Service;
  const start = async (name: string) => void services.set(name, await regions.start(name, NAMES));
  const regionOf = async (name: string) => (await service(name).call('GET', `/admin/tenant-region/${tenant.id}`)).body;
  const write = async (region: string) => {
    const name = uniqueName('group');
    const sentAt = performance.now();
    const options = { token: tenant.owner.token, body: { name } };
    const answer = await call(regions.urlOf(region), 'POST', '/v1/groups', options).catch(() => null);
    if (answer?.status === 201) acknowledged.push({ region, sentAt, at: performance.now(), name });
    return answer?.status;
  };
  /** Somebody who sends the same to every region, without following redirects. */
  const keepWriting = async (region: string) => {
    while (!stopping.signal.aborted) {
      await write(region);
      await sleep(20);
    }
  };
  const acknowledgedBy = (region: string) => acknowledged.filter((one) => one.region === region);
  const states = async () =>
    JSON.stringify(
      await Promise.all(
        NAMES.map(async (name) => {
          const { tenant_id, region, epoch, previous, since } = await regionOf(name);
          return { tenant_id, region, epoch, previous, since };
        }),
      ),
    );
  const areEqual = async () => new Set(JSON.parse(await states()).map((one: object) => JSON.stringify(one))).size === 1;

  before(async () => {
    for (const name of ['eu', 'ap']) await regions.prepare(name);
    await regions.prepareCopy('us', 'eu');
    for (const name of ['eu', 'ap']) await start(name);
    tenant = await addTenant(service('eu'), { plan: 'enterprise' });
    await until('eu serves', async () => (await write('eu')) === 201);
    await regions.stop('eu');
    await regions.prepareCopy('us', 'eu');
    for (const name of ['eu', 'us']) await start(name);
    second = (await addPerson(service('us'), { role: 'admin' })).token;
    await until('us knows the tenant', async () => (await regionOf('us')).region === 'eu');
    await until('eu serves again', async () => (await write('eu')) === 201);
    writers = Promise.all(['eu', 'us'].map(keepWriting));
  });
  after(async () => {
    stopping.abort();
    await writers;
    await regions.close();
  });

  test('a region that is cut off stops by itself before another one takes over', async () => {
    await until('eu acknowledges', () => acknowledgedBy('eu').length > 5);
    regions.setConnected('eu', false);
    await promote(service('us'), tenant.id, 'us', second);
    assert.equal((await regionOf('us')).state, 'starting');
    await until('us serves', () => acknowledgedBy('us').length > 5);
    assert.equal(await write('eu'), 503, 'the former region cannot know, and changes nothing');
    assert.equal((await regionOf('eu')).region, 'eu', 'it has not learned of the promotion');
  });

  test('after the network is back it learns of the promotion, and forwards', async () => {
    regions.setConnected('eu', true);
    await until('eu forwards', async () => (await write('eu')) === 307);
    await until('all directories are equal', areEqual);
    assert.equal((await regionOf('eu')).region, 'us');
  });

  test('a region whose clock is five minutes ahead tells nobody anything, and disturbs nobody', async () => {
    service('ap').clock.set({ node: 5 * MINUTE_MS, database: 5 * MINUTE_MS });
    const made = await addTenant(service('ap'), { plan: 'enterprise' });
    const path = `/admin/tenant-region/${made.id}`;
    await until('us refuses the clock', () => service('us').logs.some((line) => /more than a minute ahead/.test(line)));
    assert.equal((await service('us').call('GET', path)).status, 404);
    const before = acknowledgedBy('us').length;
    await until('us goes on', () => acknowledgedBy('us').length > before + 5);
    service('ap').clock.set({});
    service('us').clock.advance(5 * MINUTE_MS);
    service('eu').clock.advance(5 * MINUTE_MS);
    service('ap').clock.advance(5 * MINUTE_MS);
    await until(
      'us accepts it once the time has come',
      async () => (await service('us').call('GET', path)).status === 200,
    );
  });

  test('a region that is lost is replaced, says what is missing, and refuses when it is back', async () => {
    second = (await addPerson(service('eu'), { role: 'admin' })).token;
    const published = async () => (await regionOf('eu')).replica;
    await until(
      'us has published its log',
      async () => (await published()).published_seq > (await published()).local_seq,
    );
    await regions.stop('us');
    await promote(service('eu'), tenant.id, 'eu', second);
    const before = acknowledgedBy('eu').length;
    await until('eu serves again', () => acknowledgedBy('eu').length > before + 5);
    const { epoch, previous, replica } = await regionOf('eu');
    assert.deepEqual([epoch, previous], [3, 'us']);
    assert.equal(replica.missing_entries, replica.published_seq - replica.local_seq);
    assert.ok(replica.missing_entries > 0, 'what only us had is missing in eu');
    // Its clock is five minutes behind that of the others, so it can merge nothing of theirs, and does not rely on what it knows.
    await start('us');
    await until('us refuses what it gets', () =>
      service('us').logs.some((line) => /more than a minute ahead/.test(line)),
    );
    assert.equal(await write('us'), 503);
    service('us').clock.advance(5 * MINUTE_MS);
    await until('us forwards', async () => (await write('us')) === 307);
    await until('all directories are equal', areEqual);
  });

  test('no two regions ever acknowledged changes of the tenant at the same time', async () => {
    stopping.abort();
    await writers;
    const order = acknowledged.toSorted((a, b) => a.at - b.at).map(({ region }) => region);
    const turns = order.filter((region, i) => region !== order[i - 1]);
    assert.deepEqual(turns, ['eu', 'us', 'eu']);
    const groups = async (name: string) => {
      const found = new Set<string>();
      let cursor = '';
      do {
        const url = `/v1/groups?limit=1000${cursor && `&cursor=${cursor}`}`;
        const { body } = await call(regions.urlOf(name), 'GET', url, { token: tenant.owner.token });
        for (const group of body.groups) found.add(group.name);
        cursor = body.next_cursor ?? '';
      } while (cursor !== '');
      return found;
    };
    const present = await groups('eu');
    for (const { name } of acknowledgedBy('eu')) assert.ok(present.has(name), 'an acknowledged change of eu is there');
  });
});
