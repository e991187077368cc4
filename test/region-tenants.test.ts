import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Home, Regions } from '../server/src/kernel/auth/region-gate.ts';
import { DAY_MS } from '../server/src/kernel/base/clock.ts';
import { purgeAudit } from './support/audit-retention.ts';
import { addConnection } from './support/machines.ts';
import { addTenant, ok, type Tenant } from './support/people.ts';
import { onBothDatabases, type Service, startService } from './support/service.ts';
import { Receiver } from './support/siem-receivers.ts';
import { until } from './support/until.ts';
import { addSecret, addVault, auditOf, readValue, runJobs } from './support/vaults.ts';

/** A region has copies of tenants whose work another region does. */
onBothDatabases('tenants of another region', (database) => {
  const HERE: Home = { kind: 'here', isAssigned: true };
  const elsewhere = new Set<string>();
  let service: Service;
  let [own, foreign]: Tenant[] = [];
  let receiver: Receiver;

  const homeOf = (tenantId: string): Home => (elsewhere.has(tenantId) ? { kind: 'elsewhere', region: 'us' } : HERE);
  const regions: Regions = {
    name: 'eu',
    homeOf,
    homeIn: async (_, tenantId) => homeOf(tenantId),
    urlOf: () => 'https://us.example.com',
    isReachable: () => true,
    hasLease: () => true,
    foreignToken: async () => null,
    isRevoked: async () => false,
    publishRevoked: async () => {},
  };

  before(async () => {
    service = await startService(database, { env: { CV_OUTBOUND_ALLOW: '127.0.0.1/32' } });
    receiver = await Receiver.start();
    own = await addTenant(service);
    foreign = await addTenant(service);
    service.app.kernel.regionGate.use(regions);
  });
  after(() => service.close());

  const setElsewhere = (isElsewhere: boolean) => {
    const { id } = foreign as Tenant;
    if (isElsewhere) elsewhere.add(id);
    else elsewhere.delete(id);
  };
  const told = () => receiver.requests.map(({ body }) => JSON.parse(body).tenant as string);
  const runDays = async (days: number) => {
    for (let day = 0; day < days; day++) {
      service.clock.advance(DAY_MS);
      await runJobs(service);
    }
  };

  test('get no notices of their certificates here', async () => {
    for (const { owner } of [own, foreign] as Tenant[]) {
      const body = { url: receiver.url, events: ['certificate.expiring'] };
      await ok(service.call('POST', '/webhooks', { token: owner.token, body }), 201);
      const vault = await addVault(service, {}, owner.token);
      await addConnection(service, vault, { certificate_ttl_days: 20 }, owner.token);
    }
    setElsewhere(true);
    await runDays(14);
    await until('the tenant of this region is told', () => told().length > 0);
    assert.deepEqual(told(), [own?.id]);
    setElsewhere(false);
    await runDays(1);
    await until('the other one is told once it is served here', () => told().length > 1);
    assert.deepEqual(told(), [own?.id, foreign?.id]);
  });

  test('keep their log here, which their own region purges', async () => {
    const { token } = (foreign as Tenant).owner;
    const vault = await addVault(service, { audit: { retention_days: 7 } }, token);
    await addSecret(service, vault, 'a', {}, token);
    for (let n = 0; n < 3; n++) await readValue(service, vault, 'a', { token });
    service.clock.advance(10 * DAY_MS);
    await ok(service.call('POST', '/v1/audit/checkpoints', { token }), 201);
    const reads = async () => (await auditOf(service, `action=secrets:read&vault=${vault}`, token)).length;
    setElsewhere(true);
    await purgeAudit(service);
    setElsewhere(false);
    assert.equal(await reads(), 3);
    await purgeAudit(service);
    assert.equal(await reads(), 0, 'once it is served here they go');
  });
});
