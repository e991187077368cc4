import type { Reader, Tx } from '../storage/database.ts';
import { SYSTEM_TENANT } from '../storage/tables.ts';

export interface OperatorPermissionsTables {
  operator_words: OperatorPermissionRow;
}

/** A temporary permission that the operator gave. */
export interface OperatorPermissionRow {
  tenant_id: string;
  /** The name of a job, or `CLOCK`. */
  subject: string;
  given_at: number;
  valid_until: number;
}

/** Contains a space, unlike the name of any job. */
export const CLOCK = 'the clock';

export async function savePermission(tx: Tx, permission: Omit<OperatorPermissionRow, 'tenant_id'>): Promise<void> {
  const { given_at, valid_until } = permission;
  await tx
    .insertInto('operator_words')
    .values({ tenant_id: SYSTEM_TENANT, ...permission })
    .onConflict((c) => c.columns(['tenant_id', 'subject']).doUpdateSet({ given_at, valid_until }))
    .execute();
}

export function findPermission(db: Reader, subject: string): Promise<OperatorPermissionRow | undefined> {
  return db
    .selectFrom('operator_words')
    .selectAll()
    .where('tenant_id', '=', SYSTEM_TENANT)
    .where('subject', '=', subject)
    .executeTakeFirst();
}

/** Deletes the permission; returns whether there was one that is still valid. */
export async function takePermission(tx: Tx, subject: string, now: number): Promise<boolean> {
  const used = await tx
    .deleteFrom('operator_words')
    .where('tenant_id', '=', SYSTEM_TENANT)
    .where('subject', '=', subject)
    .returning('valid_until')
    .executeTakeFirst();
  return used !== undefined && Number(used.valid_until) > now;
}
