import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { CREDENTIAL_KINDS, type CredentialKind } from '../../server/src/kernel/endpoint/declaration.ts';
import { ok } from '../support/people.ts';
import { Random } from '../support/random.ts';
import { DATABASES, type DatabaseKind } from '../support/service.ts';
import { asSentBy, type Caller, withToken } from './caller.ts';
import { Checks } from './checks.ts';
import { type Answer, Client, type Meddle } from './client.ts';
import { fuzz, type Prepared, prepare, type Run } from './fuzzer.ts';
import { namesIn, newValue, sideOf } from './marks.ts';
import { Pool, type Sighting } from './pool.ts';
import { encoded, type Sent, validDraft } from './request.ts';

/** `npm run test:fuzz` sets these. Rounds repeat what seconds found, however fast the machine is. */
const { COFFER_TEST_FUZZ_SEED, COFFER_TEST_FUZZ_ROUNDS, COFFER_TEST_FUZZ_SECONDS, COFFER_TEST_FUZZ_REQUESTS } =
  process.env;
const SEED = Number(COFFER_TEST_FUZZ_SEED ?? randomInt(2 ** 31));
const ROUNDS = 4;
/** Many requests are sent in runs of this many, each to a new service and from a seed of its own, so that one of them is soon repeated. */
const REQUESTS_OF_A_RUN = 10_000;

/** Many requests are spread over the databases in turn, each run from the next seed: so a run to the end can be continued later, from the seed after its last. */
function runs(): [DatabaseKind, Run][] {
  const onEach = (run: Run) => DATABASES.map((database): [DatabaseKind, Run] => [database, run]);
  if (COFFER_TEST_FUZZ_REQUESTS !== undefined) {
    const requests = Number(COFFER_TEST_FUZZ_REQUESTS);
    return Array.from({ length: Math.ceil(requests / REQUESTS_OF_A_RUN) }, (_, i) => [
      DATABASES[i % DATABASES.length] as DatabaseKind,
      { seed: SEED + i, requests: Math.min(REQUESTS_OF_A_RUN, requests - i * REQUESTS_OF_A_RUN) },
    ]);
  }
  if (COFFER_TEST_FUZZ_ROUNDS !== undefined) return onEach({ seed: SEED, rounds: Number(COFFER_TEST_FUZZ_ROUNDS) });
  if (COFFER_TEST_FUZZ_SECONDS !== undefined) return onEach({ seed: SEED, seconds: Number(COFFER_TEST_FUZZ_SECONDS) });
  return onEach({ seed: SEED, rounds: ROUNDS });
}

describe('requests made from the document', () => {
  for (const [database, run] of runs()) {
    test(`break nothing on ${database}, from seed ${run.seed}`, async (t) => {
      const prepared = await prepare(database, { logLevel: 'trace' });
      const outcome = await fuzz(prepared, run)
        .catch((error: Error) => {
          // Told at once: a long run lists what failed only at its end.
          t.diagnostic(`seed ${run.seed}, ${database}: ${error.stack}`);
          throw error;
        })
        .finally(() => prepared.close());
      const { requests, failures, statuses, unreached, unserved } = outcome;
      const counted = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${count} × ${status}`);
      t.diagnostic(
        `seed ${run.seed}, ${database}: ${requests} requests; ${counted.join(', ')}; without success: ${unreached.join(', ')}`,
      );
      t.diagnostic(`callers to whom nothing opened: ${unserved.join(', ') || 'none'}`);
      for (const failure of failures) t.diagnostic(failure);
      assert.equal(failures.length, 0, `seed ${run.seed}: what went wrong stands above`);
    });
  }
});

describe('the fuzzer itself', () => {
  let prepared: Prepared;
  before(async () => {
    prepared = await prepare('sqlite');
  });
  after(() => prepared.close());

  describe('callers who probe', () => {
    const me = () => '/auth/me';
    const secret = ({ vault }: Sighting) => `/v1/vaults/${vault}/secrets/db/main`;
    /** Where a credential of this kind opens something, if it is good. */
    const ENTRANCES: Record<CredentialKind, (home: Sighting) => string> = {
      pat: me,
      session: me,
      connection: secret,
      federation: secret,
      workload: secret,
      certificate: ({ vault, client_id }) => `/app-connections/fetch/${client_id}/${vault}/db/main`,
      scim: () => '/scim/v2/Users',
      metrics: () => '/metrics',
      cluster: ({ cluster_id }) => `/clusters/${cluster_id}/desired-state`,
      bound_certificate: ({ vault }) => `/eso/secrets/by-name?vault=${vault}&name=db%2Fmain`,
    };
    const kindsOf = (lists: readonly (readonly string[])[]) => [...new Set(lists.flat())].toSorted();
    let client: Client;
    before(() => {
      client = new Client(prepared.service);
    });
    after(() => client.close());

    const ask = async (caller: Caller, path: string) => {
      const sent = await asSentBy(caller, { method: 'GET', path, headers: [], body: null });
      return client.send(sent, caller.certificate());
    };

    test('have every kind of credential that the document knows, and each of theirs opens what it should', async () => {
      const { callers, operations } = prepared;
      const declared = kindsOf(operations.map(({ credentials }) => credentials));
      assert.deepEqual(kindsOf(callers.all.map(({ kinds }) => kinds)), declared);
      assert.deepEqual(declared, [...CREDENTIAL_KINDS].toSorted());
      for (const caller of callers.all) {
        for (const kind of caller.kinds as readonly CredentialKind[]) {
          const { status, text } = await ask(caller, ENTRANCES[kind](caller.home ?? {}));
          assert.equal(status, 200, `${caller.name}, ${kind}: ${text}`);
        }
      }
    });

    test('open nothing if there is something wrong with their credential, or if it was overheard', async () => {
      const { all } = prepared.callers;
      const home = all.find(({ kinds }) => kinds.includes('certificate'))?.home ?? {};
      for (const stranger of all.filter(({ kinds }) => kinds.length === 0)) {
        for (const entrance of Object.values(ENTRANCES)) {
          const { status, text } = await ask(stranger, entrance(stranger.home ?? home));
          assert.ok(status === 401 || status === 403, `${stranger.name}: ${text}`);
        }
      }
      for (const caller of all.filter(({ isOnce }) => isOnce)) {
        const path = ENTRANCES[caller.kinds[0] as CredentialKind](caller.home ?? {});
        const sent = await asSentBy(caller, { method: 'GET', path, headers: [], body: null });
        assert.equal((await client.send(sent, caller.certificate())).status, 200, caller.name);
        assert.equal((await client.send(sent, caller.certificate())).status, 401, caller.name);
      }
    });
  });

  test('a known caller who asks with OPTIONS too often is told so, and that is no fault', async () => {
    const { service, operations } = prepared;
    const body = { name: 'limited', ttl_days: 1, rate_limits: { read: 1, write: 1 } };
    const { token } = await ok(service.call('POST', '/auth/tokens', { body }), 201);
    const caller = withToken('a limited admin', token);
    const operation = operations.find(({ id }) => id === 'readMe');
    assert.ok(operation);
    const random = new Random(1);
    const valid = validDraft(random, new Pool(random, new Set()), caller.side, operation);
    const draft = { ...valid, method: 'OPTIONS', tricks: ['another method'] };
    const sent = await asSentBy(caller, encoded(random, draft));
    const client = new Client(service);
    const answers = [await client.send(sent, null), await client.send(sent, null)];
    client.close();
    assert.deepEqual(
      answers.map(({ status }) => status),
      [204, 429],
    );
    const checks = new Checks(operations, new Set());
    const problems = answers.flatMap((answer) => checks.of({ caller, draft, sent, answer }));
    assert.deepEqual(problems, []);
    const [, limit] = answers as [Answer, Answer];
    delete limit.headers['x-ratelimit-limit'];
    assert.deepEqual(checks.of({ caller, draft, sent, answer: limit }), ['OPTIONS answered 429']);
  });

  describe('a service that is not as it says', () => {
    const KINDS = ['createGroup', 'listGroups', 'listUsers', 'readMe', 'createVault', 'listVaults'];
    const found = async (meddle: Meddle) =>
      (await fuzz(prepared, { seed: 1, rounds: 30, only: KINDS, meddle })).failures.join('\n');
    const isListOf = (noun: string, { method, path }: Sent, { status }: Answer) =>
      method === 'GET' && status === 200 && new RegExp(`^(?:/v1)?/${noun}(?:\\?|$)`).test(path);
    const put = (answer: Answer, fields: object) => {
      answer.json = { ...(answer.json as object), ...fields };
      answer.text = JSON.stringify(answer.json);
    };

    const proofs = new Set<string>();
    let theirName = '';
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
      'a proof that is taken again': [
        ({ headers }, answer) => {
          const proof = headers.find(([name]) => name === 'dpop')?.[1];
          if (proof === undefined) return;
          if (proofs.has(proof)) answer.status = 200;
          proofs.add(proof);
        },
        /let somebody who overheard an admin with a key do [a-zA-Z]+/,
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
          for (const name of namesIn(String(sent.body))) if (sideOf(name) === 'theirs') theirName = name;
          if (isListOf('groups', sent, answer)) answer.text += theirName;
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
      // A new one: the senders are noted for one run, and what a run made stays.
      const untouched = await prepare('sqlite');
      const { failures } = await fuzz(untouched, { seed: 1, rounds: 20, only: KINDS });
      await untouched.close();
      assert.deepEqual(failures, []);
    });
  });
});
