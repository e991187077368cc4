import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addTenant, ok, refused, type Tenant, uniqueName } from '../../../../test/support/people.ts';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import type { Regions } from './region-gate.ts';

onBothDatabases('the lease of a region', (database) => {
  let service: Service;
  let tenant: Tenant;
  /** What the next checks find; afterwards there is a lease. */
  let leases: boolean[] = [];

  const regions: Regions = {
    name: 'eu',
    homeOf: () => ({ kind: 'here', isAssigned: true }),
    homeIn: async () => ({ kind: 'here', isAssigned: true }),
    urlOf: () => null,
    isReachable: () => true,
    hasLease: () => leases.shift() ?? true,
    foreignToken: async () => null,
    isRevoked: async () => false,
    publishRevoked: async () => {},
  };

  before(async () => {
    service = await startService(database);
    tenant = await addTenant(service, { plan: 'enterprise' });
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
    leases = [true, false];
    await refused(create(), 503, 'UNAVAILABLE');
    assert.equal(await groups(name), 1, 'it has happened');
    leases = [false];
    await refused(create(), 503, 'UNAVAILABLE');
    const repeated = await create();
    assert.deepEqual([repeated.status, repeated.headers.get('idempotency-replayed')], [201, 'true']);
    assert.equal(await groups(name), 1);
  });

  test('nothing changes without it', async () => {
    const name = uniqueName('group');
    leases = [false];
    const { message } = await refused(send('POST', '/v1/groups', { name }), 503, 'UNAVAILABLE');
    assert.match(message, /changes nothing: try again/);
    assert.equal(await groups(name), 0);
  });

  test('a request that waits for approval is not acknowledged without it', async () => {
    const vault = await ok(send('POST', '/v1/vaults', { name: uniqueName('vault'), environment: 'production' }), 201);
    leases = [true, false];
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
