import assert from 'node:assert/strict';
import { argon2Sync, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { COST_DEFAULT, isWithinBounds } from './argon2-cost.ts';
import { hashPassword, needsRehash, verifyPassword } from './passwords.ts';

const PASSWORD = 'correct horse battery staple';

function stored(memory: number, passes: number, parallelism: number): string {
  const nonce = randomBytes(16);
  const hash = argon2Sync('argon2id', { message: PASSWORD, nonce, tagLength: 32, memory, passes, parallelism });
  return `argon2id$m=${memory},t=${passes},p=${parallelism}$${nonce.toString('base64')}$${hash.toString('base64')}`;
}

/** A hash that somebody with write access to the database might store. */
function claiming(cost: string): string {
  return `argon2id$${cost}$${Buffer.alloc(16).toString('base64')}$${Buffer.alloc(32).toString('base64')}`;
}

test('a hash is checked at the cost it says, lower or higher than today’s', async () => {
  for (const text of [
    stored(1024, 1, 1),
    stored(19_456, 2, 1),
    stored(80_000, 4, 2),
    await hashPassword(PASSWORD, 'a'),
  ]) {
    assert.equal(await verifyPassword(PASSWORD, text, 'a'), true);
    assert.equal(await verifyPassword('another password', text, 'a'), false);
  }
});

test('only one that cost less than today’s is to be made anew', async () => {
  assert.ok(needsRehash(stored(1024, 3, 4)));
  assert.ok(needsRehash(stored(65_536, 2, 4)));
  assert.ok(!needsRehash(await hashPassword(PASSWORD, 'a')));
  assert.ok(!needsRehash(stored(80_000, 3, 1)));
  for (const none of ['', 'plain', claiming('m=4194304,t=1,p=1')]) assert.ok(!needsRehash(none));
});

test('a cost beyond the bounds is not paid: the hash fits no password', async () => {
  const before = process.memoryUsage().rss;
  for (const cost of [
    'm=4194304,t=3,p=4',
    'm=65536,t=4000000000,p=4',
    'm=65536,t=3,p=255',
    'm=4,t=3,p=4',
    'm=0,t=0,p=0',
  ]) {
    assert.equal(await verifyPassword(PASSWORD, claiming(cost), 'a'), false, cost);
  }
  assert.ok(process.memoryUsage().rss - before < 1024 ** 3);
});

test('today’s cost is within the bounds', () => {
  assert.ok(isWithinBounds(COST_DEFAULT));
  for (const value of [Number.NaN, 1.5, -1, Number.POSITIVE_INFINITY]) {
    assert.ok(!isWithinBounds({ ...COST_DEFAULT, passes: value }));
    assert.ok(!isWithinBounds({ ...COST_DEFAULT, memory: value }));
  }
});
