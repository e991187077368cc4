import assert from 'node:assert/strict';
import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { type SealedLocation, seal, UnsealError, unseal } from '../../../kernel/crypto/sealing.ts';
import type { Kernel } from '../../../kernel/request/kernel.ts';
import { openNow } from './sealing.ts';

const keys = new Map<string, KeyObject>();
for (const name of ['tenant_a vault_1', 'tenant_a vault_2', 'tenant_b vault_1']) {
  keys.set(name, createSecretKey(randomBytes(32)));
}
/** Fake keyring with keys by tenant and vault; sealing and unsealing are real. */
const kernel = {
  keyring: {
    unsealNow(purpose: string, at: SealedLocation, sealed: Uint8Array) {
      const key = keys.get(`${at.tenantId} ${purpose.slice(-'vault_1'.length)}`);
      return key === undefined ? null : unseal(key, at, sealed);
    },
  },
} as unknown as Kernel;

function sealedFor(tenantId: string, vaultId: string, row: string, version: number, value: string) {
  const key = keys.get(`${tenantId} ${vaultId}`) as KeyObject;
  const sealed = seal(key, 1, { tenantId, table: 'secret_versions', row, version }, Buffer.from(value));
  return { secret_id: row, sealed_version: version, sealed, data_key: null };
}

test('a row that was copied, changed or moved does not open', () => {
  const row = sealedFor('tenant_a', 'vault_1', 'sec_2', 1, 'of one tenant');
  const refused = (tenantId: string, vaultId: string, other: typeof row) =>
    assert.throws(() => openNow(kernel, tenantId, vaultId, other), UnsealError);
  assert.equal(openNow(kernel, 'tenant_a', 'vault_1', row), 'of one tenant');
  refused('tenant_b', 'vault_1', row);
  refused('tenant_a', 'vault_2', row);
  refused('tenant_a', 'vault_1', { ...row, sealed_version: 2 });
  const changed = Buffer.from(row.sealed);
  changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1;
  refused('tenant_a', 'vault_1', { ...row, sealed: changed });
  assert.equal(openNow(kernel, 'tenant_a', 'vault_1', row), 'of one tenant');
});

test('the next version of a secret is not mistaken for the one before', () => {
  assert.equal(openNow(kernel, 'tenant_a', 'vault_1', sealedFor('tenant_a', 'vault_1', 'sec_3', 1, 'old')), 'old');
  assert.equal(openNow(kernel, 'tenant_a', 'vault_1', sealedFor('tenant_a', 'vault_1', 'sec_3', 2, 'new')), 'new');
});
