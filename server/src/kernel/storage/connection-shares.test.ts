import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONNECTIONS_MIN, connectionShares } from './connection-shares.ts';

test('whatever the pool, nobody can hold every connection', () => {
  for (let pool = 1; pool <= 100; pool++) {
    const shares = connectionShares(pool);
    const { audit, reads, bulkReads, service, transactions, transactionsPerTenant, bulkTransactions } = shares;
    assert.equal(audit + reads + bulkReads + service + transactions, Math.max(pool, CONNECTIONS_MIN), String(pool));
    assert.ok(service >= 2);
    assert.ok(transactionsPerTenant >= 1 && transactionsPerTenant < transactions, String(pool));
    assert.ok(bulkTransactions >= 1 && bulkTransactions < transactions, String(pool));
  }
});
