import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { ed25519Line, HostRoot, IS_ROOT } from '../../../test/support/host-root.ts';
import { KEYS_FILE_BYTES_MAX, type ReportedAccount, scanHost } from './scan.ts';

const CLUSTER = 'cluster_01a';
const NOW = new Date('2026-11-16T12:00:00Z');
const scan = (host: HostRoot, clusterId = CLUSTER) => scanHost({ root: host.path, clusterId, now: NOW });
const NOT_ROOT = 'only root can give files to other accounts';

function accountOf(host: HostRoot, username: string): ReportedAccount {
  const account = scan(host).report.accounts.find((one) => one.username === username);
  assert.ok(account, `${username} was not reported`);
  return account;
}

describe('a scan', () => {
  test('reports accounts with their keys, and nothing else', () => {
    const host = new HostRoot();
    host.account('anna', [ed25519Line(1, 'anna@laptop'), `cert-authority ${ed25519Line(2)}`], {
      uid: process.getuid?.() ?? 0,
    });
    host.account('daemon', null, { shell: '/usr/sbin/nologin' });
    const { report, excluded } = scan(host);
    assert.equal(excluded, 1);
    assert.equal(report.hostname, 'web-1');
    assert.equal(report.scanned_at, NOW.toISOString());
    assert.deepEqual(Object.keys(report).sort(), ['accounts', 'flags', 'host_id', 'hostname', 'scanned_at']);
    assert.deepEqual(
      report.accounts.map(({ username, home, shell, flags, ssh_keys }) => [
        username,
        home,
        shell,
        flags,
        ssh_keys.length,
      ]),
      [['anna', '/users/anna', '/bin/bash', [], 2]],
    );
    assert.deepEqual(report.accounts[0]?.ssh_keys[1]?.flags, ['cert_authority']);
    assert.doesNotMatch(JSON.stringify(report), /AAAA/, 'a key itself was sent');
  });

  test('the id of a host is stable, other for each cluster, and does not show the machine id', () => {
    const host = new HostRoot();
    const id = scan(host).report.host_id;
    assert.match(id, /^host_[0-9a-f]{32}$/);
    assert.equal(scan(host).report.host_id, id);
    assert.notEqual(scan(host, 'cluster_01b').report.host_id, id);
    assert.ok(!id.includes('3f9c2a7d'));
  });

  test('without a machine id the scan fails and says what to do', () => {
    const host = new HostRoot();
    host.write('/etc/machine-id', 'uninitialized\n');
    assert.throws(() => scan(host), /systemd-machine-id-setup/);
  });

  test('AuthorizedKeysFile with several paths, included files and Match', () => {
    const host = new HostRoot();
    host.write(
      '/etc/ssh/sshd_config',
      'Include /etc/ssh/sshd_config.d/*.conf\nAuthorizedKeysFile .ssh/authorized_keys\n',
    );
    host.write('/etc/ssh/sshd_config.d/10-keys.conf', 'AuthorizedKeysFile .ssh/authorized_keys /etc/keys/%u\n');
    host.write('/etc/ssh/sshd_config.d/20.off', 'AuthorizedKeysFile none\n');
    host.account('anna', [ed25519Line(1)]);
    host.write('/etc/keys/anna', `${ed25519Line(2)}\n${ed25519Line(1, 'again')}\n`);
    assert.equal(accountOf(host, 'anna').ssh_keys.length, 2, 'the same key counts once');
  });

  test('of two lines with the same key, the one that lets somebody in counts', () => {
    const host = new HostRoot();
    host.account('anna', [`expiry-time="20200101" ${ed25519Line(1)}`, ed25519Line(1, 'valid')]);
    assert.deepEqual(
      accountOf(host, 'anna').ssh_keys.map(({ comment, flags }) => [comment, flags]),
      [['valid', []]],
    );
  });

  test('pipes, folders and devices are not read, and never waited for', () => {
    for (const [name, make] of Object.entries({
      pipe: (path: string) => execFileSync('mkfifo', [path]),
      folder: (path: string) => mkdirSync(path),
      device: (path: string) => symlinkSync('/dev/zero', path),
    })) {
      const host = new HostRoot();
      const { home } = host.account(name, []);
      host.write('/etc/ssh/sshd_config', 'AuthorizedKeysFile odd\nStrictModes no\n');
      make(join(host.path, home, 'odd'));
      const { flags, ssh_keys } = accountOf(host, name);
      assert.deepEqual(ssh_keys, []);
      // The device does not exist below the root, so its link leads nowhere.
      assert.deepEqual(flags, name === 'device' ? [] : ['keys_not_a_file'], name);
    }
  });

  test('links are followed inside the root, and never out of it', () => {
    const host = new HostRoot();
    const outside = new HostRoot();
    outside.write('/keys', `${ed25519Line(7)}\n`);
    const { home } = host.account('anna', [ed25519Line(1)]);
    host.write('/etc/ssh/sshd_config', 'AuthorizedKeysFile a b c d\nStrictModes no\n');
    const at = (name: string) => join(host.path, home, name);
    symlinkSync('.ssh/authorized_keys', at('a'));
    symlinkSync(join(outside.path, 'keys'), at('b'));
    symlinkSync(`${'../'.repeat(30)}${outside.path.slice(1)}/keys`, at('c'));
    symlinkSync('d', at('d'));
    const { ssh_keys, flags } = accountOf(host, 'anna');
    assert.equal(ssh_keys.length, 1);
    assert.deepEqual(flags, ['keys_not_a_file'], 'a link to itself ends');
  });

  test('a file that the account could not read itself is not read for it', (t) => {
    if (!IS_ROOT) return t.skip(NOT_ROOT);
    const host = new HostRoot();
    host.account('root', [ed25519Line(1, 'secret comment')], { uid: 0, home: '/root' });
    const { home } = host.account('eve', []);
    host.write('/etc/ssh/sshd_config', 'AuthorizedKeysFile .ssh/authorized_keys mine\n');
    symlinkSync('/root/.ssh/authorized_keys', join(host.path, home, 'mine'));
    const { ssh_keys, flags } = accountOf(host, 'eve');
    assert.deepEqual([ssh_keys, flags], [[], ['keys_not_readable_by_account']]);
  });

  test('with StrictModes, files and folders that others can write count for nothing', (t) => {
    if (!IS_ROOT) return t.skip(NOT_ROOT);
    const host = new HostRoot();
    for (const [name, path] of [
      ['anna', '.ssh/authorized_keys'],
      ['bob', '.ssh'],
      ['carl', ''],
    ] as const) {
      const { home } = host.account(name, [ed25519Line(1)]);
      chmodSync(join(host.path, home, path), 0o777);
      assert.deepEqual(
        [accountOf(host, name).ssh_keys, accountOf(host, name).flags],
        [[], ['keys_unsafe_permissions']],
      );
    }
    const { uid } = host.account('dora', [ed25519Line(1)]);
    host.write('/users/dora/.ssh/authorized_keys', ed25519Line(2), { uid: uid + 500, mode: 0o644 });
    assert.deepEqual(accountOf(host, 'dora').flags, ['keys_unsafe_permissions']);
    host.write('/etc/ssh/sshd_config', 'StrictModes no\n');
    assert.equal(accountOf(host, 'anna').ssh_keys.length, 1);
  });

  test('a group of the account alone may write, as Debian has it, and that is flagged', (t) => {
    if (!IS_ROOT) return t.skip(NOT_ROOT);
    const host = new HostRoot();
    const { home, uid } = host.account('anna', [ed25519Line(1)]);
    chmodSync(join(host.path, home, '.ssh/authorized_keys'), 0o664);
    const found = () => {
      const { ssh_keys, flags } = accountOf(host, 'anna');
      return [ssh_keys.length, flags];
    };
    assert.deepEqual(found(), [0, ['keys_unsafe_permissions']], 'a group that nobody knows');
    for (const members of ['', 'anna']) {
      host.write('/etc/group', `anna:x:${uid}:${members}\n`);
      assert.deepEqual(found(), [1, ['keys_group_writable']]);
    }
    for (const members of ['bob', 'anna,bob']) {
      host.write('/etc/group', `anna:x:${uid}:${members}\n`);
      assert.deepEqual(found(), [0, ['keys_unsafe_permissions']]);
    }
    host.write('/etc/group', `anna:x:${uid}:\n`);
    host.passwdLine(`daemon:x:9:${uid}::/:/usr/sbin/nologin`);
    assert.deepEqual(found(), [0, ['keys_unsafe_permissions']], 'it is also the group of somebody who cannot log in');
  });

  test('tricks in names and homes lead nowhere', () => {
    const host = new HostRoot();
    host.write('/etc/ssh/sshd_config', 'AuthorizedKeysFile /etc/keys/%u %h/keys\nStrictModes no\n');
    host.write('/etc/secret', ed25519Line(1));
    host.passwdLine('../secret:x:1:1::/tmp:/bin/sh');
    host.passwdLine('..:x:2:2::/tmp:/bin/sh');
    host.passwdLine('a\u0007b:x:3:3::/tmp:/bin/sh');
    host.passwdLine('rel:x:0:0::home:/bin/sh');
    host.passwdLine('up:x:0:0::/../../../..:/bin/sh');
    const { report } = scan(host);
    assert.deepEqual(
      report.accounts.map(({ username, flags, ssh_keys }) => [username, flags, ssh_keys.length]),
      [
        ['rel', ['no_home'], 0],
        ['up', [], 0],
      ],
    );
    assert.deepEqual(report.flags, ['accounts_left_out']);
  });

  test('control characters in comments are replaced, long ones cut; formulas stay what they are', () => {
    const host = new HostRoot();
    host.account('anna', [
      ed25519Line(1, 'a\u001b[31m\u0000b'),
      ed25519Line(2, 'x'.repeat(600)),
      ed25519Line(3, '=1+1'),
    ]);
    const comments = accountOf(host, 'anna').ssh_keys.map(({ comment }) => comment);
    assert.deepEqual(comments, ['a\ufffd[31m', 'x'.repeat(512), '=1+1']);
  });

  test('accounts that come from elsewhere are announced', () => {
    const host = new HostRoot();
    host.write('/etc/nsswitch.conf', 'passwd: files [SUCCESS=merge] systemd\n');
    assert.deepEqual(scan(host).report.flags, []);
    host.write('/etc/nsswitch.conf', 'group: ldap\npasswd: files sss\n');
    assert.deepEqual(scan(host).report.flags, ['nss_accounts_not_scanned']);
  });

  test('a configuration of sshd that cannot be read fails the scan instead of meaning the defaults', () => {
    const host = new HostRoot();
    mkdirSync(join(host.path, 'etc/ssh/sshd_config'), { recursive: true });
    assert.throws(() => scan(host), /not_a_file/);
  });

  test('a huge file is read up to its bound, and more keys than the service takes are left out', () => {
    const host = new HostRoot();
    const { home } = host.account('huge', [ed25519Line(1)]);
    truncateSync(join(host.path, home, '.ssh/authorized_keys'), KEYS_FILE_BYTES_MAX * 4);
    host.account(
      'many',
      Array.from({ length: 1001 }, (_, i) => ed25519Line(i)),
    );
    assert.deepEqual(accountOf(host, 'huge').flags, ['keys_left_out']);
    assert.equal(accountOf(host, 'huge').ssh_keys.length, 1);
    const many = accountOf(host, 'many');
    assert.deepEqual([many.ssh_keys.length, many.flags], [1000, ['keys_left_out']]);
    assert.deepEqual(scan(host).report.flags, []);
  });

  test('a report never grows over what the service takes', () => {
    const host = new HostRoot();
    const comment = '\u0001"'.repeat(250);
    for (let i = 0; i < 30; i++) {
      host.account(
        `u${i}`,
        Array.from({ length: 1000 }, (_, key) => ed25519Line(i * 1000 + key, comment)),
      );
    }
    const { report } = scan(host);
    assert.ok(Buffer.byteLength(JSON.stringify(report)) < 12 * 1024 * 1024);
    assert.deepEqual(report.flags, ['keys_left_out']);
    assert.equal(report.accounts.length, 30);
  });
});
