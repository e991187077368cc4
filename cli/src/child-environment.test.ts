import assert from 'node:assert/strict';
import { test } from 'node:test';
import { joined } from './child-environment.ts';
import { CommandError } from './failure.ts';
import { variableName, variablesOf } from './variables.ts';

test('secrets win over what is set, unless it is to be preserved', () => {
  const secrets = new Map([['A', 'secret']]);
  assert.deepEqual(joined({ A: 'own', B: 'own' }, secrets, {}), { A: 'secret', B: 'own' });
  assert.deepEqual(joined({ A: 'own', B: 'own' }, secrets, { preserve: true }), { A: 'own', B: 'own' });
});

test('a secret cannot change how a program is loaded, unless it was requested by name', () => {
  for (const name of [
    'LD_PRELOAD',
    'LD_LIBRARY_PATH',
    'DYLD_INSERT_LIBRARIES',
    'PATH',
    'BASH_ENV',
    'ENV',
    'NODE_OPTIONS',
    'PYTHONSTARTUP',
    'PERL5OPT',
    'RUBYOPT',
    'JAVA_TOOL_OPTIONS',
    'GIT_SSH_COMMAND',
    'PAGER',
  ]) {
    const secrets = new Map([[name, 'x']]);
    const only = [name];
    assert.throws(() => joined({}, secrets, {}), CommandError, name);
    assert.deepEqual(joined({}, secrets, { only }), { [name]: 'x' });
  }
  assert.deepEqual(joined({}, new Map([['LDAP_PASSWORD', 'x']]), {}), { LDAP_PASSWORD: 'x' });
});

test('what no environment can have is refused, without its value', () => {
  for (const [name, value] of [
    ['A=B', 'hunter2'],
    ['A', 'hunter2\0'],
    ['A\0', 'hunter2'],
  ] as const) {
    assert.throws(
      () => joined({}, new Map([[name, value]]), {}),
      (error: Error) => !error.message.includes('hunter2'),
    );
  }
});

test('a path becomes a name, without the prefix that was requested', () => {
  assert.equal(variableName('db/password', ''), 'DB_PASSWORD');
  assert.equal(variableName('api/db/pass-word', 'api'), 'DB_PASS_WORD');
  assert.equal(variableName('2fa/seed', ''), '_2FA_SEED');
  const secrets = [
    { path: 'db/password', value: '1' },
    { path: 'db_password', value: '2' },
  ];
  assert.throws(() => variablesOf(secrets, ''), /db\/password and db_password would both be DB_PASSWORD/);
});
