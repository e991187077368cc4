import { DAY_MS } from '../../kernel/base/clock.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import { isOver } from '../../kernel/storage/due-times.ts';

export interface MailTables {
  outgoing_mail: MailRow;
}

/** A mail that waits to be sent. Its content may hold a token, so it is sealed, bound to this row, and deleted once it was sent. */
export interface MailRow {
  tenant_id: string;
  mail_id: string;
  kind: MailKind;
  sealed_message: Uint8Array;
  attempts: number;
  next_attempt_at: number;
  lease_until: number;
  last_error: string | null;
  created_at: number;
}

export type MailKind = 'signup' | 'invitation' | 'approval' | 'expiry' | 'security';

/** Longer than the longest wait between two attempts, and than a lease. */
const AHEAD_MAX_MS = DAY_MS;
/** Each row has 9 parameters, and SQLite limits how many a statement may have. */
const INSERTED_AT_ONCE = 500;

export async function insertMail(tx: Tx, rows: readonly MailRow[]): Promise<void> {
  for (let at = 0; at < rows.length; at += INSERTED_AT_ONCE) {
    await tx
      .insertInto('outgoing_mail')
      .values(rows.slice(at, at + INSERTED_AT_ONCE))
      .execute();
  }
}

/** Mail that is due, oldest first, and mail whose time comes from a wrong clock. */
export async function dueMail(
  db: Reader,
  now: number,
  { limit, except }: { limit: number; except: readonly string[] },
): Promise<MailRow[]> {
  const due = await waitingMail(db, now, ['<=', now], { limit, except });
  if (due.length === limit) return due;
  return [...due, ...(await waitingMail(db, now, ['>', now + AHEAD_MAX_MS], { limit: limit - due.length, except }))];
}

function waitingMail(
  db: Reader,
  now: number,
  [comparison, time]: readonly ['<=' | '>', number],
  { limit, except }: { limit: number; except: readonly string[] },
): Promise<MailRow[]> {
  const query = db
    .selectFrom('outgoing_mail')
    .selectAll()
    .where('next_attempt_at', comparison, time)
    .where(isOver('lease_until', now, AHEAD_MAX_MS))
    .orderBy('next_attempt_at')
    .limit(limit);
  return (except.length === 0 ? query : query.where('tenant_id', 'not in', except)).execute();
}

/** Changes a mail that this node has taken, or takes it; false if another node was faster. */
export async function updateTaken(
  tx: Tx,
  { tenant_id, mail_id, lease_until }: MailRow,
  change: Partial<MailRow>,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('outgoing_mail')
    .set(change)
    .where('tenant_id', '=', tenant_id)
    .where('mail_id', '=', mail_id)
    .where('lease_until', '=', lease_until)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

export async function deleteTaken(tx: Tx, { tenant_id, mail_id, lease_until }: MailRow): Promise<void> {
  await tx
    .deleteFrom('outgoing_mail')
    .where('tenant_id', '=', tenant_id)
    .where('mail_id', '=', mail_id)
    .where('lease_until', '=', lease_until)
    .execute();
}
