import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { account, addCluster, reportHost, sshKey, type TestCluster } from '../../../../test/support/fleet.ts';
import { addPerson, addTenant, ok, type Person, type Tenant } from '../../../../test/support/people.ts';
import { type Answer, onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { Receiver } from '../../../../test/support/siem-receivers.ts';
import { until } from '../../../../test/support/until.ts';
import { addVault, runJobs, runPurges } from '../../../../test/support/vaults.ts';
import { DAY_MS, HOUR_MS } from '../../kernel/base/clock.ts';

onBothDatabases('drift of hosts', (database, { rule }) => {
  let service: Service;
  let tenant: Tenant;
  let vault: string;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  const token = () => tenant.owner.token;
  const call = (method: string, path: string, body?: unknown) =>
    service.call(method, path, { token: token(), ...(body !== undefined && { body }) });

  const fresh = async (kind: object = {}): Promise<TestCluster> => {
    tenant = await addTenant(service);
    vault = await addVault(service, {}, token());
    return addCluster(service, { kind: 'hosts', ...kind }, token());
  };
  const join = (person: Person) =>
    ok(call('POST', `/v1/vaults/${vault}/members`, { user: person.id, role: 'reader' }), 201);
  const person = (name: string) => addPerson(service, { tenant, email: `${name}@example.com` });
  const drift = async (query = ''): Promise<Answer['body'][]> =>
    (await ok(call('GET', `/endpoint-discovery/drift?${query}`))).drift;
  const told = async (query = '') =>
    (await drift(query)).map(({ kind, username, email }) => [kind, username, email].filter((part) => part !== null));

  test('is an account with a key and without a member, until it is linked', async () => {
    const cluster = await fresh();
    const [ada, bob] = [await person('ada'), await person('bob')];
    await join(ada);
    await ok(
      reportHost(service, cluster, 'web-1', [
        account('ada', { ssh_keys: [sshKey('a', { comment: '' })] }),
        account('bob', { ssh_keys: [sshKey('b', { comment: '' })] }),
        account('deploy', { ssh_keys: [sshKey('c', { comment: 'ada@example.com' })] }),
        account('service', { ssh_keys: [sshKey('d', { comment: '' })] }),
        account('empty'),
        account('ca', { ssh_keys: [sshKey('e', { comment: '', flags: ['cert_authority'] })] }),
        account('old', { ssh_keys: [sshKey('f', { comment: '', flags: ['expired'] })] }),
      ]),
    );
    assert.deepEqual(await told(), [
      ['orphan_account', 'bob'],
      ['orphan_account', 'service'],
    ]);
    assert.equal((await ok(call('GET', '/endpoint-discovery/stats'))).drift, 2);
    const { accounts } = await ok(call('GET', '/endpoint-discovery/accounts?username=service'));
    const link = (user: string | null) =>
      ok(call('POST', `/endpoint-discovery/accounts/${accounts[0].id}/link`, { user }));
    assert.equal((await link(ada.email)).user_id, ada.id);
    assert.deepEqual(await told(), [['orphan_account', 'bob']]);
    service.clock.advance(HOUR_MS);
    const next = [account('service', { uid: 5, ssh_keys: [sshKey('g', { comment: '' })] })];
    await ok(reportHost(service, cluster, 'web-1', next));
    assert.deepEqual(await told(), [], 'a link stays when the host is scanned again');
    await link(null);
    assert.deepEqual(await told(), [['orphan_account', 'service']]);
    const { id } = await ok(call('POST', '/v1/groups', { name: 'deployers' }), 201);
    await ok(call('POST', `/v1/vaults/${vault}/members`, { group: id, role: 'reader' }), 201);
    await ok(call('POST', `/v1/groups/${id}/members`, { user_id: bob.id }), 201);
    await link(bob.id);
    assert.deepEqual(await told(), [], 'a member of a group of the vault is a member of the vault');
  });

  rule('is a key of somebody who was disabled or deleted', async () => {
    const cluster = await fresh();
    const [ada, eve, mal] = [await person('ada'), await person('eve'), await person('mal')];
    await join(ada);
    const keys = [sshKey('1', { comment: 'eve@laptop' }), sshKey('2', { comment: 'mal@example.com' })];
    await ok(
      reportHost(service, cluster, 'web-1', [account('ada', { ssh_keys: [sshKey('0', { comment: '' }), ...keys] })]),
    );
    assert.deepEqual(await told(), []);
    await ok(call('PATCH', `/v1/users/${eve.id}`, { status: 'disabled' }));
    await ok(call('DELETE', `/v1/users/${mal.id}`));
    assert.deepEqual(await told(), [
      ['former_employee_key', 'ada', 'eve@example.com'],
      ['former_employee_key', 'ada', 'mal@example.com'],
    ]);
    assert.deepEqual(await told('kind=orphan_account'), []);
    const first = await ok(call('GET', '/endpoint-discovery/drift?limit=1'));
    const rest = await ok(call('GET', `/endpoint-discovery/drift?limit=1&cursor=${first.next_cursor}`));
    assert.deepEqual(
      [first.drift[0].email, rest.drift[0].email, rest.next_cursor],
      ['eve@example.com', 'mal@example.com', null],
    );
    await ok(call('PATCH', `/v1/users/${eve.id}`, { status: 'active' }));
    assert.deepEqual(await told(), [['former_employee_key', 'ada', 'mal@example.com']]);
  });

  rule('is an active member without a key on production hosts', async () => {
    const staging = await fresh();
    const [ada, bob] = [await person('ada'), await person('bob')];
    await join(ada);
    await join(bob);
    const both = ['ada', 'bob'].map((name) => account(name, { ssh_keys: [sshKey(name, { comment: '' })] }));
    await ok(reportHost(service, staging, 'web-1', both));
    assert.deepEqual(await told(), [], 'there is no production host');
    const production = await addCluster(service, { kind: 'hosts', environment: 'prod' }, token());
    await ok(reportHost(service, production, 'db-1', both.slice(0, 1)));
    const owner = tenant.owner.email;
    assert.deepEqual(await told(), [
      ['missing_key', owner],
      ['missing_key', 'bob@example.com'],
    ]);
    const next = await ok(call('GET', '/endpoint-discovery/drift?limit=1'));
    const rest = await ok(call('GET', `/endpoint-discovery/drift?limit=1&cursor=${next.next_cursor}`));
    assert.deepEqual([next.drift[0].email, rest.drift[0].email, rest.next_cursor], [owner, 'bob@example.com', null]);
    await ok(call('PATCH', `/v1/users/${bob.id}`, { status: 'disabled' }));
    assert.deepEqual(await told('kind=missing_key'), [['missing_key', owner]]);
  });

  test('is an active member without a key, also if no account of the production hosts has any', async () => {
    await fresh();
    await join(await person('ada'));
    const production = await addCluster(service, { kind: 'hosts', environment: 'prod' }, token());
    assert.deepEqual(await told(), [], 'no production host has reported');
    await ok(reportHost(service, production, 'db-1', [account('ada'), account('root')]));
    assert.deepEqual(await told('kind=missing_key'), [
      ['missing_key', tenant.owner.email],
      ['missing_key', 'ada@example.com'],
    ]);
    await ok(reportHost(service, production, 'db-2', []));
    assert.equal((await ok(call('GET', '/endpoint-discovery/stats'))).drift, 2);
  });

  rule('is sent to webhooks once a day, if that is wanted, without text from hosts', async () => {
    const env = { CV_OUTBOUND_ALLOW: '127.0.0.1/32', CV_ENDPOINT_DRIFT_NOTIFY: 'true' };
    const quiet = service;
    const loud = await startService(database, { env });
    const receiver = await Receiver.start();
    const prepare = async () => {
      const cluster = await fresh();
      const url = service === loud ? receiver.url : 'https://hooks.example.com/x';
      const webhook = { url, events: ['endpoint.drift'], enabled: service === loud };
      await ok(call('POST', '/webhooks', webhook), 201);
      await ok(reportHost(service, cluster, 'web-1', [account('hostile-name', { ssh_keys: [sshKey('hostile-key')] })]));
      service.clock.advance(2 * HOUR_MS);
      await runJobs(service);
    };
    try {
      await prepare();
      const stored = await quiet.app.kernel.database.read.selectFrom('drift_notices').selectAll().execute();
      assert.deepEqual(stored, [], 'nothing is sent unless the setting says so');
      service = loud;
      await prepare();
      await until('the notice does not arrive', () => receiver.requests.length === 1);
      const { body } = receiver.requests[0] ?? { body: '' };
      const event = JSON.parse(body);
      assert.deepEqual([event.event, event.tenant], ['endpoint.drift', tenant.id]);
      assert.deepEqual([event.endpoint.total, event.endpoint.orphan_account], [1, 1]);
      assert.equal(body.includes('hostile'), false);
      service.clock.advance(2 * HOUR_MS);
      await runJobs(service);
      assert.equal(receiver.requests.length, 1);
      service.clock.advance(DAY_MS);
      await runJobs(service);
      await until('the notice does not arrive', () => receiver.requests.length === 2);
    } finally {
      service = quiet;
      await loud.close();
    }
  });

  rule('names somebody who was deleted for two years', async () => {
    const cluster = await fresh();
    const [ada, mal, eve] = [await person('ada'), await person('mal'), await person('eve')];
    await join(ada);
    const keys = ['', 'mal@example.com', 'eve@example.com'].map((comment) => sshKey(`key ${comment}`, { comment }));
    await ok(reportHost(service, cluster, 'web-1', [account('ada', { ssh_keys: keys })]));
    for (const { id } of [mal, eve]) await ok(call('DELETE', `/v1/users/${id}`));
    const named = async () => (await told()).map(([, , email]) => email);
    assert.deepEqual(await named(), ['mal@example.com', 'eve@example.com']);
    const leave = (user_id: string, days: number) =>
      service.app.kernel.database.transaction((tx) =>
        tx
          .updateTable('former_users')
          .set({ left_at: service.clock.now() - days * DAY_MS })
          .where('user_id', '=', user_id)
          .execute(),
      );
    await leave(mal.id, 728);
    await leave(eve.id, 732);
    service.clock.advance(DAY_MS);
    await runPurges(service);
    assert.deepEqual(await named(), ['mal@example.com']);
  });
});
