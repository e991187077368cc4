import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { MESSAGE_LENGTH_MAX } from '../../server/src/features/copilot/schemas.ts';
import { HOUR_MS } from '../../server/src/kernel/base/clock.ts';
import { createLogger } from '../../server/src/kernel/observability/log.ts';
import { Metrics } from '../../server/src/kernel/observability/metrics.ts';
import { TURN_MS_MAX, TurnMonitor } from '../../server/src/kernel/observability/turn-monitor.ts';
import { COPILOT_ENV } from '../support/copilot-inputs.ts';
import { addPerson, addTenant, ok, type Tenant } from '../support/people.ts';
import { onBothDatabases, type Service, startService } from '../support/service.ts';
import { addVault } from '../support/vaults.ts';
import { attachFullestPolicies } from '../support/worst-inputs.ts';

/** What froze the process for everybody, sent again: no turn of the event loop may take longer than allowed, in processor time. */

const SEGMENT = 'a'.repeat(31);
const ROWS = 40;
const VAULTS = 400;
const AT_ONCE = 40;
const WARM_UP_PASSES = 3;
/** Garbage collection is part of a turn and does not come each time, so a request is too slow only if it is each time. */
const TRIES = 3;

onBothDatabases('a caller who sends what is slow', (database) => {
  let service: Service;
  let tenant: Tenant;
  before(async () => {
    service = await startService(database, { env: COPILOT_ENV });
    tenant = await addTenant(service);
  });
  after(() => service.close());

  /** The first passes are not measured: code that is not compiled yet takes longer. */
  async function longestTurnOf(act: () => Promise<unknown>): Promise<number> {
    for (let pass = 1; pass <= WARM_UP_PASSES; pass++) await act();
    let shortestMs = Number.POSITIVE_INFINITY;
    for (let tried = 0; tried < TRIES && shortestMs >= TURN_MS_MAX; tried++) {
      const monitor = new TurnMonitor(new Metrics(), createLogger({ level: 'error', format: 'json' }));
      // The loop is only watched while a request is being handled.
      monitor.begin('attack');
      await act();
      shortestMs = Math.min(shortestMs, monitor.longestMs);
      monitor.close();
    }
    return shortestMs;
  }

  test('values to be compared, each as long as it may be and nearly all digits', async () => {
    const values = Array.from({ length: 16 }, (_, no) => `a${'2'.repeat(16_370)}${no}-z6b`);
    const { token } = tenant.owner;
    const compare = () => ok(service.call('POST', '/v1/secrets/known', { token, body: { values } }));
    const ms = await longestTurnOf(compare);
    assert.ok(ms < TURN_MS_MAX, `${ms} ms`);
  });

  test('messages to the assistant that make the redactor work most', async () => {
    const { token } = tenant.owner;
    const distinct = Array.from({ length: 700 }, (_, no) => `password="Aa${String(no).padStart(6, '0')}x"`).join(' ');
    for (const unit of [
      '"',
      'a. + ',
      '" -u "',
      '\u200bBasic ',
      'kind: Secret\n/',
      '-----BEGIN PRIVATE KEY-----',
      distinct,
    ]) {
      const content = unit.repeat(Math.ceil(MESSAGE_LENGTH_MAX / unit.length)).slice(0, MESSAGE_LENGTH_MAX);
      const messages = ['user', 'assistant', 'user'].map((role, at) => ({ role, content: at === 1 ? 'yes' : content }));
      messages[2] = { role: 'user', content: content.slice(0, MESSAGE_LENGTH_MAX / 2) };
      const chat = () => service.call('POST', '/copilot/chat', { token, body: { messages } });
      const ms = await longestTurnOf(async () => assert.equal((await chat()).body.error.code, 'COPILOT_UNAVAILABLE'));
      service.clock.advance(HOUR_MS);
      assert.ok(ms < TURN_MS_MAX, `${unit.slice(0, 30)}: ${ms} ms`);
    }
  });

  test('a list of the longest paths, by policies with as many patterns as there may be', async () => {
    const { id, token } = tenant.owner;
    const vault = await addVault(service, {}, token);
    const folder = Array(31).fill(SEGMENT).join('/');
    const secrets = Object.fromEntries(
      Array.from({ length: ROWS }, (_, no) => [`${folder}/${String(no).padStart(31, 'a')}`, 'x']),
    );
    await ok(service.call('POST', `/v1/vaults/${vault}/import`, { token, body: { secrets } }));
    let count = 0;
    const attached: number[] = [];
    for (let no = 0; no < 20; no++) {
      const resource = Array.from(
        { length: 16 },
        () => `vault/${vault}/**/${'*a'.repeat(48)}b${(count++).toString(36)}`,
      );
      const statement = [{ effect: 'deny', action: ['secrets:*'], resource }];
      const body = { name: `fullest-${no}`, document: { version: '2026-01-01', statement } };
      await ok(service.call('POST', '/v1/policies', { token, body }), 201);
      const answer = await service.call('POST', `/v1/policies/fullest-${no}/attach`, {
        token,
        body: { principal: { user: id } },
      });
      attached.push(answer.status);
    }
    assert.ok(attached.includes(422), 'policies beyond the limit are refused');
    assert.ok(
      attached.some((status) => status < 300),
      'policies within it are attached',
    );
    const list = () => ok(service.call('GET', `/v1/vaults/${vault}/secrets?limit=1000`, { token }));
    const ms = await longestTurnOf(list);
    assert.ok(ms < TURN_MS_MAX, `${ms} ms`);
  });

  test('a search in many vaults, by policies with as many patterns as there may be', async () => {
    const person = await addPerson(service, { role: 'owner' });
    assert.ok((await attachFullestPolicies({ service }, person)) > 0, 'policies are attached');
    for (let no = 0; no < VAULTS; no += AT_ONCE)
      await Promise.all(Array.from({ length: AT_ONCE }, () => addVault(service)));
    const search = () => ok(service.call('GET', '/v1/secrets?path=a', { token: person.token }));
    const ms = await longestTurnOf(search);
    assert.ok(ms < TURN_MS_MAX, `${ms} ms`);
  });
});
