import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  account,
  addCluster,
  callAsCluster,
  fingerprint,
  hostId,
  reportHost,
  sshKey,
  type TestCluster,
} from '../../../../test/support/fleet.ts';
import { addPerson, addTenant, invalid, ok, refused, type Tenant } from '../../../../test/support/people.ts';
import { type Answer, onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { addPolicy, auditOf, runPurges } from '../../../../test/support/vaults.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../kernel/base/clock.ts';

const ACCOUNTS = '/endpoint-discovery/accounts';

onBothDatabases('accounts of hosts', (database, { rule }) => {
  let service: Service;
  let tenant: Tenant;
  let cluster: TestCluster;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  /** Each test has a tenant of its own, whose hosts are its own alone. */
  const fresh = async () => {
    tenant = await addTenant(service);
    cluster = await addCluster(service, { kind: 'hosts' }, tenant.owner.token);
  };
  const as = () => ({ token: tenant.owner.token });
  const listed = async (query = '') =>
    (await ok(service.call('GET', `${ACCOUNTS}?${query}`, as()))).accounts as Answer['body'][];
  const report = (host: string, accounts: readonly object[], more = {}) =>
    reportHost(service, cluster, host, accounts, more);
  const at = (ms: number) => ({ scanned_at: new Date(service.clock.now() + ms).toISOString() });
  const stats = () => ok(service.call('GET', '/endpoint-discovery/stats', as()));

  describe('a report', () => {
    before(fresh);

    rule('is stored without accounts that nobody can log in to', async () => {
      const answer = await ok(
        report('web-1', [
          account('ada', { gid: 1000, home: '/srv/ada', flags: ['sudo'], ssh_keys: [sshKey('ada'), sshKey('work')] }),
          account('www-data', { shell: '/usr/sbin/nologin', ssh_keys: [sshKey('x')] }),
          account('sync', { shell: '/bin/false' }),
          account('ada', { uid: 0, ssh_keys: [sshKey('second line of the same name')] }),
        ]),
      );
      assert.deepEqual([answer.accepted, answer.excluded, answer.is_newest], [1, 3, true]);
      const [ada, ...others] = await listed('host=web-1');
      assert.deepEqual(others, []);
      assert.deepEqual(
        [ada.username, ada.uid, ada.gid, ada.home, ada.flags],
        ['ada', 1000, 1000, '/srv/ada', ['sudo']],
      );
      const read = await ok(service.call('GET', `${ACCOUNTS}/${ada.id}`, as()));
      assert.deepEqual(
        read.ssh_keys.map((key: Answer['body']) => [key.type, key.fingerprint_sha256, key.comment]),
        [
          ['ssh-ed25519', fingerprint('ada'), 'ada'],
          ['ssh-ed25519', fingerprint('work'), 'work'],
        ],
      );
      assert.deepEqual(await stats(), { hosts_scanned: 1, accounts: 1, ssh_keys: 2, drift: 1 });
    });

    test('replaces an older one; an older one and a repeat change nothing', async () => {
      const first = at(-HOUR_MS);
      const accounts = [account('ada', { ssh_keys: [sshKey('ada')] }), account('bob')];
      await ok(report('db-1', accounts, first));
      const [ada, bob] = await listed('host=db-1');
      assert.deepEqual((await ok(report('db-1', accounts, first))).accepted, 2, 'a repeat is accepted again');
      const second = at(0);
      await ok(report('db-1', [account('ada', { uid: 7, ssh_keys: [sshKey('ada'), sshKey('new')] })], second));
      const late = await ok(report('db-1', accounts, at(-MINUTE_MS)));
      assert.deepEqual([late.accepted, late.is_newest], [0, false]);
      const other = await ok(report('db-1', accounts, second));
      assert.deepEqual([other.accepted, other.is_newest], [0, false], 'another scan of the same time');
      const [now, gone] = await listed('host=db-1');
      assert.deepEqual([now.id, now.uid, now.ssh_keys_count, now.is_present], [ada.id, 7, 2, true]);
      assert.deepEqual([now.first_seen_at, now.last_seen_at], [first.scanned_at, second.scanned_at]);
      assert.deepEqual([gone.id, gone.is_present, gone.last_seen_at], [bob.id, false, first.scanned_at]);
      const { ssh_keys } = await ok(service.call('GET', `${ACCOUNTS}/${ada.id}`, as()));
      assert.deepEqual(
        ssh_keys.map((key: Answer['body']) => key.first_seen_at),
        [first.scanned_at, second.scanned_at],
      );
    });

    test('that finds an account again keeps its id; one that is gone for long is deleted', async () => {
      await ok(report('app-1', [account('ada'), account('bob')]));
      const [ada, bob] = await listed('host=app-1');
      service.clock.advance(HOUR_MS);
      await ok(report('app-1', [account('bob')]));
      service.clock.advance(HOUR_MS);
      await ok(report('app-1', [account('ada')]));
      const again = await listed('host=app-1');
      assert.deepEqual(
        again.map(({ id, is_present }) => [id, is_present]),
        [
          [ada.id, true],
          [bob.id, false],
        ],
      );
      service.clock.advance(92 * DAY_MS);
      await runPurges(service);
      assert.deepEqual(
        (await listed('host=app-1')).map(({ id }) => id),
        [ada.id],
      );
    });

    test('sent many times at once is stored once', async () => {
      const scan = at(0);
      const accounts = Array.from({ length: 50 }, (_, i) => account(`user${i}`, { ssh_keys: [sshKey(`key${i}`)] }));
      const answers = await Promise.all(Array.from({ length: 6 }, () => report('many-1', accounts, scan)));
      assert.deepEqual([...new Set(answers.map(({ body }) => body.accepted))], [50]);
      assert.equal((await listed('host=many-1&limit=100')).length, 50);
    });

    rule('is in the audit log with the host, and without keys', async () => {
      await ok(report('log-1', [account('ada', { ssh_keys: [sshKey('comment-of-key')] })]));
      const [entry] = await auditOf(service, `action=endpoint_accounts:report`, tenant.owner.token);
      assert.deepEqual(
        [entry.actor.kind, entry.actor.id, entry.details.host],
        ['cluster', cluster.id, hostId('log-1')],
      );
      assert.equal(JSON.stringify(entry).includes('comment-of-key'), false);
    });
  });

  describe('a hostile report', () => {
    before(fresh);

    rule('is refused where a text has control characters or is too long', async () => {
      const wrong: [string, object][] = [
        ['/body/accounts/0/username', account('ada\nroot')],
        ['/body/accounts/0/username', account('')],
        ['/body/accounts/0/username', account('x'.repeat(257))],
        ['/body/accounts/0/home', account('ada', { home: '/srv/\u001b[2J' })],
        ['/body/accounts/0/home', account('ada', { home: `/${'x'.repeat(1024)}` })],
        ['/body/accounts/0/shell', account('ada', { shell: '/bin/\u0000bash' })],
        ['/body/accounts/0/uid', account('ada', { uid: -1 })],
        ['/body/accounts/0/uid', account('ada', { uid: 2 ** 32 })],
        ['/body/accounts/0/ssh_keys/0/comment', account('ada', { ssh_keys: [sshKey('a', { comment: 'a\u0007b' })] })],
        [
          '/body/accounts/0/ssh_keys/0/comment',
          account('ada', { ssh_keys: [sshKey('a', { comment: 'x'.repeat(513) })] }),
        ],
        ['/body/accounts/0/ssh_keys/0/type', account('ada', { ssh_keys: [sshKey('a', { type: 'ssh rsa' })] })],
        [
          '/body/accounts/0/ssh_keys/0/fingerprint_sha256',
          account('ada', { ssh_keys: [sshKey('a', { fingerprint_sha256: 'MD5:00' })] }),
        ],
        ['/body/accounts/0/ssh_keys/0/private_key', account('ada', { ssh_keys: [sshKey('a', { private_key: 'x' })] })],
        ['/body/accounts/0/flags/0', account('ada', { flags: ['<script>'] })],
      ];
      for (const [pointer, one] of wrong) await invalid(report('bad-1', [one]), pointer);
      await invalid(report('bad-1', [], { host_id: 'host_../../etc' }), '/body/host_id');
      await invalid(report('bad-1', [], { hostname: 'a\nb' }), '/body/hostname');
      await invalid(report('bad-1', [], at(HOUR_MS)), '/body/scanned_at');
      await invalid(report('bad-1', [], { scanned_at: 'yesterday' }), '/body/scanned_at');
      assert.deepEqual(await listed(), []);
    });

    rule('is refused for each account that is wrong, wherever it is in a long list', async () => {
      const good = Array.from({ length: 3000 }, (_, no) => account(`user-${no}`, { ssh_keys: [sshKey(`key-${no}`)] }));
      const pointersOf = async (accounts: readonly object[]) => {
        const { status, body } = await report('long-1', accounts);
        assert.equal(status, 422);
        return body.error.details.fields.map(({ pointer }: { pointer: string }) => pointer);
      };
      const [first, last] = [
        account('ada', { uid: -1 }),
        account('bob', { ssh_keys: [sshKey('a', { type: 'ssh rsa' })] }),
      ];
      assert.deepEqual(await pointersOf([...good, first, account('eve'), last]), [
        '/body/accounts/3000/uid',
        '/body/accounts/3002/ssh_keys/0/type',
      ]);
      assert.deepEqual(await pointersOf([...good, null as never]), ['/body/accounts/3000']);
      assert.equal((await pointersOf(good.map(() => first))).length, 20);
      const tooMany = Array.from({ length: 10_001 }, (_, no) => account(`user-${no}`));
      assert.deepEqual(await pointersOf(tooMany), ['/body/accounts']);
      await invalid(report('long-1', good, { more: 1 }), '/body/more');
      assert.deepEqual(await listed('host=long-1'), []);
    });

    test('has any opaque id that begins with host_, compared byte by byte', async () => {
      for (const host_id of ['host_abc', 'host_A.b-c_1', `host_${'x'.repeat(64)}`])
        assert.equal((await ok(report('web-1', [], { host_id }))).host_id, host_id);
      for (const host_id of ['host_', 'abc', 'Host_abc', 'host_a b', 'host_a/b', `host_${'x'.repeat(65)}`])
        await invalid(report('web-1', [], { host_id }), '/body/host_id');
    });

    rule('with path tricks and formulas is shown as it is', async () => {
      const names = ['../../etc/passwd', '=cmd|" /C calc"!A0', '<img src=x onerror=alert(1)>', '%2e%2e', '$(reboot)'];
      const accounts = names.map((name) =>
        account(name, { home: `/${name}`, ssh_keys: [sshKey('k', { comment: name })] }),
      );
      assert.equal((await ok(report('odd-1', accounts))).accepted, names.length);
      assert.deepEqual((await listed('host=odd-1')).map(({ username }) => username).sort(), names.toSorted());
      const found = await listed(`username=${encodeURIComponent(names[0] ?? '')}`);
      assert.equal(found.length, 1);
    });

    rule('is refused beyond its bounds', async () => {
      const many = (count: number, keys: number) =>
        Array.from({ length: count }, (_, i) =>
          account(`u${i}`, { ssh_keys: Array.from({ length: keys }, (__, k) => sshKey(`${i}-${k}`)) }),
        );
      await invalid(report('big-1', many(10_001, 0)), '/body/accounts');
      await invalid(report('big-1', many(1, 1001)), '/body/accounts/0/ssh_keys');
      await invalid(report('big-1', many(61, 1000)), '/body/accounts');
      const large = report('big-1', [account('ada', { home: 'x'.repeat(13 * 1024 * 1024) })]);
      await refused(large, 413, 'PAYLOAD_TOO_LARGE');
      assert.deepEqual(await listed('host=big-1'), []);
    });

    test('of the largest host is stored', async () => {
      const accounts = Array.from({ length: 10_000 }, (_, i) =>
        account(`u${i}`, { ssh_keys: Array.from({ length: 5 }, (__, k) => sshKey(`${i}-${k}`)) }),
      );
      assert.equal((await ok(report('huge-1', accounts))).accepted, 10_000);
      const { accounts: counted, ssh_keys } = await stats();
      assert.ok(counted >= 10_000 && ssh_keys >= 50_000);
      service.clock.advance(MINUTE_MS);
      await ok(report('huge-1', accounts.slice(1)));
    });
  });

  describe('hosts of others', () => {
    before(fresh);

    rule('cannot be reported: the same id in another cluster is another host', async () => {
      const other = await addCluster(service, { kind: 'hosts' }, tenant.owner.token);
      await ok(report('same-1', [account('ada')]));
      service.clock.advance(MINUTE_MS);
      await ok(reportHost(service, other, 'same-1', [account('eve')]));
      const found = await listed('host=same-1');
      assert.deepEqual(
        found.map(({ cluster_id, username, is_present }) => [cluster_id, username, is_present]),
        [
          [cluster.id, 'ada', true],
          [other.id, 'eve', true],
        ],
      );
      await ok(service.call('DELETE', `/clusters/${other.id}`, as()));
      assert.deepEqual(
        (await listed('host=same-1')).map(({ username }) => username),
        ['ada'],
      );
    });

    rule('are not seen by another tenant, nor by somebody without permission', async () => {
      await ok(report('mine-1', [account('ada')]));
      const [ada] = await listed('host=mine-1');
      const stranger = await addTenant(service);
      const token = stranger.owner.token;
      assert.deepEqual((await ok(service.call('GET', ACCOUNTS, { token }))).accounts, []);
      await refused(service.call('GET', `${ACCOUNTS}/${ada.id}`, { token }), 404, 'NOT_FOUND');
      const link = (by: string, user: string | null) =>
        service.call('POST', `${ACCOUNTS}/${ada.id}/link`, { token: by, body: { user } });
      await refused(link(token, null), 404, 'NOT_FOUND');
      await refused(link(tenant.owner.token, stranger.owner.email), 404, 'NOT_FOUND');
      const member = await addPerson(service, { tenant });
      for (const path of [ACCOUNTS, '/endpoint-discovery/stats', '/endpoint-discovery/drift', `${ACCOUNTS}/${ada.id}`])
        await refused(service.call('GET', path, { token: member.token }), 403, 'INSUFFICIENT_PRIVILEGE');
      const grants = [
        { action: ['endpoint_accounts:list'], resource: ['endpoint-account/*'] },
        { action: ['endpoint_accounts:read'], resource: [`endpoint-account/${ada.id}`] },
      ];
      await addPolicy(service, { user: member.email }, grants, tenant.owner.token);
      await ok(report('mine-2', [account('bob')]));
      const seen = await ok(service.call('GET', ACCOUNTS, { token: member.token }));
      assert.deepEqual(
        seen.accounts.map(({ id }: Answer['body']) => id),
        [ada.id],
      );
    });

    test('are as many as the plan allows', async () => {
      const small = await addTenant(service, { plan: 'starter' });
      const own = await addCluster(service, { kind: 'hosts' }, small.owner.token);
      for (let i = 0; i < 50; i++) await ok(reportHost(service, own, `host-${i}`, []));
      await refused(reportHost(service, own, 'host-50', []), 403, 'QUOTA_EXCEEDED');
      service.clock.advance(MINUTE_MS);
      await ok(reportHost(service, own, 'host-0', []));
    });

    rule('are reported with the token of a cluster alone', async () => {
      const body = { host_id: hostId('x'), ...at(0), accounts: [] };
      const path = '/kube-guardian/endpoint-accounts';
      await refused(service.call('POST', path, { ...as(), body }), 403, 'INSUFFICIENT_PRIVILEGE');
      await refused(service.call('POST', path, { token: null, body }), 401, 'INVALID_TOKEN');
      await ok(callAsCluster(service, cluster, 'POST', path, { body }));
    });
  });

  test('are found by host, name and type of key, page by page', async () => {
    await fresh();
    await ok(report('list-1', [account('ada', { ssh_keys: [sshKey('a', { type: 'ssh-rsa' })] }), account('bob')]));
    await ok(report('list-2', [account('ada', { ssh_keys: [sshKey('b')] })]));
    const names = async (query: string) =>
      (await listed(query)).map(({ hostname, username }) => `${hostname} ${username}`);
    assert.deepEqual(await names('username=ada'), ['list-1 ada', 'list-2 ada']);
    assert.deepEqual(await names('key_type=ssh-rsa'), ['list-1 ada']);
    assert.deepEqual(await names(`host=${hostId('list-2')}`), ['list-2 ada']);
    assert.deepEqual(await names('host=list-1&username=bob&key_type=ssh-rsa'), []);
    const first = await ok(service.call('GET', `${ACCOUNTS}?limit=2`, as()));
    const rest = await ok(service.call('GET', `${ACCOUNTS}?limit=2&cursor=${first.next_cursor}`, as()));
    assert.deepEqual([first.accounts.length, rest.accounts.length, rest.next_cursor], [2, 1, null]);
  });
});
