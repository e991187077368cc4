import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { addPerson, addTenant } from '../support/people.ts';
import { promote, ThreeRegions } from '../support/regions.ts';
import { onBothDatabases } from '../support/service.ts';
import { until } from '../support/until.ts';

const LAST = Number.MAX_SAFE_INTEGER;

onBothDatabases('somebody who writes into the database of a region', (database) => {
  const three = new ThreeRegions(database, { CV_REGION_LEASE_SECONDS: '3' });
  const edit = (name: string, statement: ReturnType<typeof sql>) =>
    three.service(name).app.kernel.database.transaction(async (tx) => void (await statement.execute(tx)));

  before(async () => {
    await three.startWithTenants();
    for (const name of ThreeRegions.NAMES) three.service(name).expectErrorLogs(/not written by the service/);
  });
  after(() => three.close());

  test('cannot make its region silent by a number that is too high', async () => {
    const news = async (name: string) => {
      const made = await addTenant(three.service('eu'), { plan: 'enterprise' });
      await until(name, async () => (await three.regionOf('ap', made)).region === 'eu');
    };
    await edit('eu', sql`update region_clocks set seq = ${LAST - 2}, ms = ${LAST}`);
    await news('others learn what it wrote next');
    await edit('eu', sql`update region_clocks set seq = 0, ms = 0`);
    await edit('eu', sql`update region_vectors set seq = ${LAST} where origin = 'eu'`);
    await news('others learn it still');
    await edit('eu', sql`delete from region_clocks`);
    await news('others learn it without a clock');
    await until('eu serves', async () => (await three.write('eu')) === 201);
  });

  test('cannot hide a promotion from a region that learns of it there alone', async () => {
    for (const [from, to] of [
      ['eu', 'us'],
      ['us', 'eu'],
    ] as const)
      three.regions.setLink(from, to, false);
    const second = await addPerson(three.service('us'), { role: 'admin' });
    await edit('ap', sql`update region_vectors set seq = ${LAST} where origin = 'us'`);
    await promote(three.service('us'), three.tenant.id, 'us', second.token);
    await until('us serves', async () => (await three.write('us')) === 201);
    assert.notEqual(await three.write('eu'), 201);
    await until('eu learns of it', async () => (await three.regionOf('eu')).region === 'us');
  });
});
