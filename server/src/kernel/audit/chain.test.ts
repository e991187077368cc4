import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { GENESIS_HASH, type LinkedEntry, link, linkHash } from './chain.ts';
import { type AuditEntry, cleanText, cleanUserAgent, detailsText } from './entry.ts';

const entry: AuditEntry = {
  tenant_id: 'tenant_a',
  id: 'audit_1',
  at: 1_794_715_860_000,
  actor_kind: 'user',
  actor_id: 'user_1',
  actor_name: 'ann@example.com',
  actor_key: 'token_1',
  action: 'secrets:read',
  resource: 'vault/app/db',
  vault: 'app',
  decision: 'allow',
  status: 200,
  ip: '127.0.0.1',
  user_agent: 'curl',
  request_id: 'req_1',
  reason: '',
  details: '',
};

test('the hash of a known entry never changes: logs already written must go on verifying', () => {
  assert.equal(
    linkHash(GENESIS_HASH, 1, entry).toString('hex'),
    'ed7316d901aae19f454fb6c234e909b7c6080e279024cfdfba00fa009543fac1',
  );
});

test('every field of an entry is part of its hash', () => {
  const original = linkHash(GENESIS_HASH, 1, entry).toString('hex');
  for (const field of Object.keys(entry) as (keyof AuditEntry)[]) {
    const changed = {
      ...entry,
      [field]: typeof entry[field] === 'number' ? Number(entry[field]) + 1 : `${entry[field]}x`,
    };
    assert.notEqual(linkHash(GENESIS_HASH, 1, changed as AuditEntry).toString('hex'), original, field);
  }
  assert.notEqual(linkHash(GENESIS_HASH, 2, entry).toString('hex'), original);
  assert.notEqual(linkHash(Buffer.alloc(32, 1), 1, entry).toString('hex'), original);
});

test('text cannot slip from one field into the next', () => {
  const a = linkHash(GENESIS_HASH, 1, { ...entry, resource: 'a","b', vault: 'c' });
  const b = linkHash(GENESIS_HASH, 1, { ...entry, resource: 'a', vault: 'b","c' });
  assert.notEqual(a.toString('hex'), b.toString('hex'));
});

test('a chain is the same however it was cut into batches', () => {
  fc.assert(
    fc.property(fc.array(fc.string(), { minLength: 1, maxLength: 20 }), fc.nat(19), (names, cut) => {
      const entries = names.map((resource, i) => ({ ...entry, id: `audit_${i}`, resource }));
      const start = { seq: 0, hash: GENESIS_HASH };
      const whole = link(start, entries);
      const first = link(start, entries.slice(0, cut));
      const rest = link((first.at(-1) as LinkedEntry | undefined) ?? start, entries.slice(cut));
      assert.deepEqual([...first, ...rest], whole);
      assert.deepEqual(
        whole.map((e) => e.seq),
        names.map((_, i) => i + 1),
      );
    }),
  );
});

test('text that a database or an export would choke on is made harmless', () => {
  assert.equal(cleanText('a\0b\nc\u001b[31m'), 'a\ufffdb\ufffdc\ufffd[31m');
  assert.equal(cleanText('half \ud800 pair'), 'half \ufffd pair');
  assert.equal(cleanText('x'.repeat(5000)).length, 1200);
  assert.equal(cleanText('plain/path_ü'), 'plain/path_ü');
  assert.equal(cleanUserAgent(undefined), '');
  assert.equal(cleanUserAgent('a'.repeat(1000)).length, 256);
  assert.equal(detailsText(undefined), '');
  assert.equal(detailsText({ a: 'x\0y' }), '{"a":"x\ufffdy"}');
  assert.equal(detailsText({ a: Array(1000).fill('x'.repeat(10)) }), '{"truncated":true}');
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const clean = cleanText(text, 40);
      assert.ok(clean.isWellFormed() && clean.length <= 40);
    }),
  );
});
