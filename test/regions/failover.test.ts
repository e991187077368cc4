import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { addPerson, addTenant, uniqueName } from '../support/people.ts';
import { promote, ThreeRegions } from '../support/regions.ts';
import { call, onBothDatabases } from '../support/service.ts';
import { until } from '../support/until.ts';

const MINUTE_MS = 60_000;

interface Acknowledged {
  region: string;
  sentAt: number;
  at: number;
  name: string;
}

onBothDatabases('fail-over', (database) => {
  const three = new ThreeRegions(database, { CV_REGION_LEASE_SECONDS: '3' });
  const acknowledged: Acknowledged[] = [];
  const stopping = new AbortController();
  let writers: Promise<unknown> = Promise.resolve();
  let second = '';

  const write = async (region: string) => {
    const name = uniqueName('group');
    const sentAt = performance.now();
    const options = { token: three.tenant.owner.token, body: { name } };
    const answer = await call(three.regions.urlOf(region), 'POST', '/v1/groups', options).catch(() => null);
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
        ThreeRegions.NAMES.map(async (name) => {
          const { tenant_id, region, epoch, previous, since } = await three.regionOf(name);
          return { tenant_id, region, epoch, previous, since };
        }),
      ),
    );
  const areEqual = async () => new Set(JSON.parse(await states()).map((one: object) => JSON.stringify(one))).size === 1;

  before(async () => {
    await three.startWithTenants();
    second = (await addPerson(three.service('us'), { role: 'admin' })).token;
    writers = Promise.all(['eu', 'us'].map(keepWriting));
  });
  after(async () => {
    stopping.abort();
    await writers;
    await three.close();
  });

  test('a region that is cut off stops by itself before another one takes over', async () => {
    await until('eu acknowledges', () => acknowledgedBy('eu').length > 5);
    three.regions.setConnected('eu', false);
    await promote(three.service('us'), three.tenant.id, 'us', second);
    assert.equal((await three.regionOf('us')).state, 'starting');
    await until('us serves', () => acknowledgedBy('us').length > 5);
    assert.equal(await write('eu'), 503, 'the former region cannot know, and changes nothing');
    assert.equal((await three.regionOf('eu')).region, 'eu', 'it has not learned of the promotion');
  });

  test('after the network is back it learns of the promotion, and forwards', async () => {
    three.regions.setConnected('eu', true);
    await until('eu forwards', async () => (await write('eu')) === 307);
    await until('all directories are equal', areEqual);
    assert.equal((await three.regionOf('eu')).region, 'us');
  });

  test('a region whose clock is five minutes ahead tells nobody anything, and disturbs nobody', async () => {
    three.service('ap').clock.set({ node: 5 * MINUTE_MS, database: 5 * MINUTE_MS });
    const made = await addTenant(three.service('ap'), { plan: 'enterprise' });
    const path = `/admin/tenant-region/${made.id}`;
    await until('us refuses the clock', () =>
      three.service('us').logs.some((line) => /more than a minute ahead/.test(line)),
    );
    assert.equal((await three.service('us').call('GET', path)).status, 404);
    const before = acknowledgedBy('us').length;
    await until('us goes on', () => acknowledgedBy('us').length > before + 5);
    three.service('ap').clock.set({});
    three.service('us').clock.advance(5 * MINUTE_MS);
    three.service('eu').clock.advance(5 * MINUTE_MS);
    three.service('ap').clock.advance(5 * MINUTE_MS);
    await until(
      'us accepts it once the time has come',
      async () => (await three.service('us').call('GET', path)).status === 200,
    );
  });

  test('a region that is lost is replaced, says what is missing, and refuses when it is back', async () => {
    second = (await addPerson(three.service('eu'), { role: 'admin' })).token;
    const published = async () => (await three.regionOf('eu')).replica;
    await until(
      'us has published its log',
      async () => (await published()).published_seq > (await published()).local_seq,
    );
    await three.regions.stop('us');
    await promote(three.service('eu'), three.tenant.id, 'eu', second);
    const before = acknowledgedBy('eu').length;
    await until('eu serves again', () => acknowledgedBy('eu').length > before + 5);
    const { epoch, previous, replica } = await three.regionOf('eu');
    assert.deepEqual([epoch, previous], [3, 'us']);
    assert.equal(replica.missing_entries, replica.published_seq - replica.local_seq);
    assert.ok(replica.missing_entries > 0, 'what only us had is missing in eu');
    // Its clock is five minutes behind that of the others, so it can merge nothing of theirs, and does not rely on what it knows.
    await three.start('us');
    await until('us refuses what it gets', () =>
      three.service('us').logs.some((line) => /more than a minute ahead/.test(line)),
    );
    assert.equal(await write('us'), 503);
    three.service('us').clock.advance(5 * MINUTE_MS);
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
        const { body } = await call(three.regions.urlOf(name), 'GET', url, { token: three.tenant.owner.token });
        for (const group of body.groups) found.add(group.name);
        cursor = body.next_cursor ?? '';
      } while (cursor !== '');
      return found;
    };
    const present = await groups('eu');
    for (const { name } of acknowledgedBy('eu')) assert.ok(present.has(name), 'an acknowledged change of eu is there');
  });
});
