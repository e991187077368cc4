import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { type Deviations, SoftwarePasskey } from '../../../../test/support/authenticator.ts';
import { OUTSIDE_ENV } from '../../../../test/support/external-logins.ts';
import {
  enrolPasskey,
  firstPasskey,
  fortressAdmin,
  originOf,
  reasonOf,
  sendSignIn,
  signIn,
  signInOptions,
  trySignIn,
} from '../../../../test/support/passkeys.ts';
import { addPerson, addTenant, invalid, logIn, ok, refused } from '../../../../test/support/people.ts';
import { behindItsBack } from '../../../../test/support/rows.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { DAY_MS, MINUTE_MS } from '../../kernel/base/clock.ts';

onSqliteAtLanding('signing in with a passkey', (database) => {
  let service: Service;

  before(async () => {
    service = await startService(database, { env: OUTSIDE_ENV });
  });
  after(() => service.close());

  const me = (token: string) => ok(service.call('GET', '/auth/me', { token }));

  /** One that has not ended, by a key of this number, with a MAC that nobody made. */
  const forgedChallenge = (version: number): string => {
    const bytes = randomBytes(58);
    bytes.writeUInt32BE(version, 0);
    bytes.writeUIntBE(service.clock.now() + MINUTE_MS, 4, 6);
    return bytes.toString('base64url');
  };

  test('finds the person in their own tenant, without being told whose it is', async () => {
    const tenant = await addTenant(service);
    const person = await addPerson(service, { tenant });
    const { passkey } = await firstPasskey(service, person);
    const options = await signInOptions(service);
    assert.deepEqual([options.rpId, options.userVerification, options.allowCredentials], ['localhost', 'required', []]);
    const { token, user_id } = await ok(sendSignIn(service, passkey.get(options)));
    const shown = await me(token);
    assert.deepEqual([user_id, shown.user.id, shown.tenant.id], [person.id, person.id, tenant.id]);
    assert.equal(typeof shown.credential.mfa_at, 'string');
    const { entries } = await ok(
      service.call('GET', '/v1/audit?action=auth:passkey_login', { token: tenant.owner.token }),
    );
    assert.equal(entries[0].actor.id, person.id);
  });

  test('refuses what an attacker sends, with one answer', async () => {
    const { passkey } = await firstPasskey(service, await addPerson(service));
    const other = await addPerson(service);
    const enrolment = await ok(
      service.call('POST', '/auth/mfa/passkeys/options', { token: await logIn(service, other) }),
    );
    const attacks: [Deviations, RegExp][] = [
      [{ origin: 'https://evil.example' }, /origin/],
      [{ origin: service.url }, /origin/],
      [{ rpId: 'evil.example' }, /RP ID/],
      [{ challenge: 'A'.repeat(78) }, /challenge/],
      [{ challenge: forgedChallenge(0xffffffff) }, /challenge/],
      [{ challenge: forgedChallenge(1) }, /challenge/],
      [{ challenge: forgedChallenge(2) }, /challenge/],
      [{ challenge: enrolment.options.challenge }, /challenge/],
      [{ isUserVerified: false }, /verif/],
      [{ type: 'webauthn.create' }, /type/],
      [{ crossOrigin: true }, /another site/],
      [{ userHandle: null }, /user handle/],
      [{ userHandle: Buffer.from(other.id).toString('base64url') }, /user handle/],
    ];
    const answers = new Set<string>();
    for (const [deviations, reason] of attacks) {
      const answer = await trySignIn(service, passkey, deviations);
      assert.equal(answer.status, 401, `${JSON.stringify(deviations)}: ${answer.text}`);
      assert.match(await reasonOf(service, answer), reason);
      answers.add(answer.body.error.message);
    }
    const stranger = new SoftwarePasskey(originOf(service));
    const unknown = await trySignIn(service, stranger);
    assert.equal(unknown.status, 401);
    answers.add(unknown.body.error.message);
    // The credential id is no secret; the key is.
    const forged = { ...stranger.get(await signInOptions(service)), id: passkey.id, rawId: passkey.id };
    const wrong = await sendSignIn(service, forged);
    assert.match(await reasonOf(service, wrong), /user handle|signature/);
    answers.add(wrong.body.error.message);
    assert.equal(answers.size, 1, 'every refusal reads the same');
    await signIn(service, passkey);
  });

  test('counts a response once, also if it is sent five times at once, and a challenge for five minutes', async () => {
    const { passkey } = await enrolPasskey(service, await logIn(service, await addPerson(service)), { isSynced: true });
    const response = passkey.get(await signInOptions(service));
    const answers = await Promise.all(Array.from({ length: 5 }, () => sendSignIn(service, response)));
    assert.equal(answers.filter(({ status }) => status === 200).length, 1, answers.map(({ text }) => text).join());
    const replayed = await sendSignIn(service, response);
    assert.match(await reasonOf(service, replayed), /answered before/);
    const options = await signInOptions(service);
    service.clock.advance(5 * MINUTE_MS);
    await refused(sendSignIn(service, passkey.get(options)), 401, 'LOGIN_DENIED');
  });

  test('a counter that goes back, or stays, is refused and in the audit log', async () => {
    const { passkey, id } = await firstPasskey(service, await addPerson(service));
    await ok(trySignIn(service, passkey, { counter: 40 }));
    for (const counter of [40, 7, 0]) {
      const answer = await trySignIn(service, passkey, { counter });
      assert.equal(answer.status, 401, answer.text);
      const reason = await reasonOf(service, answer);
      assert.match(reason, /counter .* went back/);
      assert.ok(reason.includes(id));
    }
    await ok(trySignIn(service, passkey, { counter: 41 }));
  });

  test('somebody who is disabled is refused, and so is somebody of a suspended tenant', async () => {
    const tenant = await addTenant(service);
    const person = await addPerson(service, { tenant });
    const { passkey } = await firstPasskey(service, person);
    const set = (status: string) =>
      ok(service.call('PATCH', `/v1/users/${person.id}`, { token: tenant.owner.token, body: { status } }));
    await set('disabled');
    const disabled = await trySignIn(service, passkey);
    assert.equal(disabled.status, 401);
    assert.match(await reasonOf(service, disabled, tenant.owner.token), /disabled/);
    await set('active');
    await signIn(service, passkey);
    await ok(service.call('PATCH', `/v1/tenants/${tenant.id}`, { body: { status: 'suspended' } }));
    assert.equal((await trySignIn(service, passkey)).status, 401);
  });

  test('a required provider refuses it as it refuses passwords', async () => {
    const tenant = await addTenant(service);
    const person = await addPerson(service, { tenant });
    const { passkey } = await firstPasskey(service, person);
    const body = { name: 'idp', issuer: 'https://idp.example', client_id: 'coffer', required: true };
    await ok(service.call('POST', '/auth/sso/providers', { token: tenant.owner.token, body }), 201);
    const error = await refused(trySignIn(service, passkey), 401, 'LOGIN_DENIED');
    assert.match(error.message, /identity provider/);
  });

  test('is malformed or too large', async () => {
    const { passkey } = await firstPasskey(service, await addPerson(service));
    const good = passkey.get(await signInOptions(service));
    const withResponse = (more: object) => sendSignIn(service, { ...good, response: { ...good.response, ...more } });
    await invalid(withResponse({ signature: 'A'.repeat(5000) }), '/body/response/response/signature');
    await invalid(withResponse({ clientDataJSON: '' }), '/body/response/response/clientDataJSON');
    await invalid(sendSignIn(service, { ...good, id: 'A'.repeat(2000) }), '/body/response/id');
    for (const clientDataJSON of ['AA', 'bnVsbA', 'W10', 'e30']) {
      await refused(withResponse({ clientDataJSON }), 401, 'LOGIN_DENIED');
    }
    for (const part of [{ signature: 'AA' }, { authenticatorData: 'AA' }]) {
      await refused(withResponse(part), 401, 'LOGIN_DENIED');
    }
    const large = { ...good, clientExtensionResults: { blob: 'x'.repeat(70_000) } };
    await refused(sendSignIn(service, large), 413, 'PAYLOAD_TOO_LARGE');
  });

  test('a passkey that somebody wrote into the database opens nothing', async () => {
    const [victim, thief] = [await addPerson(service, { role: 'admin' }), await addPerson(service)];
    const { passkey, id } = await firstPasskey(service, thief);
    service.expectErrorLogs(/was changed outside it/);
    await behindItsBack(service.app.kernel.database, (db) =>
      db.updateTable('user_passkeys').set({ user_id: victim.id }).where('passkey_id', '=', id).execute(),
    );
    const userHandle = Buffer.from(victim.id).toString('base64url');
    const { status } = await trySignIn(service, passkey, { userHandle });
    assert.ok(status >= 400, String(status));
  });

  test('opens fortress secrets when it is a day old, whatever else the person has', async () => {
    const { person, write } = await fortressAdmin(service);
    const { passkey } = await firstPasskey(service, person);
    await refused(write(await signIn(service, passkey)), 403, 'MFA_REQUIRED');
    service.clock.advance(DAY_MS);
    const older = await signIn(service, passkey);
    const added = await enrolPasskey(service, older);
    // The new passkey does not borrow the trust of the old one.
    await refused(write(await signIn(service, added.passkey)), 403, 'MFA_REQUIRED');
    await ok(write(older), 201);
  });
});
