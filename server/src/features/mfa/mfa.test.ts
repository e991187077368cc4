import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import * as OTPAuth from 'otpauth';
import {
  addPerson,
  holdClock,
  invalid,
  ok,
  openSession,
  type Person,
  refused,
  tryLogIn,
} from '../../../../test/support/people.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { HOUR_MS, SECOND_MS } from '../../kernel/base/clock.ts';

const STEP_MS = 30 * SECOND_MS;

onSqliteAtLanding('a second factor', (database) => {
  let service: Service;

  before(async () => {
    service = await startService(database, { env: { CV_TRUSTED_PROXIES: '127.0.0.1' } });
  });
  after(() => service.close());

  const begin = (token: string) => service.call('POST', '/auth/mfa/totp', { token });
  const finish = (token: string, otp: string) =>
    service.call('POST', '/auth/mfa/totp/confirm', { token, body: { otp } });
  /** In a session that was just opened, as both take. */
  const enrol = async ({ id }: Person) => begin(await openSession(service, id));
  const confirm = async ({ id }: Person, otp: string) => finish(await openSession(service, id), otp);
  const state = ({ token }: Person) => ok(service.call('GET', '/auth/mfa', { token }));
  const codeOf = (secret: string, offsetMs = 0) =>
    new OTPAuth.TOTP({ secret }).generate({ timestamp: service.clock.now() + offsetMs });
  const wrongCode = (secret: string) => (codeOf(secret) === '000000' ? '111111' : '000000');
  let logins = 0;
  /** From another address each time: what the tests do wrong on purpose adds up otherwise. */
  const logIn = (person: Person, otp?: string) => {
    logins++;
    const from = { 'x-forwarded-for': `198.18.0.${logins}` };
    return tryLogIn(service, person, otp === undefined ? {} : { otp }, from);
  };
  /** The code that confirmed is spent, so the clock moves to the next one. */
  const enrolled = async () => {
    const person = await addPerson(service);
    const { secret } = await ok(enrol(person), 201);
    const { recovery_codes } = await ok(confirm(person, codeOf(secret)));
    service.clock.advance(STEP_MS);
    return { person, secret: String(secret), recoveryCodes: recovery_codes as string[] };
  };

  describe('enrolling', () => {
    test('shows a secret that authenticators understand, once', async () => {
      const person = await addPerson(service);
      const { secret, otpauth_uri } = await ok(enrol(person), 201);
      const parsed = OTPAuth.URI.parse(otpauth_uri);
      assert.ok(parsed instanceof OTPAuth.TOTP);
      assert.deepEqual([parsed.secret.base32, parsed.issuer, parsed.label], [secret, 'Coffer', person.email]);
      assert.ok(!JSON.stringify(await state(person)).includes(secret));
    });

    test('protects nothing until it is confirmed', async () => {
      const person = await addPerson(service);
      await ok(enrol(person), 201);
      assert.deepEqual(await state(person), {
        totp: { enrolled: false, confirmed_at: null, opens_fortress_from: null },
        passkeys: 0,
        recovery_codes_left: 0,
      });
      await ok(logIn(person));
    });

    test('needs a right code to be confirmed, of the latest secret', async () => {
      const person = await addPerson(service);
      await refused(confirm(person, '123456'), 404, 'NOT_FOUND');
      const { secret: first } = await ok(enrol(person), 201);
      const { secret: second } = await ok(enrol(person), 201);
      await refused(confirm(person, wrongCode(second)), 401, 'LOGIN_DENIED');
      if (codeOf(first) !== codeOf(second)) await refused(confirm(person, codeOf(first)), 401, 'LOGIN_DENIED');
      await ok(logIn(person));
      const { recovery_codes } = await ok(confirm(person, codeOf(second)));
      assert.equal(new Set(recovery_codes).size, 10);
      const { totp, recovery_codes_left } = await state(person);
      assert.deepEqual([totp.enrolled, recovery_codes_left], [true, 10]);
    });

    test('a second time is refused, so that a stolen token cannot replace the factor', async () => {
      const { person, secret } = await enrolled();
      await refused(enrol(person), 409, 'ALREADY_EXISTS');
      await refused(confirm(person, codeOf(secret)), 409, 'ALREADY_EXISTS');
      await ok(logIn(person, codeOf(secret)));
    });

    test('twenty confirmations at once make one set of recovery codes', async () => {
      const person = await addPerson(service);
      const { secret } = await ok(enrol(person), 201);
      const otp = codeOf(secret);
      const answers = await Promise.all(Array.from({ length: 20 }, () => confirm(person, otp)));
      const done = answers.filter(({ status }) => status === 200);
      assert.equal(done.length, 1);
      await ok(logIn(person, done[0]?.body.recovery_codes[0]));
    });

    test('again and again while it is confirmed never takes a confirmed factor away', async () => {
      const person = await addPerson(service);
      for (let round = 0; round < 10; round++) {
        const { secret } = await ok(enrol(person), 201);
        const [confirmed] = await Promise.all([confirm(person, codeOf(secret)), enrol(person), enrol(person)]);
        if (confirmed.status === 200) {
          assert.equal((await state(person)).totp.enrolled, true);
          service.clock.advance(STEP_MS);
          await ok(logIn(person, codeOf(secret)));
          return;
        }
        assert.equal(confirmed.status, 401, confirmed.text);
      }
    });

    test('fields that are unknown or no code are pointed at', async () => {
      const person = await addPerson(service);
      for (const otp of ['', '12345', 'a b c d', 'x'.repeat(33), 123456, null]) {
        const body = { otp };
        const answer = service.call('POST', '/auth/mfa/totp/confirm', { token: person.token, body });
        await invalid(answer, '/body/otp');
      }
      await invalid(service.call('POST', '/auth/mfa/totp', { token: person.token, body: { secret: 'A' } }), '/body');
    });
  });

  describe('at login', () => {
    test('is requested only after the right password', async () => {
      const { person, secret } = await enrolled();
      const wrong = { ...person, password: 'not the password' };
      await refused(logIn(wrong), 401, 'LOGIN_DENIED');
      await refused(logIn(wrong, codeOf(secret)), 401, 'LOGIN_DENIED');
      await refused(logIn(person), 403, 'MFA_REQUIRED');
      const { token } = await ok(logIn(person, codeOf(secret)));
      const { credential } = await ok(service.call('GET', '/auth/me', { token }));
      assert.equal(typeof credential.mfa_at, 'string');
    });

    test('a code works once, also if sent three times at once', async () => {
      const { person, secret } = await enrolled();
      const otp = codeOf(secret);
      await ok(logIn(person, otp));
      await refused(logIn(person, otp), 401, 'LOGIN_DENIED');
      service.clock.advance(STEP_MS);
      const next = codeOf(secret);
      // Not more than the tries that are free, so that back-off does not do the work of the test.
      const answers = await Promise.all(Array.from({ length: 3 }, () => logIn(person, next)));
      assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    });

    test('the code that confirmed the enrolment is spent', async () => {
      const person = await addPerson(service);
      const { secret } = await ok(enrol(person), 201);
      const otp = codeOf(secret);
      await ok(confirm(person, otp));
      await refused(logIn(person, otp), 401, 'LOGIN_DENIED');
    });

    test('codes of the neighbouring steps count, older ones and earlier than a spent one do not', async () => {
      const { person, secret } = await enrolled();
      service.clock.advance(10 * STEP_MS);
      await refused(logIn(person, codeOf(secret, -3 * STEP_MS)), 401, 'LOGIN_DENIED');
      await refused(logIn(person, codeOf(secret, 3 * STEP_MS)), 401, 'LOGIN_DENIED');
      await ok(logIn(person, codeOf(secret, STEP_MS)));
      await refused(logIn(person, codeOf(secret)), 401, 'LOGIN_DENIED');
    });

    test('a recovery code works once, in any case, in place of a code', async () => {
      const { person, recoveryCodes } = await enrolled();
      const [first, second] = recoveryCodes;
      await ok(logIn(person, first));
      await refused(logIn(person, first), 401, 'LOGIN_DENIED');
      await ok(logIn(person, second?.toUpperCase()));
      assert.equal((await state(person)).recovery_codes_left, 8);
    });

    test('a recovery code of somebody else does not', async () => {
      const [one, two] = [await enrolled(), await enrolled()];
      await refused(logIn(one.person, two.recoveryCodes[0]), 401, 'LOGIN_DENIED');
      assert.equal((await state(two.person)).recovery_codes_left, 10);
    });

    test('guessing codes is slowed down like guessing passwords', async () => {
      const { person, secret } = await enrolled();
      for (let i = 0; i < 5; i++) {
        await holdClock(service, refused(logIn(person, wrongCode(secret)), 401, 'LOGIN_DENIED'));
      }
      await holdClock(service, refused(logIn(person, codeOf(secret)), 429, 'RATE_LIMIT_EXCEEDED'));
      service.clock.advance(HOUR_MS);
      await ok(logIn(person, codeOf(secret)));
    });

    test('a code sent without a factor does no harm', async () => {
      const person = await addPerson(service);
      const { token } = await ok(logIn(person, '123456'));
      assert.equal((await ok(service.call('GET', '/auth/me', { token }))).credential.mfa_at, null);
    });
  });

  test('a deleted person’s factor goes along', async () => {
    const { person } = await enrolled();
    await ok(service.call('DELETE', `/v1/users/${person.id}`), 200);
    const { read } = service.app.kernel.database;
    for (const table of ['user_totp', 'user_recovery_codes'] as const) {
      const left = await read.selectFrom(table).selectAll().where('user_id', '=', person.id).execute();
      assert.equal(left.length, 0, table);
    }
  });

  test('secrets and codes are not readable in the database', async () => {
    const { secret, recoveryCodes } = await enrolled();
    const { read } = service.app.kernel.database;
    const rows = await read.selectFrom('user_totp').selectAll().execute();
    const raw = Buffer.from(OTPAuth.Secret.fromBase32(secret).buffer);
    assert.ok(rows.every((row) => !Buffer.from(row.sealed_secret).includes(raw)));
    const codes = await read.selectFrom('user_recovery_codes').selectAll().execute();
    const kept = codes.map((row) => Buffer.from(row.code_hash).toString('latin1')).join();
    assert.ok(recoveryCodes.every((code) => !kept.includes(code)));
  });
});
