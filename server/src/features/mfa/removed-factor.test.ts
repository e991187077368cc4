import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { SoftwarePasskey } from '../../../../test/support/authenticator.ts';
import { fromElsewhere, OUTSIDE_ENV } from '../../../../test/support/external-logins.ts';
import {
  enrolmentOptions,
  enrolPasskey,
  firstPasskey,
  originOf,
  sendPasskey,
  signIn,
} from '../../../../test/support/passkeys.ts';
import {
  addPerson,
  addTenant,
  approve,
  approved,
  logIn,
  ok,
  refused,
  uniqueName,
} from '../../../../test/support/people.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { startDevice } from '../../../../test/support/sign-on.ts';
import { addTotp } from '../../../../test/support/totp.ts';
import { DAY_MS, SECOND_MS } from '../../kernel/base/clock.ts';

const STEP_MS = 30 * SECOND_MS;

onSqliteAtLanding('a second factor that was removed', (database) => {
  let service: Service;

  before(async () => {
    service = await startService(database, { env: OUTSIDE_ENV });
  });
  after(() => service.close());

  const send = (token: string, method: string, path: string, body?: object) =>
    service.call(method, path, { token, ...(body !== undefined && { body }), headers: fromElsewhere() });
  const remove = (token: string, id: string) => send(token, 'DELETE', `/auth/mfa/passkeys/${id}`);
  const mfaAt = async (token: string) => (await ok(send(token, 'GET', '/auth/me'))).credential.mfa_at;
  /** Somebody with two passkeys, one of which was stolen with the device that has it. */
  const withStolenPasskey = async (tenant = addTenant(service)) => {
    const person = await addPerson(service, { tenant: await tenant });
    const own = await firstPasskey(service, person);
    const stolen = await enrolPasskey(service, await signIn(service, own.passkey));
    service.clock.advance(DAY_MS);
    return { person, own, stolen };
  };

  test('proves nothing any more in the session that it opened', async () => {
    const { own, stolen } = await withStolenPasskey();
    const thief = await signIn(service, stolen.passkey);
    const { options } = await enrolmentOptions(service, thief);
    assert.notEqual(await mfaAt(thief), null);
    const person = await signIn(service, own.passkey);
    await ok(remove(person, stolen.id));
    assert.equal(await mfaAt(thief), null);
    const another = new SoftwarePasskey(originOf(service)).create(options);
    for (const attempt of [
      () => send(thief, 'POST', '/auth/mfa/passkeys/options'),
      () => sendPasskey(service, thief, another),
      () => send(thief, 'POST', '/auth/mfa/totp'),
      () => send(thief, 'POST', '/auth/mfa/recovery-codes'),
      () => remove(thief, own.id),
    ])
      await refused(attempt(), 403, 'MFA_REQUIRED');
    const device = await startDevice(service);
    const confirmed = send(thief, 'POST', '/auth/device/approve', { user_code: device.user_code });
    await refused(confirmed, 403, 'INSUFFICIENT_PRIVILEGE');
    // The person goes on with the passkey that they kept.
    await ok(send(person, 'POST', '/auth/mfa/recovery-codes'), 201);
    assert.equal((await ok(send(person, 'GET', '/auth/mfa'))).passkeys, 1);
  });

  test('adds none when an admin has removed all of them, however fresh the sign-in with it was', async () => {
    const tenant = await addTenant(service);
    const { person, stolen } = await withStolenPasskey(Promise.resolve(tenant));
    const thief = await signIn(service, stolen.passkey);
    await ok(send(tenant.owner.token, 'DELETE', `/v1/users/${person.id}/mfa`));
    for (const path of ['/auth/mfa/passkeys/options', '/auth/mfa/totp']) {
      await refused(send(thief, 'POST', path), 403, 'MFA_REQUIRED');
    }
    await enrolPasskey(service, await logIn(service, person));
  });

  test('is not the app that replaced it', async () => {
    const tenant = await addTenant(service);
    const person = await addPerson(service, { tenant });
    const app = await addTotp(service, person.id);
    service.clock.advance(STEP_MS);
    const thief = await logIn(service, person, { otp: app.code() });
    assert.notEqual(await mfaAt(thief), null);
    await ok(send(tenant.owner.token, 'DELETE', `/v1/users/${person.id}/mfa`));
    const replaced = await addTotp(service, person.id);
    assert.equal(await mfaAt(thief), null);
    await refused(send(thief, 'POST', '/auth/mfa/recovery-codes'), 403, 'MFA_REQUIRED');
    await refused(send(thief, 'DELETE', '/auth/mfa/totp'), 403, 'MFA_REQUIRED');
    service.clock.advance(STEP_MS);
    const own = await logIn(service, person, { otp: replaced.code() });
    await ok(send(own, 'POST', '/auth/mfa/recovery-codes'), 201);
  });

  test('is shown again, by one that is left, where the organization requires one', async () => {
    const tenant = await addTenant(service);
    const admin = await addPerson(service, { tenant, role: 'admin' });
    const { passkey: ofAdmin } = await firstPasskey(service, admin);
    const { own, stolen } = await withStolenPasskey(Promise.resolve(tenant));
    const required = { require_mfa: true };
    await ok(send(await signIn(service, ofAdmin), 'PATCH', '/v1/tenant/settings', required));
    const opened = await signIn(service, stolen.passkey);
    await ok(send(opened, 'GET', '/v1/vaults'));
    await ok(remove(await signIn(service, own.passkey), stolen.id));
    await refused(send(opened, 'GET', '/v1/vaults'), 403, 'MFA_REQUIRED');
    const { options } = await ok(send(opened, 'POST', '/auth/step-up/options'));
    const { token } = await ok(send(opened, 'POST', '/auth/step-up', { response: own.passkey.get(options) }));
    await ok(send(token, 'GET', '/v1/vaults'));
  });

  test('ends what was requested with it', async () => {
    const tenant = await addTenant(service);
    const admin = await addPerson(service, { tenant, role: 'admin' });
    const other = await addPerson(service, { tenant });
    const own = await firstPasskey(service, admin);
    const stolen = await enrolPasskey(service, await signIn(service, own.passkey));
    service.clock.advance(DAY_MS);
    const vault = uniqueName('keep');
    const policy = uniqueName('readers');
    const session = await signIn(service, own.passkey);
    await ok(send(session, 'POST', '/v1/vaults', { name: vault }), 201);
    const gold = { path: 'gold', value: 'bar', protection: 'fortress' };
    await ok(send(session, 'POST', `/v1/vaults/${vault}/secrets`, gold), 201);
    const statement = [{ effect: 'allow', action: ['secrets:read'], resource: [`vault/${vault}/**`] }];
    const document = { version: '2026-01-01', statement };
    await ok(send(session, 'POST', '/v1/policies', { name: policy, document }), 201);
    const attach = (token: string) =>
      send(token, 'POST', `/v1/policies/${policy}/attach`, { principal: { user: other.id } });
    const ofThief = await ok(attach(await signIn(service, stolen.passkey)), 202);
    await ok(remove(session, stolen.id));
    const failed = await ok(approve(service, ofThief.approval_id, tenant.owner.token));
    assert.deepEqual([failed.status, failed.failure?.code], ['failed', 'VERSION_CONFLICT']);
    await approved(service, attach(session), tenant.owner.token);
  });
});
