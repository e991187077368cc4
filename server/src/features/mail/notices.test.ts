import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type MailServer, startMailServer, textPart } from '../../../../test/support/mail-server.ts';
import { addPerson, addTenant, approved, invalid, logIn, ok, type Tenant } from '../../../../test/support/people.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { mailTo } from '../../../../test/support/signups.ts';
import { testAuthority } from '../../../../test/support/test-authority.ts';
import { addTotp } from '../../../../test/support/totp.ts';
import { until } from '../../../../test/support/until.ts';
import { addSecret, addVault, runPurges } from '../../../../test/support/vaults.ts';
import { DAY_MS } from '../../kernel/base/clock.ts';

onSqliteAtLanding('notices by mail', (database) => {
  let server: MailServer;
  let service: Service;
  before(async () => {
    server = await startMailServer();
    const env = { CV_SMTP_URL: server.url, CV_MAIL_FROM: 'coffer@service.example' };
    service = await startService(database, { env });
  });
  after(() => service.close());

  const send = ({ owner: { token } }: Tenant, method: string, path: string, body?: unknown) =>
    service.call(method, path, { token, ...(body !== undefined && { body }) });
  const turnOn = (tenant: Tenant, ...mail_notices: string[]) =>
    ok(send(tenant, 'PATCH', '/v1/tenant/settings', { mail_notices }));
  const arrived = async (to: string, mails = 1) => {
    await until(`${mails} mails to ${to}`, () => mailTo(server, to).length >= mails);
    return textPart(mailTo(server, to).at(-1)?.source ?? '');
  };
  const isSettled = () =>
    until('an empty outbox', async () => {
      const query = service.app.kernel.database.read.selectFrom('outgoing_mail').select('mail_id');
      return (await query.execute()).length === 0;
    });

  test('an invited person gets the token by mail where the tenant wants that, and can accept with it', async () => {
    const tenant = await addTenant(service);
    const invite = (email: string) => ok(send(tenant, 'POST', '/v1/users', { email, invite: true }), 201);
    await invite(`silent@${tenant.name}.example`);
    const { mail_notices } = await turnOn(tenant, 'invitations');
    assert.deepEqual(mail_notices, ['invitations']);
    const { id } = await invite(`ivy@${tenant.name}.example`);
    const text = await arrived(`ivy@${tenant.name}.example`);
    const [first = ''] = /cv_inv_[0-9A-Za-z]+/.exec(text) ?? [];
    await ok(send(tenant, 'POST', `/v1/users/${id}/invite`), 201);
    const [second = ''] = /cv_inv_[0-9A-Za-z]+/.exec(await arrived(`ivy@${tenant.name}.example`, 2)) ?? [];
    assert.notEqual(first, second);
    const body = { token: second, password: 'a password of my own' };
    await ok(service.call('POST', '/auth/accept-invite', { token: null, body }));
    await isSettled();
    assert.equal(mailTo(server, `silent@${tenant.name}.example`).length, 0);
    assert.ok(!service.logs.join('').includes(first));
  });

  test('owners and admins other than the requester hear of a change that waits, once', async () => {
    const tenant = await addTenant(service);
    const admin = await addPerson(service, { tenant, role: 'admin' });
    const member = await addPerson(service, { tenant, role: 'member' });
    await turnOn(tenant, 'approvals');
    const change = () => send(tenant, 'PATCH', `/v1/users/${member.id}`, { role: 'auditor' });
    const { approval_id } = await ok(change(), 202);
    const text = await arrived(admin.email);
    assert.ok(text.includes(`/approvals/${approval_id}`));
    await ok(change(), 202);
    await isSettled();
    assert.equal(mailTo(server, admin.email).length, 1);
    for (const other of [tenant.owner.email, member.email]) assert.equal(mailTo(server, other).length, 0);
  });

  test('the managers of a vault hear of certificates in it that expire soon', async () => {
    const tenant = await addTenant(service);
    const stranger = await addPerson(service, { tenant, role: 'admin' });
    await turnOn(tenant, 'expiry');
    const vault = await addVault(service, {}, tenant.owner.token);
    const { pem } = await testAuthority({ notAfter: service.clock.now() + 10 * DAY_MS });
    await addSecret(service, vault, 'tls/web', { type: 'certificate', value: pem }, tenant.owner.token);
    await runPurges(service);
    const text = await arrived(tenant.owner.email);
    assert.ok(text.includes(`vault/${vault}/tls/web`));
    assert.ok(!text.includes(pem.split('\n')[1] ?? 'none'));
    await runPurges(service);
    await isSettled();
    assert.equal(mailTo(server, tenant.owner.email).length, 1);
    assert.equal(mailTo(server, stranger.email).length, 0);
  });

  test('where no mail can be sent, notices cannot be turned on', async () => {
    const other = await startService(database, { env: { CV_HOST: '0.0.0.0' } });
    const change = (mail_notices: string[]) => other.call('PATCH', '/v1/tenant/settings', { body: { mail_notices } });
    await invalid(change(['invitations']), '/body/mail_notices');
    assert.deepEqual((await ok(change([]))).mail_notices, []);
    await other.close();
    const tenant = await addTenant(service);
    for (const wrong of [['birthdays'], ['expiry', 'expiry']]) {
      const answer = await send(tenant, 'PATCH', '/v1/tenant/settings', { mail_notices: wrong });
      assert.equal(answer.status, 422);
    }
  });

  test('a person hears of a used recovery code, and admins of a break-glass owner who signs in', async () => {
    const tenant = await addTenant(service);
    const owner = await addPerson(service, { tenant, role: 'owner' });
    await turnOn(tenant, 'security');
    const [code = ''] = (await addTotp(service, owner.id)).recoveryCodes;
    const change = send(tenant, 'PATCH', `/v1/users/${owner.id}`, { break_glass: true });
    await approved(service, change, owner.token);
    await logIn(service, owner, { otp: code });
    const texts = [await arrived(owner.email, 2), textPart(mailTo(server, owner.email)[0]?.source ?? '')].join();
    assert.match(texts, /9 of your codes\s+are left/);
    assert.match(texts, /break-glass owner/);
    assert.match(await arrived(tenant.owner.email), new RegExp(`break-glass owner ${owner.email}`));
    assert.ok(!texts.includes(code));
  });
});
