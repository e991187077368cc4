import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type MailServer, startMailServer } from '../../../../test/support/mail-server.ts';
import { addTenant, ok } from '../../../../test/support/people.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { newApplicant, post, SIGNUP_ENV, tokenIn } from '../../../../test/support/signups.ts';
import {
  newStripeId,
  STRIPE_ENV,
  type StripeEvent,
  sendEvent,
  stripeEvent,
  subscription,
} from '../../../../test/support/stripe.ts';
import { auditOf } from '../../../../test/support/vaults.ts';
import { SECOND_MS } from '../../kernel/base/clock.ts';

onSqliteAtLanding('a subscription that is bought before the sign-up is verified', (database) => {
  let server: MailServer;
  let service: Service;
  before(async () => {
    server = await startMailServer();
    service = await startService(database, { env: { ...SIGNUP_ENV, ...STRIPE_ENV, CV_SMTP_URL: server.url } });
  });
  after(() => service.close());

  async function pendingSignup() {
    const applicant = newApplicant();
    const { tenant_id } = await ok(post(service, '/saas/signup', applicant), 201);
    const token = await tokenIn(server, applicant.email);
    const verify = async () => {
      const { email, password } = applicant;
      const { tenant } = await ok(post(service, '/saas/verify', { token, password }));
      const session = await ok(post(service, '/auth/login', { email, password, tenant }));
      return session.token as string;
    };
    return { tenantId: tenant_id as string, verify };
  }
  const accepted = (event: StripeEvent) => ok(sendEvent(service, event));
  const planOf = async (token: string) => (await ok(service.call('GET', '/saas/tier', { token }))).tier;
  const created = (id: string, facts: { tenant?: string; status?: string }, at = service.clock.now()) =>
    stripeEvent('customer.subscription.updated', subscription({ id, status: 'active', ...facts }), at);

  test('gives its plan once it is, whichever event names the tenant', async () => {
    for (const isLinked of [false, true]) {
      const { tenantId, verify } = await pendingSignup();
      const id = newStripeId('sub');
      if (isLinked) {
        const session = {
          object: 'checkout.session',
          client_reference_id: tenantId,
          subscription: id,
          customer: 'cus',
        };
        await accepted(stripeEvent('checkout.session.completed', session, service.clock.now()));
      }
      await accepted(created(id, isLinked ? {} : { tenant: tenantId }));
      const token = await verify();
      assert.equal(await planOf(token), 'professional');
      const [first] = (await auditOf(service, 'action=saas:verify', token)) as { details: { plan: object } }[];
      assert.deepEqual(first?.details.plan, { before: 'starter', after: 'professional' });
      assert.equal((await ok(service.call('GET', '/v1/audit/verify', { token }))).valid, true);
      await accepted(created(id, { status: 'canceled' }, service.clock.now() + SECOND_MS));
      assert.equal(await planOf(token), 'starter');
    }
  });

  test('is not lost if both happen at the same time', async () => {
    const signups = await Promise.all(Array.from({ length: 16 }, pendingSignup));
    for (const [round, { tenantId, verify }] of signups.entries()) {
      const event = created(newStripeId('sub'), { tenant: tenantId });
      const send = async () => {
        // Stripe sends an event again until it is accepted.
        for (;;) {
          const { status } = await sendEvent(service, event);
          if (status === 200) return;
          assert.equal(status, 503);
        }
      };
      const delayed = new Promise((resolve) => setTimeout(resolve, round)).then(send);
      const [token] = await Promise.all([verify(), delayed]);
      assert.equal(await planOf(token), 'professional', String(round));
    }
  });

  test('goes to nobody else, unless a later event says so', async () => {
    const { tenantId, verify } = await pendingSignup();
    const other = await pendingSignup();
    const id = newStripeId('sub');
    await accepted(created(id, { tenant: tenantId }));
    assert.equal(await planOf(await other.verify()), 'starter');
    const existing = await addTenant(service, { plan: 'starter' });
    assert.equal(await planOf(existing.owner.token), 'starter');
    await accepted(created(id, { tenant: existing.id }, service.clock.now() + SECOND_MS));
    assert.equal(await planOf(existing.owner.token), 'professional');
    assert.equal(await planOf(await verify()), 'starter');
  });
});
