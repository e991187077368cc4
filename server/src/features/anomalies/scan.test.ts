import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { anomaliesOf, scanned } from '../../../../test/support/anomalies.ts';
import { tick } from '../../../../test/support/background-work.ts';
import { addTenant, ok, type Tenant } from '../../../../test/support/people.ts';
import { countingOf } from '../../../../test/support/rollups.ts';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { Receiver } from '../../../../test/support/siem-receivers.ts';
import { until } from '../../../../test/support/until.ts';
import { addSecret, addVault, runJobs } from '../../../../test/support/vaults.ts';
import { webhookCalls } from '../../../../test/support/webhooks.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../kernel/base/clock.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import * as scans from './scan-store.ts';
import { newLease, runScan } from './scheduler.ts';

/** The kernel with what a scan gets besides. */
function scanning(kernel: Kernel) {
  return { ...kernel, counting: countingOf(kernel) };
}

onBothDatabases('scans for anomalies', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database, {
      env: {
        CV_OUTBOUND_ALLOW: '127.0.0.1/32',
        CV_ANOMALY_ML_VERSION: 'shadow',
        ANOMALY_SCHEDULER_INTERVAL_HOURS: '12',
      },
    });
  });
  after(() => service.close());

  const rowOf = async (tenant: Tenant) => {
    const row = await scans.findScan(service.app.kernel.database.read, tenant.id);
    assert.ok(row !== undefined);
    return row;
  };
  const setStatus = (tenant: Tenant, status: string) =>
    ok(service.call('PATCH', `/v1/tenants/${tenant.id}`, { body: { status } }));
  /** A tenant with as many stale secrets, whose scan nobody else takes. */
  async function stale(count: number): Promise<{ tenant: Tenant; vault: string }> {
    const tenant = await addTenant(service);
    const vault = await addVault(service, {}, tenant.owner.token);
    for (let i = 0; i < count; i++) await addSecret(service, vault, `old-${i}`, {}, tenant.owner.token);
    // Suspended until a test has its scan: otherwise the service may be faster, once it is due.
    await setStatus(tenant, 'suspended');
    service.clock.advance(91 * DAY_MS);
    await taken(tenant, 'test');
    await setStatus(tenant, 'active');
    return { tenant, vault };
  }
  /** Takes the scan of a tenant as a node does that found it due. */
  async function taken(tenant: Tenant, owner: string): Promise<scans.ScanRow> {
    const lease = { lease_owner: owner, lease_until: service.clock.now() + 30 * MINUTE_MS };
    const row = await service.app.kernel.database.transaction(async (tx) => {
      const found = (await scans.findScan(tx, tenant.id)) ?? (await scans.requestScan(tx, tenant.id, 0));
      assert.ok(found !== undefined);
      assert.ok(await scans.takeScan(tx, found, lease));
      return found;
    });
    return { ...row, ...lease };
  }

  test('a new tenant is scanned by itself, and again after the interval', async () => {
    const tenant = await addTenant(service);
    await runJobs(service);
    service.clock.advance(2 * MINUTE_MS);
    await runJobs(service);
    assert.equal((await rowOf(tenant)).last_scanned_at, null, 'its first scan is in an hour');
    service.clock.advance(2 * HOUR_MS);
    await until('the scan does not happen', async () => (await rowOf(tenant)).last_scanned_at !== null);
    const first = await rowOf(tenant);
    service.clock.advance(11 * HOUR_MS);
    await tick(service, 'anomaly scans');
    assert.equal(Number((await rowOf(tenant)).scan_no), Number(first.scan_no));
    service.clock.advance(2 * HOUR_MS);
    await until(
      'the scan does not happen',
      async () => Number((await rowOf(tenant)).scan_no) === Number(first.scan_no) + 1,
    );
  });

  test('a suspended tenant is not scanned', async () => {
    const tenant = await addTenant(service);
    await scanned(service, tenant.owner.token);
    const before = await rowOf(tenant);
    await setStatus(tenant, 'suspended');
    service.clock.advance(2 * DAY_MS);
    await tick(service, 'anomaly scans');
    assert.equal(Number((await rowOf(tenant)).scan_no), Number(before.scan_no));
  });

  test('a scan that is killed half-way is repeated, and counts and tells nothing twice', async () => {
    const { tenant } = await stale(60);
    const { token } = tenant.owner;
    const receiver = await Receiver.start();
    const calls = webhookCalls(service, tenant);
    const hook = await calls.create(receiver.url, { events: ['anomaly.detected'] });
    const row = await taken(tenant, 'node-that-dies');
    const killed = new AbortController();
    const running = runScan(scanning(service.app.kernel), row, killed.signal);
    await until('the scan does not happen', async () => (await anomaliesOf(service, token)).length > 0);
    killed.abort();
    await running;
    await until('the scan does not happen', async () => Number((await rowOf(tenant)).scan_no) > 0);
    const found = await anomaliesOf(service, token, 'type=stale_rotation');
    assert.equal(found.length, 60);
    assert.ok(found.every(({ occurrences }) => occurrences === 1));
    assert.equal((await calls.deliveriesOf(hook)).length, 60);
    await calls.remove(hook);
  });

  test('a node that has lost its lease stores nothing', async () => {
    const { tenant } = await stale(1);
    const row = await taken(tenant, 'slow-node');
    await taken({ ...tenant }, 'fast-node').catch(() => {});
    await service.app.kernel.database.transaction((tx) =>
      scans.updateScan(tx, row, { lease_owner: 'fast-node', lease_until: service.clock.now() + MINUTE_MS }),
    );
    await runScan(scanning(service.app.kernel), row, new AbortController().signal);
    assert.deepEqual(await anomaliesOf(service, tenant.owner.token), []);
    assert.equal((await rowOf(tenant)).lease_owner, 'fast-node');
  });

  test('nor does a scan whose tenant its own node has leased again, after the clock was set', async () => {
    const { tenant } = await stale(1);
    const { kernel } = service.app;
    const first = await taken(tenant, String(newLease(kernel).lease_owner));
    const again = newLease(kernel);
    assert.ok(await kernel.database.transaction((tx) => scans.takeScan(tx, first, again)));
    await runScan(scanning(kernel), first, new AbortController().signal);
    assert.deepEqual(await anomaliesOf(service, tenant.owner.token), []);
    assert.equal((await rowOf(tenant)).lease_owner, again.lease_owner);
  });

  test('a use of a connection that was seen is not replaced by an earlier one', async () => {
    const tenant = await addTenant(service);
    const { database: db } = service.app.kernel;
    const stored = async (...times: number[]) => {
      for (const at of times) await db.transaction((tx) => scans.storeUses(tx, tenant.id, new Map([['c', at]])));
      return (await scans.connectionUses(db.read, tenant.id, ['c'])).get('c');
    };
    assert.equal(await stored(5), 5);
    assert.equal(await stored(7, 6), 7);
    assert.equal(await stored(8), 8);
  });

  test('a request during a scan asks for another one', async () => {
    const tenant = await addTenant(service);
    const row = await taken(tenant, 'some-node');
    service.clock.advance(1000);
    const { database: db } = service.app.kernel;
    await db.transaction((tx) => scans.fulfilRequests(tx, tenant.id, service.clock.now()));
    const startedAt = service.clock.now();
    service.clock.advance(1000);
    await db.transaction((tx) => scans.requestScan(tx, tenant.id, service.clock.now()));
    await db.transaction((tx) => scans.fulfilRequests(tx, tenant.id, startedAt));
    assert.notEqual((await rowOf(tenant)).requested_at, null);
    await db.transaction((tx) => scans.updateScan(tx, row, { lease_owner: null, lease_until: 0 }));
    await until('the scan does not happen', async () => (await rowOf(tenant)).requested_at === null);
  });

  test('a wrong clock does not keep a tenant from being scanned', async () => {
    const tenant = await addTenant(service);
    await scanned(service, tenant.owner.token);
    const far = service.clock.now() + 400 * DAY_MS;
    await service.app.kernel.database.transaction((tx) =>
      tx
        .updateTable('anomaly_scans')
        .set({ last_scanned_at: far, lease_until: far, retry_at: far })
        .where('tenant_id', '=', tenant.id)
        .execute(),
    );
    await until('the scan does not happen', async () => Number((await rowOf(tenant)).last_scanned_at) < far);
  });
});
