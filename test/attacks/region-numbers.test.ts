import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { addPerson, addTenant, type Tenant, uniqueName } from '../support/people.ts';
import { promote, TestRegions } from '../support/regions.ts';
import { call, onBothDatabases, type Service } from '../support/service.ts';
import { until } from '../support/until.ts';

const NAMES = ['eu', 'us', 'ap'];
const LAST = Number.MAX_SAFE_INTEGER;

onBothDatabases('whoever writes into the database of a region', (database) => {
  const regions = new TestRegions(database, { CV_REGION_LEASE_SECONDS: '3' });
  const services = new Map<string, Service>();
  let tenant: Tenant;

  const service = (name: string) => services.get(name) as Service;
  const start = async (name: string) => void services.set(name, await regions.start(name, NAMES));
  const regionOf = async (name: string, { id } = tenant) =>
    (await service(name).call('GET', `/admin/tenant-region/${id}`)).body;
  const write = async (name: string) => {
    const options = { token: tenant.owner.token, body: { name: uniqueName('group') } };
    return (await call(regions.urlOf(name), 'POST', '/v1/groups', options)).status;
  };
  const edit = (name: string, statement: ReturnType<typeof sql>) =>
    service(name).app.kernel.database.transaction(async (tx) => void (await statement.execute(tx)));

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
    for (const name of NAMES) service(name).expectErrorLogs(/not written by the service/);
  });
  after(() => regions.close());

  test('cannot make its region silent by a number that is too high', async () => {
    const news = async (name: string) => {
      const made = await addTenant(service('eu'), { plan: 'enterprise' });
      await until(name, async () => (await regionOf('ap', made)).region === 'eu');
    };
    await edit('eu', sql`update region_clocks set seq = ${LAST - 2}, ms = ${LAST}`);
    await news('others learn what it wrote next');
    await edit('eu', sql`update region_clocks set seq = 0, ms = 0`);
    await edit('eu', sql`update region_vectors set seq = ${LAST} where origin = 'eu'`);
    await news('others learn it still');
    await edit('eu', sql`delete from region_clocks`);
    await news('others learn it without a clock');
    await until('eu serves', async () => (await write('eu')) === 201);
  });

  test('cannot hide a promotion from a region that learns of it there alone', async () => {
    for (const [from, to] of [
      ['eu', 'us'],
      ['us', 'eu'],
    ] as const)
      regions.setLink(from, to, false);
    const second = await addPerson(service('us'), { role: 'admin' });
    await edit('ap', sql`update region_vectors set seq = ${LAST} where origin = 'us'`);
    await promote(service('us'), tenant.id, 'us', second.token);
    await until('us serves', async () => (await write('us')) === 201);
    assert.notEqual(await write('eu'), 201);
    await until('eu learns of it', async () => (await regionOf('eu')).region === 'us');
  });
});
