import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { CofferClient } from '../../agent/src/coffer-client.ts';
import { runEndpointAgent } from '../../agent/src/endpoint/endpoint-agent.ts';
import { RootFolder, UnreadError } from '../../agent/src/endpoint/root-folder.ts';
import { type Report, type ReportedAccount, scanHost } from '../../agent/src/endpoint/scan.ts';
import { newLog } from '../../agent/src/log.ts';
import { readSettings } from '../../agent/src/settings.ts';
import { addCluster } from '../support/fleet.ts';
import { ed25519Line, HostRoot, IS_ROOT, newFolder } from '../support/host-root.ts';
import { ok } from '../support/people.ts';
import { onBothDatabases, type Service, startService } from '../support/service.ts';

/** An attacker with an account on a host wants to read what only the agent may, to stop its reports, or to hide a key. */

const NOT_ROOT = 'only root can give files to other accounts and make devices';
/** A link to the root of the process that follows it. */
const AGENT_ROOT = '/proc/self/root';
/** A key in a file that its thief cannot read: if it were reported, the comment would be out. */
const STOLEN = ed25519Line(99, 'stolen-comment');

function reportOf(host: HostRoot): Report {
  return scanHost({ root: host.path, clusterId: 'cluster_01a', now: new Date() }).report;
}

function accountOf(host: HostRoot, username: string): ReportedAccount {
  const { accounts } = reportOf(host);
  return accounts.find((one) => one.username === username) ?? assert.fail(`${username} was not reported`);
}

function linked(host: HostRoot, home: string, target: string): void {
  const file = join(host.path, home, '.ssh/authorized_keys');
  rmSync(file);
  symlinkSync(target, file);
}

describe('an account that links its keys elsewhere', () => {
  for (const target of [
    '/etc/shadow',
    '../../../etc/shadow',
    '../../../../../../../../etc/shadow',
    `${AGENT_ROOT}/etc/shadow`,
    '/superuser/.ssh/authorized_keys',
    '/users/victim/.ssh/authorized_keys',
  ]) {
    test(`to ${target}: nothing of it is reported`, (t) => {
      if (!IS_ROOT) return t.skip(NOT_ROOT);
      const host = new HostRoot();
      host.write('/etc/shadow', `${STOLEN}\n`, { uid: 0, mode: 0o640 });
      host.account('root', [STOLEN], { uid: 0, home: '/superuser' });
      host.account('victim', [STOLEN]);
      const { home } = host.account('eve', []);
      linked(host, home, target);
      for (const strict of ['yes', 'no']) {
        host.write('/etc/ssh/sshd_config', `StrictModes ${strict}\n`);
        assert.deepEqual(accountOf(host, 'eve').ssh_keys, []);
      }
    });
  }

  test('on the host itself: neither what the agent is, nor its devices, nor what waits for ever', (t) => {
    if (!IS_ROOT) return t.skip(NOT_ROOT);
    const root = new RootFolder('/');
    const eve = { uid: 20_001, gid: 20_001, home: newFolder(), isOwnGroup: () => false };
    const secret = join(newFolder(), 'cluster-token');
    writeFileSync(secret, STOLEN, { mode: 0o600 });
    const targets = [
      ...['environ', 'mem', 'fd/0', 'fd/1', 'task'].map((name) => `/proc/self/${name}`),
      `${AGENT_ROOT}/etc/shadow`,
      ...[
        '/dev/zero',
        '/dev/stdin',
        '/dev/tty',
        '/dev/mem',
        '/dev/full',
        '/proc/kmsg',
        '/proc/self',
        '/etc/shadow',
        secret,
      ],
    ];
    for (const isStrict of [true, false]) {
      for (const target of targets) {
        assert.throws(() => root.readAs({ ...eve, isStrict }, target, 1024), UnreadError, `${target} ${isStrict}`);
      }
    }
  });

  test('to a file that all may read: only lines that are keys are reported, and no text of others', () => {
    const host = new HostRoot();
    host.write('/etc/motd', `password=hunter2\nssh-ed25519 hunter2 hunter2\n${ed25519Line(5, 'public')}\n`);
    const { home } = host.account('eve', []);
    host.write('/etc/ssh/sshd_config', 'StrictModes no\n');
    chmodSync(join(host.path, 'etc'), 0o755);
    linked(host, home, '/etc/motd');
    const account = accountOf(host, 'eve');
    assert.deepEqual([account.ssh_keys.length, account.flags], [1, ['keys_lines_refused']]);
    assert.doesNotMatch(JSON.stringify(reportOf(host)), /hunter2/);
  });
});

describe('what is no file', () => {
  const kinds: Record<string, (path: string) => unknown> = {
    pipe: (path) => execFileSync('mkfifo', [path]),
    folder: (path) => mkdirSync(path),
    'character device': (path) => execFileSync('mknod', [path, 'c', '1', '5']),
    'block device': (path) => execFileSync('mknod', [path, 'b', '7', '0']),
    socket: (path) =>
      new Promise<void>((done) => {
        const server = createServer().listen(path, () => done());
        after(() => server.close());
      }),
  };
  for (const [kind, make] of Object.entries(kinds)) {
    test(`a ${kind} in the place of keys, of .ssh or of a home is neither opened nor waited for`, async (t) => {
      if (!IS_ROOT) return t.skip(NOT_ROOT);
      for (const place of ['.ssh/authorized_keys', '.ssh', '']) {
        const host = new HostRoot();
        const { home, uid } = host.account('eve', [ed25519Line(1)]);
        host.account('other', [ed25519Line(2)]);
        const path = join(host.path, home, place);
        rmSync(path, { recursive: true });
        await make(path);
        chownSync(path, uid, uid);
        const started = performance.now();
        assert.deepEqual(accountOf(host, 'eve').ssh_keys, []);
        assert.equal(accountOf(host, 'other').ssh_keys.length, 1, 'others are reported');
        assert.ok(performance.now() - started < 5000);
      }
    });
  }
});

test('homes and names that are paths lead nowhere', () => {
  const host = new HostRoot();
  host.write('/etc/ssh/sshd_config', 'AuthorizedKeysFile %h/keys /etc/keys/%u ../%u\nStrictModes no\n');
  host.write('/etc/secret', STOLEN);
  host.write('/keys', STOLEN, { mode: 0o600, uid: 0 });
  const homes = [
    ...['/proc/self', '/proc/self/root', '/proc/self/cwd', '/dev/fd', '/dev/stdin', '/sys'],
    ...[
      '/../../../../..',
      '/users/../../..',
      '//',
      '/.',
      '',
      'relative',
      '~',
      '/%u',
      '/%h',
      `/${'a/'.repeat(3000)}`,
      '/a\0b',
    ],
  ];
  for (const [i, home] of homes.entries()) host.passwdLine(`home${i}:x:${30_000 + i}:${30_000 + i}::${home}:/bin/sh`);
  const names = [
    '../secret',
    '..',
    '.',
    'a/b',
    '/etc/secret',
    'x\u001bx',
    '%h',
    '%u',
    '$(id)',
    '-oX',
    '\u202eevil',
    'n'.repeat(300),
  ];
  for (const [i, name] of names.entries()) host.passwdLine(`${name}:x:${40_000 + i}:${40_000 + i}::/none:/bin/sh`);
  const { accounts } = reportOf(host);
  assert.ok(accounts.every(({ ssh_keys }) => ssh_keys.length === 0));
  assert.equal(accounts.filter(({ username }) => username.startsWith('home')).length, homes.length, 'all are reported');
  const named = accounts.filter(({ username }) => !username.startsWith('home')).map(({ username }) => username);
  // No lookup by name finds an entry that begins with a minus.
  assert.deepEqual(named, ['%h', '%u', '$(id)', '\u202eevil']);
});

test('of names that are no UTF-8 none hides another', () => {
  const host = new HostRoot();
  const line = (byte: number) =>
    Buffer.concat([Buffer.from('a'), Buffer.from([byte]), Buffer.from(':x:1:1::/:/bin/sh\n')]);
  host.write('/etc/passwd', Buffer.concat([line(0xfe), line(0xff)]));
  const { accounts, flags } = reportOf(host);
  assert.deepEqual([accounts.length, flags], [0, ['passwd_lines_refused']]);
});

onBothDatabases('the report of a hostile host', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  test('is accepted whatever its accounts wrote, so that none of them stops it', async () => {
    const host = new HostRoot();
    const comments = [
      ...['\u0001\u001b[2J', '\u007f', '\u0085\u009b31m', '\u202egnp', '\ufeff', '=cmd|x', '\'"<script>', '\\u0000'],
      ...['\ud800', 'é'.repeat(600), '😀'.repeat(400), '\u2028\u2029', '__proto__', '{"a":1}', '\t\v\f'],
    ];
    host.account(
      'eve',
      comments.map((comment, i) => ed25519Line(i, comment)),
    );
    const raw = Buffer.concat([Buffer.from(ed25519Line(500, '')), Buffer.from([0x20, 0xff, 0xc0, 0x80, 0x0a])]);
    host.account('raw', []);
    host.write('/users/raw/.ssh/authorized_keys', raw, {
      uid: IS_ROOT ? 1001 : (process.getuid?.() ?? 0),
      mode: 0o600,
    });
    host.passwdLine(`long:x:5:5::/${'é'.repeat(2000)}:/bin/${'😀'.repeat(1000)}`);
    host.passwdLine('__proto__:x:6:6::/:/bin/sh');
    host.passwdLine('=1+1:x:4294967295:4294967295::/:/bin/sh');
    const cluster = await addCluster(service, { kind: 'hosts' });
    const tokenFile = join(newFolder(), 'token');
    writeFileSync(tokenFile, cluster.cluster_token);
    const settings = readSettings(['--once', '--root', host.path], {
      CV_GUARDIAN_MODE: 'endpoint',
      CV_URL: service.url,
      CV_CLUSTER_ID: cluster.id,
      CV_CLUSTER_TOKEN_FILE: tokenFile,
    });
    assert.ok(settings !== 'help');
    const logs: string[] = [];
    const log = newLog((line) => logs.push(line));
    const { signal } = new AbortController();
    const client = new CofferClient(settings);
    assert.equal(await runEndpointAgent({ settings, client, log, signal }), true, logs.join(''));
    const { accounts } = await ok(service.call('GET', '/endpoint-discovery/accounts?limit=100'));
    const shown = accounts.map(({ username }: { username: string }) => username).sort();
    assert.deepEqual(shown, ['=1+1', '__proto__', 'eve', 'long', 'raw']);
    const eve = accounts.find(({ username }: { username: string }) => username === 'eve');
    const { ssh_keys } = await ok(service.call('GET', `/endpoint-discovery/accounts/${eve.id}`));
    assert.equal(ssh_keys.length, comments.length);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
    for (const { comment } of ssh_keys) assert.doesNotMatch(comment, /[\u0000-\u001f\u007f]/);
  });
});
