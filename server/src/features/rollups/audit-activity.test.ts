import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  addColleague,
  addPerson,
  addTenant,
  invalid,
  ok,
  refused,
  type Tenant,
} from '../../../../test/support/people.ts';
import { catchUp } from '../../../../test/support/rollups.ts';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { addSecret, addUnlistedVault, addVault, secretUrl } from '../../../../test/support/vaults.ts';
import { HOUR_MS, MINUTE_MS } from '../../kernel/base/clock.ts';
import { ACTORS_PER_HOUR_MAX, addActors, mostActive } from './hourly-activity-store.ts';

interface Span {
  start: string;
  reads: number;
  changes: number;
  other: number;
  denied: number;
  failed: number;
}

onBothDatabases('activity in the audit log', (database) => {
  let service: Service;
  let tenant: Tenant;
  let token: string;
  before(async () => {
    service = await startService(database);
    tenant = await addTenant(service, { plan: 'enterprise' });
    token = tenant.owner.token;
  });
  after(() => service.close());

  const activity = (query = '', as = token) => service.call('GET', `/v1/audit/activity${query}`, { token: as });
  const count = (tenantId = tenant.id) => catchUp(service.app.kernel, tenantId, new AbortController().signal);

  /** The sums of all spans, of all pages. */
  async function sums(query = ''): Promise<Omit<Span, 'start'>> {
    const all = { reads: 0, changes: 0, other: 0, denied: 0, failed: 0 };
    for (let cursor = ''; ; ) {
      const page = await ok(activity(cursor === '' ? query : `${query}&cursor=${cursor}`));
      for (const span of page.spans as Span[])
        for (const name of Object.keys(all) as (keyof typeof all)[]) all[name] += span[name];
      if (page.next_cursor === null) return all;
      cursor = page.next_cursor;
    }
  }

  async function vaultWith(...paths: string[]): Promise<string> {
    const vault = await addVault(service, {}, token);
    for (const path of paths) await addSecret(service, vault, path, {}, token);
    return vault;
  }

  test('reads, changes, refusals and failures are told apart, before and after they are counted', async () => {
    const member = await addColleague(service, tenant.id, 'member');
    const start = await sums();
    const vault = await vaultWith('a', 'b');
    await ok(service.call('GET', secretUrl(vault, 'a'), { token }));
    await ok(service.call('GET', `/v1/vaults/${vault}/aggregate`, { token }));
    await refused(service.call('GET', secretUrl(vault, 'a'), { token: member.token }), 403, 'INSUFFICIENT_PRIVILEGE');
    assert.equal((await service.call('GET', secretUrl(vault, 'gone'), { token })).status, 404);
    const check = async (when: string) => {
      const now = await sums();
      assert.equal(now.reads - start.reads, 3, when);
      assert.equal(now.changes - start.changes, 3, when);
      assert.equal(now.denied - start.denied, 1, when);
      assert.equal(now.failed - start.failed, 1, when);
    };
    await check('before');
    await count();
    await check('after');
    const { counted_until, counted_since } = await ok(activity());
    assert.equal(counted_until, null);
    assert.ok(Date.parse(counted_since) <= Date.now());
  });

  test('the same comes from the log with a filter as from the counts without one', async () => {
    await count();
    const [counted, scanned] = [await sums(), await sums('?action=*')];
    // Each of the requests for the counts is one more entry.
    assert.deepEqual({ ...scanned, other: 0 }, { ...counted, other: 0 });
    assert.ok(scanned.other >= counted.other);
  });

  test('filters, minutes and a period narrow what is counted', async () => {
    const vault = await vaultWith('only');
    await ok(service.call('GET', secretUrl(vault, 'only'), { token }));
    const ofVault = await sums(`?vault=${vault}`);
    assert.deepEqual([ofVault.reads, ofVault.changes], [1, 2]);
    assert.deepEqual(await sums(`?vault=${vault}&entries=1`), ofVault, 'pages add up');
    assert.equal((await sums(`?vault=${vault}&decision=deny`)).reads, 0);
    const recent = new Date(Date.now() - HOUR_MS).toISOString();
    const page = await ok(activity(`?span=minute&from=${recent}&vault=${vault}`));
    assert.ok(page.spans.length > 0);
    for (const { start } of page.spans as Span[]) assert.equal(Date.parse(start) % MINUTE_MS, 0);
    const past = new Date(Date.now() - 30 * HOUR_MS).toISOString();
    const end = new Date(Date.now() - 26 * HOUR_MS).toISOString();
    assert.deepEqual((await ok(activity(`?from=${past}&to=${end}`))).spans, []);
  });

  test('a read that the vault does not list is counted, for its reader too', async () => {
    const { kernel } = service.app;
    const approver = await addPerson(service, { role: 'admin' });
    const vault = await addUnlistedVault(service, approver.token);
    await addSecret(service, vault, 'key');
    for (let i = 0; i < 4; i++) await ok(service.call('GET', secretUrl(vault, 'key'), { token: approver.token }));
    await kernel.unlistedReads.flush();
    await count(kernel.operatorTenantId);
    const { most_active } = await ok(service.call('GET', '/v1/audit/activity'));
    assert.equal(most_active.find(({ name }: { name: string }) => name === approver.email)?.reads, 4);
  });

  test('the most active come first, with their names, and the service itself is none of them', async () => {
    await count();
    const { most_active } = await ok(activity());
    assert.equal(most_active[0].name, tenant.owner.email);
    assert.ok(most_active[0].reads > 0 && most_active[0].changes > 0);
    assert.ok(most_active.every(({ kind }: { kind: string }) => kind !== 'system'));
    const sizes = most_active.map(({ reads, changes, denied }: Span) => reads + changes + denied);
    assert.deepEqual(
      sizes,
      [...sizes].sort((a, b) => b - a),
    );
  });

  test('another tenant’s activity is not in it', async () => {
    const other = await addTenant(service);
    for (const query of ['', '?action=*']) {
      const { spans, most_active } = await ok(activity(query, other.owner.token));
      assert.equal(
        (spans as Span[]).reduce((sum, { reads }) => sum + reads, 0),
        0,
      );
      assert.ok(!JSON.stringify(most_active).includes(tenant.owner.email));
    }
  });

  test('a member without permission to read the audit log is refused', async () => {
    const member = await addColleague(service, tenant.id, 'member');
    for (const query of ['', '?action=*']) await refused(activity(query, member.token), 403, 'INSUFFICIENT_PRIVILEGE');
  });

  test('a period that is too long, empty or no time is refused', async () => {
    await invalid(activity('?from=2020-01-01'), '/query/from');
    await invalid(activity('?span=minute'), '/query/from');
    await invalid(activity('?from=2030-01-02&to=2030-01-01'), '/query/from');
    await invalid(activity('?from=yesterday'), '/query/from');
    await invalid(activity('?cursor=WyJhIiwiYiJd'), '/query/cursor');
  });

  test('an hour has a bounded number of actors; those that it has are counted on', async () => {
    const other = await addTenant(service);
    const hours = { from: 0, to: HOUR_MS };
    const rows = Array.from({ length: ACTORS_PER_HOUR_MAX + 50 }, (_, i) => ({
      tenant_id: other.id,
      hour_start: 0,
      actor_kind: 'user',
      actor_id: `user_${i}`,
      actor_name: i === 0 ? '' : `person ${i}`,
      reads: 1,
      changes: 0,
      denied: 0,
    }));
    const database = service.app.kernel.database.forTenant(other.id, 'bulk');
    await database.transaction((tx) => addActors(tx, other.id, rows));
    const again = rows.map((row) => ({ ...row, actor_name: row.actor_name === '' ? 'somebody' : '' }));
    await database.transaction((tx) => addActors(tx, other.id, again));
    const stored = await mostActive(database.read, other.id, hours, 1000);
    assert.equal(stored.length, ACTORS_PER_HOUR_MAX);
    assert.ok(stored.every(({ reads }) => reads === 2));
    assert.equal(stored.find(({ actor_id }) => actor_id === 'user_0')?.actor_name, 'somebody');
    assert.equal(stored.find(({ actor_id }) => actor_id === 'user_7')?.actor_name, 'person 7');
  });
});
