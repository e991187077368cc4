import type { Tx } from '../../kernel/storage/database.ts';
import type { SealedValue, Sealer } from './sealing.ts';
import * as store from './store.ts';
import { insertVersion, replaceSecret } from './write-store.ts';

export interface Author {
  kind: string;
  id: string;
  name: string;
}

export interface NewVersion {
  operation: store.SecretVersionRow['operation'];
  reason: string;
  author: Author;
  restoredFrom?: number;
  /** A new value. If neither this nor `sealed` is given, the value is unchanged. */
  value?: string;
  sealed?: SealedValue;
  metadata?: string;
  tags?: string[];
  /** Other columns of the secret's row that change with the version. */
  more?: Partial<Pick<store.SecretRow, 'rotation' | 'rotation_id' | 'rotated_at' | 'next_rotation_at'>>;
}

/**
 * Every change of a secret's content goes through here: it inserts the next version and copies it into the secret's row. The caller has locked the
 * row.
 */
export async function appendVersion(
  tx: Tx,
  row: store.SecretRow,
  next: NewVersion,
  now: number,
  sealer: Sealer,
): Promise<store.SecretRow> {
  const version = row.version + 1;
  const changed: store.SecretRow = {
    ...row,
    ...next.more,
    ...next.sealed,
    ...(next.value !== undefined && sealer.seal(row, version, next.value)),
    version,
    metadata: next.metadata ?? row.metadata,
    tags: next.tags === undefined ? row.tags : JSON.stringify(next.tags),
    updated_at: now,
  };
  await insertVersion(tx, versionRow(changed, next, now));
  await replaceSecret(tx, row, changed);
  if (next.tags !== undefined) {
    await store.replaceTags(tx, tagPlace(row), JSON.parse(row.tags) as string[], next.tags);
  }
  return changed;
}

/** Inserts a secret with its first version. */
export async function insertFirst(
  tx: Tx,
  row: store.SecretRow,
  next: Pick<NewVersion, 'operation' | 'reason' | 'author'>,
  now: number,
): Promise<void> {
  await store.insertSecret(tx, row);
  await insertVersion(tx, versionRow(row, next, now));
  await store.replaceTags(tx, tagPlace(row), [], JSON.parse(row.tags) as string[]);
}

export function tagPlace(row: Pick<store.SecretRow, 'tenant_id' | 'vault_id' | 'path'>) {
  const { tenant_id, vault_id, path } = row;
  return { tenant_id, vault_id, path };
}

function versionRow(
  row: store.SecretRow,
  next: Pick<NewVersion, 'operation' | 'reason' | 'author' | 'restoredFrom'>,
  now: number,
): store.SecretVersionRow {
  return {
    tenant_id: row.tenant_id,
    secret_id: row.secret_id,
    version: row.version,
    operation: next.operation,
    reason: next.reason,
    restored_from: next.restoredFrom ?? null,
    author_kind: next.author.kind,
    author_id: next.author.id,
    author_name: next.author.name,
    type: row.type,
    metadata: row.metadata,
    tags: row.tags,
    created_at: now,
    data_key: row.data_key,
    sealed_version: row.sealed_version,
    sealed: row.sealed,
  };
}
