import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  addPerson,
  addTenant,
  logIn,
  ok,
  type Person,
  refused,
  type Tenant,
  tryLogIn,
  uniqueName,
} from '../../../../test/support/people.ts';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { addSecret, addVault, runJobs, secretUrl } from '../../../../test/support/vaults.ts';
import type { Regions } from '../auth/region-gate.ts';
import { DAY_MS } from '../base/clock.ts';

onBothDatabases('the lease of a region', (database) => {
  let service: Service;
  let tenant: Tenant;
  let person: Person;
  /** What the next checks find; afterwards there is a lease. A change is checked before it begins, before its commit and before it is acknowledged. */
  let leases: boolean[] = [];
  /** What jobs find. */
  let isServed = true;

  const regions: Regions = {
    name: 'eu',
    // Jobs name no epoch. They do not use up what is meant for requests.
    homeOf: (_, epoch) => ({ kind: 'here', isAssigned: epoch !== null || !isServed }),
    homeIn: async () => ({ kind: 'here', isAssigned: true }),
    urlOf: () => null,
    isReachable: () => true,
    hasLease: () => isServed && (leases.shift() ?? true),
    foreignToken: async () => null,
    isRevoked: async () => false,
    publishRevoked: async () => {},
  };

  before(async () => {
    service = await startService(database);
    tenant = await addTenant(service, { plan: 'enterprise' });
    person = await addPerson(service, { tenant });
    await runJobs(service);
    service.app.kernel.regionGate.use(regions);
  });
  after(() => service.close());

  const send = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
    service.call(method, path, { token: tenant.owner.token, ...(body && { body }), headers });
  const groups = async (name: string) =>
    (await ok(send('GET', '/v1/groups'))).groups.filter((group: { name: string }) => group.name === name).length;

  test('a change that commits after it has ended is not acknowledged, and neither is a repetition', async () => {
    const name = uniqueName('group');
    const create = () => send('POST', '/v1/groups', { name }, { 'idempotency-key': name });
    leases = [true, true, false];
    await refused(create(), 503, 'UNAVAILABLE');
    assert.equal(await groups(name), 1, 'it has happened');
    leases = [false];
    await refused(create(), 503, 'UNAVAILABLE');
    const repeated = await create();
    assert.deepEqual([repeated.status, repeated.headers.get('idempotency-replayed')], [201, 'true']);
    assert.equal(await groups(name), 1);
  });

  test('nothing changes without it, or if it ends before the commit', async () => {
    const name = uniqueName('group');
    for (const ends of [[false], [true, false]]) {
      leases = ends;
      const { message } = await refused(send('POST', '/v1/groups', { name }), 503, 'UNAVAILABLE');
      assert.match(message, /changes nothing: try again/);
      assert.equal(await groups(name), 0);
    }
  });

  test('nobody logs in without it, although a login is a public endpoint', async () => {
    const sessions = async () => {
      const query = service.app.kernel.database.read.selectFrom('tokens').select('token_id');
      return (await query.where('tenant_id', '=', tenant.id).where('kind', '=', 'session').execute()).length;
    };
    const before = await sessions();
    for (const ends of [[false], [true, false], [true, true, false]]) {
      leases = ends;
      await refused(tryLogIn(service, person), 503, 'UNAVAILABLE');
    }
    assert.equal(await sessions(), before + 1, 'only the last one was committed, and nobody got it');
    await logIn(service, person);
  });

  test('jobs change nothing without it, and do their work once it is back', async () => {
    const vault = await addVault(service, {}, tenant.owner.token);
    await addSecret(service, vault, 'a', { type: 'password', rotation: { interval_days: 1 } }, tenant.owner.token);
    const version = async () => (await ok(send('GET', secretUrl(vault, 'a')))).version;
    service.clock.advance(2 * DAY_MS);
    isServed = false;
    await runJobs(service);
    assert.equal(await version(), 1);
    isServed = true;
    service.clock.advance(DAY_MS);
    await runJobs(service);
    assert.equal(await version(), 2);
  });

  test('a request that waits for approval is not acknowledged without it', async () => {
    const vault = await ok(send('POST', '/v1/vaults', { name: uniqueName('vault'), environment: 'production' }), 201);
    leases = [true, true, false];
    const { message } = await refused(send('DELETE', `/v1/vaults/${vault.name}`), 503, 'UNAVAILABLE');
    assert.match(message, /was made here, but may be lost/, 'it must not say that nothing was changed');
    const stored = service.app.kernel.database.read.selectFrom('approvals').select('approval_id');
    assert.equal((await stored.where('tenant_id', '=', tenant.id).execute()).length, 1, 'it is stored');
  });

  test('reads need none', async () => {
    leases = [false, false];
    await ok(send('GET', '/v1/groups'));
    assert.equal(leases.length, 2);
    leases = [];
  });
});
