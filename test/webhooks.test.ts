import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { emit } from '../server/src/features/webhooks/index.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../server/src/kernel/base/clock.ts';
import { tick } from './support/background-work.ts';
import { addTenant, ok, refused, type Tenant } from './support/people.ts';
import { onBothDatabases, type Service, startService } from './support/service.ts';
import { Receiver, withoutWaitingFor } from './support/siem-receivers.ts';
import { auditOf, runPurges } from './support/vaults.ts';
import { ANOMALY, DRIFT, WEBHOOKS, webhookCalls } from './support/webhooks.ts';

onBothDatabases('webhooks', (database) => {
  let service: Service;
  let tenant: Tenant;
  let calls: ReturnType<typeof webhookCalls>;
  before(async () => {
    service = await startService(database, { env: { CV_OUTBOUND_ALLOW: '127.0.0.1/32' } });
    tenant = await addTenant(service);
    calls = webhookCalls(service, tenant);
  });
  after(() => service.close());

  test('an event arrives signed, with its id, and the secret is shown once', async () => {
    const receiver = await Receiver.start();
    const made = await calls.create(`${receiver.url}/hook?a=b`);
    assert.match(made.secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    await calls.happen();
    await calls.untilReceived(receiver, 1);
    const [first] = receiver.requests;
    assert.ok(first !== undefined);
    assert.equal(first.path, '/hook?a=b');
    const checked = new Webhook(made.secret).verify(first.body, first.headers as Record<string, string>);
    assert.deepEqual(checked, JSON.parse(first.body));
    const { timestamp, ...rest } = JSON.parse(first.body);
    assert.deepEqual(rest, { event: 'endpoint.drift', endpoint: { name: 'web-1' }, tenant: tenant.id });
    assert.ok(Math.abs(Date.parse(timestamp) - service.clock.now()) < MINUTE_MS);
    assert.throws(() => new Webhook(`whsec_${'A'.repeat(43)}=`).verify(first.body, first.headers as never));

    await calls.untilEnded(made);
    const delivery = await calls.newestOf(made);
    assert.equal(delivery.id, first.headers['webhook-id']);
    assert.deepEqual([delivery.status, delivery.attempts, delivery.response_status], ['delivered', 1, 200]);
    assert.ok(delivery.duration_ms >= 0 && delivery.ended_at !== null && delivery.next_attempt_at === null);
    assert.doesNotMatch(JSON.stringify(delivery), /web-1/, 'a delivery is listed without its body');

    assert.match((await service.call('GET', '/metrics')).text, /cv_webhook_attempts_total\{outcome="delivered"\} 1/);
    const shown = [
      await ok(service.call('GET', calls.urlOf(made), calls.as(tenant))),
      await ok(service.call('GET', WEBHOOKS, calls.as(tenant))),
      await auditOf(service, 'action=webhooks:*', tenant.owner.token),
      service.logs,
    ];
    assert.ok(!JSON.stringify(shown).includes(made.secret.slice('whsec_'.length)), 'the secret is shown again');
    await calls.remove(made);
  });

  test('only what is subscribed to is sent, and anomalies only from min_severity on', async () => {
    const receiver = await Receiver.start();
    const made = await calls.create(receiver.url, { events: ['anomaly.detected'], min_severity: 'high' });
    await calls.happen(DRIFT);
    for (const severity of ['low', 'medium', 'high', 'critical'] as const) {
      await calls.happen({ ...ANOMALY, severity, object: { id: severity } });
    }
    await calls.untilReceived(receiver, 2);
    assert.equal((await calls.deliveriesOf(made)).length, 2);
    const sent = receiver.requests.map(({ body }) => JSON.parse(body).anomaly.id);
    assert.deepEqual(sent.sort(), ['critical', 'high']);
    await calls.remove(made);
  });

  test('an event whose transaction is rolled back is not sent', async () => {
    const receiver = await Receiver.start();
    const made = await calls.create(receiver.url);
    const failing = service.app.kernel.database.transaction(async (tx) => {
      await emit(tx, tenant.id, DRIFT, service.clock.now());
      throw new Error('rolled back');
    });
    await assert.rejects(failing, /rolled back/);
    await calls.happen();
    await calls.untilReceived(receiver, 1);
    assert.equal((await calls.deliveriesOf(made)).length, 1);
    await calls.remove(made);
  });

  describe('a receiver that does not take it', () => {
    test('gets it again later, with the same id and a new time, until it takes it', async () => {
      const receiver = await Receiver.start();
      receiver.respond = () => ({ status: 500 });
      const made = await calls.create(receiver.url);
      await calls.happen();
      await calls.untilAttempts(made, 1);
      const failed = await calls.newestOf(made);
      assert.deepEqual(
        [failed.status, failed.response_status, failed.error],
        ['pending', 500, 'the receiver responded with status 500'],
      );
      service.clock.advance(6 * SECOND_MS);
      await calls.untilAttempts(made, 2);
      const waitMs = Date.parse((await calls.newestOf(made)).next_attempt_at) - service.clock.now();
      assert.ok(waitMs > 4 * MINUTE_MS && waitMs <= 5.5 * MINUTE_MS, `${waitMs} ms`);
      receiver.respond = () => ({ status: 204 });
      service.clock.advance(6 * MINUTE_MS);
      await calls.untilEnded(made);
      const [first, second, third] = receiver.requests;
      assert.equal((await calls.newestOf(made)).status, 'delivered');
      assert.equal(receiver.requests.length, 3);
      for (const again of [second, third]) assert.equal(again?.headers['webhook-id'], first?.headers['webhook-id']);
      assert.notEqual(third?.headers['webhook-timestamp'], first?.headers['webhook-timestamp']);
      for (const each of receiver.requests) assert.ok(calls.isSignedWith(made.secret, each));
      await calls.remove(made);
    });

    test('is given up after the last attempt', async () => {
      const receiver = await Receiver.start();
      receiver.respond = () => null;
      const made = await calls.create(receiver.url);
      await calls.happen();
      for (let attempts = 1; attempts < 10; attempts++) {
        await calls.untilAttempts(made, attempts);
        service.clock.advance(27 * HOUR_MS);
      }
      await calls.untilEnded(made);
      const { status, attempts, response_status, error, next_attempt_at } = await calls.newestOf(made);
      assert.deepEqual([status, attempts, response_status, next_attempt_at], ['failed', 10, null, null]);
      assert.equal(error, 'the connection failed (ECONNRESET)');
      await calls.remove(made);
    });

    test('may ask for a longer wait, not for a shorter one', async () => {
      const receiver = await Receiver.start();
      const made = await calls.create(receiver.url);
      for (const [seconds, leastMs, mostMs] of [
        ['3600', HOUR_MS - MINUTE_MS, HOUR_MS + MINUTE_MS],
        ['0', 0, 6 * SECOND_MS],
      ] as const) {
        receiver.respond = () => ({ status: 429, headers: { 'retry-after': seconds } });
        const before = (await calls.deliveriesOf(made)).length;
        await calls.happen();
        await calls.until('no attempt is made', async () => {
          const all = await calls.deliveriesOf(made);
          return all.length > before && all[0].attempts === 1;
        });
        const waitMs = Date.parse((await calls.newestOf(made)).next_attempt_at) - service.clock.now();
        assert.ok(waitMs >= leastMs && waitMs <= mostMs, `${waitMs} ms`);
      }
      await calls.remove(made);
    });

    test('and redirects fails: nothing is sent elsewhere', async () => {
      const [receiver, elsewhere] = [await Receiver.start(), await Receiver.start()];
      receiver.respond = () => ({ status: 302, headers: { location: elsewhere.url } });
      const made = await calls.create(receiver.url);
      await calls.happen();
      await calls.untilAttempts(made, 1);
      assert.deepEqual(await calls.newestOf(made).then(({ status, error }) => [status, error]), [
        'pending',
        'the host responded with a redirect',
      ]);
      assert.equal(elsewhere.requests.length, 0);
      await calls.remove(made);
    });

    test('and says 410 is not called again: the webhook is disabled, and the log says why', async () => {
      const receiver = await Receiver.start();
      receiver.respond = () => ({ status: 410 });
      const made = await calls.create(receiver.url);
      await calls.happen();
      await calls.untilEnded(made);
      assert.equal((await calls.newestOf(made)).status, 'failed');
      const shown = await ok(service.call('GET', calls.urlOf(made), calls.as(tenant)));
      assert.deepEqual([shown.enabled, shown.disabled_reason], [false, 'the receiver responded with 410 Gone']);
      const [entry] = await auditOf(service, 'action=webhooks:disable', tenant.owner.token);
      assert.deepEqual([entry?.['resource'], entry?.['decision']], [`webhook/${made.id}`, 'allow']);
      const verification = await ok(service.call('GET', '/v1/audit/verify', calls.as(tenant)));
      assert.deepEqual([verification.valid, verification.rows.problems], [true, []]);
      assert.equal((await calls.change(made, { enabled: true })).disabled_reason, null);
      await calls.remove(made);
    });

    test('and hangs does not delay others, of the same tenant or of another', async () => {
      const [hanging, quick, theirs] = [await Receiver.start(), await Receiver.start(), await Receiver.start()];
      const { promise, resolve } = Promise.withResolvers<null>();
      hanging.respond = () => promise;
      const made = await calls.create(hanging.url);
      for (let i = 0; i < 100; i++) await calls.happen();
      await calls.untilReceived(hanging, 1);
      const [own, other] = [await calls.create(quick.url, { events: ['anomaly.detected'] }), await addTenant(service)];
      await calls.create(theirs.url, {}, other);
      await withoutWaitingFor([hanging], async () => {
        const [received, theirOwn] = [quick.requests.length, theirs.requests.length];
        await calls.happen(ANOMALY);
        await calls.happen(DRIFT, other);
        await calls.untilReceived(quick, received + 1);
        await calls.untilReceived(theirs, theirOwn + 1);
      });
      const atOnce = hanging.requests.length - hanging.ended;
      assert.ok(atOnce <= 4, `${atOnce} at once`);
      hanging.respond = () => ({ status: 200 });
      resolve(null);
      await calls.until('the rest does not arrive', () => {
        service.clock.advance(10 * SECOND_MS);
        return new Set(hanging.requests.map((r) => r.headers['webhook-id'])).size === 100;
      });
      await calls.remove(made);
      await calls.remove(own);
    });
  });

  test('a delivery whose node died is sent again, with the same id, once its lease has ended', async () => {
    const receiver = await Receiver.start();
    const made = await calls.create(receiver.url, { enabled: false });
    await calls.change(made, { enabled: true });
    const { kernel } = service.app;
    // As a node leaves it that took it and was killed before or after it sent it.
    await kernel.database.transaction(async (tx) => {
      await emit(tx, tenant.id, DRIFT, service.clock.now());
      await tx
        .updateTable('webhook_deliveries')
        .set({ lease_until: service.clock.now() + MINUTE_MS })
        .where('webhook_id', '=', made.id)
        .execute();
    });
    await tick(service, 'webhook deliveries');
    assert.equal(receiver.requests.length, 0, 'it belongs to the other node');
    service.clock.advance(MINUTE_MS);
    await calls.untilEnded(made);
    assert.equal(receiver.requests[0]?.headers['webhook-id'], (await calls.newestOf(made)).id);
    await calls.remove(made);
  });

  test('a delivery does not wait for a time that a wrong clock has set', async () => {
    const receiver = await Receiver.start();
    const made = await calls.create(receiver.url);
    const far = service.clock.now() + 400 * DAY_MS;
    await service.app.kernel.database.transaction(async (tx) => {
      await emit(tx, tenant.id, DRIFT, service.clock.now());
      await tx
        .updateTable('webhook_deliveries')
        .set({ next_attempt_at: far, lease_until: far })
        .where('webhook_id', '=', made.id)
        .execute();
    });
    await calls.untilEnded(made);
    assert.equal(receiver.requests.length, 1);
    await calls.remove(made);
  });

  test('a new secret signs beside the old one for a day, and then alone', async () => {
    const receiver = await Receiver.start();
    const made = await calls.create(receiver.url);
    const rotated = await ok(service.call('POST', calls.urlOf(made, '/rotate-secret'), calls.as(tenant)));
    assert.notEqual(rotated.secret, made.secret);
    await calls.happen();
    await calls.untilReceived(receiver, 1);
    const [during] = receiver.requests;
    assert.ok(during !== undefined && calls.signaturesOf(during).length === 2);
    for (const { secret } of [made, rotated]) assert.ok(calls.isSignedWith(secret, during));
    service.clock.advance(DAY_MS + MINUTE_MS);
    await calls.happen();
    await calls.untilReceived(receiver, 2);
    const later = receiver.requests[1];
    assert.ok(later !== undefined && calls.isSignedWith(rotated.secret, later));
    assert.ok(!calls.isSignedWith(made.secret, later));
    assert.equal(calls.signaturesOf(later).length, 1);
    await calls.remove(made);
  });

  test('a delivery can be sent again, with its id', async () => {
    const receiver = await Receiver.start();
    const made = await calls.create(receiver.url);
    await calls.happen();
    await calls.untilEnded(made);
    const { id } = await calls.newestOf(made);
    const again = `${calls.urlOf(made, '/deliveries')}/${id}/redeliver`;
    assert.equal((await ok(service.call('POST', again, calls.as(tenant)))).status, 'pending');
    await calls.untilReceived(receiver, 2);
    await calls.untilEnded(made);
    const ids = receiver.requests.map(({ headers }) => headers['webhook-id']);
    assert.deepEqual(ids, [id, id]);
    assert.equal(receiver.requests[0]?.body, receiver.requests[1]?.body);
    const other = await calls.create(receiver.url, { enabled: false });
    const wrong = `${calls.urlOf(other, '/deliveries')}/${id}/redeliver`;
    await refused(service.call('POST', wrong, calls.as(tenant)), 404, 'NOT_FOUND');
    await calls.remove(made);
    await calls.remove(other);
  });

  test('test sends one event, also while it is disabled, and reports what came of it', async () => {
    const receiver = await Receiver.start();
    const made = await calls.create(receiver.url, { enabled: false });
    const tried = () => ok(service.call('POST', calls.urlOf(made, '/test'), calls.as(tenant)));
    assert.deepEqual(
      await tried().then(({ delivered, response_status, error }) => [delivered, response_status, error]),
      [true, 200, null],
    );
    const [first] = receiver.requests;
    assert.ok(first !== undefined && calls.isSignedWith(made.secret, first));
    assert.equal(JSON.parse(first.body).event, 'webhook.test');
    receiver.respond = () => ({ status: 401 });
    assert.deepEqual(await tried().then(({ delivered, response_status }) => [delivered, response_status]), [
      false,
      401,
    ]);
    assert.deepEqual(await calls.deliveriesOf(made), []);
    await calls.remove(made);
  });

  test('what happens while it is disabled is never sent, and what waited is sent when it is enabled', async () => {
    const receiver = await Receiver.start();
    receiver.respond = () => ({ status: 503 });
    const made = await calls.create(receiver.url);
    await calls.happen({ ...DRIFT, object: { name: 'before' } });
    await calls.untilAttempts(made, 1);
    await calls.change(made, { enabled: false });
    await calls.happen({ ...DRIFT, object: { name: 'while disabled' } });
    service.clock.advance(10 * SECOND_MS);
    await tick(service, 'webhook deliveries');
    assert.equal(receiver.requests.length, 1);
    receiver.respond = () => ({ status: 200 });
    await calls.change(made, { enabled: true });
    await calls.untilEnded(made);
    const names = receiver.requests.map(({ body }) => JSON.parse(body).endpoint.name);
    assert.deepEqual(names, ['before', 'before']);
    await calls.remove(made);
  });

  test('what is deleted while it sends leaves nothing behind', async () => {
    const receiver = await Receiver.start();
    const { promise, resolve } = Promise.withResolvers<{ status: number }>();
    receiver.respond = () => promise;
    const made = await calls.create(receiver.url);
    await calls.happen();
    await calls.untilReceived(receiver, 1);
    await calls.remove(made);
    resolve({ status: 500 });
    await refused(service.call('GET', calls.urlOf(made, '/deliveries'), calls.as(tenant)), 404, 'NOT_FOUND');
    const { read } = service.app.kernel.database;
    await tick(service, 'webhook deliveries');
    const left = read.selectFrom('webhook_deliveries').selectAll().where('webhook_id', '=', made.id);
    assert.deepEqual(await left.execute(), []);
  });

  test('of two rotations at once each shows a secret that works, or learns of the other', async () => {
    const receiver = await Receiver.start();
    const made = await calls.create(receiver.url);
    const rotate = () => service.call('POST', calls.urlOf(made, '/rotate-secret'), calls.as(tenant));
    const answers = await Promise.all([rotate(), rotate(), rotate()]);
    const secrets = answers.filter(({ status }) => status === 200).map(({ body }) => String(body.secret));
    for (const { status } of answers) assert.ok(status === 200 || status === 409, String(status));
    await calls.happen();
    await calls.untilReceived(receiver, 1);
    const [sent] = receiver.requests;
    assert.ok(sent !== undefined && secrets.length > 0);
    assert.equal(secrets.filter((secret) => calls.isSignedWith(secret, sent)).length, Math.min(2, secrets.length));
    await calls.remove(made);
  });

  test('deliveries that ended are deleted after 30 days', async () => {
    const receiver = await Receiver.start();
    const made = await calls.create(receiver.url);
    await calls.happen();
    await calls.untilEnded(made);
    service.clock.advance(31 * DAY_MS);
    await runPurges(service);
    assert.deepEqual(await calls.deliveriesOf(made), []);
    await calls.remove(made);
  });
});
