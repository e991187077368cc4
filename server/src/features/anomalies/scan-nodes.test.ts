import assert from 'node:assert/strict';
import { test } from 'node:test';
import { anomaliesOf, scanned } from '../../../../test/support/anomalies.ts';
import { tick } from '../../../../test/support/background-work.ts';
import { addTenant, ok } from '../../../../test/support/people.ts';
import { newMigratedDatabase } from '../../../../test/support/postgres.ts';
import { startService } from '../../../../test/support/service.ts';
import { addSecret, addVault, startNodeBeside } from '../../../../test/support/vaults.ts';
import { DAY_MS } from '../../kernel/base/clock.ts';
import { findScan, requestScan } from './scan-store.ts';

test('two nodes on PostgreSQL scan a tenant once', async () => {
  const databaseUrl = await newMigratedDatabase();
  const one = await startService('postgres', { databaseUrl });
  const other = await startNodeBeside(one, databaseUrl);
  try {
    const tenant = await addTenant(one);
    const { token } = tenant.owner;
    const vault = await addVault(one, {}, token);
    for (let i = 0; i < 30; i++) await addSecret(one, vault, `old-${i}`, {}, token);
    for (const node of [one, other]) node.clock.advance(91 * DAY_MS);
    for (let scan = 1; scan <= 3; scan++) {
      await Promise.all([one, other].map((node) => ok(node.call('POST', '/anomalies/scan', { token }))));
      await scanned(one, token);
    }
    const row = await findScan(one.app.kernel.database.read, tenant.id);
    const found = await anomaliesOf(one, token, 'type=stale_rotation');
    assert.equal(found.length, 30);
    assert.ok(
      found.every(({ occurrences }) => occurrences === Number(row?.scan_no)),
      'each scan counts once',
    );
  } finally {
    await other.close();
    await one.close();
  }
});

test('a node whose clock differs from the database’s scans nothing', async () => {
  const node = await startService('postgres');
  node.expectErrorLogs(/the clock of this node differs/);
  try {
    const tenant = await addTenant(node);
    const vault = await addVault(node, {}, tenant.owner.token);
    await addSecret(node, vault, 'new', {}, tenant.owner.token);
    const { database } = node.app.kernel;
    node.clock.set({ node: 400 * DAY_MS });
    await database.transaction((tx) => requestScan(tx, tenant.id, 1));
    await tick(node, 'anomaly scans');
    const row = await findScan(database.read, tenant.id);
    assert.deepEqual([Number(row?.scan_no), row?.lease_owner], [0, null]);
  } finally {
    await node.close();
  }
});
