import { sha256 } from '../crypto/digest.ts';
import type { Tx } from '../storage/database.ts';
import { SYSTEM_TENANT } from '../storage/tables.ts';
import type { Cutoff } from '../time/cutoff.ts';

export interface AttemptCountersTables {
  login_failures: LoginFailuresRow;
}

/** Failed logins of one subject, or what was counted of it in a period, by its hash: an account (existing or not), an address or a mailbox. */
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

/** Adds to what is counted of a subject in a period, and returns the sum. The period begins with the first of them. */
export async function countedWithin(
  tx: Tx,
  subject: readonly string[],
  { count, now, periodMs }: { count: number; now: number; periodMs: number },
): Promise<number> {
  const hash = sha256(JSON.stringify(['counted', periodMs, ...subject]));
  const row = await lockFailures(tx, SYSTEM_TENANT, hash);
  const isRunning = row.forget_at > now && row.forget_at <= now + periodMs;
  const failures = (isRunning ? row.failures : 0) + count;
  const forget_at = isRunning ? row.forget_at : now + periodMs;
  await saveFailures(tx, { ...row, failures, blocked_until: 0, forget_at });
  return failures;
}
