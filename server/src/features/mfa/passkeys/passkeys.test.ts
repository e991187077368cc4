import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Deviations, SoftwarePasskey } from '../../../../../test/support/authenticator.ts';
import { OUTSIDE_ENV } from '../../../../../test/support/external-logins.ts';
import {
  enrolmentOptions,
  enrolPasskey,
  firstPasskey,
  originOf,
  reasonOf,
  sendPasskey,
  signIn,
  trySignIn,
} from '../../../../../test/support/passkeys.ts';
import {
  addPerson,
  addTenant,
  approve,
  invalid,
  logIn,
  ok,
  refused,
  tryLogIn,
} from '../../../../../test/support/people.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../../test/support/service.ts';
import { poll, startDevice } from '../../../../../test/support/sign-on.ts';
import { DAY_MS, MINUTE_MS } from '../../../kernel/base/clock.ts';

onSqliteAtLanding('passkeys', (database) => {
  let service: Service;

  before(async () => {
    service = await startService(database, { env: OUTSIDE_ENV });
  });
  after(() => service.close());

  const list = async (token: string) => (await ok(service.call('GET', '/auth/mfa/passkeys', { token }))).passkeys;
  const remove = (token: string, id: string) => service.call('DELETE', `/auth/mfa/passkeys/${id}`, { token });

  describe('enrolling', () => {
    test('makes a passkey of each algorithm that opens a session with a second factor', async () => {
      for (const algorithm of ['ES256', 'EdDSA', 'RS256'] as const) {
        const person = await addPerson(service);
        const { passkey, id } = await enrolPasskey(service, await logIn(service, person), { algorithm });
        const token = await signIn(service, passkey);
        const [shown] = await list(token);
        assert.deepEqual([shown.id, shown.is_synced, shown.transports], [id, false, ['internal', 'hybrid']]);
        assert.equal(typeof shown.last_used_at, 'string');
        const { user, credential } = await ok(service.call('GET', '/auth/me', { token }));
        assert.equal(user.id, person.id);
        assert.equal(typeof credential.mfa_at, 'string');
      }
    });

    test('tells the browser what is needed, and which passkeys there are', async () => {
      const person = await addPerson(service);
      const { passkey } = await firstPasskey(service, person);
      const { options, expires_at } = await enrolmentOptions(service, await signIn(service, passkey));
      assert.equal(options.rp.id, 'localhost');
      assert.equal(options.user.name, person.email);
      assert.deepEqual(options.authenticatorSelection, {
        residentKey: 'required',
        requireResidentKey: true,
        userVerification: 'required',
      });
      assert.deepEqual(
        options.excludeCredentials.map(({ id }: { id: string }) => id),
        [passkey.id],
      );
      assert.ok(Date.parse(expires_at) > service.clock.now());
    });

    test('needs a sign-in of the last minutes, and with a factor that factor', async () => {
      const person = await addPerson(service);
      const stale = await logIn(service, person);
      service.clock.advance(16 * MINUTE_MS);
      const options = { token: stale };
      await refused(service.call('POST', '/auth/mfa/passkeys/options', options), 403, 'MFA_REQUIRED');
      const { passkey } = await firstPasskey(service, person);
      // The password alone no longer opens a session, and the session from before shows no factor.
      const { error } = (await tryLogIn(service, person)).body;
      assert.deepEqual([error.code, error.details], ['MFA_REQUIRED', { methods: ['passkey'] }]);
      await refused(service.call('POST', '/auth/mfa/passkeys/options', options), 403, 'MFA_REQUIRED');
      await enrolPasskey(service, await signIn(service, passkey), { isSynced: true });
    });

    test('is refused to a session that another session confirmed, which proves nothing new', async () => {
      const device = await startDevice(service);
      const body = { user_code: device.user_code };
      const approver = await logIn(service, await addPerson(service));
      await ok(service.call('POST', '/auth/device/approve', { token: approver, body }));
      const { token } = await ok(poll(service, device));
      await refused(service.call('POST', '/auth/mfa/passkeys/options', { token }), 403, 'MFA_REQUIRED');
    });

    test('is refused to a personal access token', async () => {
      const { token } = await addPerson(service);
      await refused(service.call('POST', '/auth/mfa/passkeys/options', { token }), 403, 'INSUFFICIENT_PRIVILEGE');
    });

    test('refuses what an attacker or a broken authenticator sends, and changes nothing', async () => {
      const session = await logIn(service, await addPerson(service));
      const elsewhere = await enrolmentOptions(service, await logIn(service, await addPerson(service)));
      const signInChallenge = (await ok(service.call('POST', '/auth/passkeys/options', { token: null }))).options;
      const x5c = new Map<string, unknown>([['x5c', [new Uint8Array(8)]]]);
      const attacks: [Deviations, RegExp][] = [
        [{ origin: 'https://evil.example' }, /origin/],
        [{ origin: service.url }, /origin/],
        [{ rpId: 'evil.example' }, /RP ID/],
        [{ challenge: Buffer.from('made up').toString('base64url') }, /challenge/],
        [{ challenge: elsewhere.options.challenge }, /challenge/],
        [{ challenge: signInChallenge.challenge }, /challenge/],
        [{ isUserVerified: false }, /verif/],
        [{ type: 'webauthn.get' }, /type/],
        [{ crossOrigin: true }, /another site/],
        [{ attestation: { fmt: 'packed', attStmt: x5c } }, /attestation/],
        [{ attestation: { fmt: 'android-safetynet', attStmt: new Map() } }, /attestation/],
      ];
      for (const [deviations, reason] of attacks) {
        const { options } = await enrolmentOptions(service, session);
        const passkey = new SoftwarePasskey(originOf(service));
        const answer = await sendPasskey(service, session, passkey.create(options, deviations));
        assert.equal(answer.status, 401, `${JSON.stringify(deviations)}: ${answer.text}`);
        assert.match(await reasonOf(service, answer), reason);
      }
      const { options } = await enrolmentOptions(service, session);
      const other = new SoftwarePasskey(originOf(service), { algorithm: 'ES384' });
      const answer = await sendPasskey(service, session, other.create(options));
      assert.match(await reasonOf(service, answer), /alg/, answer.text);
      assert.deepEqual(await list(session), []);
    });

    test('points at what is malformed or too large', async () => {
      const session = await logIn(service, await addPerson(service));
      const { options } = await enrolmentOptions(service, session);
      const good = new SoftwarePasskey(originOf(service)).create(options);
      const withResponse = (more: object) =>
        sendPasskey(service, session, { ...good, response: { ...good.response, ...more } });
      await invalid(withResponse({ clientDataJSON: 'not base64url!' }), '/body/response/response/clientDataJSON');
      await invalid(
        withResponse({ attestationObject: 'A'.repeat(20_000) }),
        '/body/response/response/attestationObject',
      );
      await invalid(withResponse({ unknown: 1 }), '/body/response/response/unknown');
      await invalid(sendPasskey(service, session, { ...good, type: 'password' }), '/body/response/type');
      await invalid(sendPasskey(service, session, good, ''), '/body/name');
      for (const attestationObject of ['AA', 'oA', '_____w', 'o2NmbXRkbm9uZQ']) {
        await refused(withResponse({ attestationObject }), 401, 'LOGIN_DENIED');
      }
    });

    test('counts a response once, also if it is sent five times at once, and a challenge for five minutes', async () => {
      const session = await logIn(service, await addPerson(service));
      const { options } = await enrolmentOptions(service, session);
      const response = new SoftwarePasskey(originOf(service)).create(options);
      const answers = await Promise.all(Array.from({ length: 5 }, () => sendPasskey(service, session, response)));
      assert.equal(answers.filter(({ status }) => status === 201).length, 1);
      assert.equal((await list(session)).length, 1);
      const late = await logIn(service, await addPerson(service));
      const slow = await enrolmentOptions(service, late);
      service.clock.advance(5 * MINUTE_MS);
      const made = new SoftwarePasskey(originOf(service)).create(slow.options);
      await refused(sendPasskey(service, late, made), 401, 'LOGIN_DENIED');
    });

    test('takes nobody’s credential id twice, in any tenant', async () => {
      const { passkey } = await firstPasskey(service, await addPerson(service));
      const tenant = await addTenant(service);
      for (const person of [await addPerson(service), await addPerson(service, { tenant })]) {
        const session = await logIn(service, person);
        const { options } = await enrolmentOptions(service, session);
        const answer = sendPasskey(service, session, passkey.create(options));
        await refused(answer, 409, 'ALREADY_EXISTS');
      }
    });

    test('an authenticator app beside passkeys needs one of them', async () => {
      const person = await addPerson(service);
      const session = await logIn(service, person);
      const { passkey } = await enrolPasskey(service, session);
      await refused(service.call('POST', '/auth/mfa/totp', { token: session }), 403, 'MFA_REQUIRED');
      await refused(service.call('POST', '/auth/mfa/totp', { token: person.token }), 403, 'MFA_REQUIRED');
      await ok(service.call('POST', '/auth/mfa/totp', { token: await signIn(service, passkey) }), 201);
    });
  });

  describe('keeping them', () => {
    /** Somebody whose tenant has two people who can approve. */
    const withAdmins = async () => {
      const tenant = await addTenant(service);
      const admin = await addPerson(service, { tenant, role: 'admin' });
      return { tenant, admin, person: await addPerson(service, { tenant }) };
    };

    test('each can be renamed by its own person only', async () => {
      const person = await addPerson(service);
      const { id } = await firstPasskey(service, person);
      const rename = (token: string, name: string) =>
        service.call('PATCH', `/auth/mfa/passkeys/${id}`, { token, body: { name } });
      assert.equal((await ok(rename(person.token, 'key ring'))).name, 'key ring');
      const stranger = await addPerson(service);
      const foreign = await addPerson(service, { tenant: await addTenant(service) });
      for (const { token } of [stranger, foreign]) {
        await refused(rename(token, 'mine'), 404, 'NOT_FOUND');
        await refused(remove(token, id), 404, 'NOT_FOUND');
      }
      assert.equal((await list(person.token))[0].name, 'key ring');
    });

    test('the last one takes two people, and recovery codes go along', async () => {
      const { person, admin } = await withAdmins();
      const { passkey, id } = await firstPasskey(service, person);
      const session = await signIn(service, passkey);
      await ok(service.call('POST', '/auth/mfa/recovery-codes', { token: session }), 201);
      const { approval_id } = await ok(remove(session, id), 202);
      assert.equal((await list(session)).length, 1);
      await ok(approve(service, approval_id, admin.token));
      assert.deepEqual(await list(session), []);
      assert.equal((await ok(service.call('GET', '/auth/mfa/recovery-codes', { token: session }))).left, 0);
      assert.equal((await trySignIn(service, passkey)).status, 401);
      await logIn(service, person);
    });

    test('one of two takes one person, who shows a factor and keeps one that is a day old', async () => {
      const { person } = await withAdmins();
      const first = await firstPasskey(service, person);
      const second = await enrolPasskey(service, await signIn(service, first.passkey));
      // Anyone who added a factor today must not remove the person's own with it.
      await ok(remove(await signIn(service, second.passkey), first.id), 202);
      service.clock.advance(DAY_MS);
      // A token shows no factor.
      await refused(remove(person.token, first.id), 403, 'MFA_REQUIRED');
      await ok(remove(await signIn(service, second.passkey), first.id));
      assert.deepEqual(
        (await list(person.token)).map(({ id }: { id: string }) => id),
        [second.id],
      );
    });

    test('an admin resets all of them, with another one’s approval', async () => {
      const { tenant, admin, person } = await withAdmins();
      const { passkey } = await firstPasskey(service, person);
      const asked = service.call('DELETE', `/v1/users/${person.id}/mfa`, { token: admin.token });
      const { approval_id } = await ok(asked, 202);
      const shown = await ok(service.call('GET', `/approvals/${approval_id}`, { token: tenant.owner.token }));
      assert.match(JSON.stringify(shown), /passkey passkey-/, 'the approver sees which');
      await signIn(service, passkey);
      await ok(approve(service, approval_id, tenant.owner.token));
      assert.equal((await trySignIn(service, passkey)).status, 401);
      await logIn(service, person);
    });

    test('two admins let a new one open fortress secrets before its day is over', async () => {
      const { tenant, admin, person } = await withAdmins();
      const { passkey: own } = await firstPasskey(service, admin);
      service.clock.advance(DAY_MS);
      await firstPasskey(service, person);
      const trust = (token: string) => service.call('POST', `/v1/users/${person.id}/mfa/trust`, { token });
      await refused(trust(admin.token), 403, 'MFA_REQUIRED');
      const { approval_id } = await ok(trust(await signIn(service, own)), 202);
      const opensFrom = async () => Date.parse((await list(person.token))[0].opens_fortress_from);
      assert.ok((await opensFrom()) > service.clock.now());
      await ok(approve(service, approval_id, tenant.owner.token));
      assert.ok((await opensFrom()) <= service.clock.now());
    });

    test('they go with the person', async () => {
      const person = await addPerson(service);
      const { passkey } = await firstPasskey(service, person);
      await ok(service.call('DELETE', `/v1/users/${person.id}`));
      assert.equal((await trySignIn(service, passkey)).status, 401);
      const query = service.app.kernel.database.read.selectFrom('user_passkeys').selectAll();
      assert.deepEqual(await query.where('user_id', '=', person.id).execute(), []);
    });
  });
});
