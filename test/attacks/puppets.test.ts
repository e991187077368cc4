import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { DAY_MS, SECOND_MS } from '../../server/src/kernel/base/clock.ts';
import {
  addColleague,
  addPerson,
  addTenant,
  approve,
  approved,
  type Colleague,
  logIn,
  ok,
  type Person,
  refused,
  type Tenant,
  uniqueName,
} from '../support/people.ts';
import { onBothDatabases, type Service, startService } from '../support/service.ts';
import { addTotp } from '../support/totp.ts';
import { secretUrl } from '../support/vaults.ts';

const STEP_MS = 30 * SECOND_MS;

/** A tenant with a production vault that holds a fortress secret, made by somebody with a second factor. */
interface House {
  tenant: Tenant;
  vault: string;
  /** An admin's token that somebody stole: no second factor goes with it. */
  stolen: Colleague;
  /** An admin who has just shown a second factor. */
  honest: Colleague;
}

onBothDatabases('what one stolen token of an admin must not achieve', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  const as = (token: string, method: string, path: string, body?: unknown) =>
    service.call(method, path, { token, ...(body !== undefined && { body }) });
  const house = async (environment = 'production'): Promise<House> => {
    const tenant = await addTenant(service);
    const vault = uniqueName('live');
    await ok(as(tenant.owner.token, 'POST', '/v1/vaults', { name: vault, environment }), 201);
    const honest = await addColleague(service, tenant.id, 'admin', { mfaAt: service.clock.now() });
    const secret = { path: 'gold', value: 'fortress value', environment, protection: 'fortress' };
    await ok(as(honest.token, 'POST', `/v1/vaults/${vault}/secrets`, secret), 201);
    return { tenant, vault, honest, stolen: tenant.owner };
  };
  const enrol = async (person: Person) => {
    const { code } = await addTotp(service, person.id);
    return async () => {
      service.clock.advance(STEP_MS);
      return logIn(service, person, { otp: code() });
    };
  };

  describe('letting a puppet in', () => {
    test('as a member of a production vault, or with more rights there', async () => {
      const { tenant, vault, honest } = await house();
      const plain = uniqueName('live');
      await ok(as(tenant.owner.token, 'POST', '/v1/vaults', { name: plain, environment: 'production' }), 201);
      const puppet = await addColleague(service, tenant.id, 'member');
      const members = `/v1/vaults/${plain}/members`;
      const requested = await ok(as(tenant.owner.token, 'POST', members, { user: puppet.email, role: 'reader' }), 202);
      assert.equal(requested.approval, 'rbac_change');
      await refused(as(puppet.token, 'GET', `/v1/vaults/${plain}`), 403, 'INSUFFICIENT_PRIVILEGE');
      const { request } = await ok(as(honest.token, 'GET', `/approvals/${requested.approval_id}`));
      assert.deepEqual(request.differences, [
        { what: `role of ${puppet.id} in vault ${plain}`, before: null, after: 'reader' },
      ]);
      assert.equal(request.names[puppet.id], puppet.email);
      await ok(approve(service, requested.approval_id, honest.token));
      await ok(as(puppet.token, 'GET', `/v1/vaults/${plain}`));
      await ok(as(tenant.owner.token, 'PATCH', `${members}/${puppet.id}`, { role: 'manager' }), 202);
      // Where a fortress secret is, not even to ask.
      const there = as(tenant.owner.token, 'POST', `/v1/vaults/${vault}/members`, { user: puppet.id, role: 'reader' });
      await refused(there, 403, 'MFA_REQUIRED');
    });

    test('by a group that is filled while it waits', async () => {
      const { tenant, honest } = await house();
      const { token } = tenant.owner;
      const vault = uniqueName('live');
      await ok(as(token, 'POST', '/v1/vaults', { name: vault, environment: 'production' }), 201);
      const { id } = await ok(as(token, 'POST', '/v1/groups', { name: uniqueName('group') }), 201);
      const { approval_id } = await ok(
        as(token, 'POST', `/v1/vaults/${vault}/members`, { group: id, role: 'manager' }),
        202,
      );
      const puppet = await addColleague(service, tenant.id, 'member');
      await ok(as(token, 'POST', `/v1/groups/${id}/members`, { user_id: puppet.id }), 201);
      const { status, failure } = await ok(approve(service, approval_id, honest.token));
      assert.deepEqual([status, failure.code], ['failed', 'VERSION_CONFLICT']);
      await refused(as(puppet.token, 'GET', `/v1/vaults/${vault}`), 403, 'INSUFFICIENT_PRIVILEGE');
    });

    test('as a connection that reaches production', async () => {
      const { tenant, vault, honest, stolen } = await house();
      const plain = uniqueName('live');
      const { id: vaultId } = await ok(
        as(stolen.token, 'POST', '/v1/vaults', { name: plain, environment: 'production' }),
        201,
      );
      const body = { name: uniqueName('backdoor'), vault: plain, mtls_required: false, allowed_paths: ['*'] };
      const requested = await as(stolen.token, 'POST', '/v1/app-connections', body);
      assert.equal(requested.status, 202, requested.text);
      assert.ok(!requested.text.includes('Svc_'));
      const { request } = await ok(as(honest.token, 'GET', `/approvals/${requested.body.approval_id}`));
      const [reached, limits] = request.differences;
      assert.deepEqual(reached, {
        what: 'vaults it reaches',
        before: null,
        after: [{ name: plain, environment: 'production' }],
      });
      assert.equal(limits.what, 'its limits');
      const { mtls_required, allowed_paths, ip_allowlist } = limits.after;
      assert.deepEqual([mtls_required, allowed_paths, ip_allowlist], [false, ['*'], null]);
      const done = await approve(service, requested.body.approval_id, honest.token);
      assert.equal(done.body.status, 'completed', done.text);
      assert.ok(!done.text.includes('Svc_') && !done.text.includes('PRIVATE KEY'));
      const { app_connections } = await ok(as(stolen.token, 'GET', '/v1/app-connections'));
      const made = app_connections.find((one: { name: string }) => one.name === body.name);
      await ok(as(stolen.token, 'PATCH', `/v1/app-connections/${made.id}`, { scopes: ['secrets:*'] }), 202);
      await ok(as(stolen.token, 'PATCH', `/v1/app-connections/${made.id}`, { description: 'harmless' }));

      const staging = uniqueName('staging');
      await ok(as(stolen.token, 'POST', '/v1/vaults', { name: staging, environment: 'staging' }), 201);
      const harmless = { ...body, name: uniqueName('harmless'), vault: staging };
      const { id } = await ok(as(stolen.token, 'POST', '/v1/app-connections', harmless), 201);
      await ok(as(stolen.token, 'PATCH', `/v1/app-connections/${id}`, { vault_ids: [vaultId] }), 202);
      await refused(as(stolen.token, 'POST', '/v1/app-connections', { ...body, vault }), 403, 'MFA_REQUIRED');
      assert.equal((await ok(as(tenant.owner.token, 'GET', '/v1/audit/verify'))).valid, true);
    });

    test('to a fortress secret, by whatever way', async () => {
      const { tenant, vault, stolen, honest } = await house('staging');
      const puppet = await addColleague(service, tenant.id, 'member');
      const { id: group } = await ok(as(honest.token, 'POST', '/v1/groups', { name: uniqueName('group') }), 201);
      await ok(as(honest.token, 'POST', `/v1/vaults/${vault}/members`, { group, role: 'reader' }), 201);
      const policy = { name: uniqueName('policy'), document: reading(`vault/${vault}/**`) };
      await ok(as(honest.token, 'POST', '/v1/policies', policy), 201);
      const elsewhere = { name: uniqueName('policy'), document: reading('vault/elsewhere/**') };
      await ok(as(honest.token, 'POST', '/v1/policies', elsewhere), 201);
      const principal = { user: puppet.id };
      const attached = as(stolen.token, 'POST', `/v1/policies/${elsewhere.name}/attach`, { principal });
      await approved(service, attached, honest.token);

      const ways: [string, string, object][] = [
        ['POST', `/v1/vaults/${vault}/members`, { user: puppet.id, role: 'reader' }],
        ['POST', `/v1/groups/${group}/members`, { user_id: puppet.id }],
        ['POST', `/v1/policies/${policy.name}/attach`, { principal }],
        ['PUT', `/v1/policies/${elsewhere.name}`, { document: reading(`vault/${vault}/*`) }],
        ['PATCH', `/v1/users/${puppet.id}`, { role: 'admin' }],
        ['PATCH', `/v1/users/${puppet.id}`, { password: 'known to the thief' }],
        ['POST', '/v1/users', { email: `${uniqueName('new')}@example.com`, role: 'admin' }],
        ['POST', '/v1/app-connections', { name: uniqueName('app'), vault }],
      ];
      for (const [method, path, body] of ways) {
        const answer = await as(stolen.token, method, path, body);
        assert.deepEqual([answer.status, answer.body.error?.code], [403, 'MFA_REQUIRED'], `${method} ${path}`);
        const honestly = await as(honest.token, method, path, body);
        assert.ok([200, 201, 202].includes(honestly.status), `${method} ${path}: ${honestly.text}`);
      }
    });
  });

  describe('a second factor of its own', () => {
    /** Somebody who may read the secret and has no second factor yet. */
    const reader = async ({ tenant, vault, honest, stolen }: House) => {
      const person = await addPerson(service, { tenant });
      const added = as(honest.token, 'POST', `/v1/vaults/${vault}/members`, { user: person.id, role: 'reader' });
      await approved(service, added, stolen.token);
      return person;
    };

    test('opens no fortress secret on its first day', async () => {
      const there = await house();
      const puppet = await reader(there);
      const fresh = await enrol(puppet);
      await refused(as(await fresh(), 'GET', secretUrl(there.vault, 'gold')), 403, 'MFA_REQUIRED');
      service.clock.advance(DAY_MS - 10 * STEP_MS);
      await refused(as(await fresh(), 'GET', secretUrl(there.vault, 'gold')), 403, 'MFA_REQUIRED');
      service.clock.advance(10 * STEP_MS);
      assert.equal((await ok(as(await fresh(), 'GET', secretUrl(there.vault, 'gold')))).value, 'fortress value');
    });

    test('unless two people say that it is the person’s own, of whom one shows a factor', async () => {
      const there = await house();
      const puppet = await reader(there);
      const fresh = await enrol(puppet);
      const session = await fresh();
      const path = `/v1/users/${puppet.id}/mfa/trust`;
      await refused(as(there.stolen.token, 'POST', path), 403, 'MFA_REQUIRED');
      await refused(as(session, 'POST', path), 403, 'INSUFFICIENT_PRIVILEGE');
      const requested = as(there.honest.token, 'POST', path);
      const approval = await approved(service, requested, there.stolen.token);
      assert.equal(approval.kind, 'rbac_change');
      assert.equal((await ok(as(session, 'GET', secretUrl(there.vault, 'gold')))).value, 'fortress value');
    });

    test('enrolled anew it is new again', async () => {
      const there = await house();
      const puppet = await reader(there);
      const first = await enrol(puppet);
      service.clock.advance(DAY_MS);
      const session = await first();
      await ok(as(session, 'GET', secretUrl(there.vault, 'gold')));
      await approved(service, as(session, 'DELETE', '/auth/mfa/totp'), there.honest.token);
      await refused(as(session, 'GET', secretUrl(there.vault, 'gold')), 403, 'MFA_REQUIRED');
      await enrol(puppet);
      await refused(as(session, 'GET', secretUrl(there.vault, 'gold')), 403, 'MFA_REQUIRED');
    });
  });

  describe('a lost second factor', () => {
    const two = async () => {
      const tenant = await addTenant(service);
      const admin = await addPerson(service, { tenant, role: 'admin' });
      return { tenant, admin, factor: await enrol(admin) };
    };

    test('is not removed by one admin of two without a factor of their own', async () => {
      const { tenant, admin } = await two();
      await ok(as(tenant.owner.token, 'DELETE', `/v1/users/${admin.id}/mfa`), 202);
    });

    test('but keeps nobody out for ever: the other one of two takes it away, having shown theirs', async () => {
      const { tenant, admin } = await two();
      const owner = await addColleague(service, tenant.id, 'owner', { mfaAt: service.clock.now() });
      // Of three, the third has to approve.
      await ok(as(owner.token, 'DELETE', `/v1/users/${admin.id}/mfa`), 202);
      const leaves = as(owner.token, 'PATCH', `/v1/users/${tenant.owner.id}`, { status: 'disabled' });
      await approved(service, leaves, admin.token);
      await ok(as(owner.token, 'DELETE', `/v1/users/${admin.id}/mfa`), 200);
      await logIn(service, admin);
    });
  });

  describe('in a tenant that requires a second factor', () => {
    test('doing anything without one', async () => {
      const tenant = await addTenant(service);
      const owner = await addPerson(service, { tenant, role: 'owner' });
      const member = await addPerson(service, { tenant });
      const settings = '/v1/tenant/settings';
      assert.deepEqual(await ok(as(owner.token, 'GET', settings)), {
        tenant_id: tenant.id,
        require_mfa: false,
        anomaly_thresholds: {},
        mail_notices: [],
      });
      await refused(as(owner.token, 'PATCH', settings, { require_mfa: true }), 403, 'MFA_REQUIRED');
      await refused(as(member.token, 'PATCH', settings, { require_mfa: true }), 403, 'INSUFFICIENT_PRIVILEGE');
      const withFactor = await enrol(owner);
      const session = await withFactor();
      assert.equal((await ok(as(session, 'PATCH', settings, { require_mfa: true }))).require_mfa, true);

      const plain = await logIn(service, member);
      for (const token of [member.token, plain]) {
        for (const path of ['/v1/vaults', '/auth/tokens', '/approvals']) {
          const { message } = await refused(as(token, 'GET', path), 403, 'MFA_REQUIRED');
          assert.match(message, /POST \/auth\/mfa\/totp/);
        }
        await refused(as(token, 'POST', '/auth/tokens', { name: 'way out' }), 403, 'MFA_REQUIRED');
        await ok(as(token, 'GET', '/auth/me'));
        await ok(as(token, 'GET', '/auth/mfa'));
      }
      await ok(as(owner.token, 'GET', '/v1/vaults'), 200);
      const fresh = await enrol(member);
      await ok(as(member.token, 'GET', '/v1/vaults'));
      // A session from before the factor never showed it.
      await refused(as(plain, 'GET', '/v1/vaults'), 403, 'MFA_REQUIRED');
      await ok(as(await fresh(), 'GET', '/v1/vaults'));
      await ok(as(session, 'PATCH', settings, { require_mfa: false }), 202);
    });

    test('in another tenant nothing is required', async () => {
      const other = await addTenant(service);
      await ok(as(other.owner.token, 'GET', '/v1/vaults'));
    });
  });
});

function reading(resource: string) {
  return {
    version: '2026-01-01',
    statement: [{ effect: 'allow', action: ['secrets:read'], resource: [resource] }],
  };
}
