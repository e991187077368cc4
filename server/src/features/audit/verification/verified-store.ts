import { AuthenticatedTable } from '../../../kernel/integrity/authenticated-table.ts';
import type { Reader, Tx } from '../../../kernel/storage/database.ts';
import type { Authenticated } from '../../../kernel/storage/tables.ts';

export interface AuditVerifiedTables {
  audit_verified: Authenticated<VerifiedRow>;
}

/** How far a tenant's log was verified. An older row put back only makes the next verification read more. */
export interface VerifiedRow {
  tenant_id: string;
  seq: number;
  hash: Uint8Array;
  /** The number of the last checkpoint up to there. */
  checkpoint_no: number;
  verified_at: number;
  /** When the log was last verified from its beginning; 0 if it never was. */
  full_at: number;
  /** 1 if nothing was wrong. */
  is_valid: number;
}

export const VERIFIED = new AuthenticatedTable<'audit_verified', VerifiedRow>('audit_verified', {
  key: [],
  covered: ['seq', 'hash', 'checkpoint_no', 'verified_at', 'full_at', 'is_valid'],
  isRecorded: false,
});

/** The state of a tenant; null if there is none, or none that the service wrote. */
export async function findVerified(db: Reader, tenantId: string): Promise<VerifiedRow | null> {
  const row = await db.selectFrom('audit_verified').selectAll().where('tenant_id', '=', tenantId).executeTakeFirst();
  const [authentic] = await VERIFIED.authenticOf(db, row === undefined ? [] : [row]);
  return authentic ?? null;
}

export async function saveVerified(tx: Tx, row: VerifiedRow): Promise<void> {
  const { tenant_id, ...change } = await VERIFIED.signed(tx, row);
  await tx
    .insertInto('audit_verified')
    .values({ tenant_id, ...change })
    .onConflict((c) => c.column('tenant_id').doUpdateSet(change))
    .execute();
}
