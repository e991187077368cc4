import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { SEALED_OVERHEAD_BYTES, type SealedLocation, seal, sealedKeyVersion, UnsealError, unseal } from './sealing.ts';

const key = createSecretKey(randomBytes(32));
const place: SealedLocation = { tenantId: 'tenant_a', table: 'secrets', row: 'sec_1', version: 3 };
const bytes = fc.uint8Array({ maxLength: 300 });

test('what is sealed opens in its place, and only its length shows', () => {
  fc.assert(
    fc.property(bytes, fc.nat(2 ** 31), (plaintext, version) => {
      const sealed = seal(key, version, place, plaintext);
      assert.equal(sealed.length, plaintext.length + SEALED_OVERHEAD_BYTES);
      assert.equal(sealedKeyVersion(sealed), version);
      assert.deepEqual(new Uint8Array(unseal(key, place, sealed)), plaintext);
    }),
  );
});

test('the same plaintext is sealed differently each time', () => {
  const texts = new Set(Array.from({ length: 100 }, () => seal(key, 1, place, Buffer.from('x')).toString('hex')));
  assert.equal(texts.size, 100);
});

test('a change of any bit is noticed', () => {
  const sealed = seal(key, 1, place, Buffer.from('a secret'));
  for (let bit = 0; bit < sealed.length * 8; bit++) {
    const changed = Buffer.from(sealed);
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    assert.throws(() => unseal(key, place, changed), UnsealError, `bit ${bit}`);
  }
});

test('a truncated or extended value does not open', () => {
  const sealed = seal(key, 1, place, Buffer.from('a secret'));
  for (let length = 0; length < sealed.length; length++) {
    assert.throws(() => unseal(key, place, sealed.subarray(0, length)), UnsealError, `length ${length}`);
  }
  assert.throws(() => unseal(key, place, Buffer.concat([sealed, Buffer.from([0])])), UnsealError);
});

test('a moved row does not open, and no two places look alike', () => {
  const sealed = seal(key, 1, place, Buffer.from('a secret'));
  const elsewhere: SealedLocation[] = [
    { ...place, tenantId: 'tenant_b' },
    { ...place, table: 'secret' },
    { ...place, row: 'sec_2' },
    { ...place, version: 4 },
    { tenantId: 'tenant_a', table: 'secrets', row: 'sec_1' },
    { tenantId: 'tenant_', table: 'asecrets', row: 'sec_1', version: 3 },
    { tenantId: 'tenant_a7:secrets', table: '', row: 'sec_1', version: 3 },
  ];
  for (const other of elsewhere) assert.throws(() => unseal(key, other, sealed), UnsealError, JSON.stringify(other));
  const part = fc.string({ maxLength: 12 });
  fc.assert(
    fc.property(fc.tuple(part, part, part), fc.tuple(part, part, part), (a, b) => {
      if (a.join('\0') === b.join('\0')) return;
      const at = ([tenantId, table, row]: [string, string, string]) => ({ tenantId, table, row });
      const value = seal(key, 1, at(a), Buffer.from('x'));
      assert.throws(() => unseal(key, at(b), value), UnsealError);
    }),
  );
});

test('another key does not open it', () => {
  const sealed = seal(key, 1, place, Buffer.from('a secret'));
  assert.throws(() => unseal(createSecretKey(randomBytes(32)), place, sealed), UnsealError);
});
