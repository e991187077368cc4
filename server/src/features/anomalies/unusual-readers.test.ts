import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { toBeginningOfHour } from '../../../../test/support/anomalies.ts';
import { addConnection } from '../../../../test/support/machines.ts';
import { addColleague, addTenant, ok, type Tenant } from '../../../../test/support/people.ts';
import { type Answer, onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { until } from '../../../../test/support/until.ts';
import { addVault } from '../../../../test/support/vaults.ts';
import { DAY_MS, HOUR_MS } from '../../kernel/base/clock.ts';
import { newId } from '../../kernel/base/ids.ts';

const HISTORY_DAYS = 30;
const SECRETS = 60;

onBothDatabases('an actor who reads many secrets that are new to them', (database) => {
  let service: Service;
  let tenant: Tenant;
  let token: string;
  let vault: string;
  before(async () => {
    service = await startService(database, { env: { CV_ANOMALY_ML_VERSION: 'v2' } });
    toBeginningOfHour(service);
    tenant = await addTenant(service);
    token = tenant.owner.token;
    vault = await addVault(service, {}, token);
    await importSecrets('old', SECRETS);
  });
  after(() => service.close());

  const importSecrets = (prefix: string, count: number) => {
    const secrets = Object.fromEntries(Array.from({ length: count }, (_, i) => [`${prefix}/${i}`, `value ${i}`]));
    return ok(service.call('POST', `/v1/vaults/${vault}/import`, { token, body: { secrets } }));
  };

  /** A read as the log has it. */
  const read = (actor: { kind: string; id: string }, path: string, at: number) =>
    service.app.kernel.audit.record({
      tenant_id: tenant.id,
      id: newId('audit', service.clock.now()),
      at,
      actor_kind: actor.kind,
      actor_id: actor.id,
      actor_name: '',
      actor_key: '',
      action: 'secrets:read',
      resource: `vault/${vault}/${path}`,
      vault,
      decision: 'allow',
      status: 200,
      ip: '',
      user_agent: '',
      request_id: '',
      reason: '',
      details: '',
    });

  /** Two secrets each day, always the same. */
  async function history(...actors: { kind: string; id: string }[]): Promise<void> {
    for (let day = HISTORY_DAYS; day > 1; day--) {
      const at = service.clock.now() - day * DAY_MS;
      for (const actor of actors) await Promise.all([0, 1].map((i) => read(actor, `old/${i}`, at)));
    }
  }

  /** Scans, and returns what is open about actors. */
  async function scanned(): Promise<Answer['body'][]> {
    const { kernel } = service.app;
    const { scan_no: before = 0 } = (await scanRow()) ?? {};
    await kernel.audit.link();
    await ok(service.call('POST', '/anomalies/scan', { token }));
    await until('the scan does not end', async () => Number((await scanRow())?.scan_no ?? 0) !== Number(before));
    const { anomalies } = await ok(service.call('GET', '/anomalies?type=unusual_access_pattern', { token }));
    return anomalies.filter(({ observed }: Answer['body']) => 'new_secrets_last_24h' in observed);
  }

  const scanRow = () =>
    service.app.kernel.database.read
      .selectFrom('anomaly_scans')
      .select('scan_no')
      .where('tenant_id', '=', tenant.id)
      .executeTakeFirst();

  test('is named with what to do; others, new actors and new secrets are not', async () => {
    const [thief, usual] = [
      await addColleague(service, tenant.id, 'member'),
      await addColleague(service, tenant.id, 'member'),
    ];
    const program = await addConnection(service, vault, {}, token);
    service.clock.advance((HISTORY_DAYS + 5) * DAY_MS);
    const hired = await addColleague(service, tenant.id, 'member');
    await importSecrets('new', SECRETS);
    const [first, second, third] = [thief, usual, hired].map(({ id }) => ({ kind: 'user', id }));
    const machine = { kind: 'app_connection', id: program.client_id };
    assert.ok(first !== undefined && second !== undefined && third !== undefined);
    await history(first, second, machine);
    assert.deepEqual(await scanned(), [], 'what they always read is nothing unusual');

    const at = service.clock.now() - HOUR_MS;
    for (let i = 2; i < 32; i++) {
      await read(first, `old/${i}`, at);
      await read(second, `new/${i}`, at);
      await read(third, `old/${i}`, at);
    }
    for (let i = 2; i < 12; i++) await read(machine, `old/${i}`, at);
    const found = await scanned();
    assert.deepEqual(
      found.map(({ resource, observed }) => [resource, observed['new_secrets_last_24h']]).sort(),
      [
        [`app-connection/${program['id']}`, 10],
        [`user/${thief.id}`, 30],
      ].sort(),
    );
    const ofUser = found.find(({ resource }) => resource === `user/${thief.id}`);
    assert.equal(ofUser.baseline.new_secrets_per_day_p95, 0);
    assert.equal(ofUser.observed.secrets_last_24h, 30);
    assert.ok(ofUser.recommendation.includes(`GET /v1/audit?actor=${thief.id}`), ofUser.recommendation);

    await ok(service.call('DELETE', `/v1/users/${thief.id}`, { token }));
    const { status } = await ok(service.call('GET', `/anomalies/${ofUser.id}`, { token }));
    assert.equal(status, 'resolved', 'who is deleted needs no attention');
  });
});
