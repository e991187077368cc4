import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { request as httpsRequest } from 'node:https';
import { text as readText } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { type RawBuilder, sql } from 'kysely';
import { addPerson, addTenant, invalid, ok, refused, type Tenant, uniqueName } from './support/people.ts';
import { promote, TestRegions, withLease } from './support/regions.ts';
import { call, onBothDatabases, type Service } from './support/service.ts';
import { until } from './support/until.ts';

const NAMES = ['eu', 'us', 'ap'];

onBothDatabases('regions', (database) => {
  const regions = new TestRegions(database, { CV_REGION_LEASE_SECONDS: '3' });
  let [eu, us, ap]: Service[] = [];
  let tenant: Tenant;
  /** Was there before there were regions. */
  let older: Tenant;
  // biome-ignore lint/suspicious/noExplicitAny: a row as the database has it, to put it back
  const former: { cell?: any } = {};
  const service = (name: string) => ({ eu, us, ap })[name] as Service;

  before(async () => {
    await regions.prepare('eu', async (service) => {
      older = await addTenant(service, { plan: 'enterprise' });
    });
    await regions.prepare('ap');
    await regions.prepareCopy('us', 'eu');
    eu = await regions.start('eu', NAMES);
    ap = await regions.start('ap', NAMES);
    tenant = await addTenant(eu as Service, { plan: 'enterprise' });
    await until(
      'eu has its lease',
      async () => (await asOwner('eu', 'POST', '/v1/vaults', { body: { name: 'first' } })).status === 201,
    );
    await regions.stop('eu');
    // The copy is made while the tenant has its data, as by a backup.
    await regions.prepareCopy('us', 'eu');
    eu = await regions.start('eu', NAMES);
    us = await regions.start('us', NAMES);
    for (const name of ['us', 'ap']) await until(`${name} knows the tenant`, () => knows(name, 'eu', 1));
  });
  after(() => regions.close());

  const regionOf = async (name: string) => (await service(name).call('GET', `/admin/tenant-region/${tenant.id}`)).body;
  const knows = async (name: string, region: string, epoch: number) => {
    const found = await regionOf(name);
    return found.region === region && found.epoch === epoch;
  };
  const asOwner = (name: string, method: string, path: string, more: object = {}) =>
    call(regions.urlOf(name), method, path, { token: tenant.owner.token, ...more });

  test('a request for a tenant of another region is forwarded, with its rows there or without', async () => {
    for (const name of ['us', 'ap']) {
      await until(`${name} forwards`, async () => (await asOwner(name, 'GET', '/v1/vaults')).status === 307);
      const answer = await asOwner(name, 'POST', '/v1/vaults?x=%2F', { body: { name: 'second' } });
      assert.equal(answer.status, 307);
      assert.equal(answer.headers.get('location'), `${regions.urlOf('eu')}/v1/vaults?x=%2F`);
      assert.equal(answer.headers.get('x-svc-region-origin'), name);
      // Where the tenant has no data, its limits are not known.
      const rates = ['limit', 'remaining', 'reset'].map((rate) => answer.headers.has(`x-ratelimit-${rate}`));
      assert.deepEqual(rates, Array(3).fill(name === 'us'));
    }
    assert.equal((await asOwner('eu', 'GET', '/v1/vaults')).status, 200);
  });

  test('the location comes from the configuration, whatever the request says', async () => {
    const headers = { host: 'localhost', 'x-forwarded-host': 'evil.example' };
    const answer = await asOwner('ap', 'GET', '//evil.example/v1/vaults', { headers }).catch(() => null);
    if (answer?.status === 307) assert.fail('a path that starts with two slashes was forwarded');
    const plain = await asOwner('ap', 'GET', '/v1/vaults', { headers });
    assert.ok(plain.headers.get('location')?.startsWith(`${regions.urlOf('eu')}/v1/`));
  });

  test('a second visit is a loop, and a malformed list of regions is refused', async () => {
    const visited = (list: string) => asOwner('ap', 'GET', '/v1/vaults', { headers: { 'x-svc-region-origin': list } });
    await refused(visited('ap'), 508, 'REGION_LOOP');
    await refused(visited('us, ap'), 508, 'REGION_LOOP');
    const passed = await visited('us');
    assert.deepEqual([passed.status, passed.headers.get('x-svc-region-origin')], [307, 'us, ap']);
    for (const wrong of ['EU', 'eu;us', 'eu,', 'x'.repeat(40)]) await refused(visited(wrong), 400, 'INVALID_REQUEST');
  });

  test('local endpoints are not forwarded: they read here, and change nothing here', async () => {
    assert.equal((await asOwner('us', 'GET', '/auth/me')).status, 200);
    const change = asOwner('us', 'POST', '/auth/tokens', { body: { name: 'elsewhere', ttl_days: 1 } });
    const error = await refused(change, 409, 'REGION_FENCED');
    assert.deepEqual(error.details, { region: 'eu', url: regions.urlOf('eu') });
    const { message } = await refused(asOwner('ap', 'GET', '/auth/me'), 401, 'INVALID_TOKEN');
    assert.match(message, new RegExp(`no data of the tenant of this token: .* region eu, ${regions.urlOf('eu')}`));
  });

  test('a token of nobody is refused everywhere', async () => {
    const forged = `${tenant.owner.token.slice(0, -6)}AAAAAA`;
    await refused(call(regions.urlOf('ap'), 'GET', '/v1/vaults', { token: forged }), 401, 'INVALID_TOKEN');
    const headers = { 'x-client-id': 'conn_none', 'x-client-secret': 'nothing' };
    await refused(call(regions.urlOf('ap'), 'GET', '/v1/vaults', { headers }), 401, 'INVALID_TOKEN');
  });

  test('a revoked token is refused at once at home, and after a sync elsewhere', async () => {
    const making = { token: tenant.owner.token, body: { name: uniqueName('token') } };
    const { id, token } = await ok(
      withLease(() => (eu as Service).call('POST', '/auth/tokens', making)),
      201,
    );
    const at = (name: string) => call(regions.urlOf(name), 'GET', '/v1/vaults', { token });
    await until('the new token is forwarded', async () => (await at('ap')).status === 307);
    const revoking = { token: tenant.owner.token };
    await ok(withLease(() => (eu as Service).call('DELETE', `/auth/tokens/${id}`, revoking)));
    await refused(at('eu'), 401, 'INVALID_TOKEN');
    await until('the revocation is known elsewhere', async () => (await at('ap')).status === 401);
    await until('the revocation is known in the copy', async () => (await at('us')).status === 401);
  });

  const sync = async (query: string, identity: { cert: string; key: string } | null) => {
    const url = `https://127.0.0.1:${regions.files('eu').tlsPort}/crdt/sync${query}`;
    const response = await new Promise<import('node:http').IncomingMessage>((resolve, reject) =>
      httpsRequest(url, { rejectUnauthorized: false, agent: false, ...identity }, resolve)
        .once('error', reject)
        .end(),
    );
    return { status: response.statusCode, body: JSON.parse(await readText(response)) };
  };
  const identityOf = (name: string) => {
    const { certFile, keyFile } = regions.files(name);
    return { cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') };
  };

  test('only configured regions get the directory, and it has no secrets', async () => {
    await refused(call(regions.urlOf('eu'), 'GET', '/crdt/sync'), 403, 'CERTIFICATE_REQUIRED');
    assert.equal((await sync('', null)).status, 403);
    assert.equal((await sync('', identityOf('eu'))).status, 403, 'a region is not its own peer');
    const { status, body } = await sync('', identityOf('ap'));
    assert.equal(status, 200);
    const kinds = new Set(body.operations.map(({ kind }: { kind: string }) => kind));
    assert.deepEqual([...kinds].sort(), ['head', 'primary', 'public_key', 'published', 'revoked_token', 'tenant']);
    const text = JSON.stringify(body);
    for (const secret of [tenant.owner.token, '"d":', 'PRIVATE', tenant.owner.email]) assert.ok(!text.includes(secret));
    assert.equal((await sync('?vector=eu', identityOf('ap'))).status, 422);
    assert.equal((await sync(`?vector=${'a:1,'.repeat(100)}a:1`, identityOf('ap'))).status, 422);
  });

  test('only the operator may see or change regions', async () => {
    const path = `/admin/tenant-region/${tenant.id}`;
    for (const method of ['GET', 'PUT']) {
      const body = method === 'PUT' ? { body: { region: 'eu' } } : {};
      await refused(asOwner('eu', method, path, body), 403, 'INSUFFICIENT_PRIVILEGE');
    }
    await refused((eu as Service).call('GET', '/admin/tenant-region/tenant_none'), 404, 'NOT_FOUND');
    const { tenant_regions } = await ok((ap as Service).call('GET', '/admin/tenant-region'));
    const listed = tenant_regions.find(({ tenant_id }: { tenant_id: string }) => tenant_id === tenant.id);
    assert.deepEqual([listed.region, listed.name, listed.replica], ['eu', tenant.name, null]);
  });

  test('a tenant that is older than the regions is assigned to the one that has it', async () => {
    const path = `/admin/tenant-region/${older.id}`;
    assert.equal((await ok((eu as Service).call('GET', path))).region, null);
    const promotion = { region: 'eu', reason: 'x' };
    const promoteOlder = () => (eu as Service).call('POST', `${path}/promote`, { body: promotion });
    await refused(withLease(promoteOlder), 409, 'IN_USE');
    const assign = (region: string) => withLease(() => (eu as Service).call('PUT', path, { body: { region } }));
    const elsewhere = await refused(assign('ap'), 422, 'VALIDATION_FAILED');
    assert.match(JSON.stringify(elsewhere), new RegExp(`must be this region, eu: .*${regions.urlOf('ap')}`));
    const unknown = await refused(assign('mars'), 422, 'VALIDATION_FAILED');
    assert.match(JSON.stringify(unknown), /must be this region, eu/);
    assert.equal((await ok((eu as Service).call('GET', path))).region, null, 'a refusal assigns nothing');
    const assigned = await ok(assign('eu'));
    assert.deepEqual([assigned.region, assigned.epoch, assigned.previous], ['eu', 1, null]);
    await until('it is forwarded', async () => {
      const answer = await call(regions.urlOf('ap'), 'GET', '/v1/vaults', { token: older.owner.token });
      return answer.status === 307 && answer.headers.get('location') === `${regions.urlOf('eu')}/v1/vaults`;
    });
    await until('eu serves it', async () => (await (eu as Service).call('GET', path)).body.state === 'active');
    await until('eu changes it', async () => {
      const options = { token: older.owner.token, body: { name: uniqueName('vault') } };
      return (await call(regions.urlOf('eu'), 'POST', '/v1/vaults', options)).status === 201;
    });
  });

  test('a promotion needs the region itself, its data and a second person', async () => {
    const path = `/admin/tenant-region/${tenant.id}/promote`;
    const send = (name: string, region: string) =>
      withLease(() => service(name).call('POST', path, { body: { region, reason: 'x' } }));
    await invalid(send('us', 'ap'), '/body/region');
    await refused(send('ap', 'ap'), 404, 'NOT_FOUND');
    await refused(send('eu', 'eu'), 409, 'IN_USE');
    const put = () => (us as Service).call('PUT', `/admin/tenant-region/${tenant.id}`, { body: { region: 'us' } });
    await refused(withLease(put), 409, 'IN_USE');
    assert.equal((await send('us', 'us')).status, 202);
    assert.ok(await knows('us', 'eu', 1), 'nothing has changed yet');
  });

  test('after a promotion the former region refuses changes and forwards', async () => {
    const operator = (await ok((us as Service).call('GET', '/auth/me'))).tenant;
    const second = await addPerson(us as Service, { role: 'admin' });
    assert.ok(operator.id !== tenant.id);
    const { read } = (eu as Service).app.kernel.database;
    const primary = read.selectFrom('region_cells').selectAll().where('kind', '=', 'primary');
    former.cell = await primary.where('cell_key', '=', tenant.id).executeTakeFirstOrThrow();
    const late = { token: tenant.owner.token, body: { name: uniqueName('late') } };
    await ok(
      withLease(() => (eu as Service).call('POST', '/v1/vaults', late)),
      201,
    );
    await promote(us as Service, tenant.id, 'us', second.token);
    const promoted = await regionOf('us');
    assert.deepEqual([promoted.region, promoted.epoch, promoted.previous], ['us', 2, 'eu']);
    await until('the new region serves', async () => (await regionOf('us')).state === 'active');
    const last = await (eu as Service).app.kernel.heads.row(read, tenant.id);
    const { replica } = await regionOf('us');
    assert.equal(replica.published_seq, last?.seq, 'it counts what eu acknowledged until it noted the promotion');
    assert.equal(replica.missing_entries, replica.published_seq - replica.local_seq);
    for (const name of NAMES) await until(`${name} knows the promotion`, () => knows(name, 'us', 2));
    await ok(asOwner('us', 'POST', '/v1/vaults', { body: { name: 'after' } }), 201);
    for (const name of ['eu', 'ap']) {
      await until(`${name} forwards to the new region`, async () => {
        const { status, headers } = await asOwner(name, 'POST', '/v1/vaults', { body: { name: 'twice' } });
        return status === 307 && headers.get('location') === `${regions.urlOf('us')}/v1/vaults`;
      });
    }
    const change = asOwner('eu', 'POST', '/auth/tokens', { body: { name: 'late', ttl_days: 1 } });
    await refused(change, 409, 'REGION_FENCED');
    const settings = (eu as Service).call('PATCH', `/v1/tenants/${tenant.id}`, { body: { status: 'suspended' } });
    await refused(settings, 409, 'REGION_FENCED');
  });

  test('a row of the directory that is deleted or put back does not bring the tenant back', async () => {
    await regions.stop('eu');
    eu = await regions.start('eu', NAMES);
    (eu as Service).expectErrorLogs(/region_cells|not written by the service/);
    const sends = async () => (await asOwner('eu', 'POST', '/v1/vaults', { body: { name: uniqueName('v') } })).status;
    await until('eu forwards', async () => (await sends()) === 307);
    const { database: rows } = (eu as Service).app.kernel;
    /** The epoch is raised so that nothing is answered from a cache. */
    const meddle = (...statements: RawBuilder<unknown>[]) =>
      rows.transaction(async (tx) => {
        for (const statement of statements) await statement.execute(tx);
        await sql`update tenants set epoch = epoch + 1 where tenant_id = ${tenant.id}`.execute(tx);
      });
    const current = sql`kind = 'primary' and cell_key = ${tenant.id}`;
    await meddle(sql`delete from region_cells where ${current}`);
    assert.notEqual(await sends(), 201);
    await until('what the others know takes its place', async () => (await sends()) === 307);
    const { origin, seq, ms, counter, value, signature, row_mac } = former.cell;
    await meddle(
      sql`update region_cells set origin = ${origin}, seq = ${seq}, ms = ${ms}, counter = ${counter}, value = ${value},
        signature = ${signature}, row_mac = ${row_mac} where ${current}`,
    );
    assert.notEqual(await sends(), 201);
    await until('the current one takes its place', async () => (await sends()) === 307);
  });

  test('a region that starts alone does not take a missing row for a tenant of its own', async () => {
    regions.setConnected('eu', false);
    const { database: rows } = (eu as Service).app.kernel;
    await rows.transaction(async (tx) => {
      await sql`delete from region_cells where kind = 'primary' and cell_key = ${tenant.id}`.execute(tx);
    });
    await regions.stop('eu');
    eu = await regions.start('eu', NAMES);
    const send = () => asOwner('eu', 'POST', '/v1/vaults', { body: { name: uniqueName('v') } });
    await refused(send(), 503, 'UNAVAILABLE');
    regions.setConnected('eu', true);
    await until('eu forwards', async () => (await send()).status === 307);
  });
});
