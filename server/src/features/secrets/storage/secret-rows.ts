import { randomInt } from 'node:crypto';
import { newId } from '../../../kernel/base/ids.ts';
import { nextRotation } from '../rotation/schedule.ts';
import type { Rotation } from '../schemas.ts';
import type { SealedValue, Sealer } from '../value/sealing.ts';
import type { SecretRow, SecretVersionRow } from './tables.ts';

/** Integer ids are random: writers do not contend for a counter, and ids cannot be enumerated. */
const SECRET_NO_MAX = 2 ** 48 - 1;

export interface NewSecret extends Pick<SecretRow, 'tenant_id' | 'vault_id' | 'path' | 'type' | 'environment'> {
  protection?: SecretRow['protection'];
  metadata?: string;
  tags?: string;
  rotation?: Rotation | undefined;
  /** The end that was given; without it a certificate has its own. */
  expiresAt?: number | null | undefined;
  value: string;
  sealer: Sealer;
  now: number;
}

/** The row of a secret at its first version. */
export function newSecretRow({ rotation, expiresAt, value, sealer, now, ...given }: NewSecret): SecretRow {
  const { type, protection = 'standard' } = given;
  const identity = { secret_id: newId('sec', now), type, protection };
  return {
    metadata: '{}',
    tags: '[]',
    ...given,
    ...identity,
    deleted_no: 0,
    secret_no: randomInt(1, SECRET_NO_MAX),
    version: 1,
    rotation: rotation === undefined ? null : JSON.stringify(rotation),
    rotation_id: null,
    rotated_at: null,
    next_rotation_at: nextRotation(rotation ?? null, now),
    created_at: now,
    updated_at: now,
    deleted_at: null,
    ...sealer.seal(identity, 1, value),
    ...(expiresAt != null && { expires_at: expiresAt }),
  };
}

export interface Author {
  kind: string;
  id: string;
  name: string;
}

/** What the history of a secret says about a version. */
export interface VersionOrigin {
  operation: SecretVersionRow['operation'];
  reason: string;
  author: Author;
  restoredFrom?: number;
}

/** What changes with a version. What is absent stays as it was. */
export interface VersionContent {
  /** A new value. If neither this nor `sealed` is given, the value is unchanged. */
  value?: string;
  sealed?: SealedValue;
  /** The value in `sealed`, if it is another one than before. */
  restoredValue?: string;
  metadata?: string;
  tags?: string[];
  /** The end that was given, or null to remove it. If it is absent, a new value has its own, which only a certificate has. */
  expiresAt?: number | null;
  /** Other columns of the secret's row that change with the version. */
  more?: Partial<
    Pick<SecretRow, 'type' | 'protection' | 'rotation' | 'rotation_id' | 'rotated_at' | 'next_rotation_at'>
  >;
  sealer: Sealer;
  now: number;
}

/** The row of a secret at its next version. */
export function nextSecretRow(row: SecretRow, next: VersionContent): SecretRow {
  const version = row.version + 1;
  return {
    ...row,
    ...next.more,
    ...next.sealed,
    ...(next.value !== undefined && next.sealer.seal({ ...row, ...next.more }, version, next.value)),
    ...(next.expiresAt !== undefined && { expires_at: next.expiresAt }),
    version,
    metadata: next.metadata ?? row.metadata,
    tags: next.tags === undefined ? row.tags : JSON.stringify(next.tags),
    updated_at: next.now,
  };
}

/** The version that a secret's row holds, as it is inserted beside it. */
export function versionRow(
  row: SecretRow,
  { operation, reason, author, restoredFrom }: VersionOrigin,
): SecretVersionRow {
  return {
    tenant_id: row.tenant_id,
    secret_id: row.secret_id,
    version: row.version,
    operation,
    reason,
    restored_from: restoredFrom ?? null,
    author_kind: author.kind,
    author_id: author.id,
    author_name: author.name,
    type: row.type,
    metadata: row.metadata,
    tags: row.tags,
    created_at: row.updated_at,
    data_key: row.data_key,
    sealed_version: row.sealed_version,
    sealed: row.sealed,
  };
}
