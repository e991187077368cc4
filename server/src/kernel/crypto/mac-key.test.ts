import assert from 'node:assert/strict';
import { createHmac, createSecretKey } from 'node:crypto';
import { test } from 'node:test';
import { macKeyOf } from './mac-key.ts';

const hex = (text: string) => Buffer.from(text, 'hex');
const key = (bytes: Buffer) => createSecretKey(bytes);

test('MACs are those of RFC 4231', () => {
  const first = macKeyOf(key(Buffer.alloc(20, 0x0b)), 1);
  const expected = 'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7';
  assert.equal(first.mac('Hi There').toString('hex'), expected);
  assert.equal(first.mac(Buffer.from('Hi There')).toString('hex'), expected);
  const second = macKeyOf(key(Buffer.from('Jefe')), 1);
  assert.equal(
    second.mac('what do ya want for nothing?').toString('hex'),
    '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
  );
  const third = macKeyOf(key(Buffer.alloc(20, 0xaa)), 1);
  assert.equal(
    third.mac(Buffer.alloc(50, 0xdd)).toString('hex'),
    '773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe',
  );
});

test('MACs are those of OpenSSL for data of any length and any characters', () => {
  const secret = key(hex('00'.repeat(16) + 'ff'.repeat(16)));
  const mac = macKeyOf(secret, 1);
  const lengths = [0, 1, 31, 32, 55, 56, 63, 64, 65, 127, 128, 1000, 2729, 2730, 2731, 8191, 8192, 8193, 100_000];
  for (const length of lengths) {
    for (const text of [
      'a'.repeat(length),
      'é'.repeat(length),
      '\u{1f511}'.repeat(length / 2),
      '\ud800'.repeat(length),
    ]) {
      const expected = createHmac('sha256', secret).update(text).digest('hex');
      assert.equal(mac.mac(text).toString('hex'), expected, `${length} × ${text.slice(0, 2)}`);
    }
    const bytes = Buffer.alloc(length, 0xf0);
    assert.equal(mac.mac(bytes).toString('hex'), createHmac('sha256', secret).update(bytes).digest('hex'));
  }
});

test('one key has the MACs of no other', () => {
  const [one, other] = [macKeyOf(key(Buffer.alloc(32, 1)), 1), macKeyOf(key(Buffer.alloc(32, 2)), 1)];
  assert.notDeepEqual(one.mac('row'), other.mac('row'));
  const before = one.mac('row');
  other.mac('another row');
  assert.deepEqual(one.mac('row'), before);
});

test('a key that does not fit a block is refused', () => {
  assert.throws(() => macKeyOf(key(Buffer.alloc(65)), 1), /longer than a block/);
});
