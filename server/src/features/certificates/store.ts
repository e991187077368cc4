import type { ExpressionBuilder } from 'kysely';
import { AuthenticatedTable, type RowFilter } from '../../kernel/integrity/authenticated-table.ts';
import { countRows } from '../../kernel/storage/count-rows.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import type { Authenticated, Tables } from '../../kernel/storage/tables.ts';
import type { Cutoff } from '../../kernel/time/cutoff.ts';
import { type Page, pageOf } from '../../kernel/wire/cursor.ts';

export interface CertificatesTables {
  certificate_authorities: AuthorityRow;
  certificates: Authenticated<CertificateRow>;
}

export interface AuthorityRow {
  /** The system tenant for a root CA; an intermediate CA belongs to its tenant. */
  tenant_id: string;
  ca_no: number;
  /** The root that signed it; null for a root. */
  root_no: number | null;
  certificate: Uint8Array;
  /** Bound to the certificate: unsealing fails if the certificate in this row was replaced. */
  sealed_key: Uint8Array;
  not_after: number;
  created_at: number;
  /** Incremented whenever a certificate of this tenant is revoked. */
  revocations: number;
  /** The newest CRL, which every node serves, its number, and the value of `revocations` when it was created. */
  crl: Uint8Array | null;
  crl_number: number;
  crl_revocations: number;
  crl_made_at: number;
}

/** A client certificate that was issued. Its private key is not stored. */
export interface CertificateRow {
  tenant_id: string;
  /** Hexadecimal, 32 lower-case digits. */
  serial: string;
  ca_no: number;
  client_id: string;
  connection_no: number;
  thumbprint: string;
  /** The federation whose token exchange issued it; null if it was issued to the connection directly. */
  source: string | null;
  not_before: number;
  not_after: number;
  revoked_at: number | null;
  reason: string;
}

export const CERTIFICATES = new AuthenticatedTable<'certificates', CertificateRow>('certificates', {
  key: ['serial'],
  covered: [
    'ca_no',
    'client_id',
    'connection_no',
    'thumbprint',
    'source',
    'not_before',
    'not_after',
    'revoked_at',
    'reason',
  ],
});

/** Newest first. */
export function listAuthorities(db: Reader, tenantId: string): Promise<AuthorityRow[]> {
  return db
    .selectFrom('certificate_authorities')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .orderBy('ca_no', 'desc')
    .execute();
}

export function findAuthority(db: Reader, tenantId: string, caNo: number): Promise<AuthorityRow | undefined> {
  return db
    .selectFrom('certificate_authorities')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('ca_no', '=', caNo)
    .executeTakeFirst();
}

export async function insertAuthority(tx: Tx, row: AuthorityRow): Promise<void> {
  await tx.insertInto('certificate_authorities').values(row).execute();
}

export async function retireAuthority(
  tx: Tx,
  { tenant_id, ca_no }: AuthorityRow,
  change: Pick<AuthorityRow, 'sealed_key' | 'not_after'>,
): Promise<void> {
  await tx
    .updateTable('certificate_authorities')
    .set(change)
    .where('tenant_id', '=', tenant_id)
    .where('ca_no', '=', ca_no)
    .execute();
}

/** Stores a list unless another node has stored a newer one meanwhile, and returns whether it did. */
export async function storeRevocationList(
  tx: Tx,
  { tenant_id, ca_no, crl_number }: AuthorityRow,
  list: Pick<AuthorityRow, 'crl' | 'crl_revocations' | 'crl_made_at'>,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('certificate_authorities')
    .set({ ...list, crl_number: crl_number + 1 })
    .where('tenant_id', '=', tenant_id)
    .where('ca_no', '=', ca_no)
    .where('crl_number', '=', crl_number)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

export async function insertCertificate(tx: Tx, row: CertificateRow): Promise<void> {
  await CERTIFICATES.insert(tx, row);
}

export async function findCertificate(
  db: Reader,
  tenantId: string,
  serial: string,
): Promise<CertificateRow | undefined> {
  const query = db.selectFrom('certificates').selectAll().where('tenant_id', '=', tenantId);
  return CERTIFICATES.checked(db, await query.where('serial', '=', serial).executeTakeFirst());
}

export const CURSOR_KIND = 'certificates';

export async function certificatesOfClient(
  db: Reader,
  tenantId: string,
  clientId: string,
  { after, limit }: { after: string; limit: number },
): Promise<Page<CertificateRow>> {
  const rows = await db
    .selectFrom('certificates')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('client_id', '=', clientId)
    .where('serial', '>', after)
    .orderBy('serial')
    .limit(limit + 1)
    .execute();
  return pageOf(rows, limit, ({ serial }) => [CURSOR_KIND, clientId, serial]);
}

export type RevokedRow = CertificateRow & { revoked_at: number };

/** The certificates that a CRL must contain: revoked and not expired. */
export async function listRevoked(db: Reader, tenantId: string, caNo: number, now: number): Promise<RevokedRow[]> {
  const rows = await db
    .selectFrom('certificates')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('ca_no', '=', caNo)
    .where('revoked_at', '<=', now)
    .where('not_after', '>', now)
    .orderBy('serial')
    .execute();
  return CERTIFICATES.checkedAll(db, rows as RevokedRow[]);
}

/** Whether a scheduled revocation took effect in this period. */
export async function hasRevocationBetween(
  db: Reader,
  tenantId: string,
  caNo: number,
  { after, until }: { after: number; until: number },
) {
  const row = await db
    .selectFrom('certificates')
    .select('serial')
    .where('tenant_id', '=', tenantId)
    .where('ca_no', '=', caNo)
    .where('revoked_at', '>', after)
    .where('revoked_at', '<=', until)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

export type RevocationTarget =
  | { clientId: string; source?: string; serials?: readonly string[]; upTo?: CertificateRow }
  | { serials: readonly string[] };

/** Revokes the selected certificates, except those that expire or are revoked earlier anyway. Returns the serials of those it revoked. */
export async function revoke(
  tx: Tx,
  tenantId: string,
  which: RevocationTarget,
  mark: { revoked_at: number; reason: string },
): Promise<string[]> {
  const { clientId, source, upTo, serials } = which as Partial<Extract<RevocationTarget, { clientId: string }>>;
  const rows = await CERTIFICATES.updateWhere(
    tx,
    (eb) =>
      eb.and([
        eb('tenant_id', '=', tenantId),
        ...(clientId === undefined ? [] : [eb('client_id', '=', clientId)]),
        ...(source === undefined ? [] : [eb('source', '=', source)]),
        ...(upTo === undefined ? [] : [isUpTo(eb, upTo)]),
        ...(serials === undefined ? [] : [eb('serial', 'in', serials)]),
        eb.or([eb('revoked_at', 'is', null), eb('revoked_at', '>', mark.revoked_at)]),
        eb('not_after', '>', mark.revoked_at),
      ]),
    mark,
  );
  return rows.map(({ serial }) => serial);
}

/** Matches that certificate and all earlier ones. One that became valid in the same second is left alone, since it may be its successor. */
function isUpTo(eb: ExpressionBuilder<Tables, 'certificates'>, { serial, not_before }: CertificateRow) {
  return eb.or([eb('serial', '=', serial), eb('not_before', '<', not_before)]);
}

/** Marks the stored CRLs as outdated, so that the next request for one creates a new one. */
export async function incrementRevocations(tx: Tx, tenantId: string): Promise<void> {
  await tx
    .updateTable('certificate_authorities')
    .set((eb) => ({ revocations: eb('revocations', '+', 1) }))
    .where('tenant_id', '=', tenantId)
    .execute();
}

export function countExpiredBefore(db: Reader, time: Cutoff): Promise<number> {
  return countRows(db.selectFrom('certificates').where('not_after', '<', time));
}

export function countCertificates(db: Reader): Promise<number> {
  return countRows(db.selectFrom('certificates'));
}

export function expiredBefore(time: Cutoff): RowFilter<'certificates'> {
  return (eb) => eb('not_after', '<', time);
}

/** The tenant in which a certificate was issued for this client, even if the client was deleted, as long as the row exists. */
export async function tenantOfClient(db: Reader, clientId: string): Promise<string | null> {
  const query = db.selectFrom('certificates').selectAll().where('client_id', '=', clientId).limit(1);
  const [row] = await CERTIFICATES.authenticOf(db, await query.execute());
  return row?.tenant_id ?? null;
}
