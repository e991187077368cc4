import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { newRootKey } from '../crypto/root-key.ts';
import { SealError } from './provider.ts';
import {
  checkSealedKey,
  checkShare,
  openByShares,
  sealForSameShares,
  sealInShares,
  shareSetOf,
} from './shamir-seal.ts';
import { ShareProblem } from './share-text.ts';

const INSTALLATION = 'a1b2';
const NOW = Date.parse('2026-11-20T12:00:00Z');
const make = (root = newRootKey().root, needed = 3, parts = 5) => ({
  root,
  ...sealInShares(root, { installation: INSTALLATION, needed, parts, now: NOW }),
});

describe('the root key in shares', () => {
  test('opens with any of them that are enough', () => {
    const { root, sealed, shares } = make();
    assert.deepEqual(shareSetOf(sealed), { id: shares[0]?.setId, needed: 3, parts: 5, madeOn: '2026-11-20' });
    for (const share of shares) checkShare(sealed, share);
    assert.deepEqual(openByShares(sealed, INSTALLATION, shares.slice(2)), root.key.export());
    assert.deepEqual(openByShares(sealed, INSTALLATION, shares.toReversed()), root.key.export());
  });

  test('does not open with one share less, whatever stands in its place', () => {
    const { sealed, shares } = make();
    const [first, second, third] = shares;
    assert.ok(first && second && third);
    for (const some of [
      [first, second],
      [first, second, { ...third, y: Buffer.alloc(32) }],
      [first, second, { ...third, index: 4 }],
    ])
      assert.throws(() => openByShares(sealed, INSTALLATION, some), SealError);
  });

  test('a share of another set, and one that was changed, are named', () => {
    const { root, sealed, shares } = make();
    const other = make(root);
    const [first] = shares;
    assert.ok(first && other.shares[0]);
    assert.throws(() => checkShare(sealed, other.shares[0] as typeof first), /belongs to set .*needs set/);
    for (const changed of [
      { ...first, y: Buffer.alloc(32) },
      { ...first, index: 2 },
      { ...first, index: 200 },
      { ...first, needed: 2 },
    ])
      assert.throws(() => checkShare(sealed, changed), ShareProblem);
  });

  test('what is stored opens nothing in another installation, and says nothing of the key', () => {
    const { root, sealed, shares } = make();
    assert.throws(() => openByShares(sealed, 'c3d4', shares), SealError);
    assert.equal(sealed.includes(root.key.export()), false);
    for (const { y } of shares) assert.equal(sealed.includes(y), false);
  });

  test('the same shares open the next root key, and the former copy does not', () => {
    const { root, sealed, shares } = make();
    const { root: next } = newRootKey();
    const again = sealForSameShares(sealed, INSTALLATION, { from: root, to: next, shares });
    for (const share of shares) checkShare(again, share);
    assert.deepEqual(openByShares(again, INSTALLATION, shares), next.key.export());
    checkSealedKey(again, INSTALLATION, next);
    assert.throws(() => checkSealedKey(sealed, INSTALLATION, next), SealError);
    assert.throws(() => sealForSameShares(sealed, INSTALLATION, { from: next, to: root, shares }), SealError);
    // Somebody who knows the former root key and writes to the database cannot have the next one sealed for a set of their own.
    const planted = make(root);
    assert.throws(() => sealForSameShares(planted.sealed, INSTALLATION, { from: root, to: next, shares }), SealError);
  });

  test('a byte that was changed in the database is found', () => {
    const { root, sealed, shares } = make(undefined, 2, 2);
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed);
      changed[at] = (changed[at] as number) ^ 1;
      assert.throws(() => {
        for (const share of shares) checkShare(changed, share);
        assert.deepEqual(openByShares(changed, INSTALLATION, shares), root.key.export());
        checkSealedKey(changed, INSTALLATION, root);
      }, `byte ${at}`);
    }
  });
});
