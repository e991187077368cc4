import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type AuditEntry, cleanText, cleanUserAgent, detailsText, entryOf, entryText } from '../entry/entry.ts';
import { GENESIS_HASH, HASH_BYTES, hexOf, link, linkHash } from './chain.ts';
import { entriesOf, newSegments, segmentRow, textsOf } from './segment.ts';

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

const hashOf = (e: AuditEntry, seq = 1, previous: Uint8Array = GENESIS_HASH) =>
  linkHash(hexOf(previous), e.tenant_id, seq, entryText(e));

test('the hash of a known entry never changes: logs already written must go on verifying', () => {
  assert.equal(hashOf(entry), '9c3e12828e81db0c6eb4bc4bcfc85f7bb64b7b95c213aad003e50978bb20e34e');
});

test('every field of an entry is part of its hash, and comes back from its text', () => {
  const original = hashOf(entry);
  for (const field of Object.keys(entry) as (keyof AuditEntry)[]) {
    const value = entry[field];
    const changed = { ...entry, [field]: typeof value === 'number' ? value + 1 : `${value}x` };
    assert.notEqual(hashOf(changed), original, field);
    assert.deepEqual(entryOf(changed.tenant_id, JSON.parse(entryText(changed))), changed);
  }
  assert.notEqual(hashOf(entry, 2), original);
  assert.notEqual(hashOf(entry, 1, Buffer.alloc(32, 1)), original);
});

test('text cannot slip from one field into the next', () => {
  const a = hashOf({ ...entry, resource: 'a","b', vault: 'c' });
  assert.notEqual(a, hashOf({ ...entry, resource: 'a', vault: 'b","c' }));
});

test('a chain is the same however it was cut into segments', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary' }), { minLength: 1, maxLength: 20 }), fc.nat(19), (names, cut) => {
      const texts = names.map((resource, i) =>
        entryText({ ...entry, id: `audit_${i}`, resource: cleanText(resource) }),
      );
      const start = { seq: 0, hash: GENESIS_HASH };
      const whole = link(start, 'tenant_a', texts);
      const first = link(start, 'tenant_a', texts.slice(0, cut));
      const rest = link(first.head, 'tenant_a', texts.slice(cut));
      assert.deepEqual(Buffer.concat([first.hashes, rest.hashes]), whole.hashes);
      assert.deepEqual(rest.head, whole.head);
      assert.equal(whole.hashes.length, names.length * HASH_BYTES);
    }),
  );
});

test('entries that are committed together are cut into segments that one step can parse', () => {
  const longest = 600_000;
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(0, 2000, 60_000, longest), { maxLength: 40 }),
      fc.nat(600),
      (lengths, small) => {
        const resources = [...lengths.map((length) => 'x'.repeat(length)), ...Array.from({ length: small }, () => 'y')];
        const entries = resources.map((resource, i) => ({
          ...entry,
          id: `audit_${String(i).padStart(6, '0')}`,
          resource,
        }));
        const segments = newSegments(entries);
        assert.deepEqual(
          segments.flatMap(({ texts }) => texts),
          entries.map(entryText),
        );
        for (const { id, texts } of segments) {
          assert(texts.at(-1)?.includes(id));
          assert(texts.length <= 250);
          assert(texts.length === 1 || texts.join('').length <= 512 * 1024);
        }
        const fewest = Math.ceil(entries.length / 250);
        assert(segments.length >= fewest && (lengths.length > 0 || segments.length === fewest));
      },
    ),
    { numRuns: 20 },
  );
});

test('a segment gives back its entries, their places and hashes, and the very texts that were hashed', () => {
  const entries = [entry, { ...entry, id: 'audit_2', at: entry.at + 5, resource: 'ü "quoted"' }];
  const [segment] = newSegments(entries);
  assert(segment !== undefined);
  const links = link({ seq: 7, hash: GENESIS_HASH }, 'tenant_a', segment.texts);
  const row = segmentRow('tenant_a', segment, links);
  assert.deepEqual(textsOf(row), entries.map(entryText));
  const stored = entriesOf(row);
  assert.deepEqual(
    stored.map((e) => e.seq),
    [8, 9],
  );
  assert.deepEqual(stored[1]?.hash, links.head.hash);
  assert.equal(stored[1]?.resource, 'ü "quoted"');
  const unsealed = entriesOf(segmentRow('tenant_a', segment, null));
  assert.deepEqual(
    unsealed.map((e) => [e.seq, e.hash]),
    [
      [null, null],
      [null, null],
    ],
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
