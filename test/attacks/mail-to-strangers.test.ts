import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { DAY_MS } from '../../server/src/kernel/base/clock.ts';
import { type MailServer, startMailServer, textPart } from '../support/mail-server.ts';
import { addTenant, ok, type Tenant, uniqueName } from '../support/people.ts';
import { onBothDatabases, type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

/** The inviter chooses the address, so the service must not become a way to send mail to anybody. */

onBothDatabases('a tenant that invites strangers', (database) => {
  let server: MailServer;
  let service: Service;
  before(async () => {
    server = await startMailServer();
    service = await startService(database, {
      env: { CV_SMTP_URL: server.url, CV_MAIL_FROM: 'coffer@service.example' },
    });
  });
  after(() => service.close());

  /** A tenant as a sign-up makes it, which wants mail. */
  const newTenant = async (): Promise<Tenant> => {
    const tenant = await addTenant(service, { plan: 'starter' });
    const wants = { mail_notices: ['invitations', 'approvals', 'security'] };
    await ok(send(tenant, 'PATCH', '/v1/tenant/settings', wants));
    return tenant;
  };
  const send = ({ owner }: Tenant, method: string, path: string, body?: object) =>
    service.call(method, path, { token: owner.token, ...(body !== undefined && { body }) });
  const mailTo = (email: string) => server.received.filter(({ to }) => to.includes(email));
  const address = (domain: string) => `${uniqueName('victim')}@${domain}`;
  const isQuiet = () =>
    until('an empty outbox', async () => {
      const query = service.app.kernel.database.read.selectFrom('outgoing_mail').select('mail_id');
      return (await query.execute()).length === 0;
    });
  const invite = async (tenant: Tenant, email: string) =>
    ok(send(tenant, 'POST', '/v1/users', { email, invite: true }), 201);

  test('fills no mailbox, with one account or with many, of one tenant or of several', async () => {
    const email = address('innocent.example');
    const [local, domain] = email.split('@');
    const mailed: boolean[] = [];
    for (const [index, tenant] of [await newTenant(), await newTenant()].entries()) {
      const { id, invitation } = await invite(tenant, `${local}+${index}@${domain}`);
      mailed.push(invitation.mailed);
      for (let no = 0; no < 8; no++)
        mailed.push((await ok(send(tenant, 'POST', `/v1/users/${id}/invite`), 201)).mailed);
    }
    await isQuiet();
    const received = [0, 1].flatMap((index) => mailTo(`${local}+${index}@${domain}`));
    assert.deepEqual([mailed.filter(Boolean).length, received.length], [10, 10]);
    service.clock.advance(DAY_MS + 1);
    assert.equal((await invite(await newTenant(), email)).invitation.mailed, true, 'the next day is another one');
  });

  test('reaches no more of them than its plan has users, however many accounts it deletes again', async () => {
    const tenant = await newTenant();
    let mailed = 0;
    for (let no = 0; no < 15; no++) {
      const { id, invitation } = await invite(tenant, address('many.example'));
      if (invitation.mailed) mailed++;
      await ok(send(tenant, 'DELETE', `/v1/users/${id}`));
    }
    const { users } = (await ok(send(tenant, 'GET', '/saas/tier'))).quotas;
    assert.equal(mailed, users.limit);
    await isQuiet();
    assert.equal(
      server.received.filter(({ to }) => to.some((one) => one.endsWith('@many.example'))).length,
      users.limit,
    );
  });

  test('keeps the owner of no address from signing up', async () => {
    const open = await startService(database, {
      env: { CV_SIGNUP: 'on', CV_SMTP_URL: server.url, CV_MAIL_FROM: 'coffer@service.example' },
    });
    const email = address('squatted.example');
    const tenant = await addTenant(open);
    for (const more of [{ invite: true }, { password: 'what the squatter chose' }]) {
      const by = { token: tenant.owner.token, body: { email, role: 'member', ...more } };
      const { id } = await ok(open.call('POST', '/v1/users', by), 201);
      const password = 'Zebra-crossing-77-lamp';
      const body = { email, password, organization: uniqueName('Victims') };
      await ok(open.call('POST', '/saas/signup', { token: null, body }), 201);
      const tokenIn = () => /cv_verify_[0-9A-Za-z]+/.exec(textPart(mailTo(email).at(-1)?.source ?? ''));
      await until('the mail', () => tokenIn() !== null);
      const made = await ok(
        open.call('POST', '/saas/verify', { token: null, body: { token: tokenIn()?.[0], password } }),
      );
      const login = { email, password, tenant: made.tenant };
      await ok(open.call('POST', '/auth/login', { token: null, body: login }));
      await ok(open.call('DELETE', `/v1/users/${id}`, { token: tenant.owner.token }));
      server.received.length = 0;
    }
    await open.close();
  });
});
