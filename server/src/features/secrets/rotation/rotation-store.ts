import { AuthenticatedTable } from '../../../kernel/integrity/authenticated-table.ts';
import type { Reader, Tx } from '../../../kernel/storage/database.ts';
import type { Authenticated } from '../../../kernel/storage/tables.ts';

export interface SecretsRotationTables {
  rotations: Authenticated<RotationRow, 'failure' | 'lease_until' | 'finished_at'>;
}

/** A rotation through a backend. The candidate value is stored until the outcome is known. */
export interface RotationRow {
  tenant_id: string;
  rotation_id: string;
  secret_id: string;
  status: 'in_progress' | 'completed' | 'failed';
  backend: string;
  reason: string;
  author_kind: string;
  author_id: string;
  author_name: string;
  /** The new value, sealed; null once the outcome is known. */
  sealed_next: Uint8Array | null;
  /** Of a fortress secret: the data key of the new value, wrapped. */
  data_key_next: Uint8Array | null;
  failure: string;
  started_at: number;
  lease_until: number;
  finished_at: number | null;
}

/** Author and reason are covered because they are copied into the version that the rotation creates. */
export const ROTATIONS = new AuthenticatedTable<'rotations', RotationRow>('rotations', {
  key: ['rotation_id'],
  covered: [
    'secret_id',
    'status',
    'backend',
    'reason',
    'author_kind',
    'author_id',
    'author_name',
    'sealed_next',
    'data_key_next',
    'started_at',
  ],
  sealed: ['sealed_next', 'data_key_next'],
  uncovered: {
    failure: 'the reason of the last failure, only displayed',
    lease_until: 'until when a node holds the lease of this rotation',
    finished_at: 'a time that is only displayed',
  },
  isRecorded: false,
});

export async function insertRotation(tx: Tx, row: RotationRow): Promise<void> {
  await ROTATIONS.insert(tx, row);
}

export async function findRotation(db: Reader, tenantId: string, rotationId: string): Promise<RotationRow | undefined> {
  const query = db.selectFrom('rotations').selectAll().where('tenant_id', '=', tenantId);
  return ROTATIONS.checked(db, await query.where('rotation_id', '=', rotationId).executeTakeFirst());
}

export async function updateRotation(
  tx: Tx,
  { tenant_id, rotation_id }: Pick<RotationRow, 'tenant_id' | 'rotation_id'>,
  change: Partial<
    Pick<RotationRow, 'status' | 'sealed_next' | 'data_key_next' | 'failure' | 'lease_until' | 'finished_at'>
  >,
): Promise<void> {
  await ROTATIONS.updateWhere(tx, (eb) => eb.and({ tenant_id, rotation_id }), change);
}

export async function lastRotationOf(db: Reader, tenantId: string, secretId: string): Promise<RotationRow | undefined> {
  const query = db
    .selectFrom('rotations')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('secret_id', '=', secretId)
    .orderBy('rotation_id', 'desc')
    .limit(1);
  return ROTATIONS.checked(db, await query.executeTakeFirst());
}

/** Rotations in progress whose lease has expired. */
export async function abandonedRotations(db: Reader, now: number, limit: number): Promise<RotationRow[]> {
  const rows = await db
    .selectFrom('rotations')
    .selectAll()
    .where('status', '=', 'in_progress')
    .where('lease_until', '<=', now)
    .orderBy('lease_until')
    .limit(limit)
    .execute();
  return ROTATIONS.authenticOf(db, rows);
}

/** Returns true for the one node that gets the lease and continues the rotation. */
export async function takeLease(tx: Tx, row: RotationRow, now: number, until: number): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('rotations')
    .set({ lease_until: until })
    .where('tenant_id', '=', row.tenant_id)
    .where('rotation_id', '=', row.rotation_id)
    .where('status', '=', 'in_progress')
    .where('lease_until', '<=', now)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** Due secrets of every tenant, in vaults that are not deleted. */
export function dueSecrets(
  db: Reader,
  now: number,
  limit: number,
): Promise<{ tenant_id: string; secret_id: string; vault_id: string }[]> {
  return db
    .selectFrom('secrets as s')
    .innerJoin('vaults as v', (join) =>
      join.onRef('v.tenant_id', '=', 's.tenant_id').onRef('v.vault_id', '=', 's.vault_id'),
    )
    .select(['s.tenant_id', 's.secret_id', 's.vault_id'])
    .where('s.next_rotation_at', '<=', now)
    .where('s.rotation_id', 'is', null)
    .where('s.deleted_no', '=', 0)
    .where('v.status', '<>', 'deleted')
    .orderBy('s.next_rotation_at')
    .limit(limit)
    .execute();
}
