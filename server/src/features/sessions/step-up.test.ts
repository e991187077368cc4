import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import * as OTPAuth from 'otpauth';
import { fromElsewhere, OUTSIDE_ENV } from '../../../../test/support/external-logins.ts';
import {
  enrolPasskey,
  firstPasskey,
  fortressAdmin,
  reasonOf,
  signIn,
  signInOptions,
} from '../../../../test/support/passkeys.ts';
import {
  addPerson,
  addTenant,
  approve,
  holdClock,
  invalid,
  logIn,
  ok,
  type Person,
  refused,
  tryLogIn,
} from '../../../../test/support/people.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { addTotp } from '../../../../test/support/totp.ts';
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../../kernel/base/clock.ts';

const STEP_MS = 30 * SECOND_MS;

onSqliteAtLanding('showing a second factor again', (database) => {
  let service: Service;

  before(async () => {
    service = await startService(database, { env: OUTSIDE_ENV });
  });
  after(() => service.close());

  const me = (token: string) => service.call('GET', '/auth/me', { token });
  const options = (token: string) => ok(service.call('POST', '/auth/step-up/options', { token }));
  const stepUp = (token: string, body: object) =>
    service.call('POST', '/auth/step-up', { token, body, headers: fromElsewhere() });
  const makeCodes = (token: string) => service.call('POST', '/auth/mfa/recovery-codes', { token });
  const codesLeft = async (token: string) =>
    (await ok(service.call('GET', '/auth/mfa/recovery-codes', { token }))).left;
  const sessions = async (token: string) => (await ok(service.call('GET', '/auth/sessions', { token }))).sessions;
  const codeOf = (secret: string) => new OTPAuth.TOTP({ secret }).generate({ timestamp: service.clock.now() });
  const withApp = async (person: Person) => {
    const { secret, recoveryCodes } = await addTotp(service, person.id);
    service.clock.advance(STEP_MS);
    return { secret, codes: recoveryCodes };
  };

  describe('with a passkey', () => {
    test('gives a new session with a fresh factor, and the old one ends', async () => {
      const { passkey } = await firstPasskey(service, await addPerson(service));
      const old = await signIn(service, passkey);
      service.clock.advance(20 * MINUTE_MS);
      await refused(makeCodes(old), 403, 'MFA_REQUIRED');
      const before = (await ok(me(old))).credential;
      const asked = await options(old);
      assert.deepEqual(asked.methods, ['passkey']);
      assert.equal(asked.options.allowCredentials[0].id, passkey.id);
      const { token, token_id } = await ok(stepUp(old, { response: passkey.get(asked.options) }));
      const { credential } = await ok(me(token));
      assert.notEqual(token_id, before.id);
      assert.equal(credential.id, token_id);
      assert.ok(credential.mfa_at > before.mfa_at);
      assert.equal(credential.expires_at, before.expires_at, 'a session does not live longer by it');
      await refused(me(old), 401, 'INVALID_TOKEN');
      await ok(makeCodes(token), 201);
    });

    test('makes the difference for fortress secrets', async () => {
      const { person, write } = await fortressAdmin(service);
      const { passkey } = await firstPasskey(service, person);
      service.clock.advance(DAY_MS);
      const old = await signIn(service, passkey);
      service.clock.advance(20 * MINUTE_MS);
      await refused(write(old), 403, 'MFA_REQUIRED');
      const { token } = await ok(stepUp(old, { response: passkey.get((await options(old)).options) }));
      await ok(write(token), 201);
    });

    test('refuses the challenge of a sign-in, of another session, and the passkey of somebody else', async () => {
      const [one, two] = [await addPerson(service), await addPerson(service)];
      const [mine, theirs] = [await firstPasskey(service, one), await firstPasskey(service, two)];
      const [session, other] = [await signIn(service, mine.passkey), await signIn(service, mine.passkey)];
      const attempts: [object, RegExp][] = [
        [mine.passkey.get(await signInOptions(service)), /challenge/],
        [mine.passkey.get((await options(other)).options), /challenge/],
        [theirs.passkey.get((await options(session)).options), /no such passkey/],
      ];
      for (const [response, reason] of attempts) {
        assert.match(await reasonOf(service, await stepUp(session, { response })), reason);
      }
      const response = mine.passkey.get((await options(session)).options);
      const answers = await Promise.all(Array.from({ length: 4 }, () => stepUp(session, { response })));
      assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    });

    test('what the session requested still waits, and can be approved', async () => {
      const tenant = await addTenant(service);
      const admin = await addPerson(service, { tenant, role: 'admin' });
      const member = await addPerson(service, { tenant });
      const { passkey } = await firstPasskey(service, admin);
      const session = await signIn(service, passkey);
      const body = { role: 'auditor' };
      const asked = service.call('PATCH', `/v1/users/${member.id}`, { token: session, body });
      const { approval_id } = await ok(asked, 202);
      await ok(stepUp(session, { response: passkey.get((await options(session)).options) }));
      assert.equal((await ok(approve(service, approval_id, tenant.owner.token))).status, 'completed');
    });
  });

  describe('with a code', () => {
    test('of the app works once, and wrong ones are slowed down', async () => {
      const person = await addPerson(service);
      const { secret } = await withApp(person);
      const session = await logIn(service, person, { otp: codeOf(secret) });
      service.clock.advance(STEP_MS);
      assert.deepEqual((await options(session)).methods, ['totp', 'recovery_code']);
      const otp = codeOf(secret);
      const { token } = await ok(stepUp(session, { otp }));
      await refused(stepUp(token, { otp }), 401, 'LOGIN_DENIED');
      for (let i = 0; i < 4; i++) await holdClock(service, refused(stepUp(token, { otp }), 401, 'LOGIN_DENIED'));
      await holdClock(service, refused(stepUp(token, { otp: codeOf(secret) }), 429, 'RATE_LIMIT_EXCEEDED'));
    });

    test('needs a factor, one proof, and a session', async () => {
      const person = await addPerson(service);
      const session = await logIn(service, person);
      assert.deepEqual(await options(session), { methods: [], options: null, expires_at: null });
      await refused(stepUp(session, { otp: '123456' }), 403, 'MFA_REQUIRED');
      await invalid(stepUp(session, {}), '/body');
      await refused(stepUp(person.token, { otp: '123456' }), 403, 'INSUFFICIENT_PRIVILEGE');
    });
  });

  describe('recovery codes', () => {
    test('are made with a factor, replace those from before, and each works once at login and step-up', async () => {
      const person = await addPerson(service);
      await refused(makeCodes(await logIn(service, person)), 404, 'NOT_FOUND');
      const { passkey } = await firstPasskey(service, person);
      const session = await signIn(service, passkey);
      const first = (await ok(makeCodes(session), 201)).recovery_codes;
      const second: string[] = (await ok(makeCodes(session), 201)).recovery_codes;
      assert.equal(new Set([...first, ...second]).size, 20);
      assert.equal(await codesLeft(session), 10);
      const tryCode = (otp: string | undefined) => tryLogIn(service, person, { otp }, fromElsewhere());
      await refused(tryCode(first[0]), 401, 'LOGIN_DENIED');
      const { token } = await ok(tryCode(second[0]));
      await refused(tryCode(second[0]), 401, 'LOGIN_DENIED');
      await ok(stepUp(token, { otp: second[1] }));
      assert.equal(await codesLeft(session), 8);
      const { entries } = await ok(service.call('GET', '/v1/audit?action=mfa:use_recovery_code'));
      assert.deepEqual(
        entries.slice(0, 2).map((entry: { details: { left: number } }) => entry.details.left),
        [8, 9],
      );
      await refused(makeCodes(person.token), 403, 'INSUFFICIENT_PRIVILEGE');
    });

    test('that were made with a new factor wait as long as it does', async () => {
      const { person, write } = await fortressAdmin(service);
      const { secret } = await withApp(person);
      service.clock.advance(DAY_MS);
      const trusted = await logIn(service, person, { otp: codeOf(secret) });
      const added = await enrolPasskey(service, trusted);
      const byNew = (await ok(makeCodes(await signIn(service, added.passkey)), 201)).recovery_codes;
      await refused(write(await logIn(service, person, { otp: byNew[0] })), 403, 'MFA_REQUIRED');
      const byOld = (await ok(makeCodes(trusted), 201)).recovery_codes;
      await ok(write(await logIn(service, person, { otp: byOld[0] })), 201);
    });
  });

  describe('sessions', () => {
    test('are listed with how they were opened, and can be ended', async () => {
      const person = await addPerson(service);
      const byPassword = await logIn(service, person);
      const { passkey } = await enrolPasskey(service, byPassword);
      const byPasskey = await signIn(service, passkey);
      const [newest, older] = await sessions(byPasskey);
      assert.deepEqual([newest.method, newest.factor, newest.is_current], ['passkey', 'passkey', true]);
      assert.deepEqual([older.method, older.factor, older.is_current], ['password', null, false]);
      assert.match(newest.address, /^198\.51\./);
      await ok(service.call('DELETE', `/auth/sessions/${older.id}`, { token: byPasskey }));
      await refused(me(byPassword), 401, 'INVALID_TOKEN');
      await refused(service.call('DELETE', `/auth/sessions/${older.id}`, { token: byPasskey }), 404, 'NOT_FOUND');
      assert.ok((await sessions(byPasskey)).every(({ id }: { id: string }) => id !== older.id));
    });

    test('of others, and tokens, cannot be ended so', async () => {
      const [one, two] = [await addPerson(service), await addPerson(service)];
      const session = await logIn(service, one);
      const { id } = (await ok(me(session))).credential;
      const token = (await ok(me(one.token))).credential.id;
      await refused(service.call('DELETE', `/auth/sessions/${id}`, { token: two.token }), 404, 'NOT_FOUND');
      await refused(service.call('DELETE', `/auth/sessions/${token}`, { token: session }), 404, 'NOT_FOUND');
      await ok(me(session));
      await ok(me(one.token));
    });
  });
});
