import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addTenant, ok, type Tenant } from '../../../../test/support/people.ts';
import { catchUp } from '../../../../test/support/rollups.ts';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { addSecret, addVault, secretUrl } from '../../../../test/support/vaults.ts';
import { DAY_MS, HOUR_MS } from '../../kernel/base/clock.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import type { RiskFactor } from '../secrets/index.ts';
import { storeReads } from './read-store.ts';
import { RiskRun, type RunParts } from './risk-run.ts';
import { findRun, type RiskRunRow, requestRun, updateRun } from './run-store.ts';
import { type RiskSpike, riskSpikes } from './spikes.ts';
import { findRisks, storeRisks, worstRisks } from './store.ts';

const SECRETS = 450;

onBothDatabases('a run over a tenant', (database) => {
  let service: Service;
  let tenant: Tenant;
  let vault: string;
  before(async () => {
    service = await startService(database);
    tenant = await addTenant(service);
    vault = await addVault(service, {}, tenant.owner.token);
    const secrets = Object.fromEntries(Array.from({ length: SECRETS }, (_, i) => [`s/${i}`, `value ${i}`]));
    const body = { secrets };
    await ok(service.call('POST', `/v1/vaults/${vault}/import`, { token: tenant.owner.token, body }));
  });
  after(() => service.close());

  const kernel = () => service.app.kernel;
  const change = <T>(act: (tx: Tx) => Promise<T>) => kernel().database.transaction(act);
  const stored = async () => {
    const query = kernel().database.read.selectFrom('secret_risks').selectAll();
    return query.where('tenant_id', '=', tenant.id).execute();
  };

  /** As the worker takes it. It is not due, so that the worker of the service leaves it alone before and after. */
  async function taken(owner = 'test'): Promise<RiskRunRow> {
    const now = service.clock.now();
    const lease = { lease_owner: owner, lease_until: now + HOUR_MS, next_run_at: now + DAY_MS };
    await change(async (tx) => {
      await requestRun(tx, tenant.id);
      await tx.updateTable('risk_runs').set(lease).where('tenant_id', '=', tenant.id).execute();
    });
    const row = await findRun(kernel().database.read, tenant.id);
    assert.ok(row !== undefined);
    return row;
  }

  const parts = (more: Partial<RunParts> = {}): RunParts => ({
    anomalyPoints: async () => new Map(),
    afterRisks: async () => {},
    ...more,
  });

  test('that is stopped half-way is continued where it was', async () => {
    const stop = new AbortController();
    const seen: string[][] = [];
    const anomalyPoints: RunParts['anomalyPoints'] = async (_db, _tenantId, ids) => {
      seen.push([...ids]);
      return new Map();
    };
    const stopping = parts({
      anomalyPoints: async (...args) => {
        stop.abort();
        return anomalyPoints(...args);
      },
      afterRisks: async () => assert.fail('it goes on although it was stopped'),
    });
    await new RiskRun(kernel(), stopping, await taken(), stop.signal).run();
    const first = await stored();
    assert.equal(first.length, 200);
    const row = await findRun(kernel().database.read, tenant.id);
    assert.deepEqual([row?.lease_owner, row?.lease_until, row?.finished_at], [null, 0, null]);

    let isDone = false;
    const rest = parts({
      anomalyPoints,
      afterRisks: async () => {
        isDone = true;
      },
    });
    const again = await taken('other');
    await new RiskRun(kernel(), rest, again, new AbortController().signal).run();
    assert.ok(isDone);
    assert.deepEqual([(await stored()).length, seen.flat().length], [SECRETS, SECRETS], 'none is computed twice');
    const finished = await findRun(kernel().database.read, tenant.id);
    assert.deepEqual([finished?.position, finished?.requests], ['', again.requests]);
    assert.ok(Number(finished?.next_run_at) > service.clock.now() + DAY_MS - HOUR_MS);
  });

  test('changes nothing once another node has it', async () => {
    const row = await taken();
    assert.ok(await change((tx) => updateRun(tx, row, { lease_owner: 'faster', lease_until: row.lease_until + 1 })));
    assert.ok(!(await change((tx) => updateRun(tx, row, { lease_owner: 'slower' }))), 'it is taken once');
    const before = await stored();
    await new RiskRun(kernel(), parts(), row, new AbortController().signal).run();
    assert.deepEqual(await stored(), before);
    assert.equal((await findRun(kernel().database.read, tenant.id))?.lease_owner, 'faster');
  });

  test('that fails is tried again later, and what it had stored stays', async () => {
    const failing = parts({ afterRisks: () => Promise.reject(new Error('no luck')) });
    await assert.rejects(new RiskRun(kernel(), failing, await taken(), new AbortController().signal).run(), /no luck/);
    const row = await findRun(kernel().database.read, tenant.id);
    assert.equal(row?.lease_owner, null);
    assert.ok(
      Number(row?.next_run_at) > service.clock.now() && Number(row?.next_run_at) < service.clock.now() + HOUR_MS,
    );
    assert.equal((await stored()).length, SECRETS);
  });

  test('that was requested again meanwhile is followed by another one', async () => {
    const requesting = parts({ afterRisks: () => change((tx) => requestRun(tx, tenant.id)) });
    const row = await taken();
    await new RiskRun(kernel(), requesting, row, new AbortController().signal).run();
    // The worker of the service may have begun it already.
    const next = await findRun(kernel().database.read, tenant.id);
    assert.ok(next?.next_run_at === 0 || next?.lease_owner !== null || Number(next.finished_at) > 0);
    assert.equal(next?.requests, row.requests + 1);
  });

  test('adds what open anomalies are worth', async () => {
    const [{ secret_id: one } = { secret_id: '' }] = await stored();
    const points = new Map([[one, { points: 20, why: '1 critical anomaly is open.' }]]);
    const row = await taken();
    await new RiskRun(kernel(), parts({ anomalyPoints: async () => points }), row, new AbortController().signal).run();
    const risks = await stored();
    assert.deepEqual(
      risks.filter(({ score }) => score === 30).map(({ secret_id }) => secret_id),
      [one],
    );
  });

  test('learns from the audit log who read which secret last, and never twice', async () => {
    const { token } = tenant.owner;
    const { id } = await addSecret(service, vault, 'read/one', {}, token);
    await addSecret(service, vault, 'read/none', {}, token);
    await ok(service.call('GET', secretUrl(vault, 'read/one'), { token }));
    await ok(service.call('GET', secretUrl(vault, 'read/one', 'risk'), { token }));
    const reads = async () => {
      await catchUp(kernel(), tenant.id, new AbortController().signal);
      await new RiskRun(kernel(), parts(), await taken(), new AbortController().signal).run();
      const query = kernel().database.read.selectFrom('secret_reads').selectAll();
      return (await query.where('tenant_id', '=', tenant.id).execute()).map((row) => ({ ...row }));
    };
    const hour = Math.floor(service.clock.now() / HOUR_MS) * HOUR_MS;
    const first = await reads();
    const read = { tenant_id: tenant.id, secret_id: id, actor_kind: 'user', actor_id: tenant.owner.id };
    assert.deepEqual(first, [{ ...read, last_read_at: first[0]?.last_read_at }]);
    assert.ok([hour - HOUR_MS, hour].includes(Number(first[0]?.last_read_at)));
    assert.deepEqual(await reads(), first);
    const known = await findRun(kernel().database.read, tenant.id);
    assert.ok(known !== undefined && known.reads_known_since !== null);
    service.clock.advance(2 * HOUR_MS);
    await ok(service.call('GET', secretUrl(vault, 'read/one'), { token }));
    const [later, ...more] = await reads();
    assert.deepEqual([more, later?.last_read_at], [[], Math.floor(service.clock.now() / HOUR_MS) * HOUR_MS]);
    assert.equal((await findRun(kernel().database.read, tenant.id))?.reads_known_since, known.reads_known_since);
  });

  test('counts stale readers once reads are known for 60 days', async () => {
    const [secret] = await stored();
    assert.ok(secret !== undefined);
    const run = async () => {
      const row = await taken();
      await new RiskRun(kernel(), parts(), row, new AbortController().signal).run();
      const risk = (await findRisks(kernel().database.read, tenant.id, [secret.secret_id])).get(secret.secret_id);
      return (JSON.parse(risk?.factors ?? '[]') as RiskFactor[]).find(({ factor }) => factor === 'stale_readers');
    };
    assert.equal(await run(), undefined);
    const known = { reads_known_since: service.clock.now() - 30 * DAY_MS };
    await change((tx) => tx.updateTable('risk_runs').set(known).where('tenant_id', '=', tenant.id).execute());
    service.clock.advance(20 * DAY_MS);
    assert.equal(await run(), undefined, 'reads are known for 50 days');
    for (let days = 0; days < 45; days += 20) {
      service.clock.advance(20 * DAY_MS);
      await run();
    }
    assert.equal((await run())?.why, '1 of those who may read it have not read it for 60 days.');
    const read = { tenant_id: tenant.id, secret_id: secret.secret_id, actor_kind: 'user', actor_id: tenant.owner.id };
    await change((tx) => storeReads(tx, [{ ...read, last_read_at: service.clock.now() - HOUR_MS }]));
    await change((tx) => storeReads(tx, [{ ...read, last_read_at: 1 }]));
    assert.equal(await run(), undefined, 'the last read counts');
  });
});

onBothDatabases('changes of the risk within a day', (database) => {
  let service: Service;
  let tenant: Tenant;
  before(async () => {
    service = await startService(database);
    tenant = await addTenant(service);
  });
  after(() => service.close());

  const FACTOR: RiskFactor = { factor: 'readers', points: 20, why: 'x' };
  const factors = (...points: number[]): RiskFactor[] => points.map((each) => ({ ...FACTOR, points: each }));

  /** A vault with so many secrets, and how to give them scores at a time. */
  async function scored(secrets: number) {
    const vault = await addVault(service, {}, tenant.owner.token);
    const ids: string[] = [];
    for (let i = 0; i < secrets; i++) ids.push((await addSecret(service, vault, `s/${i}`, {}, tenant.owner.token)).id);
    const { database: db } = service.app.kernel;
    const row = await db.read.selectFrom('vaults').select('vault_id').where('name', '=', vault).executeTakeFirst();
    const vaultId = String(row?.vault_id);
    const put = (at: number, ...scores: number[]) =>
      db.transaction((tx) =>
        storeRisks(
          tx,
          tenant.id,
          scores.map((points, i) => ({ secretId: String(ids[i]), vaultId, factors: factors(points) })),
          at,
        ),
      );
    const spikesSince = async (since: number, limit = 2) => {
      const found: RiskSpike[] = [];
      for (let after: string | null = ''; after !== null; ) {
        const page: Awaited<ReturnType<typeof riskSpikes>> = await riskSpikes(db.read, tenant.id, {
          since,
          points: 30,
          limit,
          after,
        });
        found.push(...page.spikes.filter(({ secret_id }) => ids.includes(secret_id)));
        after = page.next;
      }
      return found;
    };
    return { vault, vaultId, ids, put, spikesSince };
  }

  test('of more than so many points are spikes, up and down, in pages', async () => {
    const { vault, vaultId, ids, put, spikesSince } = await scored(5);
    const { database: db } = service.app.kernel;
    const start = Math.floor(service.clock.now() / DAY_MS) * DAY_MS;
    await put(start + HOUR_MS, 10, 50, 10, 10, 10);
    await put(start + DAY_MS + HOUR_MS, 41, 19, 40, 10, 25);
    await put(start + DAY_MS + 2 * HOUR_MS, 41, 19, 40, 10, 45);
    const found = await spikesSince(start + DAY_MS);
    assert.deepEqual(found.map(({ secret_id, before: from, after: to }) => [ids.indexOf(secret_id), from, to]).sort(), [
      [0, 10, 41],
      [1, 50, 19],
      [4, 10, 45],
    ]);
    assert.deepEqual(found.map(({ secret_id, at }) => [ids.indexOf(secret_id), at]).sort(), [
      [0, start + DAY_MS + HOUR_MS],
      [1, start + DAY_MS + HOUR_MS],
      [4, start + DAY_MS + 2 * HOUR_MS],
    ]);
    assert.ok(found.every((spike) => spike.vault_id === vaultId));
    assert.equal(found.find(({ secret_id }) => secret_id === ids[0])?.resource, `vault/${vault}/s/0`);
    assert.deepEqual(await spikesSince(start, 100), found);
    assert.deepEqual(await spikesSince(start + 2 * DAY_MS), []);
    assert.deepEqual((await riskSpikes(db.read, 'tenant_other', { since: 0, points: 0, limit: 9 })).spikes, []);
    await put(start + 9 * DAY_MS, 90);
    assert.deepEqual(
      await spikesSince(start + 8 * DAY_MS),
      [],
      'a run was missed, so that it is not known when it changed',
    );
  });

  test('are added up over midnight, but not over more than 24 hours', async () => {
    const { ids, put, spikesSince } = await scored(4);
    const midnight = Math.floor(service.clock.now() / DAY_MS) * DAY_MS + 20 * DAY_MS;
    await put(midnight - 2 * HOUR_MS, 10, 10, 80, 10);
    await put(midnight - HOUR_MS, 30, 30, 60, 60);
    // The second one changes again only when 24 hours are over; the last one is back where it was.
    await put(midnight + HOUR_MS, 50, 30, 40, 10);
    await put(midnight + 23 * HOUR_MS, 50, 50, 40, 10);
    const found = await spikesSince(midnight - HOUR_MS);
    assert.deepEqual(found.map(({ secret_id, before: from, after: to }) => [ids.indexOf(secret_id), from, to]).sort(), [
      [0, 10, 50],
      [2, 80, 40],
      [3, 10, 60],
    ]);
    const sinceMidnight = await spikesSince(midnight);
    assert.deepEqual(
      sinceMidnight.map(({ secret_id }) => ids.indexOf(secret_id)).sort(),
      [0, 2, 3],
      'what began the day before counts',
    );
  });

  test('shift no page of the riskiest secrets', async () => {
    const { ids, vaultId, put } = await scored(5);
    const now = service.clock.now();
    await put(now, 40, 30, 30, 30, 20);
    const { read } = service.app.kernel.database;
    const first = await worstRisks(read, tenant.id, vaultId, { after: null, limit: 2 });
    const seen = first.map(({ secret_id }) => secret_id);
    // What was shown already falls behind the rest.
    await put(now, 10);
    for (let after = first.at(-1); after !== undefined; ) {
      const page = await worstRisks(read, tenant.id, vaultId, { after, limit: 2 });
      seen.push(...page.map(({ secret_id }) => secret_id));
      after = page.at(-1);
    }
    assert.deepEqual(new Set(seen), new Set(ids));
    assert.deepEqual(seen.slice(1, 4), ids.slice(1, 4).sort());
  });

  test('that depend on the value are none, because users who see spikes need not be allowed to read it', async () => {
    const vault = await addVault(service, {}, tenant.owner.token);
    const { id } = await addSecret(service, vault, 'v', {}, tenant.owner.token);
    const { database: db } = service.app.kernel;
    const now = service.clock.now();
    const put = (at: number, made: RiskFactor[]) =>
      db.transaction((tx) => storeRisks(tx, tenant.id, [{ secretId: id, vaultId: 'vault_x', factors: made }], at));
    await put(now, []);
    await put(now + HOUR_MS, [{ factor: 'weak_value', points: 40, why: 'x' }]);
    const { spikes } = await riskSpikes(db.read, tenant.id, { since: now - DAY_MS, points: 30, limit: 100 });
    assert.ok(spikes.every(({ secret_id }) => secret_id !== id));
  });
});
