import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { join, PARTS_MAX, split } from './shamir.ts';

const sharesOf = (secret: Uint8Array, needed: number, parts: number) =>
  split(secret, { needed, parts }).map((y, i) => ({ index: i + 1, y }));

describe('splitting a secret into shares', () => {
  test('any k of n shares give the secret, whichever they are and in any order', () => {
    const cases = fc
      .tuple(fc.uint8Array({ minLength: 1, maxLength: 40 }), fc.integer({ min: 2, max: 9 }), fc.nat(6), fc.gen())
      .map(([secret, needed, more, gen]) => ({ secret, needed, parts: needed + more, gen }));
    fc.assert(
      fc.property(cases, ({ secret, needed, parts, gen }) => {
        const shares = sharesOf(secret, needed, parts);
        const some = gen(fc.shuffledSubarray, shares, { minLength: needed, maxLength: needed });
        assert.deepEqual(join(some), Buffer.from(secret));
      }),
    );
  });

  test('the field is that of AES, as in other implementations', () => {
    // f(x) = 0x53 + 0xca·x over GF(2^8) with 0x11b, where 0x53 · 0xca = 1: the example of FIPS 197, section 4.2, on both sides.
    const y = (x: number) => [0x53 ^ ([0, 0xca, 0x8f, 0x45][x] as number)];
    assert.deepEqual(
      join([
        { index: 1, y: Buffer.from(y(1)) },
        { index: 2, y: Buffer.from(y(2)) },
      ]),
      Buffer.from([0x53]),
    );
    assert.deepEqual(
      join([
        { index: 3, y: Buffer.from(y(3)) },
        { index: 1, y: Buffer.from(y(1)) },
      ]),
      Buffer.from([0x53]),
    );
  });

  test('one share less than needed gives each byte equally often: it says nothing', () => {
    const counts: number[] = new Array(256).fill(0);
    for (let run = 0; run < 4096; run++) {
      const [first, second] = sharesOf(Buffer.from([7]), 3, 3);
      assert.ok(first && second);
      const guess = join([first, second])[0] as number;
      counts[guess] = (counts[guess] as number) + 1;
    }
    // Chi-squared with 255 degrees of freedom: 400 is exceeded once in a hundred million runs.
    const expected = 4096 / 256;
    const chi = counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
    assert.ok(chi < 400, `chi-squared ${chi}`);
  });

  test('the most shares there may be', () => {
    const secret = randomBytes(32);
    const shares = sharesOf(secret, PARTS_MAX, PARTS_MAX);
    assert.deepEqual(join(shares), secret);
    assert.notDeepEqual(join(shares.slice(1)), secret);
  });

  test('numbers that make no sense are refused', () => {
    for (const [needed, parts] of [
      [1, 3],
      [4, 3],
      [2, 256],
      [2.5, 3],
      [0, 0],
      [2, Number.NaN],
    ] as const)
      assert.throws(() => split(Buffer.from('x'), { needed, parts }), RangeError);
  });
});
