import { after, before, test } from 'node:test';
import { addTenant, type Tenant, uniqueName } from '../support/people.ts';
import { TestRegions } from '../support/regions.ts';
import { call, onBothDatabases, type Service } from '../support/service.ts';
import { until } from '../support/until.ts';

const NAMES = ['eu', 'us'];

onBothDatabases('keys of regions', (database) => {
  const regions = new TestRegions(database);
  const services = new Map<string, Service>();
  let tenant: Tenant;
  let inUs: Tenant;

  const service = (name: string) => services.get(name) as Service;
  const restart = async (name: string) => {
    await regions.stop(name);
    services.set(name, await regions.start(name, NAMES));
  };
  const knows = async ({ id }: Tenant) =>
    (await service('us').call('GET', `/admin/tenant-region/${id}`)).body.region === 'eu';
  const isForwarded = async () =>
    (await call(regions.urlOf('us'), 'GET', '/v1/vaults', { token: tenant.owner.token })).status === 307;

  /** Whether us has merged everything that eu sends: it changes nothing otherwise. */
  const writes = async () => {
    const options = { token: inUs.owner.token, body: { name: uniqueName('group') } };
    return (await call(regions.urlOf('us'), 'POST', '/v1/groups', options)).status === 201;
  };
  const isBadSignature = (line: string) => line.includes('not signed by its origin');

  before(async () => {
    for (const name of NAMES) await regions.prepare(name);
    for (const name of NAMES) await restart(name);
    tenant = await addTenant(service('eu'), { plan: 'enterprise' });
    inUs = await addTenant(service('us'), { plan: 'enterprise' });
    await until('us knows the tenant', () => knows(tenant));
  });
  after(() => regions.close());

  for (const isCa of [false, true, true]) {
    test(`a region replaces its key as the guide says, ${isCa ? 'by a certificate that is a CA' : 'by one that is none'}`, async () => {
      const replacement = await regions.replacementOf('eu', isCa);
      replacement.announce();
      await restart('us');
      await until('us reaches eu with its old key', isForwarded);
      replacement.use();
      await restart('eu');
      const made = await addTenant(service('eu'), { plan: 'enterprise' });
      await until('us accepts what the new key signed', () => knows(made));
      replacement.retire();
      await until('eu has signed everything again, and us relies on it', async () => {
        // A process that starts pulls everything, so nothing may be left that the old key signed.
        await restart('us');
        await until('us has pulled', async () => (await writes()) || service('us').logs.some(isBadSignature));
        return writes();
      });
      await restart('eu');
      await until('us reaches eu without the old certificate', isForwarded);
    });
  }
});
