import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isHostName } from './host-name.ts';

test('a host name has one spelling and is no address', () => {
  for (const name of ['localhost', 'db.internal', 'a-b.example.com', 'x1', '1x', '1.example', 'xn--nxasmq6b', 'A.B']) {
    assert.ok(isHostName(name), name);
  }
  const others = [
    '',
    '.',
    'a.',
    '.a',
    'a..b',
    '-a',
    'a-',
    'a_b',
    'a b',
    'é',
    'a/b',
    'a:80',
    'x@y',
    '%61',
    'a\n',
    '*.a',
  ];
  const addresses = [
    '127.0.0.1',
    '127.1',
    '1',
    '2130706433',
    '0x7f000001',
    '0x7f.1',
    '0177.0.0.1',
    'a.0x',
    'a.1',
    '::1',
  ];
  for (const odd of [...others, ...addresses, 'a'.repeat(64), `${'a.'.repeat(127)}a`]) assert.ok(!isHostName(odd), odd);
});
