import type { Tx } from '../../kernel/storage/database.ts';
import type { Cutoff } from '../../kernel/time/cutoff.ts';

declare module '../../kernel/storage/tables.ts' {
  interface Tables {
    login_failures: LoginFailuresRow;
  }
}

/** Failed logins of one subject, by its hash: an account (existing or not) or an address. */
export interface LoginFailuresRow {
  tenant_id: string;
  subject_hash: Uint8Array;
  failures: number;
  blocked_until: number;
  forget_at: number;
}

/** Inserts the row if needed, locks it and returns it in one statement: between two, another login could delete the row. */
export async function lockFailures(tx: Tx, tenantId: string, subject: Uint8Array): Promise<LoginFailuresRow> {
  return tx
    .insertInto('login_failures')
    .values({ tenant_id: tenantId, subject_hash: subject, failures: 0, blocked_until: 0, forget_at: 0 })
    .onConflict((c) =>
      c.columns(['tenant_id', 'subject_hash']).doUpdateSet((eb) => ({ tenant_id: eb.ref('excluded.tenant_id') })),
    )
    .returningAll()
    .executeTakeFirstOrThrow();
}

export async function saveFailures(tx: Tx, row: LoginFailuresRow): Promise<void> {
  const { tenant_id, subject_hash, ...change } = row;
  await tx
    .updateTable('login_failures')
    .set(change)
    .where('tenant_id', '=', tenant_id)
    .where('subject_hash', '=', subject_hash)
    .execute();
}

export async function clearFailures(tx: Tx, tenantId: string, subject: Uint8Array): Promise<void> {
  await tx.deleteFrom('login_failures').where('tenant_id', '=', tenantId).where('subject_hash', '=', subject).execute();
}

export async function deleteFailuresBefore(tx: Tx, time: Cutoff): Promise<void> {
  await tx.deleteFrom('login_failures').where('forget_at', '<', time).execute();
}
