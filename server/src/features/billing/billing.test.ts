import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { CompiledQuery } from 'kysely';
import { addTenant, holdClock, ok, refused, type Tenant } from '../../../../test/support/people.ts';
import { behindItsBack } from '../../../../test/support/rows.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import {
  newStripeId,
  STRIPE_ENV,
  STRIPE_SECRET,
  type StripeEvent,
  sendEvent,
  signatureOf,
  stripeEvent,
  subscription,
} from '../../../../test/support/stripe.ts';
import { auditOf, runJobs } from '../../../../test/support/vaults.ts';
import { DAY_MS, HOUR_MS, SECOND_MS } from '../../kernel/base/clock.ts';

onSqliteAtLanding('billing', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database, { env: STRIPE_ENV });
  });
  after(() => service.close());

  const starter = () => addTenant(service, { plan: 'starter' });
  const now = () => service.clock.now();
  const accepted = async (event: StripeEvent) =>
    assert.deepEqual(await ok(sendEvent(service, event)), { received: true });
  const tier = ({ owner: { token } }: Tenant) => ok(service.call('GET', '/saas/tier', { token }));
  const planOf = async (tenant: Tenant) => (await tier(tenant)).tier;
  const outcomeOf = async ({ id }: StripeEvent) => {
    const query = service.app.kernel.database.read.selectFrom('billing_events').selectAll();
    return (await query.where('event_id', '=', id).executeTakeFirst())?.outcome;
  };
  const updated = (facts: Parameters<typeof subscription>[0], at = now()) =>
    stripeEvent('customer.subscription.updated', subscription(facts), at);

  test('a subscription gives its plan, and its end takes the plan back; both are in the audit log', async () => {
    const tenant = await starter();
    const id = newStripeId('sub');
    await accepted(updated({ id, status: 'active', tenant: tenant.id }));
    assert.equal(await planOf(tenant), 'professional');
    await accepted(updated({ id, status: 'active', price: 'price_ent' }, now() + SECOND_MS));
    assert.equal(await planOf(tenant), 'enterprise');
    const ended = subscription({ id, status: 'canceled' });
    await accepted(stripeEvent('customer.subscription.deleted', ended, now() + 2 * SECOND_MS));
    assert.equal(await planOf(tenant), 'starter');
    const entries = (await auditOf(service, '', tenant.owner.token)).filter(
      ({ action }: { action: string }) => action === 'billing:event',
    );
    assert.equal(entries.length, 3);
    const text = JSON.stringify(entries);
    assert.match(text, /"before":"starter","after":"professional"/);
    assert.ok(!text.includes(STRIPE_SECRET));
  });

  test('the tenant may be told by the checkout, before or after the subscription', async () => {
    const checkout = (tenant: Tenant, id: string) =>
      stripeEvent(
        'checkout.session.completed',
        { id: 'cs_1', object: 'checkout.session', client_reference_id: tenant.id, subscription: id, customer: 'cus_1' },
        now(),
      );
    const [first, second] = [await starter(), await starter()];
    const [one, two] = [newStripeId('sub'), newStripeId('sub')];
    await accepted(checkout(first, one));
    assert.equal(await planOf(first), 'starter');
    await accepted(updated({ id: one, status: 'active' }));
    assert.equal(await planOf(first), 'professional');
    await accepted(updated({ id: two, status: 'active' }));
    assert.equal(await planOf(second), 'starter');
    await accepted(checkout(second, two));
    assert.equal(await planOf(second), 'professional');
    const stolen = checkout(first, two);
    await accepted(stolen);
    assert.equal(await outcomeOf(stolen), 'other_tenant');
  });

  test('events in any order end in the newest state', async () => {
    const start = now() - HOUR_MS;
    const states = ['incomplete', 'active', 'past_due', 'active', 'canceled'];
    for (const order of [
      [4, 3, 2, 1, 0],
      [0, 4, 1, 3, 2],
      [3, 0, 4, 2, 1],
    ]) {
      const tenant = await starter();
      const id = newStripeId('sub');
      const events = states.map((status, no) => updated({ id, status, tenant: tenant.id }, start + no * SECOND_MS));
      for (const no of order) await accepted(events[no] as StripeEvent);
      assert.equal(await planOf(tenant), 'starter');
      const other = await starter();
      const live = newStripeId('sub');
      const some = events.slice(0, 4).map(({ type, created, data }) => {
        const object = { ...data.object, id: live, metadata: { tenant_id: other.id } };
        return stripeEvent(type, object, created * SECOND_MS);
      });
      for (const no of order.filter((one) => one < 4)) await accepted(some[no] as StripeEvent);
      assert.deepEqual([await planOf(other), (await tier(other)).grace_period], ['professional', null]);
    }
  });

  test('an event counts once, also if it is sent ten times at once', async () => {
    const tenant = await starter();
    const id = newStripeId('sub');
    const event = updated({ id, status: 'active', tenant: tenant.id });
    const answers = await Promise.all(Array.from({ length: 10 }, () => sendEvent(service, event)));
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    const entries = await auditOf(service, '', tenant.owner.token);
    assert.equal(entries.filter(({ action }: { action: string }) => action === 'billing:event').length, 1);
    const patched = await service.call('PATCH', `/v1/tenants/${tenant.id}`, { body: { plan: 'starter' } });
    assert.equal(patched.status, 200);
    await accepted(event);
    assert.equal(await planOf(tenant), 'starter');
  });

  test('a payment that is due leaves the plan for 14 days; then new things have the limits of starter', async () => {
    const tenant = await starter();
    const id = newStripeId('sub');
    await accepted(updated({ id, status: 'active', tenant: tenant.id }));
    const send = (method: string, path: string, body?: unknown) =>
      service.call(method, path, { token: tenant.owner.token, ...(body !== undefined && { body }) });
    for (let no = 0; no < 12; no++) await ok(send('POST', '/v1/vaults', { name: `v${no}` }), 201);
    await ok(send('POST', '/v1/vaults/v11/secrets', { path: 'kept', value: 'x' }), 201);
    const failed = stripeEvent('invoice.payment_failed', { object: 'invoice', subscription: id }, now() + SECOND_MS);
    await accepted(failed);
    await accepted(updated({ id, status: 'past_due', tenant: tenant.id }, now() + 2 * SECOND_MS));
    const { tier: plan, grace_period } = await tier(tenant);
    assert.equal(plan, 'professional');
    assert.equal(grace_period.reason, 'past_due');
    assert.equal(Date.parse(grace_period.until), failed.created * SECOND_MS + 14 * DAY_MS);
    service.clock.advance(13 * DAY_MS);
    await runJobs(service);
    assert.equal(await planOf(tenant), 'professional');
    service.clock.advance(2 * DAY_MS);
    await runJobs(service);
    service.clock.advance(2 * HOUR_MS);
    await runJobs(service);
    assert.deepEqual([await planOf(tenant), (await tier(tenant)).grace_period], ['starter', null]);
    await refused(send('POST', '/v1/vaults', { name: 'more' }), 403, 'QUOTA_EXCEEDED');
    assert.equal((await ok(send('GET', '/v1/vaults'))).total, 12);
    await ok(send('GET', '/v1/vaults/v11/secrets/kept'));
    await ok(send('PUT', '/v1/vaults/v11/secrets/kept', { value: 'y' }));
    await accepted(updated({ id, status: 'past_due', tenant: tenant.id }));
    assert.equal(await planOf(tenant), 'starter');
    const parent = { subscription_details: { subscription: id } };
    await accepted(stripeEvent('invoice.paid', { object: 'invoice', parent }, now() + SECOND_MS));
    assert.equal(await planOf(tenant), 'starter', 'an invoice may be for anything');
    await accepted(updated({ id, status: 'active', tenant: tenant.id }, now() + SECOND_MS));
    assert.equal(await planOf(tenant), 'professional');
    await ok(send('POST', '/v1/vaults', { name: 'more' }), 201);
  });

  test('an invoice never changes the status of a subscription, only its grace', async () => {
    const invoice = (id: string, type: 'paid' | 'payment_failed', at: number) =>
      stripeEvent(`invoice.${type}`, { object: 'invoice', subscription: id }, at);
    const statusOf = async (id: string) => {
      const query = service.app.kernel.database.read.selectFrom('subscriptions').select(['status', 'grace_until']);
      return query.where('subscription_id', '=', id).executeTakeFirstOrThrow();
    };
    for (const status of ['incomplete', 'trialing', 'past_due', 'unpaid', 'paused', 'canceled']) {
      const tenant = await starter();
      const id = newStripeId('sub');
      await accepted(updated({ id, status, tenant: tenant.id }));
      const before = { ...(await statusOf(id)), plan: await planOf(tenant) };
      await accepted(invoice(id, 'paid', now() + SECOND_MS));
      assert.deepEqual({ ...(await statusOf(id)), plan: await planOf(tenant) }, before, status);
    }
    const tenant = await starter();
    const id = newStripeId('sub');
    await accepted(updated({ id, status: 'active', tenant: tenant.id }));
    await accepted(invoice(id, 'payment_failed', now() - HOUR_MS));
    assert.equal((await tier(tenant)).grace_period, null, 'it was before the state that is known');
    await accepted(invoice(id, 'payment_failed', now() + SECOND_MS));
    assert.equal((await tier(tenant)).grace_period.reason, 'past_due');
    assert.equal((await statusOf(id)).status, 'active');
    await accepted(invoice(id, 'paid', now() + 2 * SECOND_MS));
    assert.equal((await tier(tenant)).grace_period, null);
    await accepted(invoice(id, 'payment_failed', now() + 3 * SECOND_MS));
    service.clock.advance(15 * DAY_MS);
    await runJobs(service);
    service.clock.advance(2 * HOUR_MS);
    await runJobs(service);
    assert.deepEqual([await planOf(tenant), (await tier(tenant)).grace_period], ['professional', null]);
  });

  test('a subscription that somebody else pays for takes nothing away when it ends', async () => {
    const tenant = await addTenant(service);
    const id = newStripeId('sub');
    await accepted(updated({ id, status: 'active', tenant: tenant.id }));
    await accepted(updated({ id, status: 'canceled', tenant: tenant.id }, now() + SECOND_MS));
    assert.equal(await planOf(tenant), 'enterprise');
    const { tenant: operator } = await ok(service.call('GET', '/auth/me'));
    const event = updated({ id: newStripeId('sub'), status: 'active', tenant: operator.id });
    await accepted(event);
    assert.equal(await outcomeOf(event), 'unknown_tenant');
  });

  test('what is unknown is acknowledged and recorded, and changes nothing', async () => {
    const tenant = await starter();
    const cases: [StripeEvent, string][] = [
      [stripeEvent('customer.created', { object: 'customer', id: 'cus_1' }, now()), 'recorded'],
      [stripeEvent('customer.subscription.updated', { object: 'x' }, now()), 'recorded'],
      [updated({ id: newStripeId('sub'), status: 'active', tenant: 'tenant_nobody' }), 'unknown_tenant'],
      [updated({ id: newStripeId('sub'), status: 'active', tenant: tenant.id, price: 'price_x' }), 'unknown_price'],
      [stripeEvent('invoice.paid', { object: 'invoice', subscription: newStripeId('sub') }, now()), 'applied'],
    ];
    for (const [event, outcome] of cases) {
      await accepted(event);
      assert.equal(await outcomeOf(event), outcome, event.type);
    }
    assert.equal(await planOf(tenant), 'starter');
  });

  test('a price that no setting names leaves the plan of a paying tenant, and the end of that subscription still ends it', async () => {
    const tenant = await starter();
    const id = newStripeId('sub');
    await accepted(updated({ id, status: 'active', tenant: tenant.id }));
    const unknown = updated({ id, status: 'active', price: 'price_x' }, now() + SECOND_MS);
    await accepted(unknown);
    assert.equal(await outcomeOf(unknown), 'unknown_price');
    assert.equal(await planOf(tenant), 'professional');
    await accepted(updated({ id, status: 'active', price: 'price_ent' }, now() + 2 * SECOND_MS));
    assert.equal(await planOf(tenant), 'enterprise');
    const ended = subscription({ id, status: 'canceled', price: 'price_x' });
    await accepted(stripeEvent('customer.subscription.deleted', ended, now() + 3 * SECOND_MS));
    assert.equal(await planOf(tenant), 'starter');
  });

  test('what is not signed, signed by another, changed, or old, is refused', async () => {
    const tenant = await starter();
    const event = updated({ id: newStripeId('sub'), status: 'active', tenant: tenant.id });
    const body = JSON.stringify(event);
    const post = (signature: string | null, text: string | undefined = body) =>
      service.call('POST', '/billing/webhook', {
        token: null,
        body: text,
        headers: signature === null ? {} : { 'stripe-signature': signature },
      });
    const good = signatureOf(body, now());
    await refused(post(null), 401, 'INVALID_TOKEN');
    await refused(post(signatureOf(body, now(), `${STRIPE_SECRET}x`)), 401, 'INVALID_TOKEN');
    await refused(
      post(good, body.replace('professional', 'enterprise').replace('active', 'Active')),
      401,
      'INVALID_TOKEN',
    );
    await refused(post(good, ` ${body}`), 401, 'INVALID_TOKEN');
    await refused(post(signatureOf(body, now() - 301 * SECOND_MS)), 401, 'INVALID_TOKEN');
    await refused(post(signatureOf(body, now() + 302 * SECOND_MS)), 401, 'INVALID_TOKEN');
    for (const text of ['x', '{}', '[]', '{"object": "event"}', '{"a":1,"a":2}']) {
      await refused(post(signatureOf(text, now()), text), 400, 'INVALID_REQUEST');
    }
    const large = JSON.stringify({ ...event, more: 'x'.repeat(70_000) });
    await refused(post(signatureOf(large, now()), large), 413, 'PAYLOAD_TOO_LARGE');
    assert.equal(await planOf(tenant), 'starter');
    assert.equal(await outcomeOf(event), undefined);
    await ok(post(good));
    assert.equal(await planOf(tenant), 'professional');
  });

  test('wrong signatures are limited by address, and right ones are not', async () => {
    const event = stripeEvent('customer.created', { object: 'customer' }, now());
    const body = JSON.stringify(event);
    const wrong = { token: null, body, headers: { 'stripe-signature': 't=1,v1=0' } };
    const statuses = new Set<number>();
    const flood = async () => {
      for (let no = 0; no < 320; no++) statuses.add((await service.call('POST', '/billing/webhook', wrong)).status);
    };
    await holdClock(service, flood());
    assert.deepEqual(statuses, new Set([401, 429]));
    await accepted(event);
    service.clock.advance(HOUR_MS);
  });

  test('a subscription written into the database gives nothing', async () => {
    const tenant = await starter();
    const id = newStripeId('sub');
    await accepted(updated({ id, status: 'incomplete', tenant: tenant.id }));
    service.expectErrorLogs(/was not written by the service/);
    const change = `update subscriptions set status = 'active', plan = 'enterprise' where subscription_id = '${id}'`;
    await behindItsBack(service.app.kernel.database, (db) => db.executeQuery(CompiledQuery.raw(change)));
    const other = newStripeId('sub');
    await refused(
      sendEvent(service, updated({ id: other, status: 'active', tenant: tenant.id })),
      500,
      'INTERNAL_ERROR',
    );
    assert.equal((await ok(service.call('GET', '/auth/me', { token: tenant.owner.token }))).tenant.plan, 'starter');
  });

  test('a grace that was extended in the database is reported, and does not keep others from ending', async () => {
    const [eve, ann] = [await starter(), await starter()];
    const [eves, anns] = [newStripeId('sub'), newStripeId('sub')];
    for (const [id, tenant] of [
      [eves, eve],
      [anns, ann],
    ] as const)
      await accepted(updated({ id, status: 'past_due', tenant: tenant.id }));
    for (const change of [`grace_until = ${now() + 900 * DAY_MS}`, 'grace_until = null', `status = 'active'`]) {
      const text = `update subscriptions set ${change} where subscription_id = '${eves}'`;
      await behindItsBack(service.app.kernel.database, (db) => db.executeQuery(CompiledQuery.raw(text)));
      const reported = service.logs.length;
      service.expectErrorLogs(/was not written by the service/);
      service.clock.advance(2 * HOUR_MS);
      await runJobs(service);
      assert.match(service.logs.slice(reported).join(''), new RegExp(`subscriptions.*${eves}`), change);
    }
    assert.equal(await planOf(ann), 'professional');
    service.clock.advance(15 * DAY_MS);
    await runJobs(service);
    service.clock.advance(2 * HOUR_MS);
    await runJobs(service);
    assert.equal(await planOf(ann), 'starter');
  });

  test('a secret in a file can be rotated while the service runs, with two at a time', async () => {
    const { CV_STRIPE_WEBHOOK_SECRET: _, ...env } = STRIPE_ENV;
    const file = join(service.dataDir, 'stripe.secret');
    const [old, next] = [`whsec_${'o'.repeat(32)}`, `whsec_${'n'.repeat(32)}`];
    writeFileSync(file, `${old}\n`);
    const other = await startService(database, { env: { ...env, CV_STRIPE_WEBHOOK_SECRET_FILE: file } });
    const event = () => stripeEvent('customer.created', { object: 'customer' }, other.clock.now());
    await ok(sendEvent(other, event(), { secret: old }));
    await refused(sendEvent(other, event(), { secret: next }), 401, 'INVALID_TOKEN');
    writeFileSync(file, `${old},${next}\n`);
    for (const secret of [old, next]) await ok(sendEvent(other, event(), { secret }));
    writeFileSync(file, next);
    await refused(sendEvent(other, event(), { secret: old }), 401, 'INVALID_TOKEN');
    writeFileSync(file, 'nonsense');
    await refused(sendEvent(other, event(), { secret: next }), 503, 'UNAVAILABLE');
    await assert.rejects(startService(database, { env: { ...env, CV_STRIPE_WEBHOOK_SECRET_FILE: file } }), /Stripe/);
    await other.close();
  });

  test('without a secret there is no billing', async () => {
    const other = await startService(database);
    await refused(sendEvent(other, stripeEvent('customer.created', {}, other.clock.now())), 404, 'NOT_FOUND');
    await other.close();
  });

  test('with a key the state is fetched, whatever the event says', async () => {
    const objects = new Map<string, object>();
    const asked: string[] = [];
    let status = 200;
    const api: Server = createServer((request, response) => {
      asked.push(`${request.method} ${request.url} ${request.headers.authorization}`);
      const object = objects.get(request.url?.split('/').at(-1) ?? '');
      response.writeHead(object === undefined ? 404 : status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(object ?? {}));
    });
    await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(api.address() as AddressInfo).port}`;
    const fetching = await startService(database, {
      env: {
        ...STRIPE_ENV,
        CV_STRIPE_API_KEY: 'rk_test_key',
        CV_STRIPE_API_URL: url,
        CV_OUTBOUND_ALLOW: '127.0.0.1/32',
      },
    });
    try {
      const tenant = await addTenant(fetching, { plan: 'starter' });
      const planNow = async () =>
        (await ok(fetching.call('GET', '/saas/tier', { token: tenant.owner.token }))).tier as string;
      const id = newStripeId('sub');
      objects.set(id, subscription({ id, status: 'active', tenant: tenant.id, price: 'price_ent' }));
      const at = fetching.clock.now();
      const event = stripeEvent('customer.subscription.created', subscription({ id, status: 'incomplete' }), at);
      status = 500;
      await refused(sendEvent(fetching, event), 503, 'UNAVAILABLE');
      assert.equal(await planNow(), 'starter');
      status = 200;
      await ok(sendEvent(fetching, event));
      assert.equal(await planNow(), 'enterprise');
      assert.equal(asked.at(-1), `GET /v1/subscriptions/${id} Bearer rk_test_key`);
      objects.set(id, subscription({ id, status: 'canceled', tenant: tenant.id }));
      await ok(sendEvent(fetching, stripeEvent('invoice.paid', { object: 'invoice', subscription: id }, at)));
      assert.equal(await planNow(), 'starter');
      assert.ok(!fetching.logs.join('').includes('rk_test_key'));
    } finally {
      await fetching.close();
      api.close();
    }
  });
});
