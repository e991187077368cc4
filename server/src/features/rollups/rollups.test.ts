import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { CompiledQuery, sql } from 'kysely';
import { addConnection, callAs } from '../../../../test/support/machines.ts';
import {
  addColleague,
  addPerson,
  addTenant,
  ok,
  refused,
  type Tenant,
  uniqueName,
} from '../../../../test/support/people.ts';
import { statementsDuring } from '../../../../test/support/queries.ts';
import { catchUp } from '../../../../test/support/rollups.ts';
import { type CallOptions, onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { addSecret, addUnlistedVault, addVault, secretUrl } from '../../../../test/support/vaults.ts';
import { HOUR_MS } from '../../kernel/base/clock.ts';
import { connectionResource, type HourlyCount, hourlyCounts, rolledUpSince, UNNAMED } from './index.ts';

const FROM_BRAZIL = { 'x-forwarded-for': '200.160.2.3' };
const EVER = { fromHour: 0, toHour: Number.MAX_SAFE_INTEGER };

onBothDatabases('rollups', (database) => {
  let service: Service;
  let tenant: Tenant;
  let owner: string;
  before(async () => {
    service = await startService(database, { env: { CV_TRUSTED_PROXIES: '127.0.0.1/32' } });
    tenant = await addTenant(service, { plan: 'enterprise' });
    owner = tenant.owner.token;
  });
  after(() => service.close());

  const send = (method: string, path: string, options: CallOptions = {}) =>
    service.call(method, path, { token: owner, ...options });

  /** All counts of a tenant after everything so far is counted, in pages. */
  async function counted(tenantId = tenant.id, limit = 1000): Promise<HourlyCount[]> {
    const { kernel } = service.app;
    await catchUp(kernel, tenantId, new AbortController().signal);
    const all: HourlyCount[] = [];
    let page = await hourlyCounts(kernel.database.read, tenantId, { ...EVER, limit });
    all.push(...page.rows);
    while (page.next !== null) {
      page = await hourlyCounts(kernel.database.read, tenantId, { ...EVER, after: page.next, limit });
      all.push(...page.rows);
    }
    return all;
  }

  /** By resource, summed over hours. */
  async function totals(vault: string, what: 'reads' | 'denied'): Promise<Record<string, number>> {
    const sums: Record<string, number> = {};
    for (const count of await counted()) {
      const isOfVault = count.resource === `vault/${vault}` || count.resource.startsWith(`vault/${vault}/`);
      if (isOfVault && count[what] > 0) sums[count.resource] = (sums[count.resource] ?? 0) + count[what];
    }
    return sums;
  }

  async function vaultWith(...paths: string[]): Promise<string> {
    const vault = await addVault(service, {}, owner);
    for (const path of paths) await addSecret(service, vault, path, {}, owner);
    return vault;
  }

  test('every way to read a value counts once for each secret', async () => {
    const vault = await vaultWith('a', 'b', 'c');
    const id = (await ok(send('GET', secretUrl(vault, 'c')))).id;
    await ok(send('GET', secretUrl(vault, 'a')));
    await ok(send('GET', `${secretUrl(vault, 'a')}?version=1`));
    await ok(send('GET', secretUrl(vault, 'a', 'versions')));
    assert.deepEqual(await totals(vault, 'reads'), { [`vault/${vault}/a`]: 2, [`vault/${vault}/c`]: 1 });
    await ok(send('GET', `/v1/vaults/${vault}/aggregate`));
    await ok(send('GET', `/v1/vaults/${vault}/export?format=json`));
    const environment = await ok(send('POST', '/environments', { body: { name: uniqueName('environment') } }), 201);
    const bindings = `/environments/${environment.id}/secrets`;
    await ok(send('POST', bindings, { body: { secret_id: id, key_name: 'C' } }), 201);
    await ok(send('GET', `/environments/${environment.id}/compose?resolve=true`));
    const machine = await addConnection(service, vault, { scopes: ['secrets:read', 'eso:read'] }, owner);
    await ok(callAs(service, machine, 'GET', `/eso/secrets/by-name?vault=${vault}&name=b`));
    await ok(callAs(service, machine, 'GET', `/app-connections/fetch/${machine.client_id}/${vault}/b`));
    const { token } = await ok(send('POST', `/v1/vaults/${vault}/tokenize`, { body: { value: 'marker' } }), 201);
    await ok(send('POST', `/v1/vaults/${vault}/detokenize`, { body: { token } }));
    assert.deepEqual(await totals(vault, 'reads'), {
      [`vault/${vault}`]: 1,
      [`vault/${vault}/a`]: 4,
      [`vault/${vault}/b`]: 4,
      [`vault/${vault}/c`]: 4,
    });
    const uses = (await counted()).filter(({ resource }) => resource === connectionResource(machine.client_id));
    assert.deepEqual(
      uses.map(({ actor_kind, actor_id, reads }) => [actor_kind, actor_id, reads]),
      [['app_connection', machine.client_id, 2]],
    );
  });

  test('actors, countries and hours are counted apart, and a page ends anywhere', async () => {
    const vault = await vaultWith('key');
    const reader = await addColleague(service, tenant.id, 'admin');
    for (const headers of [{}, FROM_BRAZIL, FROM_BRAZIL]) await ok(send('GET', secretUrl(vault, 'key'), { headers }));
    await ok(send('GET', secretUrl(vault, 'key'), { token: reader.token }));
    service.clock.advance(HOUR_MS);
    await ok(send('GET', secretUrl(vault, 'key'), { token: reader.token, headers: FROM_BRAZIL }));
    const all = await counted();
    const first = Math.floor((service.clock.now() - HOUR_MS) / HOUR_MS) * HOUR_MS;
    const shown = all
      .filter(({ resource }) => resource === `vault/${vault}/key`)
      .map(({ actor_id, country, hour, reads }) => [actor_id, country, (hour - first) / HOUR_MS, reads]);
    const expected = [
      [tenant.owner.id, '', 0, 1],
      [tenant.owner.id, 'BR', 0, 2],
      [reader.id, '', 0, 1],
      [reader.id, 'BR', 1, 1],
    ];
    const sorted = (rows: unknown[][]) => rows.map((row) => row.join(' ')).sort();
    assert.deepEqual(sorted(shown), sorted(expected));
    assert.deepEqual(await counted(tenant.id, 1), all);
    assert.deepEqual(await counted(tenant.id, 3), all);
    const { read } = service.app.kernel.database;
    const hour = { fromHour: first + HOUR_MS, toHour: first + 2 * HOUR_MS, resource: `vault/${vault}/key`, limit: 10 };
    assert.deepEqual(
      (await hourlyCounts(read, tenant.id, hour)).rows,
      all.filter((count) => count.resource === hour.resource && count.hour === hour.fromHour),
    );
    assert.ok(Number(await rolledUpSince(read, tenant.id)) <= service.clock.now() - HOUR_MS);
  });

  if (database === 'postgres') {
    test('a page of many counts is the next rows of an index, also before there are statistics', async () => {
      const { read } = service.app.kernel.database;
      const many = await addTenant(service);
      await service.app.kernel.database.transaction(async (tx) => {
        await sql`alter table hourly_counts set (autovacuum_enabled = off)`.execute(tx);
        await sql`insert into hourly_counts select ${many.id}, 'vault/v/' || i % 1000, i / 1000, 'user', 'u', '', 1, 0
          from generate_series(1, 30000) as i`.execute(tx);
      });
      const first = await hourlyCounts(read, many.id, { ...EVER, limit: 1000 });
      const after = first.next ?? assert.fail('there are more');
      const [page] = (
        await statementsDuring(() => hourlyCounts(read, many.id, { ...EVER, after, limit: 1000 }))
      ).filter((statement) => statement.sql.includes('hourly_counts'));
      assert.ok(page !== undefined);
      const { rows } = await read.executeQuery(CompiledQuery.raw(`explain ${page.sql}`, page.parameters));
      const plan = JSON.stringify(rows);
      assert.match(plan, /Index Scan using hourly_counts_key/);
      assert.doesNotMatch(plan, /Sort/);
    });
  }

  test('refusals count for secrets and vaults that exist; names that a caller makes up make no rows', async () => {
    const vault = await vaultWith('key');
    const before = (await counted()).length;
    const { id, token } = await addColleague(service, tenant.id, 'member');
    await refused(send('GET', secretUrl(vault, 'key'), { token }), 403, 'INSUFFICIENT_PRIVILEGE');
    for (let i = 0; i < 40; i++) {
      await refused(send('GET', secretUrl(vault, `made-up/${i}`), { token }), 403, 'INSUFFICIENT_PRIVILEGE');
      await refused(send('GET', secretUrl(`made-up-${i}`, 'key'), { token }), 403, 'INSUFFICIENT_PRIVILEGE');
    }
    assert.deepEqual(await totals(vault, 'denied'), { [`vault/${vault}/key`]: 1, [`vault/${vault}`]: 40 });
    const own = (await counted()).filter(({ actor_id }) => actor_id === id);
    assert.equal(own.find(({ resource }) => resource === UNNAMED)?.denied, 40);
    assert.equal((await counted()).length, before + 3);
  });

  test('refusals that the log only counts are counted as many', async () => {
    const vault = await vaultWith('key');
    const { id, token } = await addColleague(service, tenant.id, 'member');
    for (let i = 0; i < 130; i++) {
      await refused(send('GET', secretUrl(vault, 'key'), { token }), 403, 'INSUFFICIENT_PRIVILEGE');
    }
    await service.app.kernel.refusals.flush(service.clock.now());
    const own = (await counted()).filter(({ actor_id }) => actor_id === id);
    assert.equal(
      own.reduce((sum, { denied }) => sum + denied, 0),
      130,
    );
  });

  test('reads of a vault that does not list them count for the vault', async () => {
    const approver = await addPerson(service, { role: 'admin' });
    const vault = await addUnlistedVault(service, approver.token);
    await addSecret(service, vault, 'key');
    const { kernel } = service.app;
    for (let i = 0; i < 3; i++) await ok(service.call('GET', secretUrl(vault, 'key')));
    await ok(service.call('GET', secretUrl(vault, 'key'), { token: approver.token }));
    await kernel.unlistedReads.flush();
    const own = (await counted(kernel.operatorTenantId)).filter(({ resource }) =>
      resource.startsWith(`vault/${vault}`),
    );
    assert.deepEqual(own.map(({ resource, reads, country }) => [resource, reads, country]).sort(), [
      [`vault/${vault}`, 1, ''],
      [`vault/${vault}`, 3, ''],
    ]);
  });

  test('another tenant’s reads are not in the counts', async () => {
    const other = await addTenant(service);
    const vault = await addVault(service, {}, other.owner.token);
    await addSecret(service, vault, 'key', {}, other.owner.token);
    await ok(send('GET', secretUrl(vault, 'key'), { token: other.owner.token }));
    await refused(send('GET', secretUrl(vault, 'key')), 404, 'VAULT_NOT_FOUND');
    const isAbout = ({ resource }: HourlyCount) => resource.includes(vault);
    assert.equal((await counted()).filter(isAbout).length, 0);
    const own = (await counted(other.id)).filter(isAbout);
    assert.deepEqual(
      own.map(({ actor_id, reads }) => [actor_id, reads]),
      [[other.owner.id, 1]],
    );
  });
});
