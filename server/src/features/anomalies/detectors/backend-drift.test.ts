import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { anomaliesOf, scanned } from '../../../../../test/support/anomalies.ts';
import { addTenant, ok, type Tenant, uniqueName } from '../../../../../test/support/people.ts';
import { type PostgresServer, query, startPostgres } from '../../../../../test/support/postgres.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../../test/support/service.ts';
import { addSecret, addVault, secretUrl } from '../../../../../test/support/vaults.ts';
import { UnresolvedHost } from '../../../kernel/outbound/address-guard.ts';

const PASSWORD = 'Old-password-1';

onSqliteAtLanding('backend_drift', (database) => {
  let server: PostgresServer;
  let service: Service;
  before(async () => {
    server = await startPostgres();
    service = await startService(database, { env: { CV_OUTBOUND_ALLOW: '127.0.0.0/8,localhost' } });
  });
  after(async () => {
    await service.close();
    await server.remove();
  });

  /** A role on the server; answers its name. */
  async function addRole(prefix: string): Promise<string> {
    const name = uniqueName(prefix).replaceAll('-', '_');
    await query(server.url, `create role "${name}" login password '${PASSWORD}'`);
    return name;
  }

  /** A secret with the login of a role. */
  async function addLogin(tenant: Tenant, username: string, more: { host?: string; isRotated?: boolean } = {}) {
    const { token } = tenant.owner;
    const { host = '127.0.0.1', isRotated = true } = more;
    const vault = await addVault(service, {}, token);
    const port = Number(new URL(server.url).port);
    const value = JSON.stringify({ host, port, database: 'postgres', username, password: PASSWORD, tls: false });
    const rotation = { interval_days: 30, backend: { kind: 'postgres_role' } };
    const body = { type: 'database', value, ...(isRotated && { rotation }) };
    await addSecret(service, vault, 'login', body, token);
    return `vault/${vault}/login`;
  }

  async function drift(tenant: Tenant) {
    await scanned(service, tenant.owner.token);
    return anomaliesOf(service, tenant.owner.token, 'type=backend_drift');
  }

  test('roles that no secret of any tenant accounts for are found, and no others', async () => {
    const [tenant, neighbour] = [await addTenant(service), await addTenant(service)];
    const own = await addRole('cv_own');
    const [unrotated, theirs, renamed] = [
      await addRole('cv_kept'),
      await addRole('cv_theirs'),
      await addRole('cv_alias'),
    ];
    await addRole('other');
    await addRole('CV_upper');
    await addRole('cvx');
    const resource = await addLogin(tenant, own);
    await addLogin(tenant, unrotated, { isRotated: false });
    await addLogin(neighbour, theirs, { isRotated: false });
    await addLogin(neighbour, renamed, { isRotated: false, host: 'localhost' });
    assert.deepEqual(await drift(tenant), []);

    const orphans = [await addRole('cv_orphan'), await addRole('cv_orphan')].sort();
    const [found, ...others] = await drift(tenant);
    assert.deepEqual([found.resource, found.severity, others], [resource, 'medium', []]);
    assert.deepEqual(found.observed, { orphan_roles: 2, roles: orphans });
    assert.deepEqual(found.baseline, { accounted_roles: 4 });
    assert.ok(orphans.every((role) => found.recommendation.includes(role)));
    const shown = JSON.stringify(found) + service.logs.join('\n');
    assert.ok(!shown.includes(PASSWORD), 'a password is shown');
    assert.ok(!JSON.stringify(found).includes('127.0.0.1'), 'part of a value is shown');
    assert.ok(!JSON.stringify(found).includes(theirs), 'another tenant’s role is shown');
    assert.deepEqual(await drift(neighbour), [], 'it has no password rotated there');

    // A secret that is deleted accounts for nothing.
    const [, vault] = resource.split('/');
    const { token } = tenant.owner;
    await addLogin(tenant, own);
    await ok(service.call('DELETE', secretUrl(String(vault), 'login'), { token }));
    const again = await drift(tenant);
    assert.equal(again.length, 2, 'the server is now named by another secret');
    for (const role of orphans) await query(server.url, `drop role "${role}"`);
    const left = (await drift(tenant)).find((one) => one.id === found.id);
    assert.equal(left.occurrences, found.occurrences, 'it is not found any more');
  });

  test('names of another tenant that do not resolve delay nobody for long', async (t) => {
    const [tenant, neighbour] = [await addTenant(service), await addTenant(service)];
    await addLogin(tenant, await addRole('cv_mine'));
    for (let i = 0; i < 20; i++)
      await addLogin(neighbour, `cv_${i}`, { host: `hanging-${i}.example`, isRotated: false });
    const { outbound } = service.app.kernel;
    const resolve = outbound.resolve.bind(outbound);
    const lookedUp: string[] = [];
    t.mock.method(outbound, 'resolve', async (host: string) => {
      if (!host.startsWith('hanging-')) return resolve(host);
      lookedUp.push(host);
      // How long names take is measured in real time, which no clock of a test moves.
      await sleep(6000);
      throw new UnresolvedHost(host);
    });
    await addRole('cv_left');
    const [found] = await drift(tenant);
    assert.ok(found.observed.orphan_roles >= 1);
    // One, if the machine is so slow that it took ten seconds by itself.
    assert.ok(lookedUp.length === 1 || lookedUp.length === 2, 'after ten seconds no more are looked up');
  });

  test('a server that cannot be reached raises nothing, and is logged without its name', async () => {
    const tenant = await addTenant(service);
    const role = await addRole('cv_gone');
    await addLogin(tenant, role);
    await query(server.url, `alter role "${role}" password 'another'`);
    assert.deepEqual(await drift(tenant), []);
    const lines = service.logs.filter((line) => line.includes('could not be listed'));
    assert.match(lines.at(-1) ?? '', /login_refused/);
    assert.ok(!lines.join('\n').includes(PASSWORD));
  });
});
