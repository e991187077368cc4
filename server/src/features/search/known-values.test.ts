import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  addPerson,
  addTenant,
  invalid,
  ok,
  type Person,
  refused,
  type Tenant,
} from '../../../../test/support/people.ts';
import { type Answer, onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { addPolicy, addSecret, addVault, auditOf, secretUrl } from '../../../../test/support/vaults.ts';
import { HOUR_MS } from '../../kernel/base/clock.ts';
import { countedWithin } from '../../kernel/limits/attempt-counters.ts';
import { UNREAD_VALUES_PER_HOUR_MAX } from './known-values.ts';

const STRONG = 'k7Qw2mZx9LpR-lantern-of-the-north';
const OTHER = '83920174650192837465-kzQmWxPv';
const PIN = '739105';

onBothDatabases('known values', (database) => {
  let service: Service;
  let tenant: Tenant;
  /** Lists everything, and reads what is under `open`. */
  let lister: Person;
  let vault: string;
  before(async () => {
    service = await startService(database);
    tenant = await addTenant(service);
    vault = await addVault(service, { name: 'shop' }, tenant.owner.token);
    lister = await addPerson(service, { tenant });
    const rights = [
      { action: ['secrets:list'], resource: ['vault/shop/**'] },
      { action: ['secrets:read'], resource: ['vault/shop/open/**'] },
      { effect: 'deny' as const, action: ['secrets:list'], resource: ['vault/shop/unseen/**'] },
    ];
    await addPolicy(service, { user: lister.id }, rights, tenant.owner.token);
    const put = (path: string, value: string) => addSecret(service, vault, path, { value }, tenant.owner.token);
    await put('closed/token', STRONG);
    await put('closed/pin', PIN);
    await put('open/pin', '628417');
    await put('unseen/token', STRONG);
    await put('unseen/other', OTHER);
  });
  after(() => service.close());

  const ask = (values: unknown, token = tenant.owner.token) =>
    service.call('POST', '/v1/secrets/known', { token, body: { values } });
  const places = (answer: Answer['body']) =>
    answer.known.map(({ index, secrets }: { index: number; secrets: { vault: string; path: string }[] }) => [
      index,
      ...secrets.map(({ vault: name, path }) => `${name}/${path}`),
    ]);
  const known = async (values: string[], token?: string) => places(await ok(ask(values, token)));

  test('are named with the secrets that have them, whole and as they are now', async () => {
    const token = tenant.owner.token;
    assert.deepEqual(await known([OTHER, 'nobody has this one', STRONG, OTHER]), [
      [0, 'shop/unseen/other'],
      [2, 'shop/closed/token', 'shop/unseen/token'],
      [3, 'shop/unseen/other'],
    ]);
    assert.deepEqual(await known([STRONG.slice(1), `${STRONG}\n`, STRONG.toUpperCase()]), []);
    const changing = 'first-of-two-values-9XkQ';
    await addSecret(service, vault, 'changing', { value: changing }, token);
    const call = (method: string, verb: string, body?: object) =>
      ok(service.call(method, secretUrl(vault, 'changing', verb), { token, ...(body && { body }) }));
    assert.equal((await known([changing])).length, 1);
    await call('PUT', '', { value: 'second-of-two-values-7Yw' });
    assert.deepEqual(await known([changing]), []);
    await call('POST', 'rollback', { to_version: 1 });
    assert.equal((await known([changing])).length, 1);
    await call('DELETE', '');
    assert.deepEqual(await known([changing]), []);
  });

  test('a secret that may only be listed is named for a value that nobody guesses', async () => {
    assert.deepEqual(await known([STRONG, OTHER], lister.token), [[0, 'shop/closed/token']]);
  });

  test('nobody learns by trying which short value a secret has, unless they may read it', async () => {
    const answer = await ok(ask([PIN, '628417', STRONG], lister.token));
    assert.deepEqual(places(answer), [
      [1, 'shop/open/pin'],
      [2, 'shop/closed/token'],
    ]);
    assert.deepEqual(answer.guessable, [0, 1]);
    assert.deepEqual(await known([PIN]), [[0, 'shop/closed/pin']]);
  });

  test('another tenant, and who may list nothing, finds nothing', async () => {
    const stranger = await addTenant(service);
    await addVault(service, {}, stranger.owner.token);
    assert.deepEqual(await known([STRONG, PIN], stranger.owner.token), []);
    const member = await addPerson(service, { tenant });
    assert.deepEqual(await known([STRONG, PIN], member.token), []);
  });

  test('neither log has a value, only how many were sent and known', async () => {
    await known([STRONG, PIN, 'nobody has this one'], lister.token);
    const [entry] = await auditOf(service, 'action=secrets:find_known', tenant.owner.token);
    assert.deepEqual(entry.details, { values: 3, known: 1, unread: 2 });
    const text = JSON.stringify(await auditOf(service, '', tenant.owner.token)) + service.logs.join('');
    for (const value of [STRONG, PIN, OTHER, 'nobody has']) assert.ok(!text.includes(value));
  });

  test('what is malformed or too much is refused', async () => {
    for (const values of [undefined, [], 'text', Array.from({ length: 101 }, () => 'x')])
      await invalid(ask(values), '/body/values');
    for (const value of ['', 1, null, 'x'.repeat(16_385)]) await invalid(ask([value]), '/body/values/0');
    const much = Array.from({ length: 100 }, (_, at) => `${at}`.padEnd(4000, 'x'));
    await refused(ask(much), 413, 'PAYLOAD_TOO_LARGE');
  });

  test('an hour has an end to guesses, and none to what the caller may read', async () => {
    const subject = ['known values', tenant.id, 'user', lister.id];
    const before_ = { count: UNREAD_VALUES_PER_HOUR_MAX, now: service.clock.now(), periodMs: HOUR_MS };
    await service.app.kernel.database.transaction((tx) => countedWithin(tx, subject, before_));
    const { message } = await refused(ask([STRONG], lister.token), 429, 'RATE_LIMIT_EXCEEDED');
    assert.match(message, /try again later/);
    await refused(ask(['nobody has this one'], lister.token), 429, 'RATE_LIMIT_EXCEEDED');
    assert.deepEqual(await known(['628417'], lister.token), [[0, 'shop/open/pin']]);
    assert.equal((await known([STRONG])).length, 1, 'others have their own count');
    service.clock.advance(HOUR_MS);
    assert.equal((await known([STRONG], lister.token)).length, 1);
  });
});
