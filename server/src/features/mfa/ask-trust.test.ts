import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { SoftwarePasskey } from '../../../../test/support/authenticator.ts';
import { OUTSIDE_ENV } from '../../../../test/support/external-logins.ts';
import { enrolPasskey, firstPasskey, signIn } from '../../../../test/support/passkeys.ts';
import {
  addPerson,
  addTenant,
  approve,
  logIn,
  ok,
  openSession,
  refused,
  type Tenant,
  uniqueName,
} from '../../../../test/support/people.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { DAY_MS, HOUR_MS } from '../../kernel/base/clock.ts';

onSqliteAtLanding('asking for trust in a new second factor', (database) => {
  let service: Service;

  before(async () => {
    service = await startService(database, { env: OUTSIDE_ENV });
  });
  after(() => service.close());

  const ask = (token: string) => service.call('POST', '/auth/mfa/trust', { token });
  const opensFrom = async (token: string) => {
    const { passkeys } = await ok(service.call('GET', '/auth/mfa/passkeys', { token }));
    return Date.parse(passkeys[0].opens_fortress_from);
  };
  /** The first owner of a tenant has no password. */
  const passkeyOfOwner = async ({ owner }: Tenant) => enrolPasskey(service, await openSession(service, owner.id));
  /** An owner and an admin whose factors are a day old, and somebody whose factor is new. */
  const house = async () => {
    const tenant = await addTenant(service);
    const admin = await addPerson(service, { tenant, role: 'admin' });
    const ofOwner = await passkeyOfOwner(tenant);
    const ofAdmin = await firstPasskey(service, admin);
    service.clock.advance(DAY_MS);
    const person = await addPerson(service, { tenant });
    const { passkey } = await firstPasskey(service, person);
    return { tenant, admin, ofOwner: ofOwner.passkey, ofAdmin: ofAdmin.passkey, person, passkey };
  };

  test('waits for two admins who each show a factor that is a day old, and outlives the session', async () => {
    const { tenant, ofOwner, ofAdmin, person, passkey } = await house();
    const session = await signIn(service, passkey);
    const pending = await ok(ask(session), 202);
    assert.equal(pending.approval, 'mfa_trust');
    assert.equal((await ok(ask(session), 202)).approval_id, pending.approval_id, 'asked twice is asked once');
    const { approval_id } = pending;
    await refused(approve(service, approval_id, tenant.owner.token), 403, 'MFA_REQUIRED');
    await ok(service.call('POST', '/auth/logout', { token: session }), 204);
    await ok(approve(service, approval_id, await signIn(service, ofAdmin)));
    assert.ok((await opensFrom(person.token)) > service.clock.now(), 'one of two is not enough');
    await refused(approve(service, approval_id, await signIn(service, ofAdmin)), 403, 'INSUFFICIENT_PRIVILEGE');
    const decided = await ok(approve(service, approval_id, await signIn(service, ofOwner)));
    assert.equal(decided.status, 'completed');
    assert.ok((await opensFrom(person.token)) <= service.clock.now());
    await refused(ask(await signIn(service, passkey)), 404, 'NOT_FOUND');
  });

  test('is refused without a factor, with a stale one, by token, and once the day is over', async () => {
    const { person, passkey, tenant } = await house();
    const nobody = await addPerson(service, { tenant });
    await refused(ask(person.token), 403, 'INSUFFICIENT_PRIVILEGE');
    const without = await ok(
      service.call('POST', '/auth/login', {
        body: { email: nobody.email, password: nobody.password, tenant: tenant.name },
        token: null,
      }),
    );
    await refused(ask(without.token), 404, 'NOT_FOUND');
    const stale = await signIn(service, passkey);
    service.clock.advance(HOUR_MS);
    await refused(ask(stale), 403, 'MFA_REQUIRED');
    service.clock.advance(DAY_MS);
    await refused(ask(await signIn(service, passkey)), 404, 'NOT_FOUND');
  });

  test('fails if the factors changed meanwhile', async () => {
    const { ofOwner, ofAdmin, passkey } = await house();
    const session = await signIn(service, passkey);
    const { approval_id } = await ok(ask(session), 202);
    await enrolPasskey(service, session);
    await ok(approve(service, approval_id, await signIn(service, ofAdmin)));
    const decided = await ok(approve(service, approval_id, await signIn(service, ofOwner)));
    assert.deepEqual([decided.status, decided.failure.code], ['failed', 'VERSION_CONFLICT']);
  });

  const decideBoth = async (approvalId: string, { ofOwner, ofAdmin }: Awaited<ReturnType<typeof house>>) => {
    await ok(approve(service, approvalId, await signIn(service, ofAdmin)));
    return ok(approve(service, approvalId, await signIn(service, ofOwner)));
  };
  const makeCodes = async (token: string): Promise<string[]> =>
    (await ok(service.call('POST', '/auth/mfa/recovery-codes', { token }), 201)).recovery_codes;

  test('shows the recovery codes there are, and trusts those and no later ones', async () => {
    const here = await house();
    const { person, passkey, ofOwner, tenant } = here;
    const vault = uniqueName('keep');
    const made = { token: tenant.owner.token, body: { name: vault, environment: 'development' } };
    await ok(service.call('POST', '/v1/vaults', made), 201);
    const member = { token: tenant.owner.token, body: { user: person.id, role: 'manager' } };
    await ok(service.call('POST', `/v1/vaults/${vault}/members`, member), 201);
    const write = async (otp: string, path: string) => {
      const token = await logIn(service, person, { otp });
      const body = { path, value: 'bar', protection: 'fortress' };
      return service.call('POST', `/v1/vaults/${vault}/secrets`, { token, body });
    };
    const session = await signIn(service, passkey);
    await makeCodes(session);
    const first = await ok(ask(session), 202);
    const shown = await ok(
      service.call('GET', `/approvals/${first.approval_id}`, { token: await signIn(service, ofOwner) }),
    );
    const lines: { what: string; after: string }[] = shown.request.differences;
    const ofCodes = lines.filter(({ what }) => what.startsWith(`when the recovery codes of ${person.id}`));
    assert.deepEqual([ofCodes.length, ofCodes[0]?.after], [1, 'at once'], JSON.stringify(lines));
    const [later = '', other = ''] = await makeCodes(session);
    const stale = await decideBoth(first.approval_id, here);
    assert.deepEqual([stale.status, stale.failure.code], ['failed', 'VERSION_CONFLICT']);
    await refused(write(later, 'silver'), 403, 'MFA_REQUIRED');

    const second = await ok(ask(await signIn(service, passkey)), 202);
    assert.equal((await decideBoth(second.approval_id, here)).status, 'completed');
    await ok(write(other, 'gold'), 201);
  });

  test('an admin who asks for it trusts no codes that are made afterwards', async () => {
    const { person, passkey, ofOwner, ofAdmin } = await house();
    const asked = service.call('POST', `/v1/users/${person.id}/mfa/trust`, { token: await signIn(service, ofAdmin) });
    const { approval_id } = await ok(asked, 202);
    await makeCodes(await signIn(service, passkey));
    const decided = await ok(approve(service, approval_id, await signIn(service, ofOwner)));
    assert.deepEqual([decided.status, decided.failure.code], ['failed', 'VERSION_CONFLICT']);
  });

  for (const [what, change] of [
    ['their password was reset', { password: 'a password by the owner' }],
    ['they were disabled', { status: 'disabled' }],
  ] as const) {
    test(`it is cancelled for good once ${what}`, async () => {
      const { person, passkey, ofOwner, ofAdmin } = await house();
      const { approval_id } = await ok(ask(await signIn(service, passkey)), 202);
      const token = await signIn(service, ofOwner);
      const patch = (body: object) => ok(service.call('PATCH', `/v1/users/${person.id}`, { token, body }));
      const read = () => ok(service.call('GET', `/approvals/${approval_id}`, { token }));
      assert.equal((await read()).status, 'pending');
      await patch(change);
      assert.equal((await read()).status, 'cancelled');
      await patch({ status: 'active' });
      assert.equal((await read()).status, 'cancelled');
      await refused(approve(service, approval_id, await signIn(service, ofAdmin)), 409, 'VERSION_CONFLICT');
      await refused(approve(service, approval_id, token), 409, 'VERSION_CONFLICT');
    });
  }

  test('it is cancelled when all sessions of the person end, but for the requesting one', async () => {
    const { person, passkey, ofOwner } = await house();
    const asking = await signIn(service, passkey);
    const { approval_id } = await ok(ask(asking), 202);
    const token = await signIn(service, ofOwner);
    const status = async () => (await ok(service.call('GET', `/approvals/${approval_id}`, { token }))).status;
    const setPassword = (by: string, current_password: string, new_password: string) =>
      ok(service.call('POST', '/auth/password', { token: by, body: { current_password, new_password } }), 204);
    await setPassword(asking, person.password, 'a second password');
    assert.equal(await status(), 'pending');
    await setPassword(await signIn(service, passkey), 'a second password', 'a third password');
    assert.equal(await status(), 'cancelled');
  });

  test('for an owner another owner is among the two, in either order, if there is one', async () => {
    const { tenant, ofOwner, ofAdmin } = await house();
    const [second, owner] = [
      await addPerson(service, { tenant, role: 'admin' }),
      await addPerson(service, { tenant, role: 'owner' }),
    ];
    const ofSecond = await firstPasskey(service, second);
    service.clock.advance(DAY_MS);
    const { passkey } = await firstPasskey(service, owner);
    const { approval_id } = await ok(ask(await signIn(service, passkey)), 202);
    const read = async (by: SoftwarePasskey) =>
      ok(service.call('GET', `/approvals/${approval_id}`, { token: await signIn(service, by) }));
    await ok(approve(service, approval_id, await signIn(service, ofAdmin)));
    const refusal = await refused(
      approve(service, approval_id, await signIn(service, ofSecond.passkey)),
      403,
      'INSUFFICIENT_PRIVILEGE',
    );
    assert.match(refusal.message, /another owner/);
    assert.deepEqual(
      [
        (await read(ofSecond.passkey)).can_approve,
        (await read(ofOwner)).can_approve,
        (await read(passkey)).can_approve,
      ],
      [false, true, false],
    );
    assert.equal((await ok(approve(service, approval_id, await signIn(service, ofOwner)))).status, 'completed');

    await enrolPasskey(service, await signIn(service, passkey));
    const again = await ok(ask(await signIn(service, passkey)), 202);
    await ok(approve(service, again.approval_id, await signIn(service, ofOwner)));
    const decided = await ok(approve(service, again.approval_id, await signIn(service, ofSecond.passkey)));
    assert.equal(decided.status, 'completed');
  });

  test('the only owner needs two admins and no other owner', async () => {
    const { tenant, ofOwner, ofAdmin } = await house();
    const second = await addPerson(service, { tenant, role: 'admin' });
    const ofSecond = await firstPasskey(service, second);
    service.clock.advance(DAY_MS);
    const fresh = await enrolPasskey(service, await signIn(service, ofOwner));
    const { approval_id } = await ok(ask(await signIn(service, fresh.passkey)), 202);
    await ok(approve(service, approval_id, await signIn(service, ofAdmin)));
    const decided = await ok(approve(service, approval_id, await signIn(service, ofSecond.passkey)));
    assert.equal(decided.status, 'completed');
  });

  test('the only owner cannot trust a new factor of their own with it', async () => {
    const tenant = await addTenant(service);
    const { passkey } = await passkeyOfOwner(tenant);
    const session = await signIn(service, passkey);
    const { approval_id } = await ok(ask(session), 202);
    await refused(approve(service, approval_id, session), 403, 'MFA_REQUIRED');
    assert.ok((await opensFrom(session)) > service.clock.now());
  });

  test('another tenant’s admin does not see it', async () => {
    const there = await house();
    const here = await house();
    const { approval_id } = await ok(ask(await signIn(service, here.passkey)), 202);
    const token = await signIn(service, there.ofOwner);
    await refused(service.call('GET', `/approvals/${approval_id}`, { token }), 404, 'NOT_FOUND');
  });
});
