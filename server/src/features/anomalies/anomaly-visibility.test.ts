import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { anomaliesOf, finding, raiseIn } from '../../../../test/support/anomalies.ts';
import { addConnection } from '../../../../test/support/machines.ts';
import { addColleague, addTenant, ok, refused, type Tenant } from '../../../../test/support/people.ts';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { addPolicy, addSecret, addVault } from '../../../../test/support/vaults.ts';
import type { Finding } from './detectors/detector.ts';
import type { AnomalyType } from './schemas.ts';

const ANOMALIES = '/anomalies';
const NEVER_WAS = 'anom_00000000000000000000000000';

onBothDatabases('visibility of anomalies', (database, { rule }) => {
  let service: Service;
  let tenant: Tenant;
  let other: Tenant;
  let token: string;
  let vault: string;
  let secrets = 0;
  before(async () => {
    service = await startService(database);
    tenant = await addTenant(service);
    other = await addTenant(service);
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

  describe('who may see it', () => {
    rule('nobody in another tenant', async () => {
      const id = await raised(await aboutSecret());
      const stranger = { token: other.owner.token };
      assert.deepEqual(await idsOf('status=all', stranger.token), []);
      await refused(service.call('GET', `${ANOMALIES}/${id}`, stranger), 404, 'NOT_FOUND');
      await refused(act(id, 'acknowledge', {}, stranger.token), 404, 'NOT_FOUND');
      await refused(act(id, 'dismiss', { reason: 'mine' }, stranger.token), 404, 'NOT_FOUND');
      assert.equal((await readOne(id)).status, 'open');
    });

    rule('the filter by tenant is for the operator', async () => {
      const id = await raised(await aboutSecret());
      assert.ok((await idsOf(`tenant=${tenant.id}`)).includes(id), 'one’s own tenant may be named');
      const foreign = `${ANOMALIES}?tenant=${tenant.id}`;
      await refused(service.call('GET', foreign, { token: other.owner.token }), 422, 'VALIDATION_FAILED');
      const seen = await ok(service.call('GET', `${foreign}&limit=1000`));
      assert.ok(seen.anomalies.some((one: { id: string }) => one.id === id));
      await refused(service.call('GET', `${ANOMALIES}?tenant=tenant_none`), 404, 'NOT_FOUND');
      const { tenant: operator } = await ok(service.call('GET', '/auth/me'));
      const member = await addColleague(service, operator.id, 'member');
      await refused(service.call('GET', foreign, { token: member.token }), 403, 'INSUFFICIENT_PRIVILEGE');
    });

    test('people see those about what their policies name, and only these count', async () => {
      const ours = await addVault(service, {}, token);
      const seen = await raised(await aboutSecret({}, ours));
      const hidden = await raised(await aboutSecret());
      const member = await addColleague(service, tenant.id, 'member');
      const list = () => ok(service.call('GET', ANOMALIES, { token: member.token }));
      assert.deepEqual([(await list()).anomalies, (await list()).total], [[], 0]);
      await addPolicy(
        service,
        { user: member.id },
        [{ action: ['anomalies:read', 'anomalies:acknowledge'], resource: [`vault/${ours}/**`] }],
        token,
      );
      assert.deepEqual(
        (await list()).anomalies.map(({ id }: { id: string }) => id),
        [seen],
      );
      assert.equal((await list()).total, 1);
      for (const id of [hidden, NEVER_WAS]) {
        await refused(
          service.call('GET', `${ANOMALIES}/${id}`, { token: member.token }),
          403,
          'INSUFFICIENT_PRIVILEGE',
        );
        await refused(act(id, 'acknowledge', {}, member.token), 403, 'INSUFFICIENT_PRIVILEGE');
      }
      await refused(act(seen, 'dismiss', { reason: 'no right' }, member.token), 403, 'INSUFFICIENT_PRIVILEGE');
      await ok(act(seen, 'acknowledge', {}, member.token));
      await refused(service.call('POST', `${ANOMALIES}/scan`, { token: member.token }), 403, 'INSUFFICIENT_PRIVILEGE');
    });

    rule('a deny under any name of it wins, also one that depends on tags', async () => {
      const tagged = await addVault(service, {}, token);
      const found = await aboutSecret({}, tagged);
      const id = await raised(found);
      const [, , path] = found.resource.split('/');
      const body = { value: 'v', metadata: { tags: ['pci'] } };
      await ok(service.call('PUT', `/v1/vaults/${tagged}/secrets/${path}`, { token, body }));
      const everything = { action: ['anomalies:*'], resource: ['anomaly/*'] };
      for (const denial of [
        { resource: [`anomaly/${id}`] },
        { resource: [found.resource] },
        { resource: ['vault/**'], condition: { tag_equals: ['pci'] } },
      ]) {
        const member = await addColleague(service, tenant.id, 'member');
        const statements = [everything, { effect: 'deny' as const, action: ['anomalies:*'], ...denial }];
        await addPolicy(service, { user: member.id }, statements, token);
        await refused(
          service.call('GET', `${ANOMALIES}/${id}`, { token: member.token }),
          403,
          'INSUFFICIENT_PRIVILEGE',
        );
        assert.ok(!(await idsOf('', member.token)).includes(id));
      }
    });

    rule('an auditor reads and does not act', async () => {
      const id = await raised(await aboutSecret());
      const auditor = await addColleague(service, tenant.id, 'auditor');
      assert.ok((await idsOf('', auditor.token)).includes(id));
      await ok(service.call('GET', `${ANOMALIES}/${id}`, { token: auditor.token }));
      await refused(act(id, 'acknowledge', {}, auditor.token), 403, 'INSUFFICIENT_PRIVILEGE');
    });
  });

  test('what is about a connection ends with it, and is known by each of its names', async () => {
    const machine = await addConnection(service, vault, {}, token);
    const resource = `app-connection/${machine.id}`;
    const row = await service.app.kernel.database.read
      .selectFrom('app_connections')
      .select('connection_no')
      .where('client_id', '=', machine.client_id)
      .executeTakeFirstOrThrow();
    const id = await raised(finding({ resource, connectionNo: Number(row.connection_no) }), 'zombie_app_connection');
    const member = await addColleague(service, tenant.id, 'member');
    const statement = { action: ['anomalies:read'], resource: [`app-connection/${machine.client_id}`] };
    await addPolicy(service, { user: member.id }, [statement], token);
    assert.deepEqual(await idsOf('', member.token), [id]);
    await ok(service.call('DELETE', `/v1/app-connections/${machine.id}`, { token }));
    assert.equal((await readOne(id)).status, 'resolved');
  });

  test('baselines are of existing secrets, for who may see their anomalies', async () => {
    const { resource } = await aboutSecret();
    const url = (of: string) => `${ANOMALIES}/baselines?resource=${encodeURIComponent(of)}`;
    const { baselines } = await ok(service.call('GET', url(resource), { token }));
    assert.deepEqual(
      baselines.map((one: { metric: string; samples: number; mean: number }) => [one.metric, one.samples, one.mean]),
      [
        ['reads_per_hour', 720, 0],
        ['denied_per_hour', 720, 0],
        ['distinct_actors_per_day', 30, 0],
        ['distinct_countries_per_day', 30, 0],
      ],
    );
    for (const wrong of [`vault/${vault}`, 'vault/x/../y', 'app-connection/1', 'vault//a']) {
      await refused(service.call('GET', url(wrong), { token }), 422, 'VALIDATION_FAILED');
    }
    await refused(service.call('GET', url(`vault/${vault}/none`), { token }), 404, 'SECRET_NOT_FOUND');
    await refused(service.call('GET', url(resource), { token: other.owner.token }), 404, 'VAULT_NOT_FOUND');
    const member = await addColleague(service, tenant.id, 'member');
    for (const any of [resource, `vault/${vault}/none`, 'vault/none/none']) {
      await refused(service.call('GET', url(any), { token: member.token }), 403, 'INSUFFICIENT_PRIVILEGE');
    }
  });
});
