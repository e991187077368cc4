import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import {
  addColleague,
  addTenant,
  approve,
  approved,
  type Colleague,
  ok,
  type Tenant,
  uniqueName,
} from '../../../../test/support/people.ts';
import { type Answer, onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';

/** What one person can change alone while their request waits must not be covered by the approval of another. */

onBothDatabases('a request that waits while things change', (database, { rule }) => {
  let service: Service;
  let tenant: Tenant;
  let admin: Colleague;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());
  beforeEach(async () => {
    tenant = await addTenant(service);
    admin = await addColleague(service, tenant.id, 'admin');
  });

  const send = (method: string, path: string, body?: object, token = admin.token) =>
    service.call(method, path, { token, ...(body && { body }) });
  const vault = async (environment: string) => {
    const name = uniqueName('vault');
    return ok(send('POST', '/v1/vaults', { name, environment }, tenant.owner.token), 201);
  };
  const waits = async (request: Promise<Answer>): Promise<string> => (await ok(request, 202)).approval_id;
  const shown = async (id: string) =>
    (await ok(send('GET', `/approvals/${id}`, undefined, tenant.owner.token))).request.differences;
  const decided = async (id: string) => {
    const { status, failure } = await ok(approve(service, id, tenant.owner.token));
    return status === 'failed' ? failure.code : status;
  };

  const LIMITS = {
    scopes: ['secrets:read'],
    allowed_paths: ['app/*'],
    mtls_required: true,
    ip_allowlist: ['10.9.9.9/32'],
    environment: 'production',
    denied_thumbprints: ['ab'.repeat(32)],
  };
  /** Each lifts a limit. */
  const LIFTED: object[] = [
    { allowed_paths: ['*'] },
    { scopes: ['secrets:read', 'secrets:list'] },
    { mtls_required: false },
    { ip_allowlist: null },
    { environment: null },
    { denied_thumbprints: [] },
    { dpop_jkt: 'A'.repeat(43) },
  ];
  const connection = async (vaultIds: string[]) => {
    const body = { ...LIMITS, name: uniqueName('connection'), vault_ids: vaultIds };
    return ok(send('POST', '/app-connections', body), 201);
  };
  const policy = async () => {
    const statement = [{ effect: 'allow', action: ['secrets:read'], resource: ['vault/shop/*'] }];
    const name = uniqueName('policy');
    await ok(send('POST', '/v1/policies', { name, document: { version: '2026-01-01', statement } }), 201);
    return name;
  };

  describe('a connection that gets production', () => {
    test('the approver sees every limit that it would have there', async () => {
      const [dev, prod] = [await vault('development'), await vault('production')];
      const { client_id, name } = await connection([dev.id]);
      const body = { vault_ids: [dev.id, prod.id], scopes: ['secrets:read', 'secrets:list'] };
      const differences = await shown(await waits(send('PATCH', `/app-connections/${client_id}`, body)));
      const [inDev, inProd] = [dev, prod].map(({ name, environment }) => ({ name, environment }));
      assert.deepEqual(differences, [
        { what: 'vault_ids', before: [dev.id], after: [dev.id, prod.id] },
        { what: 'scopes', before: LIMITS.scopes, after: body.scopes },
        { what: 'vaults it reaches', before: [inDev], after: [inDev, inProd] },
        {
          what: 'limits that stay as they are',
          before: {
            status: 'active',
            allowed_paths: LIMITS.allowed_paths,
            ip_allowlist: LIMITS.ip_allowlist,
            environment: 'production',
            mtls_required: true,
            require_dpop: false,
            dpop_jkt: null,
            external_ca_pem: null,
            denied_thumbprints: LIMITS.denied_thumbprints,
            attached_policies: [],
          },
          after: 'the same',
        },
      ]);
      const made = { ...LIMITS, name: `${name}-2`, vault_ids: [prod.id] };
      const [reached, limits] = await shown(await waits(send('POST', '/app-connections', made)));
      assert.deepEqual(reached, { what: 'vaults it reaches', before: null, after: [inProd] });
      const { name: _, ...expected } = made;
      for (const [field, value] of Object.entries(expected)) assert.deepEqual(limits.after[field], value, field);
    });

    rule('a limit that is lifted meanwhile makes the approval void', async () => {
      const [dev, prod] = [await vault('development'), await vault('production')];
      for (const change of LIFTED) {
        const { client_id } = await connection([dev.id]);
        const path = `/app-connections/${client_id}`;
        const id = await waits(send('PATCH', path, { vault_ids: [dev.id, prod.id] }));
        await ok(send('PATCH', path, change));
        assert.equal(await decided(id), 'VERSION_CONFLICT', JSON.stringify(change));
        assert.deepEqual((await ok(send('GET', path))).vault_ids, [dev.id]);
      }
    });

    rule('what limits nothing may change', async () => {
      const [dev, prod] = [await vault('development'), await vault('production')];
      const { client_id } = await connection([dev.id]);
      const path = `/app-connections/${client_id}`;
      const id = await waits(send('PATCH', path, { vault_ids: [prod.id] }));
      await ok(send('PATCH', path, { description: 'of the shop', concurrent_session_limit: 3 }));
      assert.equal(await decided(id), 'completed');
      assert.deepEqual((await ok(send('GET', path))).vault_ids, [prod.id]);
    });
  });

  describe('a connection that gets a policy', () => {
    const attach = async (client: string) =>
      send('POST', `/v1/policies/${await policy()}/attach`, { principal: { app_connection: client } });
    const attached = async (client: string) => {
      const path = `/app-connections/${client}`;
      await approved(service, attach(client), tenant.owner.token);
      return path;
    };

    rule('the approver sees its limits, and one that is lifted meanwhile makes the approval void', async () => {
      const dev = await vault('development');
      const { client_id: shownOne } = await connection([dev.id]);
      const [{ after: seen }] = await shown(await waits(attach(shownOne)));
      for (const [field, value] of Object.entries(LIMITS)) assert.deepEqual(seen.limits[field], value, field);
      assert.deepEqual(seen.limits.vault_ids, [dev.id]);
      for (const change of LIFTED) {
        const { client_id } = await connection([dev.id]);
        const id = await waits(attach(client_id));
        await ok(send('PATCH', `/app-connections/${client_id}`, change));
        assert.equal(await decided(id), 'VERSION_CONFLICT', JSON.stringify(change));
      }
      const { client_id } = await connection([dev.id]);
      const id = await waits(attach(client_id));
      await ok(send('PATCH', `/app-connections/${client_id}`, { description: 'of the shop' }));
      assert.equal(await decided(id), 'completed');
    });

    rule(
      'nobody lifts a limit alone afterwards, in whatever environment; disabling it is no matter of two',
      async () => {
        const { client_id } = await connection([(await vault('development')).id]);
        await ok(send('PATCH', `/app-connections/${client_id}`, { ip_allowlist: ['10.9.9.0/24'] }));
        const path = await attached(client_id);
        for (const change of LIFTED) await ok(send('PATCH', path, change), 202);
        await ok(send('PATCH', path, { description: 'of the shop' }));
        await ok(send('PATCH', path, { status: 'disabled' }));
        await ok(send('PATCH', path, { status: 'active' }), 202);
        assert.deepEqual((await ok(send('GET', path))).ip_allowlist, ['10.9.9.0/24']);
      },
    );

    rule('a limit is not lifted by an approval from before it had the policy', async () => {
      const { client_id } = await connection([(await vault('development')).id]);
      const path = await attached(client_id);
      const lifting = await waits(send('PATCH', path, { ip_allowlist: null }));
      await attached(client_id);
      assert.equal(await decided(lifting), 'VERSION_CONFLICT');
      assert.deepEqual((await ok(send('GET', path))).ip_allowlist, LIMITS.ip_allowlist);
    });
  });

  describe('somebody who gets rights', () => {
    const grants: [string, (member: Colleague) => Promise<Answer>][] = [
      [
        'in a vault of production',
        async ({ id }) =>
          send('POST', `/v1/vaults/${(await vault('production')).name}/members`, { user: id, role: 'reader' }),
      ],
      [
        'that are more in a vault of production',
        async ({ id }) => {
          const { name } = await vault('production');
          const body = { user: id, role: 'reader' };
          await approved(service, send('POST', `/v1/vaults/${name}/members`, body), tenant.owner.token);
          return send('PATCH', `/v1/vaults/${name}/members/${id}`, { role: 'writer' });
        },
      ],
      [
        'by a policy',
        async ({ id }) => send('POST', `/v1/policies/${await policy()}/attach`, { principal: { user: id } }),
      ],
      [
        'by a group',
        async ({ id }) => {
          const group = (await ok(send('POST', '/v1/groups', { name: uniqueName('group') }), 201)).id;
          const attach = send('POST', `/v1/policies/${await policy()}/attach`, { principal: { group } });
          await approved(service, attach, tenant.owner.token);
          return send('POST', `/v1/groups/${group}/members`, { user_id: id });
        },
      ],
    ];

    for (const [how, ask] of grants) {
      test(`${how}: an account that is hijacked meanwhile gets none`, async () => {
        const member = await addColleague(service, tenant.id, 'member');
        const id = await waits(ask(member));
        await ok(send('PATCH', `/v1/users/${member.id}`, { password: 'chosen by whoever asked' }));
        assert.equal(await decided(id), 'VERSION_CONFLICT');
        assert.equal(await decided(await waits(ask(await addColleague(service, tenant.id, 'member')))), 'completed');
      });
    }
  });

  rule('an exporter with other credentials is not the one whose change was approved', async () => {
    const name = uniqueName('exporter');
    const body = { name, type: 'splunk_hec', endpoint: 'https://siem.example/in', credentials: { token: 'first' } };
    const creating = await waits(send('POST', '/v1/audit/exporters', body));
    assert.equal(await decided(creating), 'completed');
    const { exporters } = await ok(send('GET', '/v1/audit/exporters'));
    const path = `/v1/audit/exporters/${exporters[0].id}`;
    const first = await waits(send('PATCH', path, { format: 'ocsf' }));
    const second = await waits(send('PATCH', path, { credentials: { token: 'second' } }));
    assert.equal(await decided(second), 'completed');
    assert.equal(await decided(first), 'VERSION_CONFLICT');
  });
});
