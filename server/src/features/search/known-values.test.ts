import assert from 'node:assert/strict';
import { createHash, createHmac } from 'node:crypto';
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
import { addPolicy, addSecret, addVault, auditOf, runJobs, secretUrl } from '../../../../test/support/vaults.ts';
import { HOUR_MS, MINUTE_MS } from '../../kernel/base/clock.ts';
import { countedWithin } from '../../kernel/limits/attempt-counters.ts';
import { UNREAD_VALUES_PER_HOUR_MAX } from './known-values.ts';

const STRONG = 'k7Qw2mZx9LpR-lantern-of-the-north';
const OTHER = '83920174650192837465-kzQmWxPv';
const PIN = '739105';

onBothDatabases('known values', (database, { rule }) => {
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
  const digestOf = (value: string) => createHash('sha256').update(`coffer known value\n${value}`).digest('hex');
  const askByDigest = (values: string[], token = tenant.owner.token) =>
    service.call('POST', '/v1/secrets/known', { token, body: { digests: values.map(digestOf) } });

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

  rule('a secret that may only be listed is named for a value that nobody guesses', async () => {
    assert.deepEqual(await known([STRONG, OTHER], lister.token), [[0, 'shop/closed/token']]);
  });

  rule('nobody learns by trying which short value a secret has, unless they may read it', async () => {
    const answer = await ok(ask([PIN, '628417', STRONG], lister.token));
    assert.deepEqual(places(answer), [
      [1, 'shop/open/pin'],
      [2, 'shop/closed/token'],
    ]);
    assert.deepEqual(answer.guessable, [0, 1]);
    assert.deepEqual(await known([PIN]), [[0, 'shop/closed/pin']]);
  });

  rule('a digest does for the value, with the same rights', async () => {
    const all = [OTHER, 'nobody has this one', STRONG, PIN, '628417', OTHER];
    for (const { token } of [tenant.owner, lister]) {
      const byDigest = await ok(askByDigest(all, token));
      assert.deepEqual(places(byDigest), await known(all, token));
      assert.deepEqual([byDigest.guessable, byDigest.complete], [[], true]);
    }
    assert.deepEqual(places(await ok(askByDigest([PIN], lister.token))), [], 'a digest that is tried confirms no PIN');
    assert.deepEqual(places(await ok(askByDigest([PIN]))), [[0, 'shop/closed/pin']]);
  });

  test('the digest of every PIN is a guess that counts', async () => {
    const { id, token } = await addPerson(service, { tenant });
    await addPolicy(
      service,
      { user: id },
      [{ action: ['secrets:list'], resource: ['vault/shop/**'] }],
      tenant.owner.token,
    );
    const subject = ['known values', tenant.id, 'user', id];
    const most = { count: UNREAD_VALUES_PER_HOUR_MAX, now: service.clock.now(), periodMs: HOUR_MS };
    await service.app.kernel.database.transaction((tx) => countedWithin(tx, subject, most));
    await refused(askByDigest([PIN], token), 429, 'RATE_LIMIT_EXCEEDED');
  });

  test('secrets that an earlier release wrote are found by value, and by digest once the job has run', async () => {
    const { database, keyring } = service.app.kernel;
    const value = 'written-by-0.5-k7Qw2mZx';
    await addSecret(service, vault, 'open/earlier', { value }, tenant.owner.token);
    const key = await keyring.keyAt(tenant.id, 'fingerprints', 1);
    const fingerprint = createHmac('sha256', key).update(value).digest();
    await database.transaction((tx) =>
      tx
        .updateTable('secrets')
        .set({ fingerprint, fingerprint_version: 1 })
        .where('tenant_id', '=', tenant.id)
        .where('path', '=', 'open/earlier')
        .execute(),
    );
    const before_ = await ok(askByDigest([value, STRONG]));
    assert.deepEqual(
      [places(before_).map(([index]: [number]) => index), before_.complete],
      [[1], false],
      'and it says so',
    );
    assert.deepEqual(await known([value]), [[0, 'shop/open/earlier']]);
    service.clock.advance(10 * MINUTE_MS);
    await runJobs(service);
    const after_ = await ok(askByDigest([value]));
    assert.deepEqual([places(after_), after_.complete], [[[0, 'shop/open/earlier']], true]);
  });

  rule('another tenant, and who may list nothing, finds nothing', async () => {
    const stranger = await addTenant(service);
    await addVault(service, {}, stranger.owner.token);
    assert.deepEqual(await known([STRONG, PIN], stranger.owner.token), []);
    const member = await addPerson(service, { tenant });
    assert.deepEqual(await known([STRONG, PIN], member.token), []);
  });

  rule('neither log has a value, only how many were sent and known', async () => {
    await known([STRONG, PIN, 'nobody has this one'], lister.token);
    const [entry] = await auditOf(service, 'action=secrets:find_known', tenant.owner.token);
    assert.deepEqual(entry.details, { values: 3, known: 1, unread: 2 });
    await ok(askByDigest([STRONG, PIN], lister.token));
    const text = JSON.stringify(await auditOf(service, '', tenant.owner.token)) + service.logs.join('');
    for (const value of [STRONG, PIN, OTHER, 'nobody has', digestOf(STRONG), digestOf(PIN)])
      assert.ok(!text.includes(value));
  });

  rule('what is malformed or too much is refused', async () => {
    for (const values of [[], 'text', Array.from({ length: 101 }, () => 'x')])
      await invalid(ask(values), '/body/values');
    const send = (body: object) => service.call('POST', '/v1/secrets/known', { token: tenant.owner.token, body });
    await invalid(send({}), '/body/digests');
    await invalid(send({ values: ['x'], digests: [digestOf('x')] }), '/body/values');
    for (const digest of ['', 'x'.repeat(64), digestOf('x').toUpperCase(), digestOf('x').slice(1), `${digestOf('x')}0`])
      await invalid(send({ digests: [digest] }), '/body/digests/0');
    for (const value of ['', 1, null, 'x'.repeat(16_385)]) await invalid(ask([value]), '/body/values/0');
    const much = Array.from({ length: 100 }, (_, at) => `${at}`.padEnd(4000, 'x'));
    await refused(ask(much), 413, 'PAYLOAD_TOO_LARGE');
  });

  rule('an hour has an end to guesses, and none to what the caller may read', async () => {
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
