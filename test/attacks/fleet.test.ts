import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { HOUR_MS } from '../../server/src/kernel/base/clock.ts';
import {
  account,
  addCluster,
  addClusterPolicy,
  callAsCluster,
  clusterWithSecret,
  fortressWriter,
  hostId,
  reportHost,
  reportStatus,
  sshKey,
  sync,
  type TestCluster,
} from '../support/fleet.ts';
import { addPerson, addTenant, ok, type Person, refused, uniqueName } from '../support/people.ts';
import { type Answer, onBothDatabases, type Service, startService } from '../support/service.ts';
import { addPolicy, addSecret, addVault, auditOf, secretUrl } from '../support/vaults.ts';

const ACCOUNTS = '/endpoint-discovery/accounts';

onBothDatabases('somebody with the token of a cluster', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  const call = (method: string, path: string, body?: object, token?: string) =>
    service.call(method, path, { ...(body !== undefined && { body }), ...(token !== undefined && { token }) });

  test('learns nothing about other clusters, not even by what is refused in the audit log', async () => {
    const cluster = await addCluster(service);
    const stranger = await addTenant(service);
    const foreign = await addCluster(service, {}, stranger.owner.token);
    const answers = new Set<string>();
    for (const id of [foreign.id, 'cluster_00000000000000000000000000']) {
      const fetched = await callAsCluster(service, cluster, 'GET', `/clusters/${id}/desired-state`);
      const body = { generation: 0, results: [] };
      const reported = await callAsCluster(service, cluster, 'POST', `/clusters/${id}/status`, { body });
      for (const { status, body: told } of [fetched, reported]) {
        const { code, message, details } = told.error;
        // What the caller sent, the id and the action, may come back.
        const text = JSON.stringify([status, code, message, details]);
        answers.add(text.replaceAll(id, '').replaceAll(/clusters:\w+/g, ''));
      }
    }
    assert.equal(answers.size, 1, [...answers].join('\n'));
    const [entry] = await auditOf(service, `actor=${cluster.id}&action=clusters:sync`);
    assert.equal(entry.decision, 'deny');
    const theirs = await auditOf(service, 'action=clusters:sync', stranger.owner.token);
    assert.deepEqual(theirs, [], 'the refusal belongs to the tenant of the token');
  });

  test('cannot bring back with an old report what was removed since', async () => {
    const tenant = await addTenant(service);
    const { token } = tenant.owner;
    const cluster = await addCluster(service, { kind: 'hosts' }, token);
    const scanned_at = new Date(service.clock.now()).toISOString();
    const stolen = [account('ada', { ssh_keys: [sshKey('old')] }), account('mal', { ssh_keys: [sshKey('mal')] })];
    const replay = (as: TestCluster = cluster) => reportHost(service, as, 'web-1', stolen, { scanned_at });
    await ok(replay());
    service.clock.advance(HOUR_MS);
    await ok(reportHost(service, cluster, 'web-1', [account('ada', { ssh_keys: [sshKey('new')] })]));
    const shown = async () => {
      const { accounts } = await ok(call('GET', ACCOUNTS, undefined, token));
      const [ada] = accounts;
      const { ssh_keys } = await ok(call('GET', `${ACCOUNTS}/${ada.id}`, undefined, token));
      return [accounts, ssh_keys];
    };
    const before = await shown();
    const { accepted, is_newest } = await ok(replay());
    assert.deepEqual([accepted, is_newest], [0, false]);
    assert.deepEqual(await shown(), before);
    const { cluster_token } = await ok(call('POST', `/clusters/${cluster.id}/rotate-token`, {}, token));
    await refused(replay(), 401, 'INVALID_TOKEN');
    await ok(replay({ ...cluster, cluster_token }));
    assert.deepEqual(await shown(), before);
  });

  test('cannot write into hosts of another cluster or tenant, whatever id it sends', async () => {
    const [victim, attacker] = [await addTenant(service), await addTenant(service)];
    const theirs = await addCluster(service, { kind: 'hosts' }, victim.owner.token);
    const own = await addCluster(service, { kind: 'hosts' }, attacker.owner.token);
    await ok(reportHost(service, theirs, 'db-1', [account('ada', { ssh_keys: [sshKey('ada')] })]));
    const listed = async (token: string) => (await ok(call('GET', ACCOUNTS, undefined, token))).accounts;
    const before = await listed(victim.owner.token);
    service.clock.advance(HOUR_MS);
    const first = await ok(reportHost(service, own, 'db-1', [account('mal')]));
    const unknown = await ok(reportHost(service, own, 'never-seen', [account('mal')]));
    assert.deepEqual([first.accepted, first.is_newest], [unknown.accepted, unknown.is_newest]);
    assert.deepEqual(await listed(victim.owner.token), before);
    const seen = await listed(attacker.owner.token);
    assert.deepEqual([...new Set(seen.map((one: Answer['body']) => one.cluster_id))], [own.id]);
    const body = { host_id: hostId('db-1'), scanned_at: new Date().toISOString(), accounts: [], cluster_id: theirs.id };
    const named = callAsCluster(service, own, 'POST', '/kube-guardian/endpoint-accounts', { body });
    await refused(named, 422, 'VALIDATION_FAILED');
  });

  test('shows nobody text that a terminal obeys, and brings no formula into logs', async () => {
    const tenant = await addTenant(service);
    const { token } = tenant.owner;
    const cluster = await addCluster(service, { kind: 'hosts' }, token);
    const hostile = [
      'a\u009b2Jb',
      'a\u2028b',
      'a\u202eb',
      'a\u2066b',
      "=HYPERLINK('http://x')",
      '../../root',
      '@SUM(1)',
    ];
    const accounts = hostile.map((text, i) =>
      account(text, { home: `/home/${text}`, ssh_keys: [sshKey(`k${i}`, { comment: text })] }),
    );
    assert.equal((await ok(reportHost(service, cluster, 'odd', accounts, { hostname: 'o\u009bdd' }))).accepted, 7);
    const { accounts: listed } = await ok(call('GET', ACCOUNTS, undefined, token));
    const read = await Promise.all(
      listed.map((one: Answer['body']) => ok(call('GET', `${ACCOUNTS}/${one.id}`, undefined, token))),
    );
    const drift = await call('GET', '/endpoint-discovery/drift', undefined, token);
    assert.equal(drift.body.drift.length, 7);
    for (const text of [JSON.stringify(listed), JSON.stringify(read), drift.text])
      assert.doesNotMatch(text, /[\u0080-\u009f\u2028-\u202e\u2066-\u2069]/);
    assert.match(String(drift.headers.get('content-type')), /^application\/json/);
    const { accounts: found } = await ok(
      call('GET', `${ACCOUNTS}?username=${encodeURIComponent('../../root')}`, undefined, token),
    );
    assert.deepEqual([found.length, found[0].home], [1, '/home/../../root']);
    assert.equal(service.logs.join('').includes('HYPERLINK'), false);
    const audit = await auditOf(service, 'action=endpoint_*', token);
    assert.ok(audit.length > 0);
    assert.equal(JSON.stringify(audit).includes('HYPERLINK'), false);
  });

  test('cannot claim to have applied what it never got', async () => {
    const cluster = await addCluster(service);
    await refused(reportStatus(service, cluster, { generation: 5, results: [] }), 422, 'VALIDATION_FAILED');
    const read = await ok(call('GET', `/clusters/${cluster.id}`));
    assert.deepEqual([read.applied_generation, read.last_report_at], [0, null]);
  });

  describe('gets nothing more once the author of a policy', () => {
    /** An author who may read the vault as `join` lets them, and whose policy delivers. */
    const authored = async (join: (author: Person, vault: string) => Promise<unknown>) => {
      const { cluster, vault } = await clusterWithSecret(service);
      const author = await addPerson(service, { role: 'member' });
      await addPolicy(service, { user: author.email }, [
        { action: ['cluster_policies:create'], resource: ['cluster/*'] },
      ]);
      await join(author, vault);
      await ok(addClusterPolicy(service, cluster, { vault, prefix: 'db' }, author.token), 201);
      const first = await sync(service, cluster);
      assert.equal(first.body.secrets.length, 1);
      const etag = first.headers.get('etag') ?? '';
      assert.equal((await sync(service, cluster, etag)).status, 304);
      return { cluster, vault, author, etag };
    };
    const assertWithheld = async ({ cluster, etag }: { cluster: TestCluster; etag: string }) => {
      const { status, body } = await sync(service, cluster, etag);
      assert.deepEqual([status, body.secrets, body.withheld[0].reason], [200, [], 'access_lost']);
    };

    test('is no member of the vault any more', async () => {
      const made = await authored((author, vault) =>
        ok(call('POST', `/v1/vaults/${vault}/members`, { user: author.id, role: 'reader' }), 201),
      );
      await ok(call('DELETE', `/v1/vaults/${made.vault}/members/${made.author.id}`));
      await assertWithheld(made);
    });

    test('has left the group that was', async () => {
      let group = '';
      const made = await authored(async (author, vault) => {
        group = (await ok(call('POST', '/v1/groups', { name: uniqueName('group') }), 201)).id;
        await ok(call('POST', `/v1/groups/${group}/members`, { user_id: author.id }), 201);
        await ok(call('POST', `/v1/vaults/${vault}/members`, { group, role: 'reader' }), 201);
      });
      await ok(call('DELETE', `/v1/groups/${group}/members/${made.author.id}`));
      await assertWithheld(made);
    });
  });

  describe('gets no fortress secret that came', () => {
    test('to a path of a policy by a move', async () => {
      const { cluster, vault } = await clusterWithSecret(service);
      const mappings = [{ key: 'a', path: 'db/password' }];
      await ok(addClusterPolicy(service, cluster, { vault, mappings }), 201);
      const etag = (await sync(service, cluster)).headers.get('etag') ?? '';
      const token = await fortressWriter(service, vault);
      await addSecret(service, vault, 'keep/strong', { protection: 'fortress' }, token);
      await ok(call('DELETE', secretUrl(vault, 'db/password')));
      await ok(call('POST', secretUrl(vault, 'keep/strong', 'move'), { to_path: 'db/password' }, token));
      const { status, body, text } = await sync(service, cluster, etag);
      assert.deepEqual([status, body.secrets, body.withheld[0].reason], [200, [], 'fortress']);
      assert.equal(text.includes(Buffer.from('value of keep/strong').toString('base64')), false);
    });

    test('into a composed environment', async () => {
      const cluster = await addCluster(service);
      const vault = await addVault(service);
      const { id } = await ok(call('POST', '/environments', { name: uniqueName('env') }), 201);
      await ok(addClusterPolicy(service, cluster, { environment_id: id }), 201);
      const bind = (secret_id: number, key_name: string, token?: string) =>
        ok(call('POST', `/environments/${id}/secrets`, { secret_id, key_name }, token), 201);
      await bind((await addSecret(service, vault, 'plain')).secret_id, 'PLAIN');
      const first = await sync(service, cluster);
      assert.equal(first.body.secrets.length, 1);
      const writer = await fortressWriter(service, vault);
      await bind((await addSecret(service, vault, 'strong', { protection: 'fortress' }, writer)).secret_id, 'STRONG');
      const { status, body } = await sync(service, cluster, first.headers.get('etag') ?? '');
      assert.deepEqual([status, body.secrets, body.withheld[0].reason], [200, [], 'fortress']);
    });
  });
});
