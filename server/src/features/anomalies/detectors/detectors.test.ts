import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  addPast,
  anomaliesOf,
  countedSince,
  eachHour,
  scanned,
  toBeginningOfHour,
} from '../../../../../test/support/anomalies.ts';
import { addConnection, callAs } from '../../../../../test/support/machines.ts';
import { addColleague, addTenant, ok, refused, type Tenant } from '../../../../../test/support/people.ts';
import { recorded } from '../../../../../test/support/rows.ts';
import { type Answer, onBothDatabases, type Service, startService } from '../../../../../test/support/service.ts';
import { addSecret, addVault, runJobs, secretUrl } from '../../../../../test/support/vaults.ts';
import { DAY_MS, HOUR_MS } from '../../../kernel/base/clock.ts';
import { connectionResource } from '../../rollups/index.ts';
import { SECRETS } from '../../secrets/storage/index.ts';
import type { AnomalyType } from '../schemas.ts';

/** What tests of detectors do again and again. Each test has a tenant of its own, because a scan finds everything in one. */
function detecting(service: () => Service) {
  const found = async (tenant: Tenant, type: AnomalyType): Promise<Answer['body'][]> => {
    await scanned(service(), tenant.owner.token);
    return anomaliesOf(service(), tenant.owner.token, `type=${type}`);
  };
  const setThresholds = (tenant: Tenant, anomaly_thresholds: object) =>
    ok(service().call('PATCH', '/v1/tenant/settings', { token: tenant.owner.token, body: { anomaly_thresholds } }));
  return { found, setThresholds };
}

onBothDatabases('detectors of what nobody renewed', (database, { rule }) => {
  let service: Service;
  const { found, setThresholds } = detecting(() => service);
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  describe('stale_rotation', () => {
    test('a secret is stale after 90 days, after its own interval, or after what the tenant allows', async () => {
      const tenant = await addTenant(service);
      const { token } = tenant.owner;
      const vault = await addVault(service, {}, token);
      await addSecret(service, vault, 'plain', { type: 'api_key' }, token);
      await addSecret(service, vault, 'rotated', { type: 'api_key', rotation: { interval_days: 400 } }, token);
      await addSecret(service, vault, 'deleted', {}, token);
      await ok(service.call('DELETE', secretUrl(vault, 'deleted'), { token }));
      service.clock.advance(89 * DAY_MS);
      assert.deepEqual(await found(tenant, 'stale_rotation'), []);
      service.clock.advance(2 * DAY_MS);
      const [stale, ...others] = await found(tenant, 'stale_rotation');
      assert.deepEqual([stale.resource, stale.severity, others], [`vault/${vault}/plain`, 'low', []]);
      assert.deepEqual(stale.baseline, { rotation_days_allowed: 90 });
      assert.equal(stale.observed.days_since_rotation, 91);
      assert.match(stale.recommendation, new RegExp(`POST /v1/vaults/${vault}/secrets/plain/rotate`));

      await setThresholds(tenant, { stale_rotation: 10 });
      const all = await found(tenant, 'stale_rotation');
      assert.deepEqual(all.map((one) => [one.resource, one.severity]).sort(), [
        [`vault/${vault}/plain`, 'critical'],
        [`vault/${vault}/rotated`, 'critical'],
      ]);
      await ok(service.call('POST', secretUrl(vault, 'plain', 'rotate'), { token }));
      const before = (await anomaliesOf(service, token, 'type=stale_rotation')).find((one) => one.id === stale.id);
      await scanned(service, token);
      const unchanged = (await anomaliesOf(service, token, 'type=stale_rotation')).find((one) => one.id === stale.id);
      assert.equal(unchanged.occurrences, before.occurrences, 'it is not stale any more');
    });

    test('a damaged schedule hides no other secret', async () => {
      const tenant = await addTenant(service);
      const { token } = tenant.owner;
      const vault = await addVault(service, {}, token);
      const { id: secret_id } = await addSecret(service, vault, 'damaged', {}, token);
      await recorded(service.app.kernel, tenant.id, (tx) =>
        SECRETS.updateWhere(tx, (eb) => eb.and({ tenant_id: tenant.id, secret_id }), { rotation: '{"interval_days":' }),
      );
      await addSecret(service, vault, 'sound', {}, token);
      service.clock.advance(91 * DAY_MS);
      service.expectErrorLogs(/the rotation schedule of a secret cannot be read/);
      const all = await found(tenant, 'stale_rotation');
      assert.deepEqual(all.map(({ resource }) => resource).sort(), [`vault/${vault}/damaged`, `vault/${vault}/sound`]);
    });

    rule('of a production fortress secret it is critical', async () => {
      const tenant = await addTenant(service);
      const { token } = tenant.owner;
      const vault = await addVault(service, { environment: 'production' }, token);
      const { id: secret_id } = await addSecret(service, vault, 'strong', { environment: 'production' }, token);
      // To make one takes a second factor; a scan looks at the row alone.
      await recorded(service.app.kernel, tenant.id, (tx) =>
        SECRETS.updateWhere(tx, (eb) => eb.and({ tenant_id: tenant.id, secret_id }), { protection: 'fortress' }),
      );
      await addSecret(service, vault, 'plain', { environment: 'production' }, token);
      service.clock.advance(91 * DAY_MS);
      const all = await found(tenant, 'stale_rotation');
      assert.deepEqual(
        new Map(all.map((one) => [one.resource, one.severity])),
        new Map([
          [`vault/${vault}/plain`, 'low'],
          [`vault/${vault}/strong`, 'critical'],
        ]),
      );
    });
  });

  test('privilege_creep: members were added, and nobody reviewed them for 90 days', async () => {
    const tenant = await addTenant(service);
    const { token } = tenant.owner;
    const [grown, same] = [await addVault(service, {}, token), await addVault(service, {}, token)];
    const add = async (vault: string) => {
      const { id: user } = await addColleague(service, tenant.id, 'member');
      await ok(service.call('POST', `/v1/vaults/${vault}/members`, { token, body: { user, role: 'reader' } }), 201);
    };
    for (const vault of [grown, same]) await add(vault);
    for (const vault of [grown, same]) await ok(service.call('POST', `/v1/vaults/${vault}/members/review`, { token }));
    service.clock.advance(80 * DAY_MS);
    await add(grown);
    assert.deepEqual(await found(tenant, 'privilege_creep'), []);
    service.clock.advance(11 * DAY_MS);
    const [creep, ...others] = await found(tenant, 'privilege_creep');
    assert.deepEqual([creep.resource, others], [`vault/${grown}`, []]);
    assert.deepEqual(creep.baseline, { review_days_allowed: 90, members_at_review: 2 });
    assert.deepEqual([creep.observed.members, creep.observed.days_since_review], [3, 91]);
    await ok(service.call('POST', `/anomalies/${creep.id}/acknowledge`, { token }));
    await ok(service.call('POST', `/v1/vaults/${grown}/members/review`, { token }));
    assert.deepEqual(await found(tenant, 'privilege_creep'), []);
  });
});

onBothDatabases('detectors of what is counted', (database, { rule }) => {
  let service: Service;
  const { found, setThresholds } = detecting(() => service);
  before(async () => {
    service = await startService(database);
    toBeginningOfHour(service);
  });
  after(() => service.close());

  describe('unusual_access_pattern', () => {
    /** A secret that is read 5 times an hour for 30 days, and then much more often. */
    async function readOften(tenant: Tenant, days: number) {
      const { token } = tenant.owner;
      const vault = await addVault(service, {}, token);
      await addSecret(service, vault, 'key', {}, token);
      // The secret must be older than its history.
      service.clock.advance(31 * DAY_MS);
      const resource = `vault/${vault}/key`;
      await countedSince(service, tenant.id, days);
      await addPast(service, tenant.id, eachHour(24 * days - 1, 24, { resource, reads: 5 }));
      await addPast(service, tenant.id, [{ resource, hoursAgo: 2, reads: 200 }]);
      return { vault, resource };
    }

    test('a spike is found, with its baseline, once; a repeat counts it', async () => {
      const tenant = await addTenant(service);
      const { token } = tenant.owner;
      const { resource } = await readOften(tenant, 31);
      const [spike, ...others] = await found(tenant, 'unusual_access_pattern');
      assert.deepEqual([spike.resource, spike.severity, others], [resource, 'critical', []]);
      assert.deepEqual(spike.baseline, { reads_per_hour_p95: 5 });
      assert.deepEqual([spike.observed.reads_per_hour_last, spike.observed.reads_last_24h], [200, 200]);
      const [again] = await found(tenant, 'unusual_access_pattern');
      assert.deepEqual([again.id, again.occurrences], [spike.id, 2]);
      const url = `/anomalies/baselines?resource=${resource}`;
      const { baselines, hours } = await ok(service.call('GET', url, { token }));
      const [reads, , actors] = baselines;
      assert.deepEqual([reads.p95, reads.mean, actors.p95], [5, 5, 1]);
      assert.deepEqual([hours.reads.length, hours.usual.length, hours.judged], [31 * 24, 168, true]);
      assert.deepEqual(new Set(hours.usual), new Set([5]));
      const last = hours.reads.length - 3;
      assert.deepEqual([hours.reads[last], hours.reads[last] > hours.limit[last % 168]], [200, true]);
      assert.ok(hours.reads.every((count: number, i: number) => i === last || count <= hours.limit[i % 168]));
      assert.equal(hours.unusual.length, 1);
      await ok(service.call('POST', `/anomalies/${spike.id}/dismiss`, { token, body: { reason: 'a migration' } }));
      assert.deepEqual(await found(tenant, 'unusual_access_pattern'), [], 'the same is not raised again');
    });

    test('hours that an open anomaly is about are not part of the baseline, until it is dismissed', async () => {
      const tenant = await addTenant(service);
      const { token } = tenant.owner;
      const { resource } = await readOften(tenant, 31);
      const [spike] = await found(tenant, 'unusual_access_pattern');
      service.clock.advance(2 * DAY_MS);
      const readsPerHour = async () => {
        const url = `/anomalies/baselines?resource=${resource}`;
        return (await ok(service.call('GET', url, { token }))).baselines[0];
      };
      const { samples, mean } = await readsPerHour();
      assert.deepEqual([samples, Math.round(mean * samples)], [29 * 24, (29 * 24 - 24) * 5]);
      await ok(service.call('POST', `/anomalies/${spike.id}/dismiss`, { token, body: { reason: 'a migration' } }));
      const whole = await readsPerHour();
      assert.deepEqual([whole.samples, Math.round(whole.mean * whole.samples)], [30 * 24, (30 * 24 - 48) * 5 + 200]);
    });

    rule('with fewer than 7 days of history nothing is raised', async () => {
      const tenant = await addTenant(service);
      await readOften(tenant, 7);
      assert.deepEqual(await found(tenant, 'unusual_access_pattern'), []);
    });

    rule('nor for a secret that is new, or deleted', async () => {
      const tenant = await addTenant(service);
      const { token } = tenant.owner;
      const { vault, resource } = await readOften(tenant, 31);
      await addSecret(service, vault, 'new', {}, token);
      await addPast(service, tenant.id, [{ resource: `vault/${vault}/new`, hoursAgo: 1, reads: 5000 }]);
      await addPast(service, tenant.id, [{ resource: `vault/${vault}/never-was`, hoursAgo: 1, reads: 5000 }]);
      const all = await found(tenant, 'unusual_access_pattern');
      assert.deepEqual(
        all.map((one) => one.resource),
        [resource],
      );
    });

    test('real reads through the log are counted and found', async () => {
      const tenant = await addTenant(service);
      const { token } = tenant.owner;
      const vault = await addVault(service, {}, token);
      await addSecret(service, vault, 'real', {}, token);
      service.clock.advance(8 * DAY_MS);
      for (let i = 0; i < 45; i++) await ok(service.call('GET', secretUrl(vault, 'real'), { token }));
      const [spike] = await found(tenant, 'unusual_access_pattern');
      assert.deepEqual([spike?.resource, spike?.severity], [`vault/${vault}/real`, 'medium']);
      assert.equal(spike.observed.reads_last_24h, 45);
    });

    rule('the tenant’s own threshold applies', async () => {
      const tenant = await addTenant(service);
      await readOften(tenant, 31);
      await setThresholds(tenant, { unusual_access_pattern: 33 });
      assert.deepEqual(await found(tenant, 'unusual_access_pattern'), []);
      await setThresholds(tenant, { unusual_access_pattern: 30 });
      assert.equal((await found(tenant, 'unusual_access_pattern')).length, 1);
    });
  });

  describe('connections', () => {
    async function oldConnection(tenant: Tenant) {
      const { token } = tenant.owner;
      const vault = await addVault(service, {}, token);
      const machine = await addConnection(service, vault, {}, token);
      service.clock.advance(31 * DAY_MS);
      await countedSince(service, tenant.id, 31);
      return { machine, uses: { resource: connectionResource(machine.client_id), actor_kind: 'app_connection' } };
    }

    rule('ip_region_anomaly: a use from a country not seen in 30 days', async () => {
      const tenant = await addTenant(service);
      const { machine, uses } = await oldConnection(tenant);
      await addPast(service, tenant.id, eachHour(600, 0, { ...uses, country: 'DE', reads: 1 }));
      await addPast(service, tenant.id, [{ ...uses, hoursAgo: 3, country: '', reads: 9 }]);
      assert.deepEqual(await found(tenant, 'ip_region_anomaly'), []);
      await addPast(service, tenant.id, [{ ...uses, hoursAgo: 0, country: 'BR', reads: 1 }]);
      const [moved, ...others] = await found(tenant, 'ip_region_anomaly');
      assert.deepEqual([moved.resource, moved.severity, others], [`app-connection/${machine.id}`, 'low', []]);
      assert.deepEqual([moved.baseline.countries, moved.observed.countries], [['DE'], ['BR']]);
      assert.match(moved.recommendation, new RegExp(`BR.*POST /v1/app-connections/${machine.id}/rotate`));
      const dismissal = { token: tenant.owner.token, body: { reason: 'a new office' } };
      await ok(service.call('POST', `/anomalies/${moved.id}/dismiss`, dismissal));
      assert.deepEqual(await found(tenant, 'ip_region_anomaly'), []);
      await addPast(service, tenant.id, [{ ...uses, hoursAgo: 0, country: 'CN', reads: 1 }]);
      assert.equal(
        (await found(tenant, 'ip_region_anomaly')).length,
        1,
        'a false alarm about one country hides no other',
      );
    });

    test('zombie_app_connection: active, and not used for more than 60 days', async () => {
      const tenant = await addTenant(service);
      const { token } = tenant.owner;
      const vault = await addVault(service, {}, token);
      await addSecret(service, vault, 'key', {}, token);
      const [idle, used, disabled] = [
        await addConnection(service, vault, {}, token),
        await addConnection(service, vault, {}, token),
        await addConnection(service, vault, {}, token),
      ];
      await ok(service.call('PATCH', `/v1/app-connections/${disabled.id}`, { token, body: { status: 'disabled' } }));
      assert.deepEqual(await found(tenant, 'zombie_app_connection'), []);
      service.clock.advance(50 * DAY_MS);
      await ok(callAs(service, used, 'GET', `/app-connections/fetch/${used.client_id}/${vault}/key`));
      // The counts of this use are deleted before the connection could be unused for long enough, so a scan must store it.
      assert.deepEqual(await found(tenant, 'zombie_app_connection'), []);
      service.clock.advance(11 * DAY_MS);
      const [unused, ...others] = await found(tenant, 'zombie_app_connection');
      assert.deepEqual([unused.resource, others], [`app-connection/${idle.id}`, []]);
      assert.deepEqual([unused.baseline.unused_days_allowed, unused.observed.unused_days], [60, 61]);
      service.clock.advance(45 * DAY_MS);
      assert.equal((await found(tenant, 'zombie_app_connection')).length, 1);
      service.clock.advance(5 * DAY_MS);
      // The anomaly of the idle connection is open for more than 30 days, so a job resolves it. The next scan opens it again, unless the job runs later.
      await runJobs(service);
      const both = await found(tenant, 'zombie_app_connection');
      assert.deepEqual(
        both.map((one) => one.resource).sort(),
        [`app-connection/${idle.id}`, `app-connection/${used.id}`].sort(),
      );
    });
  });

  test('risk_score_spike: the score changed by more than 30 points within a day', async () => {
    const tenant = await addTenant(service);
    const { token } = tenant.owner;
    const vault = await addVault(service, {}, token);
    const now = service.clock.now();
    const scores = { much: [10, 72], less: [10, 40], down: [90, 50] } as const;
    for (const [path, [score_before, score_after]] of Object.entries(scores)) {
      const { id: secret_id } = await addSecret(service, vault, path, {}, token);
      const hour_start = Math.floor(now / HOUR_MS) * HOUR_MS;
      const row = { tenant_id: tenant.id, secret_id, hour_start, score_before, score_after, changed_at: now };
      await service.app.kernel.database.transaction((tx) => tx.insertInto('secret_risk_changes').values(row).execute());
    }
    const all = await found(tenant, 'risk_score_spike');
    assert.deepEqual(
      all.map((one) => [one.resource, one.severity, one.baseline.risk_score, one.observed.risk_score]).sort(),
      [
        [`vault/${vault}/down`, 'low', 90, 50],
        [`vault/${vault}/much`, 'medium', 10, 72],
      ],
    );
    await setThresholds(tenant, { risk_score_spike: 29.5 });
    assert.equal((await found(tenant, 'risk_score_spike')).length, 3);
  });

  rule('thresholds are checked', async () => {
    const tenant = await addTenant(service);
    const { token } = tenant.owner;
    const url = '/v1/tenant/settings';
    for (const anomaly_thresholds of [
      { other: 1 },
      { stale_rotation: 0 },
      { stale_rotation: -1 },
      { stale_rotation: 1e9 },
    ]) {
      await refused(service.call('PATCH', url, { token, body: { anomaly_thresholds } }), 422, 'VALIDATION_FAILED');
    }
    const { anomaly_thresholds } = await setThresholds(tenant, { stale_rotation: 30, risk_score_spike: 12.5 });
    assert.deepEqual(anomaly_thresholds, { stale_rotation: 30, risk_score_spike: 12.5 });
    assert.deepEqual((await ok(service.call('GET', url, { token }))).anomaly_thresholds, anomaly_thresholds);
    await setThresholds(tenant, {});
    assert.deepEqual((await ok(service.call('GET', url, { token }))).anomaly_thresholds, {});
    const auditor = await addColleague(service, tenant.id, 'auditor');
    const body = { anomaly_thresholds: {} };
    await refused(service.call('PATCH', url, { token: auditor.token, body }), 403, 'INSUFFICIENT_PRIVILEGE');
  });
});
