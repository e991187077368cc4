import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { DAY_MS } from '../../../kernel/base/clock.ts';
import { seal, unseal } from '../../../kernel/crypto/sealing.ts';
import type { Sealer } from '../value/sealing.ts';
import { newSecretRow, nextSecretRow, versionRow } from './secret-rows.ts';
import { SECRETS, type SecretRow, VERSIONS } from './tables.ts';

const key = createSecretKey(randomBytes(32));
const at = (row: string, version: number) => ({ tenantId: 'tenant_a', table: 'secret_versions', row, version });
const NOTHING_KNOWN = { fingerprint: null, fingerprint_version: null, expires_at: null };
/** Seals for real, under a key that no keyring holds. */
const sealer: Sealer = {
  seal: ({ secret_id }, version, value) => ({
    sealed: seal(key, 1, at(secret_id, version), Buffer.from(value)),
    sealed_version: version,
    data_key: null,
    ...NOTHING_KNOWN,
  }),
  clearColumns: () => NOTHING_KNOWN,
  wrapDataKey: (_, dataKey) => dataKey,
};
const opened = ({ secret_id, sealed_version, sealed }: Pick<SecretRow, 'secret_id' | 'sealed_version' | 'sealed'>) =>
  unseal(key, at(secret_id, sealed_version), sealed).toString();

const NEW = { tenant_id: 'tenant_a', vault_id: 'vault_1', path: 'a/b', type: 'generic', environment: 'staging' };
const ORIGIN = { operation: 'update', reason: 'why', author: { kind: 'user', id: 'user_1', name: 'Ann' } } as const;

test('a new row has every column of its table, and a value sealed for the first version', () => {
  const row = newSecretRow({ ...NEW, value: 'one', sealer, now: 5 });
  assert.deepEqual(Object.keys(row).toSorted(), [...SECRETS.columns].toSorted());
  assert.deepEqual(
    [row.version, row.deleted_no, row.metadata, row.tags, row.protection],
    [1, 0, '{}', '[]', 'standard'],
  );
  assert.deepEqual([row.created_at, row.updated_at, row.rotation, row.next_rotation_at], [5, 5, null, null]);
  assert.equal(opened(row), 'one');
  const other = newSecretRow({ ...NEW, value: 'one', sealer, now: 5 });
  assert.notEqual(other.secret_id, row.secret_id);
  assert.notEqual(other.secret_no, row.secret_no);
});

test('a new row with a rotation is due after the interval', () => {
  const row = newSecretRow({ ...NEW, rotation: { interval_days: 2 }, value: 'one', sealer, now: 5 });
  assert.deepEqual([row.rotation, row.next_rotation_at], ['{"interval_days":2}', 5 + 2 * DAY_MS]);
});

test('a version without a new value keeps the one that was sealed before', () => {
  const row = newSecretRow({ ...NEW, tags: '["x"]', value: 'one', sealer, now: 5 });
  const described = nextSecretRow(row, { metadata: '{"owner":"Ann"}', sealer, now: 6 });
  assert.deepEqual([described.version, described.sealed_version, described.updated_at], [2, 1, 6]);
  assert.deepEqual([described.metadata, described.tags, opened(described)], ['{"owner":"Ann"}', '["x"]', 'one']);
  const changed = nextSecretRow(described, { value: 'two', tags: [], sealer, now: 7 });
  assert.deepEqual([changed.version, changed.sealed_version, changed.tags], [3, 3, '[]']);
  assert.deepEqual([changed.metadata, changed.created_at, opened(changed)], ['{"owner":"Ann"}', 5, 'two']);
});

test('the row of a version has every column of its table, and what the row of the secret holds', () => {
  const row = nextSecretRow(newSecretRow({ ...NEW, value: 'one', sealer, now: 5 }), { value: 'two', sealer, now: 6 });
  const version = versionRow(row, { ...ORIGIN, restoredFrom: 1 });
  assert.deepEqual(Object.keys(version).toSorted(), [...VERSIONS.columns].toSorted());
  assert.deepEqual([version.version, version.created_at, version.restored_from], [2, 6, 1]);
  assert.deepEqual([version.author_kind, version.author_id, version.author_name], ['user', 'user_1', 'Ann']);
  assert.equal(opened(version), 'two');
  assert.equal(versionRow(row, ORIGIN).restored_from, null);
});
