import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { SoftwarePasskey } from '../../../../test/support/authenticator.ts';
import { SAME_ORIGIN, withSession } from '../../../../test/support/console-requests.ts';
import { fromElsewhere, OUTSIDE_ENV } from '../../../../test/support/external-logins.ts';
import { enrolmentOptions, firstPasskey, fortressAdmin, originOf, signIn } from '../../../../test/support/passkeys.ts';
import {
  addPerson,
  addTenant,
  approve,
  logIn,
  ok,
  openSession,
  type Person,
  refused,
} from '../../../../test/support/people.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { poll, startDevice } from '../../../../test/support/sign-on.ts';
import { codeOf } from '../../../../test/support/totp.ts';
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../../kernel/base/clock.ts';

const STEP_MS = 30 * SECOND_MS;

onSqliteAtLanding('a factor that counts as shown by adding it', (database) => {
  let service: Service;

  before(async () => {
    service = await startService(database, { env: { ...OUTSIDE_ENV, CV_CONSOLE: 'on' } });
  });
  after(() => service.close());

  const send = (token: string | null, method: string, path: string, body?: object) =>
    service.call(method, path, { token, ...(body !== undefined && { body }), headers: fromElsewhere() });
  const credentialOf = async (token: string) => (await ok(send(token, 'GET', '/auth/me'))).credential;
  const makeCodes = (token: string) => send(token, 'POST', '/auth/mfa/recovery-codes');
  const registration = async (token: string, passkey = new SoftwarePasskey(originOf(service))) =>
    passkey.create((await enrolmentOptions(service, token)).options);
  const addPasskey = async (token: string, more: object = { step_up: true }) => {
    const body = { name: 'phone', response: await registration(token), ...more };
    return send(token, 'POST', '/auth/mfa/passkeys', body);
  };
  const confirm = (token: string, otp: string) => send(token, 'POST', '/auth/mfa/totp/confirm', { otp, step_up: true });
  const beginApp = async (token: string) => String((await ok(send(token, 'POST', '/auth/mfa/totp'), 201)).secret);
  const addApp = async (token: string) => {
    const secret = await beginApp(token);
    return { secret, answer: await ok(confirm(token, codeOf(service, secret))) };
  };

  describe('the first one', () => {
    test('a passkey: the session goes on under a new id, and makes recovery codes at once', async () => {
      const old = await logIn(service, await addPerson(service));
      const before = await credentialOf(old);
      service.clock.advance(MINUTE_MS);
      const { session, ...passkey } = await ok(addPasskey(old), 201);
      const credential = await credentialOf(session.token);
      assert.notEqual(credential.id, before.id);
      assert.deepEqual([credential.id, credential.mfa_at], [session.token_id, session.mfa_at]);
      assert.equal(credential.expires_at, before.expires_at, 'a session does not live longer by it');
      const [shown] = (await ok(send(session.token, 'GET', '/auth/sessions'))).sessions;
      assert.deepEqual([shown.id, shown.method, shown.factor], [session.token_id, 'password', 'passkey']);
      await ok(makeCodes(session.token), 201);
      assert.equal(passkey.name, 'phone');
      service.clock.advance(16 * MINUTE_MS);
      await refused(makeCodes(session.token), 403, 'MFA_REQUIRED');
    });

    test('an app: the same, and its code does not count once more', async () => {
      const old = await logIn(service, await addPerson(service));
      const { secret, answer } = await addApp(old);
      const { token } = answer.session;
      assert.equal(typeof (await credentialOf(token)).mfa_at, 'string');
      await refused(send(old, 'GET', '/auth/me'), 401, 'INVALID_TOKEN');
      await refused(send(token, 'POST', '/auth/step-up', { otp: codeOf(service, secret) }), 401, 'LOGIN_DENIED');
      await ok(makeCodes(token), 201);
      service.clock.advance(STEP_MS);
      await ok(send(token, 'POST', '/auth/step-up', { otp: codeOf(service, secret) }));
    });

    test('what the session requested still waits, and can be approved', async () => {
      const tenant = await addTenant(service);
      const admin = await addPerson(service, { tenant, role: 'admin' });
      const member = await addPerson(service, { tenant });
      const session = await logIn(service, admin);
      const { approval_id } = await ok(send(session, 'PATCH', `/v1/users/${member.id}`, { role: 'auditor' }), 202);
      await ok(addPasskey(session), 201);
      assert.equal((await ok(approve(service, approval_id, tenant.owner.token))).status, 'completed');
    });

    test('where a factor is required of everybody, the same session goes on', async () => {
      const tenant = await addTenant(service);
      const owner = await openSession(service, tenant.owner.id);
      const { token: proven } = (await ok(addPasskey(owner), 201)).session;
      const admin = await addPerson(service, { tenant, role: 'admin' });
      await ok(send(proven, 'PATCH', '/v1/tenant/settings', { require_mfa: true }));
      const session = await logIn(service, admin);
      await refused(send(session, 'GET', '/v1/vaults'), 403, 'MFA_REQUIRED');
      const { token } = (await ok(addPasskey(session), 201)).session;
      await ok(send(token, 'GET', '/v1/vaults'));
    });

    test('without step_up nothing of the session changes', async () => {
      const session = await logIn(service, await addPerson(service));
      const before = await credentialOf(session);
      for (const more of [{}, { step_up: false }]) {
        const other = await logIn(service, await addPerson(service));
        assert.equal((await ok(addPasskey(other, more), 201)).session, null);
        assert.equal((await credentialOf(other)).mfa_at, null);
        await refused(makeCodes(other), 403, 'MFA_REQUIRED');
      }
      assert.deepEqual(await credentialOf(session), before);
    });
  });

  describe('who attacks gains nothing by it', () => {
    test('a copy of the token ends with it, and other sessions of the person show no factor', async () => {
      const person = await addPerson(service);
      const [used, other] = [await logIn(service, person), await logIn(service, person)];
      const { token } = (await ok(addPasskey(used), 201)).session;
      await refused(send(used, 'GET', '/auth/me'), 401, 'INVALID_TOKEN');
      await refused(makeCodes(used), 401, 'INVALID_TOKEN');
      assert.equal((await credentialOf(other)).mfa_at, null);
      await refused(makeCodes(other), 403, 'MFA_REQUIRED');
      await ok(makeCodes(token), 201);
    });

    test('it opens no fortress secret on its first day, nor do recovery codes that were made with it', async () => {
      const { person, write } = await fortressAdmin(service);
      const { token } = (await ok(addPasskey(await logIn(service, person)), 201)).session;
      const { error } = (await write(token)).body;
      assert.deepEqual([error.code, error.details], ['MFA_REQUIRED', { trusted_factor: true }]);
      const [code] = (await ok(makeCodes(token), 201)).recovery_codes;
      const next = await ok(send(token, 'POST', '/auth/step-up', { otp: code }));
      await refused(write(next.token), 403, 'MFA_REQUIRED');
      await refused(send(token, 'GET', '/auth/me'), 401, 'INVALID_TOKEN');
    });

    test('it trusts nobody, and approves no request for trust', async () => {
      const tenant = await addTenant(service);
      const admin = await addPerson(service, { tenant, role: 'admin' });
      const member = await addPerson(service, { tenant });
      const { token: asking } = (await ok(addPasskey(await logIn(service, member)), 201)).session;
      const { approval_id } = await ok(send(asking, 'POST', '/auth/mfa/trust'), 202);
      const { token } = (await ok(addPasskey(await logIn(service, admin)), 201)).session;
      await refused(send(token, 'POST', `/v1/users/${member.id}/mfa/trust`), 403, 'MFA_REQUIRED');
      await refused(approve(service, approval_id, token), 403, 'MFA_REQUIRED');
    });

    test('a further factor neither prolongs what the older one proved, nor takes its place', async () => {
      const { person, write } = await fortressAdmin(service);
      const { passkey } = await firstPasskey(service, person);
      service.clock.advance(DAY_MS);
      const session = await signIn(service, passkey);
      const before = await credentialOf(session);
      service.clock.advance(14 * MINUTE_MS);
      assert.equal((await ok(addPasskey(session), 201)).session, null);
      const app = await addApp(session);
      assert.equal(app.answer.session, null);
      assert.deepEqual(await credentialOf(session), before);
      await ok(write(session), 201);
      service.clock.advance(2 * MINUTE_MS);
      await refused(write(session), 403, 'MFA_REQUIRED');
      await refused(makeCodes(session), 403, 'MFA_REQUIRED');
    });

    const deviceSession = async (person: Person) => {
      const device = await startDevice(service);
      const approver = await logIn(service, person);
      await ok(send(approver, 'POST', '/auth/device/approve', { user_code: device.user_code }));
      return String((await ok(poll(service, device))).token);
    };

    test('a session that is not fresh, one of a device code and a token stay as they are', async () => {
      const person = await addPerson(service);
      const stale = await logIn(service, person);
      const [response, secret] = [await registration(stale), await beginApp(stale)];
      service.clock.advance(16 * MINUTE_MS);
      const device = await deviceSession(person);
      for (const token of [stale, device, person.token]) {
        await refused(confirm(token, codeOf(service, secret)), 403, 'MFA_REQUIRED');
        assert.equal((await credentialOf(token)).mfa_at, null);
      }
      const body = { name: 'phone', response, step_up: true };
      for (const token of [stale, device]) {
        assert.ok([401, 403].includes((await send(token, 'POST', '/auth/mfa/passkeys', body)).status));
        assert.equal((await credentialOf(token)).mfa_at, null);
      }
      await refused(send(person.token, 'POST', '/auth/mfa/passkeys', body), 403, 'INSUFFICIENT_PRIVILEGE');
    });

    test('the token of a first start adds an app, and shows no factor afterwards either', async () => {
      const { owner } = await addTenant(service);
      const { answer } = await addApp(owner.token);
      assert.equal(answer.session, null);
      assert.equal((await credentialOf(owner.token)).mfa_at, null);
      await refused(send(owner.token, 'PATCH', '/v1/tenant/settings', { require_mfa: true }), 403, 'MFA_REQUIRED');
    });

    test('a wrong code, and what no authenticator of the person made, change nothing', async () => {
      const session = await logIn(service, await addPerson(service));
      await beginApp(session);
      await refused(confirm(session, '000000'), 401, 'LOGIN_DENIED');
      const elsewhere = await registration(await logIn(service, await addPerson(service)));
      const unverified = new SoftwarePasskey(originOf(service)).create(
        (await enrolmentOptions(service, session)).options,
        { isUserVerified: false },
      );
      for (const response of [elsewhere, unverified]) {
        const body = { name: 'phone', response, step_up: true };
        await refused(send(session, 'POST', '/auth/mfa/passkeys', body), 401, 'LOGIN_DENIED');
      }
      assert.equal((await credentialOf(session)).mfa_at, null);
    });

    test('sent several times at once, it counts once, and there is one session', async () => {
      const person = await addPerson(service);
      const session = await logIn(service, person);
      const idsOf = async (by: string): Promise<string[]> =>
        (await ok(send(by, 'GET', '/auth/sessions'))).sessions.map(({ id }: { id: string }) => id);
      const [, ...others] = await idsOf(session);
      const body = { name: 'phone', response: await registration(session), step_up: true };
      const answers = await Promise.all(
        Array.from({ length: 4 }, () => send(session, 'POST', '/auth/mfa/passkeys', body)),
      );
      const made = answers.filter(({ status }) => status === 201);
      assert.deepEqual([made.length, answers.filter(({ status }) => status >= 500).length], [1, 0]);
      const { token, token_id } = (made[0] as (typeof made)[number]).body.session;
      assert.deepEqual(await idsOf(token), [token_id, ...others]);
    });

    test('a session that ends at the same time does not come back', async () => {
      for (let round = 0; round < 3; round++) {
        const session = await logIn(service, await addPerson(service));
        const body = { name: 'phone', response: await registration(session), step_up: true };
        const [added, left] = await Promise.all([
          send(session, 'POST', '/auth/mfa/passkeys', body),
          send(session, 'POST', '/auth/logout'),
        ]);
        assert.ok(left.status === 204 || left.status === 401, String(left.status));
        if (left.status === 204) assert.equal(added.status, 401, 'the session was ended first');
        await refused(send(session, 'GET', '/auth/me'), 401, 'INVALID_TOKEN');
      }
    });
  });

  test('the console gets the new session as its cookie, and its page never the token', async () => {
    const person = await addPerson(service);
    const page = (method: string, path: string, cookie: string, body?: object) =>
      fetch(`${service.url}/console/api${path}`, {
        method,
        headers: {
          ...(cookie === '' ? SAME_ORIGIN : withSession(cookie)),
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
    const cookieOf = (answer: Response) => (answer.headers.getSetCookie()[0] ?? '').split(';')[0] ?? '';
    const { email, password } = person;
    const old = cookieOf(await page('POST', '/auth/login', '', { email, password }));
    const { options } = (await (await page('POST', '/auth/mfa/passkeys/options', old)).json()) as { options: never };
    const response = new SoftwarePasskey(originOf(service)).create(options);
    const added = await page('POST', '/auth/mfa/passkeys', old, { name: 'phone', response, step_up: true });
    const now = cookieOf(added);
    assert.match(now, /^__Host-coffer-session=[\w.-]+$/);
    const text = await added.text();
    assert.ok(!text.includes('"token"') && !text.includes(now.split('=')[1] as string));
    assert.match(text, /"session":\{"token_id":"token_/);
    assert.equal((await page('POST', '/auth/mfa/recovery-codes', now)).status, 201);
    assert.equal((await page('GET', '/auth/me', old)).status, 401);
    // A further one leaves the cookie as it is.
    const more = (await (await page('POST', '/auth/mfa/passkeys/options', now)).json()) as { options: never };
    const second = new SoftwarePasskey(originOf(service)).create(more.options);
    const kept = await page('POST', '/auth/mfa/passkeys', now, { name: 'key', response: second, step_up: true });
    assert.deepEqual([kept.status, kept.headers.getSetCookie()], [201, []]);
  });
});
