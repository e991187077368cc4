import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import fc from 'fast-check';
import { parseAuthorizedKeys } from '../../agent/src/endpoint/authorized-keys.ts';
import { scanHost } from '../../agent/src/endpoint/scan.ts';
import { SshdConfig } from '../../agent/src/endpoint/sshd-config.ts';
import { ed25519Line, HostRoot, IS_ROOT } from '../support/host-root.ts';
import { Unavailable } from './go-programs.ts';
import { GROUPS, newKey, Sshd, UID, USERNAME } from './sshd.ts';

/** What the agent reports, beside whom a real sshd lets in. */

const HOME = `/users/${USERNAME}`;
const FILE = `${HOME}/.ssh/authorized_keys`;
const INACTIVE = ['cert_authority', 'expired'];

function newHost(config: string, content: string | Buffer): HostRoot {
  const host = new HostRoot();
  host.account(USERNAME, [], { uid: UID, home: HOME });
  host.write(FILE, content, { uid: UID, mode: 0o600 });
  host.write('/etc/group', GROUPS);
  host.write('/etc/ssh/sshd_config', `${config}\n`);
  return host;
}

/** Whether the report says that the key opens the account. */
function isReported(host: HostRoot, publicLine: string): boolean {
  const { report } = scanHost({ root: host.path, clusterId: 'cluster_01a', now: new Date() });
  const [own] = parseAuthorizedKeys(Buffer.from(publicLine), new Date(), 1).keys;
  const account = report.accounts.find(({ username }) => username === USERNAME);
  assert.ok(own !== undefined && account !== undefined);
  return account.ssh_keys.some(
    ({ fingerprint_sha256, flags }) =>
      fingerprint_sha256 === own.fingerprint && !INACTIVE.some((flag) => flags.includes(flag)),
  );
}

interface Case {
  lines?: (key: string) => string | Buffer;
  config?: string;
  /** Changes the host after its files were written. */
  make?: (at: (path: string) => string, key: string) => void;
  isIn: boolean;
  needsRoot?: boolean;
}

const cases: Record<string, Case> = {
  'a plain line': { isIn: true },
  'other keys alone': { lines: () => ed25519Line(1), isIn: false },
  'line ends of Windows': { lines: (key) => `${ed25519Line(1)}\r\n${key}\r\n`, isIn: true },
  'line ends of old Macs': { lines: (key) => `${ed25519Line(1)}\r${key}\r`, isIn: false },
  'no line end': { lines: (key) => `${ed25519Line(1)}\n${key}`, isIn: true },
  'a zero byte before it': { lines: (key) => `no-pty\0 ${key}`, isIn: false },
  'a zero byte after it': { lines: (key) => `${key} a\0b`, isIn: true },
  'blanks and tabs around': { lines: (key) => ` \t ${key.replace(' ', ' \t ')}  x`, isIn: true },
  'a comment line': { lines: (key) => `# ${key}`, isIn: false },
  'a byte order mark': { lines: (key) => `\ufeff${key}`, isIn: false },
  'options with quotes': { lines: (key) => `environment="A=\\"b, c\\"",no-pty ${key}`, isIn: true },
  'two blanks after options': { lines: (key) => `no-pty  ${key}`, isIn: true },
  'options in capitals': { lines: (key) => `NO-PTY ${key}`, isIn: true },
  'an option that nobody knows': { lines: (key) => `no-such ${key}`, isIn: false },
  'a quote that is not closed': { lines: (key) => `command="x ${key}`, isIn: false },
  'a comma at the end': { lines: (key) => `no-pty, ${key}`, isIn: true },
  'restrict, which still lets in': { lines: (key) => `restrict ${key}`, isIn: true },
  'a certificate authority': { lines: (key) => `cert-authority ${key}`, isIn: false },
  'a time that is over': { lines: (key) => `expiry-time="20200101" ${key}`, isIn: false },
  'a time to come': { lines: (key) => `expiry-time="20990101Z" ${key}`, isIn: true },
  'a time that is none': { lines: (key) => `expiry-time="20991332" ${key}`, isIn: false },
  'a refused line before it': { lines: (key) => `no-such ${key}\n${key}`, isIn: true },
  'a line of 9,000 characters': { lines: (key) => `${key} ${'x'.repeat(9000)}`, isIn: true },
  'another file': { config: 'AuthorizedKeysFile .ssh/none', isIn: false },
  'no file': { config: 'AuthorizedKeysFile none', isIn: false },
  'the second of two files': { config: 'AuthorizedKeysFile .ssh/none %h/.ssh/authorized_keys', isIn: true },
  'a name with tokens': {
    config: 'AuthorizedKeysFile .ssh/%u-%U-%%',
    make: (at, key) => give(at(`${HOME}/.ssh/${USERNAME}-${UID}-%`), key),
    isIn: true,
  },
  'a block for somebody else': { config: 'Match User bob\n  AuthorizedKeysFile none', isIn: true },
  'a block for the account': { config: 'Match User a*,!bob\n  AuthorizedKeysFile none', isIn: false },
  'a file that the own group may write': { make: (at) => chmodSync(at(FILE), 0o664), isIn: true },
  'a folder that the own group may write': { make: (at) => chmodSync(at(`${HOME}/.ssh`), 0o770), isIn: true },
  'a file that a group of others may write': {
    make: (at) => {
      chmodSync(at(FILE), 0o664);
      chownSync(at(FILE), UID, UID + 1);
    },
    isIn: false,
    needsRoot: true,
  },
  'a file that a group with another member may write': {
    make: (at) => {
      chmodSync(at(FILE), 0o664);
      chownSync(at(FILE), UID, UID + 2);
    },
    isIn: false,
    needsRoot: true,
  },
  'a home that all may write': { make: (at) => chmodSync(at(HOME), 0o777), isIn: false },
  'a home that all may write, without StrictModes': {
    config: 'StrictModes no',
    make: (at) => chmodSync(at(HOME), 0o777),
    isIn: true,
  },
  'a file of another account': { make: (at) => chownSync(at(FILE), UID + 1, UID), isIn: false, needsRoot: true },
  'a file of root': {
    make: (at) => {
      chownSync(at(FILE), 0, 0);
      chmodSync(at(FILE), 0o644);
    },
    isIn: true,
    needsRoot: true,
  },
  'a file of root that the account cannot read': {
    make: (at) => chownSync(at(FILE), 0, 0),
    isIn: false,
    needsRoot: true,
  },
  'a link inside the home': {
    make: (at, key) => {
      give(at(`${HOME}/keys`), key);
      relink(at(FILE), '../keys');
    },
    isIn: true,
  },
  'a link to nowhere': { make: (at) => relink(at(FILE), '../none'), isIn: false },
  'a link to itself': { make: (at) => relink(at(FILE), 'authorized_keys'), isIn: false },
  'a folder': {
    make: (at) => {
      rmSync(at(FILE));
      mkdirSync(at(FILE));
    },
    isIn: false,
  },
  'a pipe': {
    make: (at) => {
      rmSync(at(FILE));
      execFileSync('mkfifo', ['-m', '600', at(FILE)]);
      if (IS_ROOT) chownSync(at(FILE), UID, UID);
    },
    isIn: false,
  },
};

function give(file: string, content: string): void {
  writeFileSync(file, content, { mode: 0o600 });
  if (IS_ROOT) chownSync(file, UID, UID);
}

function relink(file: string, target: string): void {
  rmSync(file);
  symlinkSync(target, file);
}

const sshd = await Sshd.start().catch((error: unknown) => {
  if (!(error instanceof Unavailable)) throw error;
  return error.message;
});
if (typeof sshd === 'string') test('a real sshd', (t) => t.skip(sshd));
else {
  after(() => sshd.stop());
  const key = await newKey('id');
  describe('who is let in', () => testLogins(sshd, key));
  describe('the settings', () => testSettings(sshd));
}

function testLogins(server: Sshd, key: { file: string; publicLine: string }): void {
  for (const [name, { lines = (line: string) => line, config = '', make, isIn, needsRoot = false }] of Object.entries(
    cases,
  )) {
    test(`${name}: ${isIn ? 'in' : 'not in'}`, async (t) => {
      if (needsRoot && !IS_ROOT) return t.skip('only root can give files to other accounts');
      const host = newHost(config, lines(key.publicLine));
      make?.((path) => join(host.path, path), key.publicLine);
      await server.serve(host, HOME, config);
      assert.equal(await server.letsIn(key.file), isIn, 'sshd');
      assert.equal(isReported(host, key.publicLine), isIn, 'the agent');
    });
  }

  test('any line: the agent and sshd agree', async () => {
    const host = newHost('', '');
    await server.serve(host, HOME, '');
    const [type = '', blob = ''] = key.publicLine.split(' ');
    const option = fc.constantFrom(
      ...['no-pty', 'pty', 'restrict', 'cert-authority', 'no-touch-required', 'command="echo in"', 'environment="A=b"'],
      ...[
        'expiry-time="20200101Z"',
        'expiry-time="209901010000"',
        'permitopen="a:1"',
        'tunnel="1"',
        'from="127.0.0.1"',
      ],
      ...[
        'no-such',
        'command=x',
        'environment="=b"',
        'permitopen="a"',
        'permitlisten="1"',
        'tunnel="x"',
        '',
        'no-restrict',
      ],
    );
    const gap = fc.stringMatching(/^[ \t]{1,2}$/);
    const odd = fc.constantFrom('', '', '', '\r', '\0', '"', '\\', ',', '\v', 'ü');
    const line = fc
      .tuple(fc.array(option, { maxLength: 3 }), odd, gap, gap, fc.constantFrom('', ' x', '\tx y', ' "'))
      .map(([options, strange, first, second, comment]) => {
        const before = options.length === 0 && strange === '' ? '' : `${options.join(',')}${strange}${first}`;
        return `${before}${type}${second}${blob}${comment}`;
      });
    await fc.assert(
      fc.asyncProperty(line, async (text) => {
        host.write(FILE, `${text}\n`, { uid: UID, mode: 0o600 });
        assert.equal(isReported(host, key.publicLine), await server.letsIn(key.file), JSON.stringify(text));
      }),
      { numRuns: 120 },
    );
  });
}

function testSettings(server: Sshd): void {
  test('any settings: the agent and sshd read them alike', async () => {
    const value = fc.constantFrom('.ssh/authorized_keys', '/etc/keys/%u', '"a b"', 'x', 'none');
    const files = fc.array(value, { minLength: 1, maxLength: 3 }).map((values) => values.join(' '));
    const separator = fc.constantFrom(' ', '\t', '=', ' = ', '  ');
    const statement = fc.oneof(
      fc
        .tuple(fc.constantFrom('AuthorizedKeysFile', 'authorizedkeysfile'), separator, files)
        .map((all) => all.join('')),
      fc
        .tuple(fc.constantFrom('StrictModes', 'STRICTMODES'), separator, fc.constantFrom('yes', 'no'))
        .map((all) => all.join('')),
      fc.constantFrom(
        'Match User anna',
        'Match user bob',
        'Match User a*,!anna',
        'Match User !bob,*',
        'Match all',
        'Match User=anna',
      ),
      fc.constantFrom(
        '# AuthorizedKeysFile y',
        '',
        '  ',
        'AuthorizedKeysFile z # StrictModes',
        'PasswordAuthentication no',
      ),
    );
    const end = fc.constantFrom('\n', '\n', '\r\n', '\n\t');
    let compared = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(statement, end), { maxLength: 8 }), async (lines) => {
        const text = lines.map((line) => line.join('')).join('');
        const config = new SshdConfig(Buffer.from(text), () => []);
        for (const username of ['anna', 'bob']) {
          const settings = await server.settingsFor(username, text);
          // A file that sshd refuses lets nobody in, and says nothing.
          if (settings === null) return;
          compared++;
          const { authorizedKeysFiles, isStrict } = config.settingsFor(username);
          const expected = [authorizedKeysFiles.join(' ') || 'none', isStrict ? 'yes' : 'no'];
          const actual = [settings.get('authorizedkeysfile'), settings.get('strictmodes')];
          assert.deepEqual(expected, actual, `${username}\n${text}`);
        }
      }),
      { numRuns: 300 },
    );
    assert.ok(compared > 50, `${compared} were compared`);
  });
}
