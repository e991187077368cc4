import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { fromElsewhere, OUTSIDE_ENV } from '../../../../test/support/external-logins.ts';
import {
  addPerson,
  addTenant,
  allPages,
  approved,
  invalid,
  logIn,
  ok,
  refused,
} from '../../../../test/support/people.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { poll, startDevice } from '../../../../test/support/sign-on.ts';
import { addTotp } from '../../../../test/support/totp.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../kernel/base/clock.ts';

/** Command lines that a person confirms, and the providers of a tenant. */

onSqliteAtLanding('device codes', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database, { env: OUTSIDE_ENV });
  });
  after(() => service.close());

  const approve = (token: string, user_code: string, more: object = {}) =>
    service.call('POST', '/auth/device/approve', { token, body: { user_code, ...more }, headers: fromElsewhere() });

  test('a person who is logged in confirms one, which gets a session of theirs, once', async () => {
    const tenant = await addTenant(service);
    const person = await addPerson(service, { tenant });
    const device = await startDevice(service);
    assert.match(device.user_code, /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
    assert.equal(device.verification_uri, null);
    assert.equal((await ok(poll(service, device))).status, 'pending');
    const session = await logIn(service, person);
    assert.deepEqual(await ok(approve(session, device.user_code.toLowerCase().replace('-', ' '))), { approved: true });
    const { token } = await ok(poll(service, device));
    const me = await ok(service.call('GET', '/auth/me', { token }));
    assert.deepEqual([me.user.id, me.tenant.name, me.credential.kind], [person.id, tenant.name, 'session']);
    await refused(poll(service, device), 401, 'LOGIN_DENIED');
    await refused(approve(session, device.user_code), 404, 'NOT_FOUND');
    const path = '/v1/audit?action=auth:device_approve';
    const { entries } = await ok(service.call('GET', path, { token: tenant.owner.token }));
    assert.equal(entries[0].actor.id, person.id);
    assert.ok(!JSON.stringify(entries).includes(device.device_code));
  });

  test('many polls at once get one session', async () => {
    const person = await addPerson(service);
    const device = await startDevice(service);
    await ok(approve(await logIn(service, person), device.user_code));
    const answers = await Promise.all(Array.from({ length: 6 }, () => poll(service, device)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 401, 401, 401, 401, 401]);
  });

  test('one that is refused, has expired, is unknown or malformed gets nothing', async () => {
    const session = await logIn(service, await addPerson(service));
    const [denied, late] = [await startDevice(service), await startDevice(service)];
    assert.deepEqual(await ok(approve(session, denied.user_code, { approve: false })), { approved: false });
    await refused(poll(service, denied), 401, 'LOGIN_DENIED');
    await refused(approve(session, denied.user_code), 404, 'NOT_FOUND');
    for (const device_code of ['x', `${late.device_code}x`, late.user_code]) {
      await refused(poll(service, { device_code }), 401, 'LOGIN_DENIED');
    }
    await invalid(poll(service, { device_code: '' }), '/body/device_code');
    service.clock.advance(10 * MINUTE_MS + 1);
    await refused(poll(service, late), 401, 'LOGIN_DENIED');
    await refused(approve(session, late.user_code), 404, 'NOT_FOUND');
  });

  test('polls before the interval has passed are slowed down', async () => {
    const device = await startDevice(service);
    service.clock.hold();
    try {
      assert.equal((await ok(poll(service, device))).status, 'pending');
      const early = await poll(service, device);
      await refused(Promise.resolve(early), 429, 'RATE_LIMIT_EXCEEDED');
      assert.equal(early.headers.get('retry-after'), '5');
    } finally {
      service.clock.release(5 * SECOND_MS);
    }
    assert.equal((await ok(poll(service, device))).status, 'pending');
  });

  test('a token cannot confirm one, and anyone who guesses codes is slowed down', async () => {
    const person = await addPerson(service);
    const device = await startDevice(service);
    await refused(approve(person.token, device.user_code), 403, 'INSUFFICIENT_PRIVILEGE');
    await refused(approve('', device.user_code), 401, 'INVALID_TOKEN');
    const session = await logIn(service, person);
    const statuses: number[] = [];
    for (let i = 0; i < 8; i++) statuses.push((await approve(session, `BBBB-BBB${'BCDFGHJK'[i]}`)).status);
    assert.equal(statuses[0], 404);
    assert.ok(statuses.includes(429), `${statuses}`);
  });

  describe('a confirmation ends', () => {
    /** A command line that was confirmed and has not asked yet. */
    const confirmed = async () => {
      const tenant = await addTenant(service);
      const person = await addPerson(service, { tenant });
      const device = await startDevice(service);
      const [session, other] = [await logIn(service, person), await logIn(service, person)];
      await ok(approve(session, device.user_code));
      const asPerson = (method: string, path: string, body?: object, token = session) =>
        service.call(method, path, { token, ...(body !== undefined && { body }) });
      const patch = (body: object) => asPerson('PATCH', `/v1/users/${person.id}`, body, tenant.owner.token);
      return { person, session, other, device, asPerson, patch };
    };
    const changed = (password: string) => ({ current_password: password, new_password: 'another password by now' });
    type Confirmed = Awaited<ReturnType<typeof confirmed>>;
    const endings: [string, (made: Confirmed) => Promise<unknown>][] = [
      ['with a logout', ({ asPerson }) => ok(asPerson('POST', '/auth/logout'), 204)],
      [
        'with the session that confirmed, ended from another one',
        async ({ asPerson, session, other }) => {
          const { credential } = await ok(asPerson('GET', '/auth/me', undefined, session));
          await ok(asPerson('DELETE', `/auth/sessions/${credential.id}`, undefined, other));
        },
      ],
      [
        'with a new password that the same session sets',
        ({ asPerson, person }) => ok(asPerson('POST', '/auth/password', changed(person.password)), 204),
      ],
      [
        'with a new password that ends all tokens',
        ({ asPerson, person, other }) =>
          ok(asPerson('POST', '/auth/password', { ...changed(person.password), revoke_tokens: true }, other), 204),
      ],
      ['with a password that an admin sets', ({ patch }) => ok(patch({ password: 'one that an admin chose' }))],
      [
        'when the person is disabled, also once they are enabled again',
        async ({ patch }) => {
          await ok(patch({ status: 'disabled' }));
          await ok(patch({ status: 'active' }));
        },
      ],
    ];
    for (const [how, end] of endings) {
      test(how, async () => {
        const made = await confirmed();
        await end(made);
        await refused(poll(service, made.device), 401, 'LOGIN_DENIED');
      });
    }

    test('when the session that confirmed expires', async () => {
      const person = await addPerson(service);
      const app = await addTotp(service, person.id);
      service.clock.advance(MINUTE_MS);
      const early = await logIn(service, person, { otp: app.code() });
      service.clock.advance(12 * HOUR_MS - 5 * MINUTE_MS);
      const device = await startDevice(service);
      const body = { otp: app.code() };
      const { token } = await ok(service.call('POST', '/auth/step-up', { token: early, body }));
      await ok(approve(token, device.user_code));
      service.clock.advance(6 * MINUTE_MS);
      await refused(poll(service, device), 401, 'LOGIN_DENIED');
    });

    test('not with other sessions of the person, nor with those of others', async () => {
      const { device, asPerson, other } = await confirmed();
      await ok(asPerson('POST', '/auth/logout', undefined, other), 204);
      await ok(service.call('POST', '/auth/logout', { token: await logIn(service, await addPerson(service)) }), 204);
      assert.equal((await ok(poll(service, device))).status, 'approved');
    });
  });

  test('a session that a device code opened confirms no other one, but may refuse it', async () => {
    const [first, second] = [await startDevice(service), await startDevice(service)];
    await ok(approve(await logIn(service, await addPerson(service)), first.user_code));
    const { token } = await ok(poll(service, first));
    const refusal = await refused(approve(token, second.user_code), 403, 'INSUFFICIENT_PRIVILEGE');
    assert.match(JSON.stringify(refusal), /opened by a device code/);
    assert.equal((await ok(poll(service, second))).status, 'pending');
    assert.deepEqual(await ok(approve(token, second.user_code, { approve: false })), { approved: false });
    await refused(poll(service, second), 401, 'LOGIN_DENIED');
  });

  test('a confirmation that somebody wrote into the database confirms nothing', async () => {
    const person = await addPerson(service);
    const [real, forged] = [await startDevice(service), await startDevice(service)];
    await ok(approve(await logIn(service, person), real.user_code));
    const { read } = service.app.kernel.database;
    const { sealed_decision } = await read
      .selectFrom('device_codes')
      .select('sealed_decision')
      .where('sealed_decision', 'is not', null)
      .orderBy('created_at', 'desc')
      .executeTakeFirstOrThrow();
    await service.app.kernel.database.transaction((tx) =>
      tx.updateTable('device_codes').set({ sealed_decision }).where('sealed_decision', 'is', null).execute(),
    );
    service.expectErrorLogs(/pollDeviceLogin/);
    assert.notEqual((await poll(service, forged)).status, 200);
    await ok(poll(service, real));
  });
});

onSqliteAtLanding('providers', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database, { env: OUTSIDE_ENV });
  });
  after(() => service.close());
  const provider = (more: object = {}) => ({ name: 'okta', issuer: 'https://idp.example', client_id: 'c', ...more });

  test('are made, read, listed, changed and deleted, and never show their secret', async () => {
    const { owner, id } = await addTenant(service);
    const as = (method: string, path: string, body?: object) =>
      service.call(method, path, { token: owner.token, ...(body !== undefined && { body }) });
    const secret = 'a-client-secret-of-a-test';
    const made = await ok(as('POST', '/auth/sso/providers', provider({ client_secret: secret })), 201);
    assert.deepEqual(
      [made.has_client_secret, made.redirect_uri, made.scopes, made.default_role, made.required, made.enabled],
      [true, `${service.url}/auth/sso/callback/${id}/okta`, ['openid', 'email', 'profile'], null, false, true],
    );
    await refused(as('POST', '/auth/sso/providers', provider()), 409, 'ALREADY_EXISTS');
    await ok(as('POST', '/auth/sso/providers', provider({ name: 'entra' })), 201);
    const all = await allPages(service, '/auth/sso/providers', 'providers', { token: owner.token });
    assert.deepEqual(
      all.map(({ name }: { name: string }) => name),
      ['entra', 'okta'],
    );
    const path = '/auth/sso/providers/okta';
    await invalid(as('PATCH', path, { issuer: 'https://elsewhere.example' }), '/body/client_secret');
    const changed = await ok(as('PATCH', path, { issuer: 'https://elsewhere.example', client_secret: null }));
    assert.deepEqual([changed.issuer, changed.has_client_secret], ['https://elsewhere.example', false]);
    assert.deepEqual(await ok(as('DELETE', path)), { deleted: true });
    await refused(as('GET', path), 404, 'NOT_FOUND');
    const { entries } = await ok(as('GET', '/v1/audit?limit=100'));
    assert.ok(!JSON.stringify([made, entries, service.logs]).includes(secret));
  });

  test('wrong ones are refused with the field', async () => {
    const { owner } = await addTenant(service);
    const make = (more: object) =>
      service.call('POST', '/auth/sso/providers', { token: owner.token, body: provider(more) });
    const wrong: [object, string][] = [
      [{ issuer: 'ftp://idp.example' }, '/body/issuer'],
      [{ issuer: 'https://user@idp.example' }, '/body/issuer'],
      [{ issuer: 'https://idp.example/?x=1' }, '/body/issuer'],
      [{ scopes: ['email'] }, '/body/scopes'],
      [{ default_role: 'owner' }, '/body/default_role'],
      [{ role_mapping: { Bosses: 'owner' } }, '/body/role_mapping/Bosses'],
      [{ group_mapping: { Ops: 'no-such-group' } }, '/body/group_mapping'],
      [{ name: 'callback' }, '/body/name'],
      [{ name: 'Providers' }, '/body/name'],
      [{ client_secret: '' }, '/body/client_secret'],
    ];
    for (const [more, pointer] of wrong) await invalid(make(more), pointer);
    for (let i = 0; i < 10; i++) await ok(make({ name: `p${i}` }), 201);
    await refused(make({ name: 'p10' }), 403, 'QUOTA_EXCEEDED');
  });

  test('with two admins every change takes both, and the approver sees no secret', async () => {
    const tenant = await addTenant(service);
    const admin = await addPerson(service, { tenant, role: 'admin' });
    const ask = { token: admin.token, body: provider({ client_secret: 'shown-to-nobody' }) };
    const { approval_id } = await ok(service.call('POST', '/auth/sso/providers', ask), 202);
    const path = '/auth/sso/providers/okta';
    await refused(service.call('GET', path, { token: admin.token }), 404, 'NOT_FOUND');
    const shown = await service.call('GET', `/approvals/${approval_id}`, { token: tenant.owner.token });
    assert.match(shown.text, /idp\.example/);
    assert.doesNotMatch(shown.text, /shown-to-nobody/);
    const body = { digest: shown.body.digest };
    await ok(service.call('POST', `/approvals/${approval_id}/approve`, { token: tenant.owner.token, body }));
    assert.equal((await ok(service.call('GET', path, { token: admin.token }))).has_client_secret, true);
    const change = service.call('PATCH', path, { token: admin.token, body: { default_role: 'admin' } });
    await approved(service, change, tenant.owner.token);
    assert.equal((await ok(service.call('GET', path, { token: admin.token }))).default_role, 'admin');
    const removal = service.call('DELETE', path, { token: admin.token });
    await approved(service, removal, tenant.owner.token);
  });
});
