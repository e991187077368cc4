import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { loadConfig } from '../assembly/settings.ts';
import { PASSWORD_SLOTS } from '../kernel/crypto/passwords.ts';
import { BODY_MEMORY_MIB_MIN, WORKERS_MAX } from './settings.ts';
import { CONNECTIONS_MAX, workerShares } from './worker-shares.ts';

const withWorkers = (workers: number, more: Record<string, string> = {}) =>
  loadConfig({ CV_DATABASE_URL: 'postgres://u:p@localhost/coffer', CV_WORKERS: String(workers), ...more });

test('one process has all of it', () => {
  const config = withWorkers(1);
  assert.deepEqual(workerShares(config, Number.POSITIVE_INFINITY), {
    descriptorsForClients: Number.POSITIVE_INFINITY,
    connectionsMax: CONNECTIONS_MAX,
    connectionsPerAddress: config.connectionsPerAddress,
    bodyMemoryMib: config.bodyMemoryMib,
    passwordSlots: PASSWORD_SLOTS,
  });
});

test('several have equal parts, which together are the whole or a little more', () => {
  const whole = fc.record({
    workers: fc.integer({ min: 1, max: WORKERS_MAX }),
    perAddress: fc.integer({ min: 1, max: 20_000 }),
    bodyMib: fc.integer({ min: BODY_MEMORY_MIB_MIN, max: 65_536 }),
  });
  fc.assert(
    fc.property(whole, ({ workers, perAddress, bodyMib }) => {
      const shares = workerShares(
        withWorkers(workers, {
          CV_CONNECTIONS_PER_ADDRESS: String(perAddress),
          CV_BODY_MEMORY_MIB: String(bodyMib),
        }),
        Number.POSITIVE_INFINITY,
      );
      const isPart = (share: number, of: number) => share * workers >= of && share * workers < of + workers;
      assert.ok(isPart(shares.connectionsPerAddress, perAddress));
      assert.ok(isPart(shares.connectionsMax, CONNECTIONS_MAX));
      assert.ok(isPart(shares.passwordSlots, PASSWORD_SLOTS));
      assert.ok(shares.bodyMemoryMib === BODY_MEMORY_MIB_MIN || isPart(shares.bodyMemoryMib, bodyMib));
      assert.ok(shares.bodyMemoryMib >= BODY_MEMORY_MIB_MIN, 'the largest body fits into the share of one tenant');
    }),
  );
});

test('no process accepts more connections than it has descriptors for', () => {
  const config = withWorkers(4, { CV_DATABASE_POOL: '20' });
  assert.deepEqual(workerShares(config, 1100).connectionsMax, 1000);
  assert.equal(workerShares(config, 1100).descriptorsForClients, 1000, 'each worker has its own descriptors');
  assert.equal(workerShares(config, 100_000).connectionsMax, CONNECTIONS_MAX / 4);
});
