import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import type { Answer, Meddle } from './fuzz/client.ts';
import { fuzz, type Prepared, prepare, type Run } from './fuzz/fuzzer.ts';
import { nameMark, newValue } from './fuzz/marks.ts';
import type { Sent } from './fuzz/request.ts';
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
    const { requests, failures, statuses, unreached } = await fuzz(await prepare(service), { seed: SEED, ...bounds() });
    await service.close();
    const counted = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${count} × ${status}`);
    t.diagnostic(`seed ${SEED}: ${requests} requests; ${counted.join(', ')}; without success: ${unreached.join(', ')}`);
    for (const failure of failures) t.diagnostic(failure);
    assert.equal(failures.length, 0, `seed ${SEED}: what went wrong stands above`);
  });
});

describe('a service that is not as it says', () => {
  let prepared: Prepared;
  before(async () => {
    prepared = await prepare(await startService('sqlite'));
  });
  after(() => prepared.service.close());

  const KINDS = ['createGroup', 'listGroups', 'listUsers', 'readMe', 'createVault', 'listVaults'];
  const found = async (meddle: Meddle) =>
    (await fuzz(prepared, { seed: 1, rounds: 20, only: KINDS, meddle })).failures.join('\n');
  const isListOf = (noun: string, { method, path }: Sent, { status }: Answer) =>
    method === 'GET' && status === 200 && new RegExp(`^(?:/v1)?/${noun}(?:\\?|$)`).test(path);
  const put = (answer: Answer, fields: object) => {
    answer.json = { ...(answer.json as object), ...fields };
    answer.text = JSON.stringify(answer.json);
  };

  /** What is planted, and what is then said of it. */
  const FAULTS: Record<string, [Meddle, RegExp]> = {
    'an answer of 500': [
      (sent, answer) => {
        if (isListOf('groups', sent, answer)) answer.status = 500;
      },
      /answered 500/,
    ],
    'a field that is not declared': [
      (sent, answer) => {
        if (isListOf('users', sent, answer)) put(answer, { password_hash: 'x' });
      },
      /listUsers answered 200 {2}unlike its schema/,
    ],
    'a field of another type': [
      (sent, answer) => {
        if (isListOf('vaults', sent, answer)) put(answer, { total: '3' });
      },
      /listVaults answered 200 {2}unlike its schema/,
    ],
    'a code that is not declared': [
      (_, answer) => {
        if (answer.status !== 422) return;
        put(answer, { error: { ...(answer.json as { error: object }).error, code: 'ENVIRONMENT_CYCLE' } });
      },
      /answered 422 ENVIRONMENT_CYCLE unlike its schema/,
    ],
    'a status that is not declared': [
      (sent, answer) => {
        if (isListOf('users', sent, answer)) answer.status = 203;
      },
      /listUsers answered 203 , which it does not declare/,
    ],
    'a success for who may not': [
      (_, answer) => {
        // Who fails often is told so in place of why.
        if (answer.status === 401 || answer.status === 429) answer.status = 200;
      },
      /let [a-z ]+ do [a-zA-Z]+/,
    ],
    'a page that is too long': [
      (sent, answer) => {
        if (isListOf('groups', sent, answer)) put(answer, { groups: Array.from({ length: 1001 }, () => ({})) });
      },
      /1001 groups on a page of/,
    ],
    'no request id': [(_, answer) => void delete answer.headers['x-request-id'], /no request id/],
    'a value in an error': [
      (_, answer) => {
        if (answer.status === 422) answer.text += newValue();
      },
      /an error repeats a value/,
    ],
    'what another tenant called its things': [
      (sent, answer) => {
        if (isListOf('groups', sent, answer)) answer.text += nameMark('theirs', '0000000');
      },
      /tells a name of another tenant/,
    ],
  };

  for (const [name, [meddle, said]] of Object.entries(FAULTS)) {
    test(`${name} is seen, and how to see it again is told`, async () => {
      const failures = await found(meddle);
      assert.match(failures, said);
      assert.match(failures, /request \d+, as [a-z ]+: [A-Z]+ \//);
      assert.match(failures, /again: npm run test:fuzz -- --seed 1/);
    });
  }

  test('a value in the log, and an error in it, are seen', async () => {
    const { log } = prepared.service.app.kernel;
    assert.match(await found(() => log.info(`read ${newValue()}`)), /the log holds a value/);
    assert.match(await found(() => log.error('something broke')), /logged .*something broke/);
  });

  test('nothing is seen where nothing is wrong', async () => {
    assert.equal(await found(() => {}), '');
  });
});
