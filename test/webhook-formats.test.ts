import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { addColleague, addTenant, invalid, ok, refused, type Tenant } from './support/people.ts';
import { type Answer, onBothDatabases, type Service, startService } from './support/service.ts';
import { Receiver } from './support/siem-receivers.ts';
import { auditOf } from './support/vaults.ts';
import { ANOMALY, WEBHOOKS, webhookCalls } from './support/webhooks.ts';

onBothDatabases('webhooks: formats and refusals', (database, { rule, rules }) => {
  let service: Service;
  let tenant: Tenant;
  let calls: ReturnType<typeof webhookCalls>;
  before(async () => {
    service = await startService(database, { env: { CV_OUTBOUND_ALLOW: '127.0.0.1/32' } });
    tenant = await addTenant(service);
    calls = webhookCalls(service, tenant);
  });
  after(() => service.close());

  rules('formats', () => {
    async function bodyFor(format: string, more: object = {}): Promise<Answer['body']> {
      const receiver = await Receiver.start();
      const made = await calls.create(receiver.url, { events: ['anomaly.detected'], format, ...more });
      await calls.happen({ ...ANOMALY, severity: 'critical' });
      await calls.untilReceived(receiver, 1);
      await calls.remove(made);
      return JSON.parse(receiver.requests[0]?.body ?? '{}');
    }

    test('slack: text and a block, in which nothing is markup', async () => {
      const text = 'Reads of &lt;shop&gt; &amp; others rose.';
      assert.deepEqual(await bodyFor('slack'), {
        text,
        blocks: [{ type: 'section', text: { type: 'mrkdwn', text: `*anomaly.detected*\n${text}` } }],
      });
    });

    test('teams: an adaptive card', async () => {
      const { type, attachments } = await bodyFor('teams');
      assert.equal(type, 'message');
      const [{ contentType, content }] = attachments;
      assert.equal(contentType, 'application/vnd.microsoft.card.adaptive');
      assert.deepEqual([content.type, content.body[1].text], ['AdaptiveCard', ANOMALY.summary]);
      assert.deepEqual(content.body[2].facts.at(-1), { title: 'Severity', value: 'critical' });
    });

    test('the url of a chat or pager is shown by its origin and end, and whole to users who may change it', async () => {
      const url = 'https://hooks.example.com/services/T0/B0/abcdefghwxyz';
      const shown = 'https://hooks.example.com/…wxyz';
      const made = await calls.create(url, { format: 'slack', enabled: false });
      const one = () => service.call('GET', calls.urlOf(made), calls.as(tenant));
      assert.deepEqual([made.url, (await ok(one())).url], [shown, shown]);
      const { webhooks } = await ok(service.call('GET', WEBHOOKS, calls.as(tenant)));
      assert.doesNotMatch(JSON.stringify(webhooks), /abcdefgh/);
      const auditor = await addColleague(service, tenant.id, 'auditor');
      const whole = (token: string) => service.call('GET', calls.urlOf(made, '/url'), { token });
      await refused(whole(auditor.token), 403, 'INSUFFICIENT_PRIVILEGE');
      assert.deepEqual(await ok(whole(tenant.owner.token)), { url });
      const entries = await auditOf(service, 'action=webhooks:*', tenant.owner.token);
      assert.ok(JSON.stringify(entries).includes('webhooks:read_url'));
      assert.doesNotMatch(JSON.stringify([entries, service.logs]), /abcdefgh/);
      const patch = (body: object) => service.call('PATCH', calls.urlOf(made), { ...calls.as(tenant), body });
      await invalid(patch({ url: shown }), '/body/url');
      await ok(patch({ min_severity: 'high' }));
      assert.deepEqual(await ok(whole(tenant.owner.token)), { url });
      await calls.remove(made);
    });

    test('pagerduty: an event with the routing key, which is shown to nobody', async () => {
      const routing_key = 'routingKeyMarker0123456789';
      const body = await bodyFor('pagerduty', { routing_key });
      assert.deepEqual(
        [body.routing_key, body.event_action, body.dedup_key, body.payload.severity, body.payload.summary],
        [routing_key, 'trigger', 'a1', 'critical', ANOMALY.summary],
      );
      assert.equal(body.payload.source, `coffer/${tenant.id}`);
      const made = await calls.create('https://x.example/', { format: 'pagerduty', routing_key, enabled: false });
      const shown = [
        made,
        await ok(service.call('GET', calls.urlOf(made), calls.as(tenant))),
        await auditOf(service, 'action=webhooks:*', tenant.owner.token),
        service.logs,
      ];
      assert.doesNotMatch(JSON.stringify(shown), new RegExp(routing_key));
      const elsewhere = { ...calls.as(tenant), body: { url: 'https://y.example/' } };
      await invalid(service.call('PATCH', calls.urlOf(made), elsewhere), '/body/routing_key');
      await calls.remove(made);
    });

    test('a routing key without its format, and the format without one, are refused', async () => {
      const body = { url: 'https://x.example/', events: ['endpoint.drift'] };
      for (const more of [{ routing_key: 'abc' }, { format: 'pagerduty' }]) {
        const call = service.call('POST', WEBHOOKS, { ...calls.as(tenant), body: { ...body, ...more } });
        await invalid(call, '/body/routing_key');
      }
    });
  });

  describe('refused', () => {
    rule('a literal address that is no public host', async () => {
      const urls = [
        'https://169.254.169.254/latest',
        'https://10.0.0.1/',
        'https://[::ffff:a00:1]/',
        'http://192.0.2.1/',
      ];
      const { token } = tenant.owner;
      for (const url of urls) {
        await invalid(
          service.call('POST', '/webhooks', { token, body: { url, events: ['endpoint.drift'] } }),
          '/body/url',
        );
      }
    });

    rule('a url that is none, or holds a password', async () => {
      for (const url of [
        'ftp://x.example/',
        'https://u:p@x.example/',
        'https://x.example/#f',
        'https://0x7f.1/',
        'x',
      ]) {
        const call = service.call('POST', WEBHOOKS, { ...calls.as(tenant), body: { url, events: ['endpoint.drift'] } });
        await invalid(call, '/body/url');
      }
    });

    test('more than the plan allows', async () => {
      const other = await addTenant(service, { plan: 'starter' });
      const more = { enabled: false, events: ['anomaly.detected'] };
      const first = await calls.create('https://x.example/', more, other);
      for (let i = 1; i < 5; i++) await calls.create('https://x.example/', more, other);
      const body = { url: 'https://x.example/', events: ['anomaly.detected'] };
      await refused(service.call('POST', WEBHOOKS, { ...calls.as(other), body }), 403, 'QUOTA_EXCEEDED');
      const events = ['anomaly.detected', 'endpoint.drift'];
      const paid = { ...calls.as(other), body: { ...body, events } };
      await refused(service.call('POST', WEBHOOKS, paid), 403, 'TIER_REQUIRED');
      const change = { ...calls.as(other), body: { events } };
      await refused(service.call('PATCH', `${WEBHOOKS}/${first.id}`, change), 403, 'TIER_REQUIRED');
    });

    test('what the plan no longer includes can be turned off, and not be changed', async () => {
      const other = await addTenant(service, { plan: 'professional' });
      const made = await calls.create('https://x.example/', { events: ['endpoint.drift'] }, other);
      await ok(service.call('PATCH', `/v1/tenants/${other.id}`, { body: { plan: 'starter' } }));
      const patch = (body: object) => service.call('PATCH', `${WEBHOOKS}/${made.id}`, { ...calls.as(other), body });
      await refused(patch({ url: 'https://y.example/' }), 403, 'TIER_REQUIRED');
      assert.equal((await ok(patch({ enabled: false }))).enabled, false);
      await refused(patch({ enabled: true }), 403, 'TIER_REQUIRED');
      assert.equal((await ok(patch({ events: ['anomaly.detected'], enabled: true }))).enabled, true);
    });

    test('five at once, of which one more is allowed', async () => {
      const other = await addTenant(service, { plan: 'starter' });
      const body = { url: 'https://x.example/', events: ['anomaly.detected'], enabled: false };
      const create = () => service.call('POST', WEBHOOKS, { ...calls.as(other), body });
      for (let i = 0; i < 4; i++) await ok(create(), 201);
      const answers = await Promise.all(Array.from({ length: 5 }, create));
      assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 403, 403, 403, 403]);
    });

    test('another tenant, for which it does not exist, and who has no permission', async () => {
      const made = await calls.create('https://x.example/', { enabled: false });
      const other = await addTenant(service);
      const { token } = await addColleague(service, tenant.id, 'member');
      for (const [method, verb] of [
        ['GET', ''],
        ['PATCH', ''],
        ['DELETE', ''],
        ['POST', '/test'],
        ['POST', '/rotate-secret'],
        ['GET', '/deliveries'],
        ['GET', '/url'],
      ] as const) {
        const options = method === 'PATCH' ? { body: { enabled: true } } : {};
        const call = (by: string) => service.call(method, calls.urlOf(made, verb), { token: by, ...options });
        await refused(call(other.owner.token), 404, 'NOT_FOUND');
        await refused(call(token), 403, 'INSUFFICIENT_PRIVILEGE');
      }
      await calls.remove(made);
    });
  });
});
