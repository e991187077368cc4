import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newArchivePassword } from './archive-password.ts';

const BITS_MIN = 100;

test('a generated password has at least 100 bits, and every character is as likely as any other', () => {
  const passwords = Array.from({ length: 2000 }, newArchivePassword);
  assert.equal(new Set(passwords).size, passwords.length);
  const counts = new Map<string, number>();
  for (const password of passwords) {
    assert.match(password, /^[a-z2-9]{5}(-[a-z2-9]{5}){4}$/);
    assert.doesNotMatch(password, /[lo01]/, 'what looks alike');
    for (const character of password.replaceAll('-', '')) counts.set(character, (counts.get(character) ?? 0) + 1);
  }
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  // Of 50,000 characters each of the 32 comes some 1,560 times; 15 % off would be six standard deviations.
  for (const [character, count] of counts)
    assert.ok(Math.abs(count / (total / 32) - 1) < 0.15, `${character}: ${count}`);
  const bits = (total / passwords.length) * Math.log2(counts.size);
  assert.ok(bits >= BITS_MIN, `${bits} bits`);
});
