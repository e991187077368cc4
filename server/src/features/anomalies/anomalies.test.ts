import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { anomaliesOf, finding, raiseIn } from '../../../../test/support/anomalies.ts';
import { addTenant, ok, refused, type Tenant } from '../../../../test/support/people.ts';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { addSecret, addVault, auditOf, runPurges } from '../../../../test/support/vaults.ts';
import { DAY_MS } from '../../kernel/base/clock.ts';
import type { Finding } from './detectors/detector.ts';
import { OPEN_MAX } from './scan.ts';
import type { AnomalyType } from './schemas.ts';

const ANOMALIES = '/anomalies';

onBothDatabases('anomalies', (database, { rule }) => {
  let service: Service;
  let tenant: Tenant;
  let token: string;
  let vault: string;
  let secrets = 0;
  before(async () => {
    service = await startService(database);
    tenant = await addTenant(service);
    token = tenant.owner.token;
    vault = await addVault(service, {}, token);
  });
  after(() => service.close());

  /** A secret of its own for each anomaly. */
  async function aboutSecret(more: Partial<Finding> = {}, inVault = vault, by = token): Promise<Finding> {
    const path = `secret-${++secrets}`;
    const { id: secretId } = await addSecret(service, inVault, path, {}, by);
    const { id: vaultId } = await ok(service.call('GET', `/v1/vaults/${inVault}`, { token: by }));
    return finding({ resource: `vault/${inVault}/${path}`, secretId, vaultId, ...more });
  }

  async function raised(found: Finding, type: AnomalyType = 'stale_rotation', scanNo = 1): Promise<string> {
    const { anomalyId } = await raiseIn(service, tenant.id, type, found, { scanNo });
    assert.ok(anomalyId !== null);
    return anomalyId;
  }

  const readOne = (id: string) => ok(service.call('GET', `${ANOMALIES}/${id}`, { token }));
  const act = (id: string, verb: string, body: object = {}, by = token) =>
    service.call('POST', `${ANOMALIES}/${id}/${verb}`, { token: by, body });
  const idsOf = async (query = '', by = token) => (await anomaliesOf(service, by, query)).map(({ id }) => id);

  rule('is shown with its baseline, what was observed, and what to do', async () => {
    const found = await aboutSecret({
      baseline: { rotation_days_allowed: 90 },
      observed: { days_since_rotation: 400 },
    });
    const id = await raised({ ...found, ratio: 4.4 });
    const shown = await readOne(id);
    assert.deepEqual(
      [shown.id, shown.type, shown.severity, shown.resource, shown.status, shown.occurrences],
      [id, 'stale_rotation', 'high', found.resource, 'open', 1],
    );
    assert.deepEqual([shown.baseline, shown.observed], [found.baseline, found.observed]);
    const [, name, path] = found.resource.split('/');
    assert.match(shown.recommendation, new RegExp(`POST /v1/vaults/${name}/secrets/${path}/rotate`));
    assert.deepEqual(
      (await anomaliesOf(service, token)).find((one) => one.id === id),
      shown,
    );
  });

  describe('a list', () => {
    test('shows open ones, newest first, in pages, and counts all of them', async () => {
      const ids = [
        await raised(await aboutSecret()),
        await raised(await aboutSecret()),
        await raised(await aboutSecret()),
      ];
      const all = await idsOf();
      assert.deepEqual(all.slice(0, 3), [...ids].reverse());
      const first = await ok(service.call('GET', `${ANOMALIES}?limit=2`, { token }));
      assert.deepEqual([first.anomalies.length, first.total], [2, all.length]);
      const second = await ok(service.call('GET', `${ANOMALIES}?limit=2&cursor=${first.next_cursor}`, { token }));
      assert.equal(second.total, all.length);
      assert.equal(second.anomalies[0].id, all[2]);
      await refused(
        service.call('GET', `${ANOMALIES}?limit=2&cursor=${first.next_cursor}&severity=low`, { token }),
        422,
        'VALIDATION_FAILED',
      );
    });

    test('is filtered by type, severity, time and status', async () => {
      const creep = await raised(finding({ resource: `vault/${vault}`, ratio: 9 }), 'privilege_creep');
      assert.deepEqual(await idsOf('type=privilege_creep'), [creep]);
      assert.deepEqual(await idsOf('severity=critical'), [creep]);
      assert.deepEqual(await idsOf('type=privilege_creep&severity=low'), []);
      service.clock.advance(1000);
      const since = new Date(service.clock.now()).toISOString();
      const later = await raised(await aboutSecret());
      assert.deepEqual(await idsOf(`since=${since}`), [later]);
      await ok(act(creep, 'acknowledge'));
      assert.ok(!(await idsOf()).includes(creep));
      assert.deepEqual(await idsOf('status=acknowledged'), [creep]);
      assert.ok((await idsOf('status=all')).includes(creep));
    });

    rule('refuses what it does not know', async () => {
      for (const query of [
        'type=other',
        'severity=huge',
        'status=closed',
        'since=yesterday',
        'limit=0',
        'limit=1001',
      ]) {
        await refused(service.call('GET', `${ANOMALIES}?${query}`, { token }), 422, 'VALIDATION_FAILED');
      }
    });
  });

  describe('states', () => {
    rule('an open one is acknowledged once, with a note', async () => {
      const id = await raised(await aboutSecret());
      const done = await ok(act(id, 'acknowledge', { note: 'we look into it' }));
      assert.deepEqual([done.status, done.note, done.acted_by], ['acknowledged', 'we look into it', tenant.owner.id]);
      assert.equal(done.ended_at, null);
      await refused(act(id, 'acknowledge'), 409, 'IN_USE');
      const [entry] = await auditOf(service, 'action=anomalies:acknowledge&decision=allow', token);
      assert.deepEqual([entry.resource, entry.details.type], [`anomaly/${id}`, 'stale_rotation']);
    });

    rule('it is dismissed with a reason, and then cannot be acted on', async () => {
      const id = await raised(await aboutSecret());
      await refused(act(id, 'dismiss'), 422, 'VALIDATION_FAILED');
      await refused(act(id, 'dismiss', { reason: '' }), 422, 'VALIDATION_FAILED');
      await refused(act(id, 'dismiss', { reason: 'x'.repeat(1001) }), 422, 'VALIDATION_FAILED');
      const done = await ok(act(id, 'dismiss', { reason: 'a static key' }));
      assert.deepEqual([done.status, done.note], ['dismissed', 'a static key']);
      assert.ok(done.ended_at !== null);
      await refused(act(id, 'dismiss', { reason: 'again' }), 409, 'IN_USE');
      await refused(act(id, 'acknowledge'), 409, 'IN_USE');
    });

    test('of two who act at the same time, one is refused', async () => {
      const id = await raised(await aboutSecret());
      const answers = await Promise.all([act(id, 'acknowledge'), act(id, 'acknowledge')]);
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409]);
    });

    test('one that nobody acts on for more than 30 days is resolved', async () => {
      const seenAgain = await aboutSecret();
      const open = await raised(await aboutSecret());
      const acknowledged = await raised(await aboutSecret());
      const recurring = await raised(seenAgain, 'stale_rotation', 1);
      for (const id of [acknowledged, recurring]) await ok(act(id, 'acknowledge'));
      service.clock.advance(29 * DAY_MS);
      await runPurges(service);
      assert.equal((await readOne(open)).status, 'open');
      await raised(seenAgain, 'stale_rotation', 2);
      service.clock.advance(2 * DAY_MS);
      await runPurges(service);
      const after = await readOne(open);
      assert.equal(after.status, 'resolved');
      assert.ok(after.ended_at !== null && after.acted_by === null);
      assert.equal((await readOne(acknowledged)).status, 'resolved', 'no scan found it again');
      assert.equal((await readOne(recurring)).status, 'acknowledged');
      await refused(act(open, 'acknowledge'), 409, 'IN_USE');
    });
  });

  describe('the same finding again', () => {
    test('counts once for each scan, and keeps the highest severity', async () => {
      const found = await aboutSecret();
      const id = await raised({ ...found, ratio: 2.5 }, 'stale_rotation', 1);
      assert.equal(
        await raised({ ...found, ratio: 2.5 }, 'stale_rotation', 1),
        id,
        'a scan that is repeated after a crash',
      );
      assert.deepEqual([(await readOne(id)).occurrences, (await readOne(id)).severity], [1, 'medium']);
      await raised({ ...found, ratio: 5, observed: { days_since_rotation: 450 } }, 'stale_rotation', 2);
      await raised({ ...found, ratio: 1.1 }, 'stale_rotation', 3);
      const shown = await readOne(id);
      assert.deepEqual([shown.occurrences, shown.severity], [3, 'high']);
      assert.ok(shown.last_seen_at >= shown.detected_at);
    });

    rule('of another type or resource is another anomaly', async () => {
      const found = await aboutSecret();
      const id = await raised(found);
      assert.notEqual(await raised(found, 'risk_score_spike'), id);
      assert.notEqual(await raised(await aboutSecret()), id);
    });

    test('two nodes that find it at the same time open one', async () => {
      const found = await aboutSecret();
      const all = await Promise.all(Array.from({ length: 8 }, () => raised(found)));
      assert.equal(new Set(all).size, 1);
      assert.equal((await readOne(all[0] ?? '')).occurrences, 1);
    });

    rule('is not raised while it is acknowledged, unless it is more severe', async () => {
      const found = await aboutSecret();
      const id = await raised({ ...found, ratio: 2 }, 'stale_rotation', 1);
      await ok(act(id, 'acknowledge'));
      assert.equal(await raised({ ...found, ratio: 2 }, 'stale_rotation', 2), id);
      const worse = await raised({ ...found, ratio: 8 }, 'stale_rotation', 3);
      assert.notEqual(worse, id);
      assert.deepEqual([(await readOne(worse)).status, (await readOne(id)).occurrences], ['open', 2]);
    });

    rule('is not raised after it was dismissed, unless it differs enough', async () => {
      const found = await aboutSecret({ features: [1] });
      const id = await raised(found);
      await ok(act(id, 'dismiss', { reason: 'expected' }));
      const again = await raiseIn(service, tenant.id, 'stale_rotation', { ...found, features: [1.4] }, { scanNo: 2 });
      assert.equal(again.anomalyId, null);
      const elsewhere = await aboutSecret({ features: [1] });
      assert.notEqual(await raised(elsewhere), id, 'a false alarm hides nothing about another resource');
      const worse = await raised({ ...found, features: [2] }, 'stale_rotation', 3);
      assert.equal((await readOne(worse)).status, 'open');
    });

    rule('a tenant with too many open ones gets no further ones', async () => {
      const found = await aboutSecret();
      assert.equal(OPEN_MAX, 10_000);
      const result = await raiseIn(service, tenant.id, 'stale_rotation', found, { room: 0 });
      assert.deepEqual(result, { opened: null, anomalyId: null });
    });
  });

  test('ended ones are deleted after a year, with what was dismissed', async () => {
    const id = await raised(await aboutSecret());
    await ok(act(id, 'dismiss', { reason: 'expected' }));
    const rowsLeft = async (table: 'anomalies' | 'anomaly_training') => {
      const { read } = service.app.kernel.database;
      return (await read.selectFrom(table).select('anomaly_id').where('anomaly_id', '=', id).execute()).length;
    };
    // After such a jump of the clock other jobs would delete more than their limit.
    service.expectErrorLogs(/would delete more than its limit/);
    service.clock.advance(360 * DAY_MS);
    await runPurges(service);
    assert.deepEqual([await rowsLeft('anomalies'), await rowsLeft('anomaly_training')], [1, 1]);
    service.clock.advance(6 * DAY_MS);
    await runPurges(service);
    assert.deepEqual([await rowsLeft('anomalies'), await rowsLeft('anomaly_training')], [0, 0]);
  });
});
