import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { MINUTE_MS, SECOND_MS } from '../server/src/kernel/base/clock.ts';
import { addTenant, addToken, holdClock, ok, refused, type Tenant, tryLogIn } from './support/people.ts';
import { type Answer, onBothDatabases, type Service, startService } from './support/service.ts';

onBothDatabases('rate limits', (database) => {
  let service: Service;

  before(async () => {
    service = await startService(database, { env: { CV_TRUSTED_PROXIES: '127.0.0.1' } });
  });
  after(() => service.close());

  const me = (token: string) => service.call('GET', '/auth/me', { token });
  /** How long requests take here must not decide what is counted. */
  const still = <T>(work: Promise<T>) => holdClock(service, work);
  /** What was counted before is free again. */
  const newWindow = () => service.clock.advance(MINUTE_MS);
  const limited = async (rate_limits: object): Promise<Tenant> => {
    newWindow();
    return addTenant(service, { rate_limits });
  };
  const numbers = ({ headers }: Pick<Answer, 'headers'>) => {
    return ['limit', 'remaining', 'reset'].map((name) => headers.get(`x-ratelimit-${name}`));
  };

  test('every limited answer carries the three headers, refusals too', async () => {
    const { owner } = await limited({ read: 10, write: 10 });
    const first = await still(me(owner.token));
    const [limit, remaining, reset] = numbers(first);
    assert.deepEqual([limit, remaining], ['10', '9']);
    const seconds = Number(reset) - service.clock.now() / SECOND_MS;
    assert.ok(seconds > 55 && seconds <= 61, `${seconds} s`);
    const answers = [
      await service.call('GET', '/v1/users/user_none', { token: owner.token }),
      await service.call('GET', '/v1/users?limit=0', { token: owner.token }),
      await service.call('GET', '/v1/tenants', { token: owner.token }),
    ];
    assert.deepEqual(
      answers.map((answer) => [answer.status, ...numbers(answer).slice(0, 2)]),
      [
        [404, '10', '8'],
        [422, '10', '7'],
        [403, '10', '6'],
      ],
    );
  });

  test('so does every answer to a known caller where there is no endpoint, and none to anybody else', async () => {
    const { owner } = await limited({ read: 3 });
    const at = (method: string, path: string, token: string | null) =>
      fetch(service.url + path, { method, ...(token !== null && { headers: { authorization: `Bearer ${token}` } }) });
    const requests = [
      ['GET', '/v1/nothing', 404],
      ['DELETE', '/auth/me', 405],
      ['OPTIONS', '/auth/me', 204],
    ] as const;
    for (const [i, [method, path, status]] of requests.entries()) {
      const answer = await still(at(method, path, owner.token));
      assert.deepEqual([answer.status, ...numbers(answer).slice(0, 2)], [status, '3', String(2 - i)], path);
      if (status !== 404) assert.equal(answer.headers.get('allow'), 'GET, PATCH, HEAD, OPTIONS');
      const unknown = await at(method, path, null);
      assert.deepEqual([unknown.status, unknown.headers.has('x-ratelimit-limit')], [status, false]);
    }
    assert.equal((await at('GET', '/v1/nothing', owner.token)).status, 429);
    // A thief who tries out a token here leaves a trace too.
    newWindow();
    const { entries } = await ok(service.call('GET', '/v1/audit?action=routes:refuse', { token: owner.token }));
    assert.deepEqual(new Set(entries.map(({ status }: { status: number }) => status)), new Set([204, 404, 405, 429]));
    const forged = await at('GET', '/v1/nothing', `${owner.token.slice(0, -6)}AAAAAA`);
    assert.deepEqual([forged.status, forged.headers.has('x-ratelimit-limit')], [404, false]);
  });

  test('beyond the limit: 429 with Retry-After in whole seconds, until a place is free', async () => {
    const { owner } = await limited({ read: 3 });
    for (let i = 0; i < 3; i++) await ok(me(owner.token));
    const over = await me(owner.token);
    assert.equal(over.status, 429);
    assert.equal(over.body.error.code, 'RATE_LIMIT_EXCEEDED');
    const retryAfter = over.headers.get('retry-after') ?? '';
    assert.match(retryAfter, /^[1-9]\d*$/);
    assert.ok(Number(retryAfter) <= 60);
    assert.deepEqual(numbers(over).slice(0, 2), ['3', '0']);
    service.clock.advance(Number(retryAfter) * SECOND_MS);
    await ok(me(owner.token));
  });

  test('the minute slides: none of its spans lets more pass, whenever it begins', async () => {
    const { owner } = await limited({ read: 10 });
    const now = service.clock.now();
    // Two seconds before a whole minute, and two seconds after it.
    service.clock.advance(2 * MINUTE_MS - (now % MINUTE_MS) - 2 * SECOND_MS);
    for (let i = 0; i < 7; i++) await still(ok(me(owner.token)));
    service.clock.advance(4 * SECOND_MS);
    const answers = await still(Promise.all(Array.from({ length: 10 }, () => me(owner.token))));
    assert.equal(answers.filter(({ status }) => status === 200).length, 3);
    const over = await still(me(owner.token));
    const wait = Number(over.headers.get('retry-after'));
    assert.ok(over.status === 429 && wait > 50 && wait <= 56, `${over.status} ${wait}`);
    service.clock.advance(wait * SECOND_MS);
    const again = await still(Promise.all(Array.from({ length: 10 }, () => me(owner.token))));
    assert.ok(again.filter(({ status }) => status === 200).length <= 7, 'only the places of the first seven');
    assert.equal(again[0]?.status, 200);
  });

  test('what a token is refused takes nothing from its tenant', async () => {
    const { owner } = await limited({ read: 4 });
    const { token } = await addToken(service, owner.token, { rate_limits: { read: 1 } });
    await ok(me(token));
    for (let i = 0; i < 5; i++) await refused(me(token), 429, 'RATE_LIMIT_EXCEEDED');
    assert.equal(numbers(await me(owner.token))[1], '2');
  });

  test('reads and writes are counted apart, and tenants too', async () => {
    const [one, two] = [await limited({ read: 1, write: 1 }), await addTenant(service, { rate_limits: { read: 1 } })];
    await ok(me(one.owner.token));
    await refused(me(one.owner.token), 429, 'RATE_LIMIT_EXCEEDED');
    await addToken(service, one.owner.token);
    const body = { name: 'second' };
    await refused(service.call('POST', '/auth/tokens', { token: one.owner.token, body }), 429, 'RATE_LIMIT_EXCEEDED');
    await ok(me(two.owner.token));
  });

  test('a refused write changes nothing', async () => {
    const { owner } = await limited({ write: 1 });
    await addToken(service, owner.token);
    const body = { email: 'never@example.com' };
    await refused(service.call('POST', '/v1/users', { token: owner.token, body }), 429, 'RATE_LIMIT_EXCEEDED');
    const { users } = await ok(service.call('GET', '/v1/users', { token: owner.token }));
    assert.equal(users.length, 1);
  });

  test('plans have the figures of the specification', async () => {
    newWindow();
    const limits = async (plan: string) => {
      const { owner } = await addTenant(service, { plan });
      const read = await me(owner.token);
      const write = await service.call('POST', '/auth/tokens', { token: owner.token, body: { name: 'x' } });
      return [read, write].map((answer) => answer.headers.get('x-ratelimit-limit'));
    };
    assert.deepEqual(await limits('starter'), ['1000', '100']);
    assert.deepEqual(await limits('professional'), ['10000', '100']);
    assert.deepEqual(await limits('enterprise'), ['6000000', '6000000']);
  });

  test('an override of the tenant counts from the next request on', async () => {
    const tenant = await limited({});
    await ok(me(tenant.owner.token));
    await ok(service.call('PATCH', `/v1/tenants/${tenant.id}`, { body: { rate_limits: { read: 2 } } }));
    await ok(me(tenant.owner.token));
    await refused(me(tenant.owner.token), 429, 'RATE_LIMIT_EXCEEDED');
    await ok(service.call('PATCH', `/v1/tenants/${tenant.id}`, { body: { rate_limits: {} } }));
    await ok(me(tenant.owner.token));
  });

  test('a token may have less than its tenant, and a token made with it no more', async () => {
    const { owner } = await limited({});
    const tight = await addToken(service, owner.token, { rate_limits: { read: 2 } });
    const child = await addToken(service, tight.token, { rate_limits: { read: 1000 } });
    for (const { token } of [tight, child]) {
      const [limit] = numbers(await me(token));
      assert.equal(limit, '2');
      await ok(me(token));
      await refused(me(token), 429, 'RATE_LIMIT_EXCEEDED');
    }
    await ok(me(owner.token));
  });

  test('many at once are counted to the one', async () => {
    const { owner } = await limited({ read: 20 });
    const answers = await still(Promise.all(Array.from({ length: 60 }, () => me(owner.token))));
    assert.equal(answers.filter(({ status }) => status === 200).length, 20);
  });

  test('health, keys and the reference are not limited', async () => {
    for (const path of ['/health', '/health/ready', '/.well-known/jwks.json', '/openapi.json']) {
      const answers = await Promise.all(Array.from({ length: 100 }, () => service.call('GET', path, { token: null })));
      assert.ok(answers.every(({ status }) => status === 200));
      assert.equal(answers[0]?.headers.get('x-ratelimit-limit'), null);
    }
  });

  test('logins are limited by address, before any hash is computed', async () => {
    newWindow();
    const attempt = (address: string, i: number) => {
      // One that is not valid counts as well, and costs the test no hash.
      const person = { email: 'not an address', password: `guess ${i}`, tenant: undefined };
      return tryLogIn(service, person, {}, { 'x-forwarded-for': address });
    };
    const answers = await still(Promise.all(Array.from({ length: 70 }, (_, i) => attempt('198.51.100.7', i))));
    assert.equal(answers.filter(({ status }) => status === 422).length, 60);
    const over = answers.filter(({ status }) => status === 429);
    assert.equal(over.length, 10);
    for (const answer of over) {
      assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
      assert.equal(numbers(answer)[0], '60');
    }
    assert.equal((await attempt('198.51.100.8', 0)).status, 422);
    assert.equal((await attempt('2001:db8::1', 0)).status, 422);
    service.clock.advance(MINUTE_MS);
    assert.equal((await attempt('198.51.100.7', 0)).status, 422);
  });

  test('addresses of one IPv6 network are counted together', async () => {
    newWindow();
    const attempt = (i: number) => {
      const person = { email: 'not an address', password: 'x', tenant: undefined };
      return tryLogIn(service, person, {}, { 'x-forwarded-for': `2001:db8:1:2::${(i + 1).toString(16)}` });
    };
    const answers = await still(Promise.all(Array.from({ length: 61 }, (_, i) => attempt(i))));
    assert.equal(answers.filter(({ status }) => status === 429).length, 1);
  });

  test('guessing tokens is limited by address, and does not shut out who is known there', async () => {
    newWindow();
    const { owner } = await addTenant(service);
    const headers = { 'x-forwarded-for': '198.51.100.99' };
    const known = (token: string) => service.call('GET', '/auth/me', { token, headers });
    await ok(known(owner.token));
    const guesses = await still(Promise.all(Array.from({ length: 310 }, (_, i) => known(`guess-${i}`))));
    assert.ok(guesses.some(({ status }) => status === 429));
    assert.ok(guesses.filter(({ status }) => status === 401).length <= 300);
    await ok(known(owner.token));
    await refused(known('one-more-guess'), 429, 'RATE_LIMIT_EXCEEDED');
    service.clock.advance(MINUTE_MS);
    await refused(known('one-more-guess'), 401, 'INVALID_TOKEN');
  });
});
