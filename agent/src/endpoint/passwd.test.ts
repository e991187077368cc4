import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { parsePasswd } from './passwd.ts';

const parse = (text: string) => parsePasswd(Buffer.from(text));
const namesOf = (text: string) => parse(text).accounts.map(({ username }) => username);

describe('passwd', () => {
  test('an entry', () => {
    assert.deepEqual(parse('anna:x:1000:1001:Anna,,,:/srv/anna:/bin/zsh\n').accounts, [
      { username: 'anna', uid: 1000, gid: 1001, home: '/srv/anna', shell: '/bin/zsh' },
    ]);
  });

  test('accounts nobody can log in to are counted and left out', () => {
    const shells = ['/usr/sbin/nologin', '/sbin/nologin', '/bin/false', '/usr/bin/false', 'nologin', '/opt/x/false'];
    const found = parse(shells.map((shell, i) => `a${i}:x:${i}:${i}::/:${shell}`).join('\n'));
    assert.deepEqual([found.accounts.length, found.excluded], [0, 6]);
    assert.deepEqual(namesOf('a:x:1:1::/:/bin/nologin2\nb:x:1:1::/:/bin/falsey'), ['a', 'b']);
  });

  test('an empty shell is /bin/sh', () => {
    assert.equal(parse('a:x:1:1::/users/a:').accounts[0]?.shell, '/bin/sh');
    assert.equal(parse('a:x:1:1').accounts[0]?.shell, '/bin/sh');
  });

  test('the first entry of a name counts, also if it cannot log in', () => {
    assert.deepEqual(namesOf('a:x:1:1::/:/bin/sh\na:x:0:0::/root:/bin/sh'), ['a']);
    assert.deepEqual(namesOf('a:x:1:1::/:/bin/false\na:x:0:0::/root:/bin/sh'), []);
  });

  test('lines that are no entry are counted; comments and blank lines are not', () => {
    const found = parse(
      '# a comment\n\n  \nanna\nb:x:-1:1::/:/bin/sh\nc:x:1e3:1::/:\nd:x:4294967296:1::/:\n:x:1:1::/:',
    );
    assert.deepEqual([found.accounts.length, found.refusedLines], [0, 5]);
  });

  test('lines that take accounts from NIS are noticed', () => {
    assert.equal(parse('+::::::\n').hasNisLines, true);
    assert.equal(parse('-bob::::::\na:x:1:1::/:').hasNisLines, true);
    assert.equal(parse('a:x:1:1::/:').hasNisLines, false);
  });

  test('any text: it ends, and names are unique and ids in range', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.string(), fc.constantFrom(':', '\n', 'a:x:1:1::/h:/bin/sh', '\0'))),
        (pieces) => {
          const { accounts } = parse(pieces.join(''));
          assert.equal(new Set(accounts.map(({ username }) => username)).size, accounts.length);
          for (const { uid, gid } of accounts) assert.ok(uid >= 0 && uid < 2 ** 32 && gid >= 0 && gid < 2 ** 32);
        },
      ),
    );
  });
});
