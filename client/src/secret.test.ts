import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { Secret } from './secret.ts';

const VALUE = 'hunter2-correct-horse';
const secret = new Secret({
  id: 'sec_1',
  secret_id: 1,
  vault: 'shop',
  path: 'db/password',
  type: 'password',
  version: 3,
  environment: 'staging',
  protection: 'standard',
  metadata: { description: 'of the shop' },
  created_at: '2026-11-17T10:00:00.000Z',
  updated_at: '2026-11-17T10:00:00.000Z',
  rotated_at: null,
  next_rotation: null,
  rotation: null,
  rotation_status: null,
  risk_score: null,
  value: VALUE,
} as ConstructorParameters<typeof Secret>[0]);

test('the value is there for who asks for it', () => {
  assert.equal(secret.value, VALUE);
  assert.deepEqual([secret.vault, secret.path, secret.version], ['shop', 'db/password', 3]);
});

test('no way of printing, copying or comparing shows it', () => {
  const shown = [
    String(secret),
    `${secret}`,
    JSON.stringify(secret),
    JSON.stringify({ nested: [secret] }),
    inspect(secret),
    inspect({ deep: { deeper: { deepest: { secret } } } }, { depth: null, showHidden: true }),
    inspect(new Error('failed', { cause: secret })),
    JSON.stringify({ ...secret }),
    JSON.stringify(Object.assign({}, secret)),
    JSON.stringify(structuredClone({ ...secret })),
    Object.keys(secret).join(),
    Object.values(secret).join(),
  ];
  for (const text of shown) assert.doesNotMatch(text, new RegExp(VALUE));
  assert.match(JSON.stringify(secret), /"value":"\[redacted\]"/);
  assert.match(inspect(secret), /shop\/db\/password v3 \[redacted\]/);
});
