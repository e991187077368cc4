import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newIssuerKey, OutsideIssuer, publicPem, signed } from '../../../../test/support/external-issuer.ts';
import { deniedFor, exchange, logInWith, OUTSIDE_ENV } from '../../../../test/support/external-logins.ts';
import { addConnection, type Machine } from '../../../../test/support/machines.ts';
import { addColleague, addTenant, approve, ok, refused, uniqueName } from '../../../../test/support/people.ts';
import { newPostgresDatabase } from '../../../../test/support/postgres.ts';
import { behindItsBack, recorded } from '../../../../test/support/rows.ts';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { auditOf, POLICY_VERSION } from '../../../../test/support/vaults.ts';
import { SECOND_MS } from '../../kernel/base/clock.ts';
import { numberConnections } from '../../upgrade/from-0-4/number-connections.ts';
import { CONNECTIONS } from './storage/index.ts';

/** Up to 0.4 every tenant counted its connections from 1; now a number names one connection of the installation. */

const SUBJECT = 'repo:acme/app:ref:refs/heads/main';
const SPIFFE_ID = 'spiffe://prod.example/machine';
const issuer = await OutsideIssuer.start();
const key = await newIssuerKey('k');
issuer.keys = [key.jwk];
after(() => issuer.close());

interface Side {
  tenantId: string;
  token: string;
  vault: string;
  machine: Machine;
}

onBothDatabases('numbers of connections', (database) => {
  let service: Service;
  let first: Side;
  let second: Side;
  const seconds = (ms = 0) => Math.floor((service.clock.now() + ms) / SECOND_MS);
  const send = (side: Side, method: string, path: string, body?: object) =>
    service.call(method, path, { token: side.token, ...(body !== undefined && { body }) });

  async function side(tenantId: string, token: string): Promise<Side> {
    const vault = uniqueName('vault');
    await ok(service.call('POST', '/v1/vaults', { token, body: { name: vault, environment: 'staging' } }), 201);
    return { tenantId, token, vault, machine: await addConnection(service, vault, {}, token) };
  }

  /** As 0.4 left it: the row has its number as its key, and nothing else. */
  const countedByTenant = ({ tenantId, machine }: Side, connection_no: number) =>
    recorded(service.app.kernel, tenantId, async (tx) => {
      const [row] = await CONNECTIONS.deleteWhere(tx, (eb) =>
        eb.and({ tenant_id: tenantId, client_id: machine.client_id }),
      );
      assert.ok(row !== undefined);
      await CONNECTIONS.insert(tx, { ...row, connection_no, number: null });
    });

  const federate = (one: Side, id: number) =>
    ok(
      send(one, 'POST', `/app-connections/${id}/federations`, {
        name: uniqueName('federation'),
        provider: 'custom',
        issuer: issuer.url,
        jwks_url: issuer.jwksUrl,
        subject_pattern: SUBJECT,
      }),
      201,
    );
  const idToken = () => {
    const times = { iat: seconds(), exp: seconds(600_000) };
    return signed(key, { iss: issuer.url, aud: OUTSIDE_ENV.CV_AUDIENCE, sub: SUBJECT, ...times });
  };
  const numberNow = async (one: Side): Promise<number> =>
    (await ok(send(one, 'GET', `/v1/app-connections/${one.machine.client_id}`))).id;

  before(async () => {
    const databaseUrl = database === 'postgres' ? await newPostgresDatabase() : undefined;
    const options = { env: OUTSIDE_ENV, ...(databaseUrl !== undefined && { databaseUrl }) };
    service = await startService(database, { ...options, keepData: true });
    const tenant = await addTenant(service);
    // The tenant that runs the installation is not the older one here, and keeps its number all the same.
    second = await side(tenant.id, tenant.owner.token);
    first = await side(service.app.kernel.operatorTenantId, service.adminToken);
    for (const one of [first, second]) await countedByTenant(one, 1);
    for (const one of [first, second]) await federate(one, 1);
  });
  after(() => service.close());

  test('a start gives duplicates new numbers, and what was known by the old one stays right', async () => {
    const config = {
      trust_domain: 'prod.example',
      trust_bundle_pem: publicPem(key),
      expected_audience: 'coffer',
      allowed_spiffe_ids: [SPIFFE_ID.replaceAll('.', '\\.')],
    };
    const fields = { name: uniqueName('method'), type: 'spiffe', app_connection_id: 1, config };
    const method = await ok(send(second, 'POST', '/workload-identity/methods', fields), 201);
    assert.equal(method.app_connection_id, 1);
    const denied = await addColleague(service, second.tenantId, 'admin');
    const policy = uniqueName('policy');
    const statement = [{ effect: 'deny', action: ['app_connections:read'], resource: ['app-connection/1'] }];
    const body = { name: policy, document: { version: POLICY_VERSION, statement } };
    await ok(send(second, 'POST', '/v1/policies', body), 201);
    const attached = await ok(
      send(second, 'POST', `/v1/policies/${policy}/attach`, { principal: { user: denied.id } }),
      202,
    );
    await ok(approve(service, attached.approval_id, denied.token));
    const production = uniqueName('production');
    const made = await ok(send(second, 'POST', '/v1/vaults', { name: production, environment: 'production' }), 201);
    const given = { vault_ids: [made.id] };
    const waiting = await ok(send(second, 'PATCH', '/v1/app-connections/1', given), 202);
    await deniedFor(service, exchange(service, 1, await idToken()), /no such connection/);

    await service.close();
    const databaseUrl = service.app.kernel.config.databaseUrl;
    service = await startService(database, {
      env: OUTSIDE_ENV,
      dataDir: service.dataDir,
      ...(databaseUrl !== null && { databaseUrl }),
    });

    assert.equal(await numberNow(first), 1, 'whose number was the public one keeps it');
    const number = await numberNow(second);
    assert.ok(number >= 100_000_000 && number < 1_000_000_000, `${number}`);
    const { client_id } = await ok(exchange(service, 1, await idToken()));
    assert.equal(client_id, first.machine.client_id);
    const other = await ok(exchange(service, number, await idToken()));
    assert.equal(other.client_id, second.machine.client_id);

    for (const name of [1, number, second.machine.client_id]) {
      assert.equal((await ok(send(second, 'GET', `/v1/app-connections/${name}`))).id, number);
      await refused(
        service.call('GET', `/v1/app-connections/${name}`, { token: denied.token }),
        403,
        'INSUFFICIENT_PRIVILEGE',
      );
    }
    await refused(send(first, 'GET', `/v1/app-connections/${number}`), 404, 'NOT_FOUND');
    const { methods } = await ok(send(second, 'GET', '/workload-identity/methods'));
    assert.deepEqual(
      methods.map((one: { app_connection_id: number }) => one.app_connection_id),
      [number],
    );
    const jwt_svid = await signed(key, { sub: SPIFFE_ID, aud: 'coffer', exp: seconds(60_000) });
    await ok(logInWith(service, { method_id: method.id, jwt_svid }));
    const { federations } = await ok(send(second, 'GET', `/app-connections/${number}/federations`));
    assert.equal(federations[0].app_connection_id, number);

    const decided = await ok(approve(service, waiting.approval_id, denied.token));
    assert.equal(decided.status, 'completed', JSON.stringify(decided.failure));
    assert.deepEqual(
      (await ok(send(second, 'GET', `/v1/app-connections/${number}`))).vault_ids,
      [made.id],
      'what waited under the old number was done to the same connection',
    );

    const entries = await auditOf(service, 'action=connection_renumbered', second.token);
    assert.deepEqual(
      entries.map((entry) => [entry.resource, entry.details]),
      [
        [
          `app-connection/${number}`,
          {
            client_id: second.machine.client_id,
            name: second.machine.name,
            number,
            number_before: 1,
          },
        ],
      ],
    );
    assert.deepEqual(await auditOf(service, 'action=connection_renumbered'), []);
    for (const one of [first, second]) {
      const { valid, rows } = await ok(send(one, 'GET', '/v1/audit/verify'));
      assert.deepEqual([valid, rows.problems], [true, []]);
    }
    await numberConnections(service.app.kernel);
    assert.equal(await numberNow(second), number, 'once is enough');
  });

  test('a row that somebody copied under the same number takes nobody’s number away', async () => {
    const number = await numberNow(first);
    service.expectErrorLogs(/"table":"app_connections","row":"999"/);
    const { database: db } = service.app.kernel;
    const client_id = '00000000-0000-4000-8000-000000000000';
    await behindItsBack(db, async (rows) => {
      const own = rows.selectFrom('app_connections').selectAll().where('client_id', '=', first.machine.client_id);
      const row = await own.executeTakeFirstOrThrow();
      const copy = { ...row, tenant_id: second.tenantId, connection_no: 999, number, client_id, created_at: 1 };
      await rows.insertInto('app_connections').values(copy).execute();
    });
    assert.equal((await ok(exchange(service, number, await idToken()))).client_id, first.machine.client_id);
    await numberConnections(service.app.kernel);
    assert.equal(await numberNow(first), number);
    await behindItsBack(db, (rows) => rows.deleteFrom('app_connections').where('client_id', '=', client_id).execute());
  });

  test('tenants that make connections at once get different numbers, each of which names one', async () => {
    const made = await Promise.all(
      Array.from({ length: 10 }, (_, i) => {
        const { vault, token } = i % 2 === 0 ? first : second;
        return addConnection(service, vault, {}, token);
      }),
    );
    assert.equal(new Set(made.map(({ id }) => id)).size, made.length);
    const [ours, theirs] = made;
    assert.ok(ours !== undefined && theirs !== undefined);
    await federate(first, ours.id);
    await federate(second, theirs.id);
    for (const { id, client_id } of [ours, theirs]) {
      assert.equal((await ok(exchange(service, id, await idToken()))).client_id, client_id);
    }
    await assert.rejects(
      countedByTenant({ ...first, machine: ours }, theirs.id),
      'the index keeps drawn numbers apart, whoever writes them',
    );
  });
});
