import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { addTenant, ok, type Tenant, uniqueName } from '../support/people.ts';
import { noPreloadedClock, PreloadedClock } from '../support/preloaded-clock.ts';
import { RegionProcesses } from '../support/region-processes.ts';
import { promote } from '../support/regions.ts';
import { until } from '../support/until.ts';
import { Writers } from '../support/writers.ts';

const SOME = 5;

/** Whose machine was suspended. Its monotonic clock did not count the pause, as the lease of the region once did. */
const SUSPENDED = 'eu';

const skip = noPreloadedClock && `${noPreloadedClock}; contacts.test.ts has the rule with other clocks`;

describe('a region whose machine was suspended', { skip }, () => {
  const regions = new RegionProcesses({ CV_REGION_LEASE_SECONDS: '3' });
  const clock = new PreloadedClock('suspended-clock');
  let tenant: Tenant;
  let writers: Writers;
  let second = '';

  const regionOf = async (name: string) => (await regions.call(name, 'GET', `/admin/tenant-region/${tenant.id}`)).body;

  before(async () => {
    for (const name of [SUSPENDED, 'ap']) await regions.prepare(name);
    await regions.prepareCopy('us', SUSPENDED);
    for (const name of [SUSPENDED, 'ap']) await regions.start(name);
    tenant = await addTenant(regions.admin(SUSPENDED), { plan: 'enterprise' });
    second = await anotherAdmin();
    writers = new Writers(tenant.owner.token);
    await until('eu serves', async () => (await writers.makeVault(regions.url(SUSPENDED))) === 201);
    await regions.stop(SUSPENDED);
    await regions.prepareCopy('us', SUSPENDED);
    await regions.start(SUSPENDED, clock.env);
    await regions.start('us');
    await until('us knows the tenant', async () => (await regionOf('us')).region === SUSPENDED);
    for (const name of [SUSPENDED, 'us']) writers.start(name, regions.url(name));
    await until('eu acknowledges', () => writers.by(SUSPENDED).length > SOME);
  });
  after(async () => {
    await writers?.stop();
    regions.close();
  });

  async function anotherAdmin(): Promise<string> {
    const [email, password] = [`${uniqueName('second')}@example.com`, 'a long password of a second admin'];
    const call = (path: string, more: object) => regions.call(SUSPENDED, 'POST', path, more);
    await ok(call('/v1/users', { body: { email, password, role: 'admin' } }), 201);
    const { token } = await ok(call('/auth/login', { token: null, body: { email, password } }));
    return (await ok(call('/auth/tokens', { token, body: { name: 'work' } }), 201)).token;
  }

  test('lesson 35: acknowledges nothing once another region became the primary', async () => {
    const suspendedAt = performance.now();
    regions.process(SUSPENDED).kill('SIGSTOP');
    await promote(regions.admin('us'), tenant.id, 'us', second);
    await until('us acknowledges', () => writers.by('us').length > SOME);
    clock.set(performance.now() - suspendedAt);
    regions.process(SUSPENDED).kill('SIGCONT');
    await until('eu forwards', () => writers.count(SUSPENDED, 307) > SOME);
    const [first] = writers.by('us');
    assert.deepEqual(
      writers.by(SUSPENDED).filter(({ at }) => at > (first?.at ?? 0)),
      [],
    );
  });
});
