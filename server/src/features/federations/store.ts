import { AuthenticatedTable, type RowFilter } from '../../kernel/integrity/authenticated-table.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import type { Authenticated } from '../../kernel/storage/tables.ts';
import { type Page, pageOf } from '../../kernel/wire/cursor.ts';

export interface FederationsTables {
  federations: Authenticated<FederationRow>;
}

export interface FederationRow {
  tenant_id: string;
  connection_no: number;
  federation_no: number;
  name: string;
  provider: 'github' | 'gitlab' | 'bitbucket' | 'jenkins' | 'teamcity' | 'custom';
  issuer: string;
  /** Null means by discovery. */
  jwks_url: string | null;
  /** Null means the service's own audience, whatever that is. */
  audience: string | null;
  subject_pattern: string;
  /** JSON. */
  claims: string;
  token_ttl_seconds: number;
  enabled: number;
  /** Incremented by every change, so that an exchange that was decided before a change is not completed after it. */
  revision: number;
  created_by: string;
  created_at: number;
  updated_at: number;
}

/** Identifies a federation: numbers are counted per tenant, and each belongs to one connection. */
export type FederationKey = Pick<FederationRow, 'tenant_id' | 'connection_no' | 'federation_no'>;

export const FEDERATIONS = new AuthenticatedTable<'federations', FederationRow>('federations', {
  key: ['connection_no', 'federation_no'],
  covered: [
    'name',
    'provider',
    'issuer',
    'jwks_url',
    'audience',
    'subject_pattern',
    'claims',
    'token_ttl_seconds',
    'enabled',
    'revision',
    'created_by',
    'created_at',
    'updated_at',
  ],
});

export const CURSOR_KIND = 'federations';

export async function insertFederation(tx: Tx, row: FederationRow): Promise<void> {
  await FEDERATIONS.insert(tx, row);
}

export async function findFederation(db: Reader, key: FederationKey): Promise<FederationRow | undefined> {
  return FEDERATIONS.checked(db, await db.selectFrom('federations').selectAll().where(isIt(key)).executeTakeFirst());
}

export async function lockFederation(tx: Tx, key: FederationKey): Promise<FederationRow | undefined> {
  const [row] = await FEDERATIONS.lockedWhere(tx, isIt(key));
  return row;
}

function isIt({ tenant_id, connection_no, federation_no }: FederationKey): RowFilter<'federations'> {
  return (eb) => eb.and({ tenant_id, connection_no, federation_no });
}

export async function listFederations(
  db: Reader,
  tenantId: string,
  connectionNo: number,
  { after, limit }: { after: number; limit: number },
): Promise<Page<FederationRow>> {
  const rows = await db
    .selectFrom('federations')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('connection_no', '=', connectionNo)
    .where('federation_no', '>', after)
    .orderBy('federation_no')
    .limit(limit + 1)
    .execute();
  return pageOf(rows, limit, (row) => [CURSOR_KIND, String(connectionNo), String(row.federation_no)]);
}

/** All federations of a connection, in the order in which an exchange tries them. */
export async function federationsOf(
  db: Reader,
  tenantId: string,
  connectionNo: number,
  limit: number,
): Promise<FederationRow[]> {
  const rows = await db
    .selectFrom('federations')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('connection_no', '=', connectionNo)
    .orderBy('federation_no')
    .limit(limit)
    .execute();
  return FEDERATIONS.checkedAll(db, rows);
}

/** The enabled federations of some connections. A forged row is left out, because an exchange would refuse it. */
export async function enabledFederations(
  db: Reader,
  tenantId: string,
  connectionNos: readonly number[],
): Promise<FederationRow[]> {
  if (connectionNos.length === 0) return [];
  const rows = await db
    .selectFrom('federations')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('connection_no', 'in', connectionNos)
    .where('enabled', '=', 1)
    .orderBy('federation_no')
    .execute();
  return FEDERATIONS.authenticOf(db, rows);
}

export async function updateFederation(tx: Tx, row: FederationRow): Promise<void> {
  const { tenant_id, connection_no, federation_no, ...change } = row;
  await FEDERATIONS.updateWhere(tx, isIt({ tenant_id, connection_no, federation_no }), change);
}

export async function deleteFederation(tx: Tx, key: FederationKey): Promise<void> {
  await FEDERATIONS.deleteWhere(tx, isIt(key));
}

/** Federations are deleted together with the connection that they give access to. */
export async function deleteFederationsOf(tx: Tx, tenantId: string, connectionNo: number): Promise<void> {
  await FEDERATIONS.deleteWhere(tx, (eb) => eb.and({ tenant_id: tenantId, connection_no: connectionNo }));
}
