import { type Page, pageOf } from '../../kernel/storage/cursor.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';

declare module '../../kernel/storage/tables.ts' {
  interface Tables {
    federations: FederationRow;
  }
}

export interface FederationRow {
  tenant_id: string;
  connection_no: number;
  federation_no: number;
  name: string;
  provider: 'github' | 'gitlab' | 'bitbucket' | 'jenkins' | 'teamcity' | 'custom';
  issuer: string;
  /** Null: by discovery. */
  jwks_url: string | null;
  /** Null: the service's own, whatever that is. */
  audience: string | null;
  subject_pattern: string;
  /** JSON. */
  claims: string;
  token_ttl_seconds: number;
  enabled: number;
  /** Counted up by every change, so that an exchange that was decided on before it is not completed after it. */
  revision: number;
  created_by: string;
  created_at: number;
  updated_at: number;
}

/** Which one: numbers are counted in the tenant, and each belongs to one connection. */
export type FederationKey = Pick<FederationRow, 'tenant_id' | 'connection_no' | 'federation_no'>;

export const CURSOR_KIND = 'federations';

export async function insertFederation(tx: Tx, row: FederationRow): Promise<void> {
  await tx.insertInto('federations').values(row).execute();
}

export function findFederation(db: Reader, key: FederationKey): Promise<FederationRow | undefined> {
  return db
    .selectFrom('federations')
    .selectAll()
    .where('tenant_id', '=', key.tenant_id)
    .where('connection_no', '=', key.connection_no)
    .where('federation_no', '=', key.federation_no)
    .executeTakeFirst();
}

export function lockFederation(tx: Tx, key: FederationKey): Promise<FederationRow | undefined> {
  return tx
    .selectFrom('federations')
    .selectAll()
    .where('tenant_id', '=', key.tenant_id)
    .where('connection_no', '=', key.connection_no)
    .where('federation_no', '=', key.federation_no)
    .forUpdate()
    .executeTakeFirst();
}

export async function listFederations(
  db: Reader,
  tenantId: string,
  connectionNo: number,
  after: number,
  limit: number,
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

/** Those that a token of this issuer can be for. */
export function federationsOf(
  db: Reader,
  tenantId: string,
  connectionNo: number,
  limit: number,
): Promise<FederationRow[]> {
  return db
    .selectFrom('federations')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('connection_no', '=', connectionNo)
    .orderBy('federation_no')
    .limit(limit)
    .execute();
}

export async function updateFederation(tx: Tx, row: FederationRow): Promise<void> {
  const { tenant_id, connection_no, federation_no, ...change } = row;
  await tx
    .updateTable('federations')
    .set(change)
    .where('tenant_id', '=', tenant_id)
    .where('connection_no', '=', connection_no)
    .where('federation_no', '=', federation_no)
    .execute();
}

export async function deleteFederation(tx: Tx, key: FederationKey): Promise<void> {
  await tx
    .deleteFrom('federations')
    .where('tenant_id', '=', key.tenant_id)
    .where('connection_no', '=', key.connection_no)
    .where('federation_no', '=', key.federation_no)
    .execute();
}

/** With the connection go the ways to become it. */
export async function deleteFederationsOf(tx: Tx, tenantId: string, connectionNo: number): Promise<void> {
  await tx
    .deleteFrom('federations')
    .where('tenant_id', '=', tenantId)
    .where('connection_no', '=', connectionNo)
    .execute();
}
