import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  addPast,
  anomaliesOf,
  countedSince,
  eachHour,
  finding,
  raiseIn,
  scanned,
  toBeginningOfHour,
} from '../../../../test/support/anomalies.ts';
import { addTenant, ok, type Tenant } from '../../../../test/support/people.ts';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { Receiver } from '../../../../test/support/siem-receivers.ts';
import { addSecret, addVault, auditOf, runJobs } from '../../../../test/support/vaults.ts';
import { webhookCalls } from '../../../../test/support/webhooks.ts';
import { DAY_MS, HOUR_MS } from '../../kernel/base/clock.ts';
import { countActedOn } from './store.ts';

onBothDatabases('what anomalies bring about', (database, { rule }) => {
  let service: Service;
  before(async () => {
    service = await startService(database, {
      env: {
        CV_OUTBOUND_ALLOW: '127.0.0.1/32',
        CV_ANOMALY_ML_VERSION: 'shadow',
        ANOMALY_SCHEDULER_INTERVAL_HOURS: '12',
      },
    });
    toBeginningOfHour(service);
  });
  after(() => service.close());

  rule('metrics are there before anything happened', async () => {
    const { text } = await service.call('GET', '/metrics');
    assert.match(text, /^cv_anomalies_detected_total\{type="stale_rotation",severity="critical"\} 0$/m);
    assert.match(text, /^cv_anomaly_scheduler_duration_seconds_count 0$/m);
  });

  /** A tenant with as many stale secrets. */
  async function stale(count: number): Promise<{ tenant: Tenant; vault: string }> {
    const tenant = await addTenant(service);
    const vault = await addVault(service, {}, tenant.owner.token);
    for (let i = 0; i < count; i++) await addSecret(service, vault, `old-${i}`, {}, tenant.owner.token);
    service.clock.advance(91 * DAY_MS);
    return { tenant, vault };
  }
  test('a new anomaly is sent once, and again when it gets more severe', async () => {
    const { tenant, vault } = await stale(1);
    const { token } = tenant.owner;
    const receiver = await Receiver.start();
    const calls = webhookCalls(service, tenant);
    const hook = await calls.create(receiver.url, { events: ['anomaly.detected'], min_severity: 'low' });
    const high = await calls.create(receiver.url, { events: ['anomaly.detected'], min_severity: 'critical' });
    await scanned(service, token);
    await scanned(service, token);
    await calls.untilReceived(receiver, 1);
    assert.equal((await calls.deliveriesOf(hook)).length, 1);
    const { event, anomaly, tenant: of, timestamp } = JSON.parse(receiver.requests[0]?.body ?? '{}');
    assert.deepEqual([event, of, typeof timestamp], ['anomaly.detected', tenant.id, 'string']);
    const [shown] = await anomaliesOf(service, token);
    assert.deepEqual({ ...anomaly, occurrences: 2, last_seen_at: shown.last_seen_at, observed: shown.observed }, shown);
    assert.equal(anomaly.resource, `vault/${vault}/old-0`);
    const body = { anomaly_thresholds: { stale_rotation: 10 } };
    await ok(service.call('PATCH', '/v1/tenant/settings', { token, body }));
    await scanned(service, token);
    assert.equal((await calls.deliveriesOf(hook)).length, 2);
    assert.equal((await calls.deliveriesOf(high)).length, 1);
    const entries = await auditOf(service, 'action=anomalies:detect', token);
    assert.deepEqual(
      entries.map(({ details }) => details.opened),
      [1],
    );
    for (const one of [hook, high]) await calls.remove(one);
  });

  rule('shadow acts on v1, and what v2 would have raised is compared', async () => {
    const tenant = await addTenant(service);
    const { token } = tenant.owner;
    const vault = await addVault(service, {}, token);
    for (const path of ['burst', 'slow']) await addSecret(service, vault, path, {}, token);
    service.clock.advance(31 * DAY_MS);
    // The scan that is due now comes before the reads, and the next one is half a day later.
    await runJobs(service);
    await countedSince(service, tenant.id, 31);
    const [burst, slow] = [`vault/${vault}/burst`, `vault/${vault}/slow`];
    for (const resource of [burst, slow]) await addPast(service, tenant.id, eachHour(740, 24, { resource, reads: 4 }));
    await addPast(service, tenant.id, [{ resource: burst, hoursAgo: 1, reads: 500 }]);
    await addPast(service, tenant.id, eachHour(23, 0, { resource: slow, reads: 12 }));
    await scanned(service, token);
    const found = await anomaliesOf(service, token, 'type=unusual_access_pattern');
    assert.deepEqual(
      found.map(({ resource }) => resource),
      [burst],
    );
    const report = () => ok(service.call('GET', '/anomalies/models', { token }));
    const { active, compared, both, models } = await report();
    assert.deepEqual([active, compared, both], ['shadow', 2, 1]);
    assert.deepEqual(models, [
      { model: 'v1', raised: 1, alone: 0, dismissed: 0 },
      { model: 'v2', raised: 2, alone: 1, dismissed: 0 },
      { model: 'forest', raised: 0, alone: 0, dismissed: 0 },
    ]);
    await ok(service.call('POST', `/anomalies/${found[0].id}/dismiss`, { token, body: { reason: 'a migration' } }));
    assert.equal((await report()).models[0].dismissed, 1);
    const stranger = await addTenant(service);
    assert.equal((await ok(service.call('GET', '/anomalies/models', { token: stranger.owner.token }))).compared, 0);
  });

  rule('metrics count what is open, what was found and what was a false alarm', async () => {
    const { tenant } = await stale(1);
    const { token } = tenant.owner;
    await scanned(service, token);
    const [{ id }] = await anomaliesOf(service, token);
    await ok(service.call('POST', `/anomalies/${id}/dismiss`, { token, body: { reason: 'static' } }));
    const text = (await service.call('GET', '/metrics')).text;
    assert.match(text, /cv_anomalies_detected_total\{type="stale_rotation",severity="low"\} [1-9]/);
    assert.match(text, /cv_anomalies_open \d+/);
    assert.match(text, /cv_anomaly_scheduler_duration_seconds_count [1-9]/);
    const { acted, dismissed } = await countActedOn(
      service.app.kernel.database.read,
      service.clock.now() - 30 * DAY_MS,
    );
    assert.ok(text.includes(`cv_anomaly_false_positive_rate ${dismissed / acted}`));
    assert.ok(!text.includes(tenant.id));
  });

  test('a high anomaly raises the risk of its secret by 10, a critical one by 20, until 7 days after its end', async () => {
    const tenant = await addTenant(service);
    const { token } = tenant.owner;
    const vault = await addVault(service, {}, token);
    const { id: secretId } = await addSecret(service, vault, 'key', {}, token);
    const resource = `vault/${vault}/key`;
    const pointsOf = async () => {
      const { risk_factors } = await ok(service.call('GET', `/v1/vaults/${vault}/secrets/key/risk`, { token }));
      return risk_factors.find(({ factor }: { factor: string }) => factor.includes('anomal'))?.points ?? 0;
    };
    assert.equal(await pointsOf(), 0);
    await raiseIn(service, tenant.id, 'stale_rotation', finding({ resource, secretId, ratio: 2 }));
    assert.equal(await pointsOf(), 0, 'medium');
    await raiseIn(service, tenant.id, 'unusual_access_pattern', finding({ resource, secretId, ratio: 5 }));
    assert.equal(await pointsOf(), 10);
    const { anomalyId } = await raiseIn(
      service,
      tenant.id,
      'risk_score_spike',
      finding({ resource, secretId, ratio: 9 }),
    );
    assert.equal(await pointsOf(), 30);
    await ok(service.call('POST', `/anomalies/${anomalyId}/acknowledge`, { token }));
    assert.equal(await pointsOf(), 30);
    await ok(service.call('POST', `/anomalies/${anomalyId}/dismiss`, { token, body: { reason: 'expected' } }));
    service.clock.advance(7 * DAY_MS - HOUR_MS);
    assert.equal(await pointsOf(), 30);
    service.clock.advance(2 * HOUR_MS);
    assert.equal(await pointsOf(), 10);
  });
});
