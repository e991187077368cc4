import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { purgeAudit } from '../../../../test/support/audit-retention.ts';
import { tick } from '../../../../test/support/background-work.ts';
import { addTenant, ok, type Tenant } from '../../../../test/support/people.ts';
import { newMigratedDatabase } from '../../../../test/support/postgres.ts';
import { catchUp } from '../../../../test/support/rollups.ts';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { until } from '../../../../test/support/until.ts';
import { addSecret, addVault, runPurges, secretUrl, startNodeBeside } from '../../../../test/support/vaults.ts';
import type { AuditEntry } from '../../kernel/audit/entry/entry.ts';
import { DAY_MS, HOUR_MS } from '../../kernel/base/clock.ts';
import { newId } from '../../kernel/base/ids.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import type { Database, Tx } from '../../kernel/storage/database.ts';
import { ROWS_PER_HOUR_MAX } from './bounded-rows.ts';
import { type HourlyCount, hourlyCounts, rolledUpSince, UNNAMED } from './index.ts';

const { signal } = new AbortController();
const EVER = { fromHour: 0, toHour: Number.MAX_SAFE_INTEGER };
const RECORDED_AT_ONCE = 2000;

onBothDatabases('rollups of a log', (kind) => {
  let service: Service;
  let databaseUrl: string | undefined;
  let tenant: Tenant;
  before(async () => {
    databaseUrl = kind === 'postgres' ? await newMigratedDatabase() : undefined;
    service = await startService(kind, databaseUrl === undefined ? {} : { databaseUrl });
    tenant = await addTenant(service);
  });
  after(() => service.close());

  /** Entries of reads, as requests write them. */
  async function record(count: number, entryOf: (i: number) => Partial<AuditEntry>, by = service): Promise<void> {
    const { audit, clock } = by.app.kernel;
    for (let at = 0; at < count; at += RECORDED_AT_ONCE) {
      const entries = Array.from({ length: Math.min(RECORDED_AT_ONCE, count - at) }, (_, i) => ({
        ...READ,
        tenant_id: tenant.id,
        id: newId('audit', clock.now()),
        at: clock.now(),
        ...entryOf(at + i),
      }));
      await Promise.all(entries.map((entry) => audit.record(entry)));
    }
    await audit.link();
  }

  async function counts(tenantId = tenant.id): Promise<HourlyCount[]> {
    const { read } = service.app.kernel.database;
    const all: HourlyCount[] = [];
    let page = await hourlyCounts(read, tenantId, { ...EVER, limit: 5000 });
    all.push(...page.rows);
    while (page.next !== null) {
      page = await hourlyCounts(read, tenantId, { ...EVER, after: page.next, limit: 5000 });
      all.push(...page.rows);
    }
    return all;
  }

  const readsOf = async (resource: string) =>
    (await counts()).filter((count) => count.resource === resource).reduce((sum, { reads }) => sum + reads, 0);

  const change = (act: (tx: Tx) => Promise<unknown>) => service.app.kernel.database.transaction(act);
  /** In one transaction, so that no step of the worker is counted in between. */
  const forgetCounts = (tenantId: string) =>
    change(async (tx) => {
      await tx.deleteFrom('rollup_progress').where('tenant_id', '=', tenantId).execute();
      await tx.deleteFrom('hourly_counts').where('tenant_id', '=', tenantId).execute();
    });
  const cursor = async () => {
    const { read } = service.app.kernel.database;
    const { tenant_id } = { tenant_id: tenant.id };
    const progress = read.selectFrom('rollup_progress').selectAll().where('tenant_id', '=', tenant_id);
    const head = read.selectFrom('audit_heads').select('seq').where('tenant_id', '=', tenant_id);
    return { ...(await progress.executeTakeFirstOrThrow()), head: (await head.executeTakeFirstOrThrow()).seq };
  };
  test('several who count at once count everything once', async () => {
    await record(9000, (i) => ({ resource: `vault/crowd/${i % 7}` }));
    await Promise.all(Array.from({ length: 6 }, () => catchUp(service.app.kernel, tenant.id, signal)));
    const sums = await Promise.all(Array.from({ length: 7 }, (_, i) => readsOf(`vault/crowd/${i}`)));
    assert.equal(
      sums.reduce((sum, reads) => sum + reads, 0),
      9000,
    );
  });

  test('a step that fails before its commit leaves nothing, and the next one counts all of it', async () => {
    await record(5000, () => ({ resource: 'vault/failing/key' }));
    const { kernel } = service.app;
    let commits = 0;
    const failing = new Proxy(kernel.database, {
      get: (target, name) =>
        name === 'forTenant'
          ? (...args: Parameters<Database['forTenant']>) =>
              failingAtCommit(target.forTenant(...args), () => ++commits > 1)
          : Reflect.get(target, name),
    });
    const broken: Kernel = { ...kernel, database: failing };
    await assert.rejects(catchUp(broken, tenant.id, signal), /as if the process had ended/);
    const half = await readsOf('vault/failing/key');
    assert.ok(half > 0 && half < 5000, String(half));
    await catchUp(kernel, tenant.id, signal);
    assert.equal(await readsOf('vault/failing/key'), 5000);
  });

  test('an hour has a bounded number of rows, and its totals stay right', async () => {
    const extra = 1500;
    const at = service.clock.now() - 3 * HOUR_MS;
    const all = ROWS_PER_HOUR_MAX + extra;
    const resource = (i: number) => `vault/endless/${i}`;
    await record(all, (i) => ({ at, resource: resource(i) }));
    await record(10, () => ({ at, resource: resource(0) }));
    await record(10, (i) => ({ at, resource: resource(all + i) }));
    await catchUp(service.app.kernel, tenant.id, signal);
    const hour = Math.floor(at / HOUR_MS) * HOUR_MS;
    const rows = (await counts()).filter((count) => count.hour === hour);
    assert.ok(rows.length <= ROWS_PER_HOUR_MAX + 1, String(rows.length));
    assert.equal(
      rows.reduce((sum, { reads }) => sum + reads, 0),
      all + 20,
    );
    assert.equal(rows.find((row) => row.resource === UNNAMED)?.reads, extra + 10);
    assert.equal(rows.find((row) => row.resource === resource(0))?.reads, 11, 'a row that is there counts on');
  });

  test('entries that were purged before they were counted are passed over', async () => {
    const { kernel } = service.app;
    const vault = await addVault(service, { audit: { retention_days: 1 } });
    await addSecret(service, vault, 'key');
    await ok(service.call('GET', secretUrl(vault, 'key')));
    service.clock.advance(2 * DAY_MS);
    await purgeAudit(service);
    await ok(service.call('GET', secretUrl(vault, 'key')));
    await forgetCounts(kernel.operatorTenantId);
    await catchUp(kernel, kernel.operatorTenantId, signal);
    const own = (await counts(kernel.operatorTenantId)).filter(({ resource }) => resource === `vault/${vault}/key`);
    assert.deepEqual(
      own.map(({ reads }) => reads),
      [1],
      'only the read that the log still has',
    );
  });

  test('a log that goes back further than the counts is counted from where they begin', async () => {
    const own = await addTenant(service);
    const old = service.clock.now();
    const ofOwn = () => ({ tenant_id: own.id, resource: 'vault/old/key' });
    await record(10, ofOwn);
    service.clock.advance(60 * DAY_MS);
    await record(10, ofOwn);
    await forgetCounts(own.id);
    await catchUp(service.app.kernel, own.id, signal);
    const found = (await counts(own.id)).filter(({ resource }) => resource === 'vault/old/key');
    assert.ok(found.length > 0 && found.every(({ hour }) => hour > old + DAY_MS));
    assert.ok(Number(await rolledUpSince(service.app.kernel.database.read, own.id)) > old);
  });

  test('counts are deleted after 35 days', async () => {
    const at = (days: number) => service.clock.now() - days * DAY_MS;
    await record(1, () => ({ at: at(36), resource: 'vault/ages/old' }));
    await record(1, () => ({ at: at(34), resource: 'vault/ages/recent' }));
    await catchUp(service.app.kernel, tenant.id, signal);
    await service.app.kernel.clockGuard.check();
    await runPurges(service);
    const left = (await counts()).map(({ resource }) => resource).filter((one) => one.includes('ages'));
    assert.deepEqual(left, ['vault/ages/recent']);
  });

  test('the worker counts by itself, also after a clock that was wrong set its next run far ahead', async () => {
    await catchUp(service.app.kernel, tenant.id, signal);
    const far = service.clock.now() + 400 * DAY_MS;
    // While the worker is at it, it would count what comes next and leave this lease as it is.
    await until('the worker does not end', async () => {
      const { numUpdatedRows } = await service.app.kernel.database.transaction((tx) =>
        tx
          .updateTable('rollup_progress')
          .set({ due_at: far, lease_owner: 'node_gone', lease_until: far })
          .where('tenant_id', '=', tenant.id)
          .where('lease_owner', 'is', null)
          .executeTakeFirstOrThrow(),
      );
      return numUpdatedRows === 1n;
    });
    // Only now, and again and again, because there must be something left to count: a scan for anomalies counts too, and leaves the lease as it is.
    await until('the worker does not take it', async () => {
      await record(1, () => ({ resource: 'vault/worker/key' }));
      const { lease_owner, due_at } = await cursor();
      return lease_owner === null && due_at < far;
    });
    assert.ok((await readsOf('vault/worker/key')) > 0);
  });

  test('100,000 entries behind are counted in bounded memory', async () => {
    const { kernel } = service.app;
    const own = await addTenant(service);
    await record(100_000, (i) => ({
      tenant_id: own.id,
      resource: `vault/backlog/${i % 1000}`,
      at: service.clock.now() - (i % 200) * HOUR_MS,
      user_agent: 'x'.repeat(200),
    }));
    // The worker may have begun already. Its next step fails, because the cursor is not where it was.
    await change(async (tx) => {
      await tx.updateTable('rollup_progress').set({ cursor_seq: 0 }).where('tenant_id', '=', own.id).execute();
      await tx.deleteFrom('hourly_counts').where('tenant_id', '=', own.id).execute();
    });
    const before = process.memoryUsage().rss;
    let peak = 0;
    const sampling = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage().rss - before);
    }, 20);
    await catchUp(kernel, own.id, signal);
    clearInterval(sampling);
    const total = (await counts(own.id)).filter(({ resource }) => resource.startsWith('vault/backlog/'));
    assert.equal(
      total.reduce((sum, { reads }) => sum + reads, 0),
      100_000,
    );
    assert.ok(peak < 150 * 1024 * 1024, `${Math.round(peak / 1024 / 1024)} MiB more than before`);
  });

  if (kind === 'postgres') {
    test('two nodes count each entry once, whichever of them leases a tenant', async () => {
      assert.ok(databaseUrl !== undefined);
      const other = await startNodeBeside(service, databaseUrl);
      try {
        for (let round = 0; round < 5; round++) {
          await Promise.all([service, other].map((node) => record(400, () => ({ resource: 'vault/two/key' }), node)));
          await change((tx) => tx.updateTable('rollup_progress').set({ due_at: 0 }).execute());
          const nodes = [service, other, other].map(({ app }) => catchUp(app.kernel, tenant.id, signal));
          await Promise.all(nodes);
        }
        await until('the rollup does not happen', async () => (await readsOf('vault/two/key')) === 4000);
        for (const node of [service, other]) await tick(node, 'audit logs to count');
        assert.equal(await readsOf('vault/two/key'), 4000);
      } finally {
        await other.close();
      }
    });
  }

  test('a clock that is wrong deletes no counts', async () => {
    await record(1, () => ({ at: service.clock.now() - 30 * DAY_MS, resource: 'vault/wrong/key' }));
    await catchUp(service.app.kernel, tenant.id, signal);
    const before = (await counts()).length;
    service.expectErrorLogs(/differs from the database/);
    service.clock.set({ node: 400 * DAY_MS });
    await service.app.jobs.runDue();
    assert.equal((await counts()).length, before);
    assert.equal(await readsOf('vault/wrong/key'), 1);
  });
});

const READ: AuditEntry = {
  tenant_id: '',
  id: '',
  at: 0,
  actor_kind: 'user',
  actor_id: 'user_1',
  actor_name: '',
  actor_key: '',
  action: 'secrets:read',
  resource: '',
  vault: '',
  decision: 'allow',
  status: 200,
  ip: '',
  user_agent: '',
  request_id: '',
  reason: '',
  details: '',
};

/** Fails once everything of a transaction is done, as if the process had ended before the commit. */
function failingAtCommit(database: Database, fails: () => boolean): Database {
  return new Proxy(database, {
    get: (target, name) =>
      name === 'transaction'
        ? (act: (tx: Tx) => Promise<unknown>) =>
            target.transaction(async (tx) => {
              const result = await act(tx);
              if (fails()) throw new Error('as if the process had ended');
              return result;
            })
        : Reflect.get(target, name, target),
  });
}
