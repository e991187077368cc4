import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { postgresPrograms } from '../support/installed-postgres.ts';
import { assertChainValid } from '../support/load.ts';
import { addTenant, refused, type Tenant } from '../support/people.ts';
import { REGIONS, type RegionProcesses } from '../support/region-processes.ts';
import { call } from '../support/service.ts';
import { StandbyRegions } from '../support/standby-regions.ts';
import { until } from '../support/until.ts';
import { Writers } from '../support/writers.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const SOME = 10;

const programs = postgresPrograms();
const skip = 'missing' in programs ? programs.missing : false;

describe('three regions in processes, one on a synchronous standby of another', { skip }, () => {
  let standby: StandbyRegions;
  let regions: RegionProcesses;
  let tenant: Tenant;
  let writers: Writers;

  const more = async (name: string, what: string) => {
    const { length } = writers.by(name);
    await until(what, () => writers.by(name).length > length + SOME);
  };
  const logged = (name: string, pattern: RegExp) => pattern.test(regions.process(name).stdout());
  const refusals = (name: string) => writers.count(name, 503);
  const moreRefusals = async (name: string, what: string) => {
    const before = refusals(name);
    await until(what, () => refusals(name) > before);
  };

  before(async () => {
    standby = await StandbyRegions.start('bin' in programs ? programs.bin : '');
    regions = standby.processes;
    tenant = standby.tenant;
    writers = new Writers(tenant.owner.token);
    await until('eu serves', async () => (await writers.makeVault(regions.url('eu'))) === 201);
    await until('ap knows the tenant', async () => (await standby.regionOf('ap')).region === 'eu');
    for (const name of REGIONS) writers.start(name, regions.url(name));
    await more('eu', 'eu acknowledges');
  });
  after(async () => {
    await writers?.stop();
    regions?.close();
  });

  test('while the standby is cut off nothing is acknowledged, and afterwards it goes on', async () => {
    standby.setReplicating(false);
    const cutAt = performance.now();
    await moreRefusals('eu', 'eu refuses what no standby confirms');
    assert.deepEqual(
      writers.by('eu').filter(({ sentAt }) => sentAt > cutAt),
      [],
    );
    standby.setReplicating(true);
    await more('eu', 'eu acknowledges again');
  });

  test('a region that is cut off from all others stops, and goes on after the network is back', async () => {
    regions.network.setConnected('eu', false);
    await moreRefusals('eu', 'eu stops when its lease ends');
    regions.network.setConnected('eu', true);
    await more('eu', 'eu acknowledges again');
  });

  test('a region that is lost under load is replaced by its standby', async (t) => {
    const lostAt = performance.now();
    await Promise.all([regions.kill('eu'), standby.database('eu').kill()]);
    await standby.startStandby();
    const startedAt = performance.now();
    const { replica } = await standby.regionOf('us');
    await standby.promote();
    await more('us', 'us acknowledges');
    const firstAt = Math.min(...writers.by('us').map(({ at }) => at));
    const { region, epoch, previous } = await standby.regionOf('us');
    assert.deepEqual([region, epoch, previous], ['us', 2, 'eu']);
    assert.equal(replica.missing_entries, 0, 'nothing that eu published is missing');
    const seconds = (ms: number) => (ms / 1000).toFixed(1);
    t.diagnostic(
      `first write ${seconds(firstAt - lostAt)} s after the loss, of which ${seconds(firstAt - startedAt)} s after the service started on the standby`,
    );
  });

  test('the former region, when it is back, acknowledges nothing and refers to the new one', async () => {
    // Its standby is gone, so it must not wait for one.
    await standby.database('eu').start({ synchronous_standby_names: '' });
    await regions.start('eu');
    await until('eu forwards', async () => {
      const { status, location } = await writers.write('eu', regions.url('eu'));
      return status === 307 && location === `${regions.url('us')}/v1/vaults/written/secrets`;
    });
    const token = tenant.owner.token;
    const change = call(regions.url('eu'), 'POST', '/auth/tokens', { token, body: { name: 'late', ttl_days: 1 } });
    const { details } = await refused(change, 409, 'REGION_FENCED');
    assert.deepEqual(details, { region: 'us', url: regions.url('us') });
  });

  test('one cut link changes nothing; cut off from all, the new region stops too', async () => {
    regions.network.setConnected('us', false, 'eu');
    await until('eu notices', () => logged('eu', /a region cannot be reached/));
    await more('us', 'us goes on with one other region');
    regions.network.setConnected('us', false);
    await moreRefusals('us', 'us stops when its lease ends');
    regions.network.setConnected('us', true);
    await more('us', 'us acknowledges again');
  });

  test('a clock that is five minutes wrong, either way, disturbs nobody else', async () => {
    for (const [offsetMs, ahead, refuses] of [
      [-5 * MINUTE_MS, 'us', 'ap'],
      [5 * MINUTE_MS, 'ap', 'us'],
    ] as const) {
      const before = regions.process(refuses).stdout().length;
      regions.setClock('ap', offsetMs);
      const { id } = await addTenant(regions.admin(ahead), { plan: 'enterprise' });
      await until(`${refuses} refuses what ${ahead} says`, () =>
        /more than a minute ahead/.test(regions.process(refuses).stdout().slice(before)),
      );
      assert.equal((await regions.call(refuses, 'GET', `/admin/tenant-region/${id}`)).status, 404);
      await more('us', 'us goes on');
      // As if the five minutes had passed for those whose clocks are behind.
      for (const name of REGIONS) regions.setClock(name, Math.max(0, offsetMs));
      await until(
        `${refuses} accepts it`,
        async () => (await regions.call(refuses, 'GET', `/admin/tenant-region/${id}`)).status === 200,
      );
    }
  });

  test('nothing acknowledged is lost, no two regions acknowledged at the same time, all directories are equal', async (t) => {
    await writers.stop();
    const [eu, us] = [writers.by('eu'), writers.by('us')];
    assert.equal(writers.by('ap').length, 0);
    assert.equal(eu.length + us.length, writers.acknowledged.length);
    const lastOfEu = Math.max(...eu.map(({ at }) => at));
    const firstOfUs = Math.min(...us.map(({ sentAt }) => sentAt));
    assert.ok(lastOfEu < firstOfUs, 'eu had stopped before us acknowledged anything');
    const lost = await writers.lost(regions.url('us'));
    assert.equal(lost, 0, 'acknowledged writes that are not there');
    await assertChainValid(regions.url('us'), tenant.owner.token);
    const at = Date.now() + HOUR_MS;
    const digests = () => Promise.all(REGIONS.map((name) => regions.digest(name, at)));
    await until('all directories are equal', async () => new Set(await digests()).size === 1);
    const directories = await Promise.all(REGIONS.map((name) => regions.directory(name)));
    for (const directory of directories) assert.deepEqual(directory, directories[0]);
    const refusedCount = [...writers.answers].filter(([answer]) => !answer.endsWith(' 201'));
    t.diagnostic(
      `${eu.length} writes acknowledged by eu, ${us.length} by us, ${lost} lost, ${(firstOfUs - lastOfEu).toFixed(0)} ms between them, ` +
        `${directories[0]?.length} equal entries in each directory; ` +
        `other answers: ${refusedCount.map(([answer, n]) => `${answer}: ${n}`).join(', ')}`,
    );
  });
});
