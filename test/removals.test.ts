import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { newIssuerKey, publicPem } from './support/external-issuer.ts';
import { account, addCluster, addClusterPolicy, reportHost, sshKey, sync } from './support/fleet.ts';
import { addConnection } from './support/machines.ts';
import { addColleague, addTenant, ok, type Tenant, uniqueName } from './support/people.ts';
import { onBothDatabases, type Service, startService } from './support/service.ts';
import { rowsOf } from './support/tenant-state.ts';
import { addPolicy, addSecret, addVault } from './support/vaults.ts';

/** Vaults and secrets are removed by jobs: vault-purge.test.ts and environments.test.ts count what is left of them. */
onBothDatabases('a removal deletes what every feature holds', (database) => {
  let service: Service;
  let tenant: Tenant;
  let vault: string;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());
  beforeEach(async () => {
    tenant = await addTenant(service);
    vault = await addVault(service, {}, tenant.owner.token);
  });

  const send = (method: string, path: string, body?: object) =>
    service.call(method, path, { token: tenant.owner.token, ...(body !== undefined && { body }) });
  const newGroup = async () => String((await ok(send('POST', '/v1/groups', { name: uniqueName('group') }), 201)).id);
  const attach = (principal: object) =>
    addPolicy(service, principal, [{ action: ['secrets:read'], resource: [`vault/${vault}/*`] }], tenant.owner.token);
  /** The tables with a row of the tenant in which a column has this value. */
  const tablesWith = async (...values: (string | number)[]) => {
    const rows = await rowsOf(service, tenant.id);
    const isNaming = (row: object) => Object.values(row).some((value) => values.includes(value));
    return [...rows].filter(([, all]) => all.some(isNaming)).map(([table]) => table);
  };

  test('of a user: all but their tokens, which are revoked, and their address, by which keys on hosts are found', async () => {
    const { id } = await addColleague(service, tenant.id, 'member', { mfaAt: service.clock.now() });
    await ok(send('POST', `/v1/groups/${await newGroup()}/members`, { user_id: id }), 201);
    await ok(send('POST', `/v1/vaults/${vault}/members`, { user: id, role: 'reader' }), 201);
    await attach({ user: id });
    const held = ['group_members', 'policy_attachments', 'tokens', 'user_totp', 'users', 'vault_members'];
    assert.deepEqual((await tablesWith(id)).sort(), held);
    await ok(send('DELETE', `/v1/users/${id}`));
    assert.deepEqual((await tablesWith(id)).sort(), ['former_users', 'tokens']);
    const { read } = service.app.kernel.database;
    const tokens = await read.selectFrom('tokens').select('revoked_at').where('user_id', '=', id).execute();
    assert.ok(tokens.length > 0 && tokens.every(({ revoked_at }) => revoked_at !== null));
  });

  test('of a cluster', async () => {
    const { token } = tenant.owner;
    const cluster = await addCluster(service, {}, token);
    await addSecret(service, vault, 'a/b', {}, token);
    await ok(addClusterPolicy(service, cluster, { vault, prefix: 'a' }, token), 201);
    await ok(sync(service, cluster));
    await ok(reportHost(service, cluster, 'web-1', [account('ada', { ssh_keys: [sshKey('a')] })]));
    const held = [
      'cluster_apply_log',
      'cluster_policies',
      'cluster_states',
      'clusters',
      'endpoint_accounts',
      'endpoint_hosts',
    ];
    assert.deepEqual((await tablesWith(cluster.id)).sort(), held);
    await ok(send('DELETE', `/clusters/${cluster.id}`));
    assert.deepEqual(await tablesWith(cluster.id), []);
    assert.deepEqual((await rowsOf(service, tenant.id)).get('endpoint_keys'), []);
  });

  test('of a group', async () => {
    const id = await newGroup();
    const { id: member } = await addColleague(service, tenant.id, 'member');
    await ok(send('POST', `/v1/groups/${id}/members`, { user_id: member }), 201);
    await ok(send('POST', `/v1/vaults/${vault}/members`, { group: id, role: 'reader' }), 201);
    await attach({ group: id });
    const held = ['group_members', 'groups', 'policy_attachments', 'vault_members'];
    assert.deepEqual((await tablesWith(id)).sort(), held);
    await ok(send('DELETE', `/v1/groups/${id}`));
    assert.deepEqual(await tablesWith(id), []);
  });

  test('of a connection: all but its certificates, which are revoked', async () => {
    const { id, client_id } = await addConnection(service, vault, {}, tenant.owner.token);
    await attach({ app_connection: client_id });
    const issuer = 'https://issuer.example';
    const federation = { name: 'f', provider: 'custom', issuer, jwks_url: `${issuer}/jwks`, subject_pattern: 'repo:a' };
    await ok(send('POST', `/app-connections/${id}/federations`, federation), 201);
    const trust_bundle_pem = publicPem(await newIssuerKey('k'));
    const config = {
      trust_domain: 'a.example',
      trust_bundle_pem,
      expected_audience: 'coffer',
      allowed_spiffe_ids: ['a'],
    };
    const method = { app_connection_id: id, type: 'spiffe', name: 'm', config };
    await ok(send('POST', '/workload-identity/methods', method), 201);
    const { connection_no } = await service.app.kernel.database.read
      .selectFrom('app_connections')
      .select('connection_no')
      .where('client_id', '=', client_id)
      .executeTakeFirstOrThrow();
    const held = ['app_connections', 'certificates', 'federations', 'policy_attachments', 'workload_methods'];
    assert.deepEqual((await tablesWith(client_id, connection_no)).sort(), held);
    await ok(send('DELETE', `/v1/app-connections/${id}`));
    assert.deepEqual(await tablesWith(client_id, connection_no), ['certificates']);
  });
});
