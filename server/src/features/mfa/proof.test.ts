import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { fromElsewhere, OUTSIDE_ENV } from '../../../../test/support/external-logins.ts';
import { enrolPasskey, firstPasskey, signIn, trySignIn } from '../../../../test/support/passkeys.ts';
import {
  addPerson,
  addTenant,
  approve,
  logIn,
  ok,
  openSession,
  type Person,
  refused,
  type Tenant,
  tryLogIn,
} from '../../../../test/support/people.ts';
import { recorded } from '../../../../test/support/rows.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { poll, startDevice } from '../../../../test/support/sign-on.ts';
import { addTotp, codeOf } from '../../../../test/support/totp.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../kernel/base/clock.ts';
import { sha256 } from '../../kernel/crypto/digest.ts';
import { insertIdentity } from '../sign-on/storage/index.ts';

const STEP_MS = 30 * SECOND_MS;
const PASSWORD = 'a password of the only owner';

onSqliteAtLanding('a thief of a session or token', (database) => {
  let service: Service;

  before(async () => {
    service = await startService(database, { env: OUTSIDE_ENV });
  });
  after(() => service.close());

  const send = (token: string | null, method: string, path: string, body?: object) =>
    service.call(method, path, { token, ...(body !== undefined && { body }), headers: fromElsewhere() });
  const begin = (token: string) => send(token, 'POST', '/auth/mfa/totp');
  const confirm = (token: string, otp: string) => send(token, 'POST', '/auth/mfa/totp/confirm', { otp });
  const factorsOf = async (token: string) => {
    const { totp, passkeys } = await ok(send(token, 'GET', '/auth/mfa'));
    return [totp.enrolled, passkeys];
  };
  /** A session that a device code opened, which a session of the person confirmed. */
  const deviceSession = async (person: Person) => {
    const device = await startDevice(service);
    const approver = await logIn(service, person);
    await ok(send(approver, 'POST', '/auth/device/approve', { user_code: device.user_code }));
    return String((await ok(poll(service, device))).token);
  };

  describe('adds no authenticator app', () => {
    test('with a session that is not fresh, one of a device code, or a token', async () => {
      const tenant = await addTenant(service);
      const person = await addPerson(service, { tenant });
      const stale = await logIn(service, person);
      service.clock.advance(16 * MINUTE_MS);
      const fresh = await logIn(service, person);
      const { secret } = await ok(begin(fresh), 201);
      for (const token of [stale, await deviceSession(person), person.token]) {
        const { details } = await refused(begin(token), 403, 'MFA_REQUIRED');
        assert.deepEqual(details, { sign_in: true }, 'a page knows that a new sign-in helps');
        await refused(confirm(token, codeOf(service, secret)), 403, 'MFA_REQUIRED');
      }
      assert.deepEqual(await factorsOf(fresh), [false, 0]);
      await ok(tryLogIn(service, person, {}, fromElsewhere()));
      // What the person began is still there, and no code of it was spent.
      await ok(confirm(fresh, codeOf(service, secret)));
    });

    test('and one that was begun waits until the person signs in again', async () => {
      const person = await addPerson(service, { tenant: await addTenant(service) });
      const session = await logIn(service, person);
      const { secret } = await ok(begin(session), 201);
      service.clock.advance(16 * MINUTE_MS);
      await refused(confirm(session, codeOf(service, secret)), 403, 'MFA_REQUIRED');
      await ok(confirm(await logIn(service, person), codeOf(service, secret)));
    });

    test('beside a passkey, however fresh the sign-in is', async () => {
      const person = await addPerson(service, { tenant: await addTenant(service) });
      const { passkey } = await firstPasskey(service, person);
      const { details } = await refused(begin(await openSession(service, person.id)), 403, 'MFA_REQUIRED');
      assert.equal(details, undefined, 'a factor helps, and no sign-in without one');
      const shown = await signIn(service, passkey);
      const { secret } = await ok(begin(shown), 201);
      await refused(confirm(await openSession(service, person.id), codeOf(service, secret)), 403, 'MFA_REQUIRED');
      await ok(confirm(shown, codeOf(service, secret)));
    });

    test('except with the token of an owner who has no way to sign in, as after a first start', async () => {
      const [{ owner }, withPassword, withIdentity] = [
        await addTenant(service),
        await addTenant(service),
        await addTenant(service),
      ];
      const { secret } = await ok(begin(owner.token), 201);
      await ok(confirm(owner.token, codeOf(service, secret)));
      await ok(send(withPassword.owner.token, 'POST', '/auth/password', { new_password: PASSWORD }), 204);
      await refused(begin(withPassword.owner.token), 403, 'MFA_REQUIRED');
      const { id: tenant_id, owner: linked } = withIdentity;
      const identity = { issuer: 'https://idp.example', subject: 'x', identity_hash: sha256(linked.id) };
      await recorded(service.app.kernel, tenant_id, (tx) =>
        insertIdentity(tx, { tenant_id, ...identity, user_id: linked.id, created_at: service.clock.now() }),
      );
      await refused(begin(linked.token), 403, 'MFA_REQUIRED');
    });
  });

  describe('removes no second factor', () => {
    /** An only owner with a password, an app and a passkey, which are some days old. */
    const onlyOwner = async (): Promise<{ tenant: Tenant; removals: string[] } & Factors> => {
      const tenant = await addTenant(service);
      const { id, token, email } = tenant.owner;
      await ok(send(token, 'POST', '/auth/password', { new_password: PASSWORD }), 204);
      const person = { id, token, email, password: PASSWORD, tenant: tenant.name };
      const app = await addTotp(service, id);
      service.clock.advance(STEP_MS);
      const { passkey, id: passkeyId } = await enrolPasskey(service, await logIn(service, person, { otp: app.code() }));
      service.clock.advance(3 * DAY_MS);
      const removals = ['/auth/mfa/totp', `/auth/mfa/passkeys/${passkeyId}`, `/v1/users/${id}/mfa`];
      return { tenant, removals, person, app, passkey };
    };
    interface Factors {
      person: Person;
      app: Awaited<ReturnType<typeof addTotp>>;
      passkey: Awaited<ReturnType<typeof enrolPasskey>>['passkey'];
    }

    test('of an only owner, whom nobody else could stop', async () => {
      const { removals, person, app, passkey } = await onlyOwner();
      const stale = await logIn(service, person, { otp: app.code() });
      service.clock.advance(16 * MINUTE_MS);
      for (const token of [person.token, stale, await openSession(service, person.id)]) {
        for (const path of removals) {
          const { message } = await refused(send(token, 'DELETE', path), 403, 'MFA_REQUIRED');
          assert.match(message, /POST \/auth\/step-up/);
        }
      }
      assert.deepEqual(await factorsOf(person.token), [true, 1]);
      assert.equal((await trySignIn(service, passkey)).status, 200);
      await refused(tryLogIn(service, person, {}, fromElsewhere()), 403, 'MFA_REQUIRED');
    });

    test('but the owner does with a factor, such as a recovery code', async () => {
      for (const path of [0, 2]) {
        const { removals, person, app } = await onlyOwner();
        const [code] = app.recoveryCodes;
        const session = await logIn(service, person, { otp: code });
        await ok(send(session, 'DELETE', removals[path] ?? ''));
        assert.deepEqual(await factorsOf(session), path === 0 ? [false, 1] : [false, 0]);
      }
      const { removals, person, passkey } = await onlyOwner();
      const session = await signIn(service, passkey);
      for (const path of removals.slice(0, 2)) await ok(send(session, 'DELETE', path));
      assert.deepEqual(await factorsOf(session), [false, 0]);
      await ok(tryLogIn(service, person, {}, fromElsewhere()));
    });

    test('even if others could approve it; a removal that was requested with a factor is approved later', async () => {
      const tenant = await addTenant(service);
      const admin = await addPerson(service, { tenant, role: 'admin' });
      const person = await addPerson(service, { tenant });
      const { passkey, id } = await firstPasskey(service, person);
      const path = `/auth/mfa/passkeys/${id}`;
      const stale = await signIn(service, passkey);
      service.clock.advance(16 * MINUTE_MS);
      for (const token of [person.token, stale]) await refused(send(token, 'DELETE', path), 403, 'MFA_REQUIRED');
      const { approvals } = await ok(send(admin.token, 'GET', '/approvals?status=pending'));
      assert.deepEqual(approvals, [], 'no approval was requested');
      const { approval_id } = await ok(send(await signIn(service, passkey), 'DELETE', path), 202);
      service.clock.advance(HOUR_MS);
      assert.equal((await ok(approve(service, approval_id, admin.token))).status, 'completed');
      assert.deepEqual(await factorsOf(person.token), [false, 0]);
    });

    test('but an app that was never confirmed is removed without proof', async () => {
      const person = await addPerson(service, { tenant: await addTenant(service) });
      await ok(begin(await logIn(service, person)), 201);
      await ok(send(person.token, 'DELETE', '/auth/mfa/totp'));
    });
  });
});
