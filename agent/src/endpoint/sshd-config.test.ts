import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { expandKeysFile, matchesList, matchesPattern, SshdConfig } from './sshd-config.ts';

const none = () => [];
const config = (text: string) => new SshdConfig(Buffer.from(text), none);
const filesOf = (text: string, username = 'anna') => config(text).settingsFor(username).authorizedKeysFiles;

describe('sshd_config', () => {
  test('the defaults of OpenSSH', () => {
    assert.deepEqual(config('').settingsFor('anna'), {
      authorizedKeysFiles: ['.ssh/authorized_keys', '.ssh/authorized_keys2'],
      isStrict: true,
    });
  });

  test('several files, quotes, an equals sign, comments, and case of keywords', () => {
    assert.deepEqual(filesOf('AuthorizedKeysFile .ssh/a /etc/keys/%u'), ['.ssh/a', '/etc/keys/%u']);
    assert.deepEqual(filesOf('  authorizedkeysfile = "/etc/my keys/%u" b # c'), ['/etc/my keys/%u', 'b']);
    assert.deepEqual(filesOf('#AuthorizedKeysFile x\r\nAUTHORIZEDKEYSFILE y\r\n'), ['y']);
    assert.deepEqual(filesOf('AuthorizedKeysFile none'), []);
  });

  test('the first value counts, and one in a Match block that applies before it', () => {
    assert.deepEqual(filesOf('AuthorizedKeysFile a\nAuthorizedKeysFile b'), ['a']);
    const text = 'AuthorizedKeysFile a\nMatch User deploy,ci-*\nAuthorizedKeysFile d\nMatch all\nAuthorizedKeysFile z';
    assert.deepEqual(filesOf(text, 'deploy'), ['d']);
    assert.deepEqual(filesOf(text, 'ci-1'), ['d']);
    assert.deepEqual(filesOf(text, 'anna'), ['z']);
  });

  test('conditions about a connection are not decided, and reported', () => {
    const found = config('AuthorizedKeysFile a\nMatch Address 10.0.0.0/8\nAuthorizedKeysFile b');
    assert.deepEqual(found.settingsFor('anna').authorizedKeysFiles, ['a']);
    assert.deepEqual(found.flags, ['sshd_match_not_evaluated']);
  });

  test('what the report cannot cover is flagged', () => {
    assert.deepEqual(config('AuthorizedKeysCommand /bin/x\nTrustedUserCAKeys /x\nPubkeyAuthentication no').flags, [
      'authorized_keys_command',
      'pubkey_disabled',
      'trusted_user_ca_keys',
    ]);
    assert.deepEqual(config('AuthorizedKeysCommand none').flags, []);
  });

  test('StrictModes: the first value counts, also before a block for all', () => {
    assert.equal(config('StrictModes no\nMatch all\nStrictModes yes').settingsFor('anna').isStrict, false);
    assert.equal(config('Match all\nStrictModes no').settingsFor('anna').isStrict, false);
    // sshd does not start with such a file.
    assert.equal(config('Match User anna\nStrictModes no').settingsFor('anna').isStrict, true);
  });

  test('an equals sign may stand after a condition', () => {
    for (const match of ['Match User=anna', 'Match User = anna', 'Match "User" anna']) {
      const some = config(`${match}\nAuthorizedKeysFile m`);
      assert.deepEqual(some.settingsFor('anna').authorizedKeysFiles, ['m'], match);
      assert.notDeepEqual(some.settingsFor('bob').authorizedKeysFiles, ['m'], match);
    }
  });

  test('included files count where they are named; a Match in one ends with it; a circle ends', () => {
    const files: Record<string, string> = {
      'x.conf': 'Match User anna\nAuthorizedKeysFile m',
      'loop.conf': 'Include loop.conf\nAuthorizedKeysFile l',
    };
    const read = (pattern: string) => [Buffer.from(files[pattern] ?? '')];
    const nested = new SshdConfig(Buffer.from('Include x.conf\nAuthorizedKeysFile g'), read);
    assert.deepEqual(nested.settingsFor('anna').authorizedKeysFiles, ['m']);
    assert.deepEqual(nested.settingsFor('bob').authorizedKeysFiles, ['g']);
    const loop = new SshdConfig(Buffer.from('Include loop.conf'), read);
    assert.deepEqual(loop.flags, ['sshd_config_incomplete']);
  });

  test('tokens of a path', () => {
    const anna = { username: 'anna', uid: 1000, home: '/users/anna' };
    const of = (file: string) => expandKeysFile(file, anna);
    assert.equal(of('.ssh/authorized_keys'), '/users/anna/.ssh/authorized_keys');
    assert.equal(of('%h/k'), '/users/anna/k');
    assert.equal(of('/etc/keys/%u-%U-%%h'), '/etc/keys/anna-1000-%h');
    assert.equal(of('/etc/%x'), null);
    assert.equal(of('/etc/%'), null);
    assert.equal(expandKeysFile('%h/%u', { ...anna, home: '/%u' }), '/%u/anna', 'values are not expanded again');
  });

  test('patterns', () => {
    assert.ok(matchesList('anna', ['a*']) && matchesList('anna', ['????']));
    assert.ok(!matchesList('anna', ['a*', '!anna']) && !matchesList('anna', ['!bob']));
    fc.assert(
      fc.property(fc.stringMatching(/^[ab]{0,12}$/), fc.stringMatching(/^[ab*?]{0,8}$/), (text, pattern) => {
        const expected = new RegExp(`^${pattern.replaceAll('*', '.*').replaceAll('?', '.')}$`).test(text);
        assert.equal(matchesPattern(text, pattern), expected);
      }),
    );
  });
});
