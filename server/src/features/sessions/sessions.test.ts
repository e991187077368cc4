import assert from 'node:assert/strict';
import { argon2Sync, randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  addPerson,
  addTenant,
  addToken,
  holdClock,
  invalid,
  logIn,
  ok,
  type Person,
  refused,
  tryLogIn,
} from '../../../../test/support/people.ts';
import { asTheService } from '../../../../test/support/rows.ts';
import { CHEAP_PASSWORDS, onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { auditOf } from '../../../../test/support/vaults.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../kernel/base/clock.ts';
import { COST_DEFAULT } from '../../kernel/crypto/argon2-cost.ts';
import { setPasswordCost } from '../../kernel/crypto/passwords.ts';
import { USERS } from '../users/storage/index.ts';

const NEW_PASSWORD = 'another password, long enough';

onSqliteAtLanding('sessions', (database) => {
  let service: Service;

  before(async () => {
    service = await startService(database, { env: { CV_TRUSTED_PROXIES: '127.0.0.1' } });
  });
  after(() => service.close());

  const me = (token: string) => service.call('GET', '/auth/me', { token });
  const isDead = (token: string) => refused(me(token), 401, 'INVALID_TOKEN');
  const setPassword = (token: string, body: object) => service.call('POST', '/auth/password', { token, body });
  let lastHost = 0;
  /** An address that did nothing wrong yet. */
  const freshAddress = () => {
    lastHost++;
    return `198.18.${Math.floor(lastHost / 250)}.${(lastHost % 250) + 1}`;
  };
  const attempt = (who: Pick<Person, 'email' | 'password' | 'tenant'>, more: object = {}, address = freshAddress()) =>
    tryLogIn(service, who, more, { 'x-forwarded-for': address });
  const guess = (who: Person, more: object = {}, address?: string) =>
    attempt({ ...who, password: 'a wrong guess' }, more, address);
  const still = <T>(work: Promise<T>) => holdClock(service, work);

  test('a login lives 12 hours', async () => {
    const person = await addPerson(service);
    const login = await ok(attempt(person));
    assert.equal(login.user_id, person.id);
    assert.ok(Math.abs(Date.parse(login.expires_at) - service.clock.now() - 12 * HOUR_MS) < MINUTE_MS);
    const { credential, user } = await ok(me(login.token));
    assert.deepEqual([credential.kind, credential.id, user.id], ['session', login.token_id, person.id]);
    service.clock.advance(12 * HOUR_MS - MINUTE_MS);
    await ok(me(login.token));
    service.clock.advance(MINUTE_MS);
    await isDead(login.token);
  });

  test('the e-mail address may be written in any case', async () => {
    const person = await addPerson(service);
    await ok(attempt({ ...person, email: person.email.toUpperCase() }));
  });

  test('the same address in two tenants is two accounts', async () => {
    const tenant = await addTenant(service);
    const [here, there] = [await addPerson(service), await addPerson(service, { tenant })];
    const twin = await addPerson(service, { tenant, email: here.email });
    assert.equal((await ok(attempt(twin))).user_id, twin.id);
    await refused(attempt({ ...there, tenant: undefined }), 401, 'LOGIN_DENIED');
    await refused(attempt({ ...here, tenant: tenant.name, password: 'not the password' }), 401, 'LOGIN_DENIED');
  });

  test('logging out ends this session and no other', async () => {
    const person = await addPerson(service);
    const [one, two] = [await logIn(service, person), await logIn(service, person)];
    await ok(service.call('POST', '/auth/logout', { token: one }), 204);
    await isDead(one);
    await ok(me(two));
    await refused(service.call('POST', '/auth/logout', { token: one }), 401, 'INVALID_TOKEN');
    await refused(service.call('POST', '/auth/logout', { token: person.token }), 403, 'INSUFFICIENT_PRIVILEGE');
    await ok(me(person.token));
  });

  test('logging out is never refused for requests that were sent before; what ends nothing is', async () => {
    const tenant = await addTenant(service);
    const person = await addPerson(service, { tenant });
    const [one, two] = [await logIn(service, person), await logIn(service, person)];
    await ok(service.call('PATCH', `/v1/tenants/${tenant.id}`, { body: { rate_limits: { write: 1 } } }));
    const logout = (token: string, body?: object) =>
      service.call('POST', '/auth/logout', { token, ...(body !== undefined && { body }) });
    await still(
      (async () => {
        const write = () => service.call('DELETE', '/v1/vaults/nope', { token: one });
        for (let i = 0; i < 2; i++) await write();
        await refused(write(), 429, 'RATE_LIMIT_EXCEEDED');
        await refused(logout(one, { all: true }), 429, 'RATE_LIMIT_EXCEEDED');
        await refused(logout(person.token), 429, 'RATE_LIMIT_EXCEEDED');
        await ok(logout(one), 204);
        await ok(logout(two), 204);
        await refused(logout(one), 401, 'INVALID_TOKEN');
      })(),
    );
  });

  describe('changing the password', () => {
    test('ends the other sessions, keeps this one and the tokens, and closes the old password', async () => {
      const person = await addPerson(service);
      const [one, two] = [await logIn(service, person), await logIn(service, person)];
      await ok(setPassword(one, { current_password: person.password, new_password: NEW_PASSWORD }), 204);
      await ok(me(one));
      await isDead(two);
      await ok(me(person.token));
      await refused(attempt(person), 401, 'LOGIN_DENIED');
      await ok(attempt({ ...person, password: NEW_PASSWORD }));
    });

    test('needs the current one, and a new one that is long enough', async () => {
      const person = await addPerson(service);
      const wrong = { current_password: 'not the password', new_password: NEW_PASSWORD };
      await refused(setPassword(person.token, wrong), 401, 'LOGIN_DENIED');
      await invalid(setPassword(person.token, { new_password: NEW_PASSWORD }), '/body/current_password');
      const { password: current_password } = person;
      for (const new_password of ['', 'eleven char', 'x'.repeat(257), 12, null]) {
        await invalid(setPassword(person.token, { current_password, new_password }), '/body/new_password');
      }
      await ok(attempt(person));
    });

    test('a hash that cost less than today’s is made anew when its owner signs in, and by nobody else', async (t) => {
      setPasswordCost(COST_DEFAULT);
      t.after(() => setPasswordCost(CHEAP_PASSWORDS));
      const person = await addPerson(service);
      const { database } = service.app.kernel;
      const hashOf = async () => {
        const row = await database.read
          .selectFrom('users')
          .select('password_hash')
          .where('user_id', '=', person.id)
          .executeTakeFirstOrThrow();
        return row.password_hash;
      };
      const nonce = randomBytes(16);
      const cost = { memory: 1024, passes: 1, parallelism: 1 };
      const hash = argon2Sync('argon2id', { message: person.password, nonce, tagLength: 32, ...cost });
      const cheap = `argon2id$m=1024,t=1,p=1$${nonce.toString('base64')}$${hash.toString('base64')}`;
      await asTheService(database, (tx) =>
        USERS.updateWhere(tx, (eb) => eb('user_id', '=', person.id), { password_hash: cheap }),
      );
      await refused(guess(person), 401, 'LOGIN_DENIED');
      assert.equal(await hashOf(), cheap);
      await ok(attempt(person));
      const raised = await hashOf();
      assert.match(raised, /^argon2id\$m=65536,t=3,p=4\$/);
      await ok(attempt(person));
      assert.equal(await hashOf(), raised, 'once');
      await refused(guess(person), 401, 'LOGIN_DENIED');
    });

    test('guessing the current one is slowed down like a login', async () => {
      const person = await addPerson(service);
      const wrong = { current_password: 'not the password', new_password: NEW_PASSWORD };
      for (let i = 0; i < 5; i++) await still(refused(setPassword(person.token, wrong), 401, 'LOGIN_DENIED'));
      await still(refused(setPassword(person.token, wrong), 429, 'RATE_LIMIT_EXCEEDED'));
      await still(refused(attempt(person), 429, 'RATE_LIMIT_EXCEEDED'));
      service.clock.advance(10 * MINUTE_MS);
    });

    test('is open to a user who has none yet', async () => {
      const { owner, name } = await addTenant(service);
      await ok(setPassword(owner.token, { new_password: NEW_PASSWORD }), 204);
      await ok(attempt({ email: owner.email, password: NEW_PASSWORD, tenant: name }));
      await invalid(setPassword(owner.token, { new_password: NEW_PASSWORD }), '/body/current_password');
    });

    test('by an administrator ends every session and every token, and the log says how many', async () => {
      const person = await addPerson(service);
      const session = await logIn(service, person);
      const child = await addToken(service, person.token);
      const body = { password: NEW_PASSWORD };
      await ok(service.call('PATCH', `/v1/users/${person.id}`, { body }));
      for (const token of [session, person.token, child.token]) await isDead(token);
      await refused(attempt(person), 401, 'LOGIN_DENIED');
      const [entry] = await auditOf(service, `action=users:update&resource=user/${person.id}`);
      // The session their first token was made with is one of them.
      assert.deepEqual([entry.details.sessions_ended, entry.details.tokens_ended], [2, 2]);
    });

    test('ends the tokens too if that is requested: all but the one it is requested with, and nobody else’s', async () => {
      const [person, other] = [await addPerson(service), await addPerson(service)];
      const [session, another] = [await logIn(service, person), await logIn(service, person)];
      const child = await addToken(service, person.token);
      const otherSession = await logIn(service, other);
      const { password: current_password } = person;
      for (const revoke_tokens of ['yes', 1, null]) {
        const body = { current_password, new_password: NEW_PASSWORD, revoke_tokens };
        await invalid(setPassword(session, body), '/body/revoke_tokens');
      }
      const wrong = { current_password: 'not the password', new_password: NEW_PASSWORD, revoke_tokens: true };
      await refused(setPassword(session, wrong), 401, 'LOGIN_DENIED');
      await ok(me(child.token));
      await ok(setPassword(session, { current_password, new_password: NEW_PASSWORD, revoke_tokens: true }), 204);
      for (const token of [another, person.token, child.token]) await isDead(token);
      for (const token of [session, other.token, otherSession]) await ok(me(token));
      const [entry] = await auditOf(service, 'action=password:update&decision=allow');
      assert.deepEqual([entry.actor.id, entry.details], [person.id, { sessions_ended: 2, tokens_ended: 2 }]);
    });

    test('leaves no token that was made while the others were ended', async () => {
      const person = await addPerson(service);
      const session = await logIn(service, person);
      const making = Array.from({ length: 12 }, async (_, i) => {
        await sleep(i * 15);
        return service.call('POST', '/auth/tokens', { token: person.token, body: { name: `t${i}` } });
      });
      const body = { current_password: person.password, new_password: NEW_PASSWORD, revoke_tokens: true };
      await ok(setPassword(session, body), 204);
      for (const { status, body: made } of await Promise.all(making)) {
        if (status === 201) await isDead(made.token);
        else assert.equal(status, 401);
      }
    });
  });

  test('every kind of refusal is the same answer', async () => {
    const person = await addPerson(service);
    const disabled = await addPerson(service);
    await ok(service.call('PATCH', `/v1/users/${disabled.id}`, { body: { status: 'disabled' } }));
    const body = { email: 'without-password@example.com' };
    await service.call('POST', '/v1/users', { body });
    const suspended = await addTenant(service);
    const inside = await addPerson(service, { tenant: suspended });
    await ok(service.call('PATCH', `/v1/tenants/${suspended.id}`, { body: { status: 'suspended' } }));
    const refusals = [
      guess(person),
      attempt({ ...person, email: 'nobody@example.com' }),
      attempt({ ...person, email: body.email }),
      attempt(disabled),
      attempt({ ...person, tenant: 'no-such-tenant' }),
      attempt(inside),
      attempt(person, { tenant: 'Default' }),
    ];
    const answers = await Promise.all(refusals);
    const shapes = answers.map(({ status, body: { error }, headers }) => {
      return JSON.stringify([status, { ...error, request_id: '' }, [...headers.keys()].sort()]);
    });
    assert.equal(new Set(shapes).size, 1, shapes.join('\n'));
    assert.equal(answers[0]?.body.error.code, 'LOGIN_DENIED');
  });

  test('a refused login leaves no token behind', async () => {
    const person = await addPerson(service);
    const count = async () => (await ok(service.call('GET', `/auth/tokens?user_id=${person.id}`))).tokens.length;
    const before = await count();
    for (let i = 0; i < 3; i++) await refused(guess(person), 401, 'LOGIN_DENIED');
    assert.equal(await count(), before);
  });

  describe('back-off', () => {
    test('begins with the fifth wrong try at an account, doubles, and stops at five minutes', async () => {
      const person = await addPerson(service);
      for (let i = 0; i < 5; i++) await still(refused(guess(person), 401, 'LOGIN_DENIED'));
      for (const seconds of [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]) {
        const blocked = await still(attempt(person));
        assert.equal(blocked.status, 429, 'the right password does not help while it lasts');
        const retryAfter = blocked.headers.get('retry-after') ?? '';
        assert.match(retryAfter, /^[1-9]\d*$/);
        assert.ok(Number(retryAfter) <= seconds && Number(retryAfter) >= seconds - 1, `${retryAfter} of ${seconds}`);
        service.clock.advance(seconds * SECOND_MS);
        await still(refused(guess(person), 401, 'LOGIN_DENIED'));
      }
      service.clock.advance(5 * MINUTE_MS);
      await ok(attempt(person));
      for (let i = 0; i < 4; i++) await refused(guess(person), 401, 'LOGIN_DENIED');
      await ok(attempt(person));
    });

    test('is the same for an account that does not exist', async () => {
      const nobody = { email: `nobody-${database}@example.com`, password: 'x', tenant: undefined };
      for (let i = 0; i < 5; i++) await still(refused(attempt(nobody), 401, 'LOGIN_DENIED'));
      await still(refused(attempt(nobody), 429, 'RATE_LIMIT_EXCEEDED'));
    });

    test('counts an address that tries many accounts, and no other', async () => {
      const person = await addPerson(service);
      const [bad, good] = [freshAddress(), freshAddress()];
      for (let i = 0; i < 20; i++) {
        const stranger = { email: `stranger-${i}@example.com`, password: 'x', tenant: undefined };
        await still(refused(attempt(stranger, {}, bad), 401, 'LOGIN_DENIED'));
      }
      await still(refused(attempt(person, {}, bad), 429, 'RATE_LIMIT_EXCEEDED'));
      await ok(attempt(person, {}, good));
      service.clock.advance(10 * MINUTE_MS);
      await ok(attempt(person, {}, bad));
    });

    test('a hundred guesses at once count as a hundred', async () => {
      const person = await addPerson(service);
      const started = performance.now();
      const answers = await Promise.all(Array.from({ length: 100 }, () => guess(person)));
      // Waiting 1, 2, 4 … seconds opens one more try each; on a slow machine some of that passes meanwhile.
      const opened = Math.ceil(Math.log2(1 + (performance.now() - started) / SECOND_MS));
      const examined = answers.filter(({ status }) => status === 401).length;
      assert.ok(examined <= 5 + opened, `${examined} guesses were examined`);
      assert.ok(answers.every(({ status }) => [401, 429, 503].includes(status)));
    });
  });

  test('unknown fields and wrong types are refused before anything is counted', async () => {
    const person = await addPerson(service);
    for (let i = 0; i < 10; i++) {
      await invalid(attempt(person, { remember: true }), '/body/remember');
      await invalid(attempt({ ...person, email: `  ${person.email}` }), '/body/email');
      await invalid(attempt(person, { otp: 'no' }), '/body/otp');
    }
    await ok(attempt(person));
  });

  test('a session made with a token is not possible, and the token of a session is a personal one', async () => {
    const person = await addPerson(service);
    const made = await addToken(service, await logIn(service, person), { ttl_days: 30 });
    assert.equal(made.kind, 'pat');
    assert.equal((await ok(me(made.token))).credential.kind, 'pat');
  });
});
