import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CALLERS_PER_TENANT, PER_VAULT, VAULTS } from './data-set.ts';
import { type Seeded, SPREAD, secretsIn, spread, targets } from './spread.ts';
import { vaultsOf } from './tenants.ts';

const TENANTS = ['a', 'b', 'c', 'd'].map((name) => ({
  name,
  tokens: Array.from({ length: CALLERS_PER_TENANT }, (_, caller) => `${name}-${caller}`),
}));

function seeded(vaults: number, perVault = PER_VAULT): Seeded {
  return { vaults: vaultsOf(TENANTS, vaults), perVault };
}

function visited(where: Seeded, count?: number) {
  const next = targets(where, count);
  return Array.from({ length: count ?? SPREAD }, next);
}

for (const vaults of [VAULTS, 1000]) {
  test(`of ${vaults} vaults a thousand secrets are visited, over all vaults and by all callers`, () => {
    const all = visited(seeded(vaults));
    assert.equal(new Set(all.map(({ secret }) => secret)).size, SPREAD);
    assert.equal(new Set(all.map(({ vault }) => vault)).size, vaults);
    assert.equal(new Set(all.map(({ token }) => token)).size, TENANTS.length * CALLERS_PER_TENANT);
  });
}

test('a secret is only read by a caller of the tenant whose vault it is in', () => {
  const where = seeded(VAULTS);
  const ownerOf = new Map(where.vaults.map(({ name, tenant }) => [`/v1/vaults/${name}`, tenant.name]));
  for (const { vault, token } of visited(where)) assert.equal(token.split('-')[0], ownerOf.get(vault));
});

test('every secret can be visited, and no more than there are', () => {
  const where = seeded(VAULTS, 30);
  const all = visited(where, secretsIn(where));
  assert.equal(new Set(all.map(({ secret }) => secret)).size, VAULTS * 30);
  assert.throws(() => targets(where), /fewer than 1000/);
});

test('requests repeat only when all secrets had theirs', () => {
  const next = spread(seeded(VAULTS), ({ secret }) => Buffer.from(secret));
  const rounds = [0, 1].map(() => Array.from({ length: SPREAD }, () => next().toString()));
  assert.equal(new Set(rounds[0]).size, SPREAD);
  assert.deepEqual(rounds[0], rounds[1]);
});
