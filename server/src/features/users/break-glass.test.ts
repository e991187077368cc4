import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fromElsewhere, OUTSIDE_ENV } from '../../../../test/support/external-logins.ts';
import { enrolPasskey, firstPasskey, trySignIn } from '../../../../test/support/passkeys.ts';
import {
  addPerson,
  addTenant,
  approved,
  invalid,
  ok,
  openSession,
  type Person,
  refused,
  tryLogIn,
} from '../../../../test/support/people.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { addTotp } from '../../../../test/support/totp.ts';

onSqliteAtLanding('a break-glass owner', (database) => {
  let service: Service;

  before(async () => {
    service = await startService(database, { env: OUTSIDE_ENV });
  });
  after(() => service.close());

  const logIn = (person: Person) => tryLogIn(service, person, {}, fromElsewhere());
  /** A tenant with two owners, whose token approves what the first of them asks for, and an admin. */
  const prepared = async () => {
    const tenant = await addTenant(service);
    const first = await addPerson(service, { tenant, role: 'owner' });
    const second = await addPerson(service, { tenant, role: 'owner' });
    const admin = await addPerson(service, { tenant, role: 'admin' });
    const change = ({ token }: Person, { id }: Person, body: object) =>
      service.call('PATCH', `/v1/users/${id}`, { token, body });
    const asked = (body: object) => approved(service, change(second, first, body), tenant.owner.token);
    const requireSignOn = async () => {
      const body = { name: 'idp', issuer: 'https://idp.example', client_id: 'coffer', required: true };
      const request = service.call('POST', '/auth/sso/providers', { token: first.token, body });
      await approved(service, request, second.token);
    };
    return { tenant, first, second, admin, change, asked, requireSignOn };
  };

  test('alone gets in without the required provider, by password and passkey, and everybody hears of it', async () => {
    const { first, second, admin, asked, requireSignOn } = await prepared();
    const [mine, theirs] = [await firstPasskey(service, first), await firstPasskey(service, second)];
    await requireSignOn();
    // Without one, every owner gets in: a provider that fails must lock nobody out for good.
    for (const { passkey } of [mine, theirs]) await ok(trySignIn(service, passkey));
    await asked({ break_glass: true });
    await ok(trySignIn(service, mine.passkey));
    await refused(logIn(first), 403, 'MFA_REQUIRED');
    await refused(trySignIn(service, theirs.passkey), 401, 'LOGIN_DENIED');
    await refused(logIn(second), 401, 'LOGIN_DENIED');
    await refused(logIn(admin), 401, 'LOGIN_DENIED');
    const { warnings } = await ok(service.call('GET', '/auth/me', { token: admin.token }));
    assert.ok(
      warnings.some(({ message }: { message: string }) => message.includes(`user/${first.id} signed in`)),
      JSON.stringify(warnings),
    );
    const path = '/v1/audit?action=break_glass:sign_in';
    const { entries } = await ok(service.call('GET', path, { token: admin.token }));
    assert.deepEqual(
      entries.map((entry: { resource: string; details: { method: string } }) => [entry.resource, entry.details.method]),
      [[`user/${first.id}`, 'passkey']],
    );
    // When there is none any more, every owner is exempt again.
    await asked({ break_glass: false });
    await ok(trySignIn(service, theirs.passkey));
  });

  test('is named by an owner, with another’s approval, and only an active owner', async () => {
    const { tenant, first, second, admin, change } = await prepared();
    await refused(change(admin, first, { break_glass: true }), 403, 'INSUFFICIENT_PRIVILEGE');
    await refused(change(admin, admin, { break_glass: true }), 403, 'INSUFFICIENT_PRIVILEGE');
    await invalid(change(second, admin, { break_glass: true }), '/body/break_glass');
    // The first owner of the tenant has a token, and no way to sign in.
    const passwordless = { ...first, id: tenant.owner.id };
    await invalid(change(second, passwordless, { break_glass: true }), '/body/break_glass');
    // An authenticator app is no way in by itself; a passkey is.
    await addTotp(service, tenant.owner.id);
    await invalid(change(second, passwordless, { break_glass: true }), '/body/break_glass');
    await enrolPasskey(service, await openSession(service, tenant.owner.id, { isFactorShown: true }));
    await ok(change(second, passwordless, { break_glass: true }), 202);
    const request = change(second, first, { break_glass: true });
    const { approval_id } = await ok(request, 202);
    const { token } = tenant.owner;
    const shown = await ok(service.call('GET', `/approvals/${approval_id}`, { token }));
    assert.match(JSON.stringify(shown), /"what":"break_glass","before":false,"after":true/);
    await approved(service, change(second, first, { break_glass: true }), token);
    const user = await ok(service.call('GET', `/v1/users/${first.id}`, { token }));
    assert.equal(user.break_glass, true);
  });

  test('cannot be disabled, demoted or deleted before the mark is removed', async () => {
    const { first, second, asked, change } = await prepared();
    await asked({ break_glass: true });
    for (const body of [{ status: 'disabled' }, { role: 'admin' }, { role: 'member', status: 'disabled' }]) {
      await refused(change(second, first, body), 409, 'IN_USE');
    }
    const remove = () => service.call('DELETE', `/v1/users/${first.id}`, { token: second.token });
    await refused(remove(), 409, 'IN_USE');
    await ok(logIn(first));
    await asked({ break_glass: false, role: 'admin' });
    await ok(remove(), 202);
  });
});
