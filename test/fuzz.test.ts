import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { fuzz, type Run } from './fuzz/fuzzer.ts';
import { onBothDatabases, startService } from './support/service.ts';

/** `npm run test:fuzz` sets these. Rounds repeat what seconds found, however fast the machine is. */
const { COFFER_TEST_FUZZ_SEED, COFFER_TEST_FUZZ_ROUNDS, COFFER_TEST_FUZZ_SECONDS } = process.env;
const SEED = Number(COFFER_TEST_FUZZ_SEED ?? randomInt(2 ** 31));
const ROUNDS = 6;

function bounds(): Omit<Run, 'seed'> {
  if (COFFER_TEST_FUZZ_ROUNDS !== undefined) return { rounds: Number(COFFER_TEST_FUZZ_ROUNDS) };
  return COFFER_TEST_FUZZ_SECONDS === undefined ? { rounds: ROUNDS } : { seconds: Number(COFFER_TEST_FUZZ_SECONDS) };
}

onBothDatabases('requests made from the document', (database) => {
  test(`break nothing, from seed ${SEED}`, async (t) => {
    const service = await startService(database, { logLevel: 'trace' });
    const { requests, failures, statuses, unreached } = await fuzz(service, { seed: SEED, ...bounds() });
    await service.close();
    const counted = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${count} × ${status}`);
    t.diagnostic(`seed ${SEED}: ${requests} requests; ${counted.join(', ')}; without success: ${unreached.join(', ')}`);
    assert.deepEqual(failures, [], `seed ${SEED}\n${failures.join('\n')}`);
  });
});
