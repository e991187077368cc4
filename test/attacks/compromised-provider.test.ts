import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { MINUTE_MS } from '../../server/src/kernel/base/clock.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';
import { metricsText, seriesValue } from '../support/metric-lines.ts';
import { addPerson, addTenant, approve, ok, openSession, patOf, refused, uniqueName } from '../support/people.ts';
import { addScim } from '../support/scim.ts';
import { onBothDatabases, type Service, startService } from '../support/service.ts';
import { mailTo } from '../support/signups.ts';
import { addTotp } from '../support/totp.ts';
import { until } from '../support/until.ts';

const ADMINS = 'Admins';

onBothDatabases('what who controls an identity provider, or an only other admin, must not achieve', (database) => {
  let mail: MailServer;
  let service: Service;
  before(async () => {
    mail = await startMailServer();
    const env = { CV_SMTP_URL: mail.url, CV_MAIL_FROM: 'coffer@service.example' };
    service = await startService(database, { env });
  });
  after(() => service.close());

  const as = (token: string, method: string, path: string, body?: object) =>
    service.call(method, path, { token, ...(body !== undefined && { body }) });
  const usesCounted = async () => seriesValue(await metricsText(service), 'cv_break_glass_uses') ?? 0;

  /** A tenant whose provider an attacker controls: it made admins, who are the only other approvers. */
  const withPuppets = async (puppets = 1) => {
    const tenant = await addTenant(service);
    const { id, token } = tenant.owner;
    await ok(as(token, 'PATCH', '/v1/tenant/settings', { mail_notices: ['security'] }));
    const mapping = { role_mapping: { [ADMINS]: 'admin', Auditors: 'auditor' }, default_role: 'member' };
    const scim = await addScim(service, token, mapping);
    const made = [];
    for (let i = 0; i < puppets; i++) made.push(await scim.addUser());
    await scim.addGroup(
      ADMINS,
      made.map((user) => user.id),
    );
    const provider = `/auth/sso/providers/${scim.provider}`;
    const accounts = [];
    for (const user of made) {
      const { email } = await ok(as(token, 'GET', `/v1/users/${user.id}`));
      accounts.push({ id: user.id, email: String(email), token: await patOf(service, tenant.id, user.id) });
    }
    return { tenant, owner: { id, token }, scim, provider, puppets: accounts };
  };
  /** A session of an owner who has just shown a second factor. */
  const proven = async (userId: string) => {
    await addTotp(service, userId);
    return openSession(service, userId, { isFactorShown: true });
  };

  test('staying, although an owner with a fresh second factor disables the provider, its mappings and what it made', async () => {
    const { owner, scim, provider, puppets } = await withPuppets(2);
    const session = await proven(owner.id);
    const [first, second] = puppets;
    const before = await usesCounted();
    await ok(as(session, 'PATCH', provider, { role_mapping: { Auditors: 'auditor' } }));
    await ok(as(session, 'PATCH', provider, { enabled: false }));
    assert.equal((await scim.call('GET', '/Users')).status, 403);
    for (const { id } of puppets) await ok(as(session, 'PATCH', `/v1/users/${id}`, { status: 'disabled' }));
    for (const { token } of puppets) await refused(as(token, 'GET', '/auth/me'), 401, 'INVALID_TOKEN');
    assert.equal(await usesCounted(), before + 4);
    const { entries } = await ok(as(owner.token, 'GET', '/v1/audit?action=break_glass:evict'));
    assert.equal(entries.length, 4);
    assert.ok(entries.some((entry: { resource: string }) => entry.resource === `user/${first?.id}`));
    const { warnings } = await ok(as(owner.token, 'GET', '/auth/me'));
    const told = warnings.filter(({ code }: { code: string }) => code === 'break_glass');
    assert.equal(told.length, 4, 'every admin sees it');
    await until('a mail to the other admins', () => mailTo(mail, second?.email ?? '').length > 0);
    // Nobody is left who could hold it up.
    await ok(as(session, 'DELETE', provider));
  });

  test('and nobody else does so at once: no admin, no stale session, no token, no restricted one', async () => {
    const { tenant, owner, provider, puppets } = await withPuppets();
    const [puppet] = puppets;
    const session = await proven(owner.id);
    service.clock.advance(16 * MINUTE_MS);
    const before = await usesCounted();
    for (const token of [session, await openSession(service, owner.id), owner.token]) {
      await ok(as(token, 'PATCH', provider, { enabled: false }), 202);
    }
    const colleague = await patOf(service, tenant.id, puppet?.id ?? '');
    await ok(as(colleague, 'PATCH', provider, { enabled: false }), 202);
    assert.equal(await usesCounted(), before);
    const { enabled } = await ok(as(owner.token, 'GET', provider));
    assert.equal(enabled, true);
  });

  test('nor does an owner give rights that way', async () => {
    const { owner, provider } = await withPuppets();
    const session = await proven(owner.id);
    const before = await usesCounted();
    for (const body of [
      { role_mapping: { [ADMINS]: 'admin', Auditors: 'admin' } },
      { role_mapping: { [ADMINS]: 'admin', Auditors: 'auditor', More: 'admin' } },
      { default_role: 'admin' },
      { enabled: false, issuer: 'https://other.example' },
      { required: true },
    ]) {
      await ok(as(session, 'PATCH', provider, body), 202);
    }
    await ok(as(session, 'POST', '/v1/users', { email: `${uniqueName('x')}@example.com`, role: 'owner' }), 202);
    assert.equal(await usesCounted(), before);
  });

  test('being the one who decides about what it loses', async () => {
    const tenant = await addTenant(service);
    const admin = await addPerson(service, { tenant, role: 'admin' });
    const { owner } = tenant;
    const path = `/v1/users/${admin.id}`;
    // The only other approver is who loses the rights, so a fresh proof takes their place.
    await refused(as(owner.token, 'PATCH', path, { status: 'disabled' }), 403, 'MFA_REQUIRED');
    const third = await addPerson(service, { tenant, role: 'admin' });
    const { approval_id } = await ok(as(owner.token, 'PATCH', path, { role: 'member' }), 202);
    await refused(approve(service, approval_id, admin.token), 403, 'INSUFFICIENT_PRIVILEGE');
    await refused(as(admin.token, 'POST', `/approvals/${approval_id}/reject`, {}), 403, 'INSUFFICIENT_PRIVILEGE');
    const decided = await ok(approve(service, approval_id, third.token));
    assert.equal(decided.status, 'completed');
  });

  test('staying as the only other admin, although the owner has just signed in', async () => {
    const tenant = await addTenant(service);
    const admin = await addPerson(service, { tenant, role: 'admin' });
    const session = await openSession(service, tenant.owner.id);
    await ok(as(session, 'PATCH', `/v1/users/${admin.id}`, { status: 'disabled' }));
    await refused(as(admin.token, 'GET', '/auth/me'), 401, 'INVALID_TOKEN');
    const { entries } = await ok(as(session, 'GET', '/v1/audit?action=users:update'));
    assert.equal(entries[0].details.self_approved, true);
  });
});
