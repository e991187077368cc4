import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { formatShare, parseShare, type Share, ShareProblem } from './share-text.ts';

const shares: fc.Arbitrary<Share> = fc
  .record({
    setId: fc.uint8Array({ minLength: 6, maxLength: 6 }).map((bytes) => Buffer.from(bytes).toString('hex')),
    numbers: fc.uniqueArray(fc.integer({ min: 2, max: 255 }), { minLength: 2, maxLength: 2 }),
    index: fc.integer({ min: 1, max: 255 }),
    day: fc.integer({ min: 20_000, max: 60_000 }),
    y: fc.uint8Array({ minLength: 32, maxLength: 32 }),
  })
  .map(({ setId, numbers, index, day, y }) => {
    const [needed = 2, parts = 2] = numbers.toSorted((a, b) => a - b);
    const madeOn = new Date(day * 86_400_000).toISOString().slice(0, 10);
    return { setId, needed, parts, index: Math.min(index, parts), madeOn, y: Buffer.from(y) };
  });

describe('the text of a share', () => {
  test('is read as it was written, in capitals and without its hyphens too', () => {
    fc.assert(
      fc.property(shares, (share) => {
        const text = formatShare(share);
        assert.deepEqual(parseShare(text), share);
        assert.deepEqual(parseShare(`  ${text.toUpperCase().replaceAll('-', ' ')}\n`), share);
      }),
    );
  });

  test('one letter that was typed wrong is found', () => {
    fc.assert(
      fc.property(shares, fc.nat(), fc.constantFrom(...'0123456789abcdefghjkmnpqrstvwxyz'), (share, at, letter) => {
        const text = formatShare(share);
        const places = [...text.matchAll(/[^-]/g)].map(({ index }) => index).filter((place) => place > 8);
        const place = places[at % places.length] as number;
        fc.pre(text[place] !== letter);
        const wrong = text.slice(0, place) + letter + text.slice(place + 1);
        assert.throws(() => parseShare(wrong), ShareProblem);
      }),
    );
  });

  test('anything else is refused without a part of it in the message', () => {
    for (const text of ['', 'cvshare1', 'cvshare2-abc', 'x'.repeat(300), 'cvshare1-secret-secret', '\u2028cvshare1']) {
      assert.throws(
        () => parseShare(text),
        (error: Error) => error instanceof ShareProblem && !error.message.includes('secret'),
      );
    }
  });
});
