import { sql } from 'kysely';
import { AuthenticatedTable } from '../../../kernel/integrity/authenticated-table.ts';
import { countRows } from '../../../kernel/storage/count-rows.ts';
import type { Reader, Tx } from '../../../kernel/storage/database.ts';
import type { Authenticated } from '../../../kernel/storage/tables.ts';
import { type Page, pageOf } from '../../../kernel/wire/cursor.ts';

export interface AppConnectionsTables {
  app_connections: Authenticated<ConnectionRow>;
}

export interface ConnectionRow {
  tenant_id: string;
  connection_no: number;
  client_id: string;
  name: string;
  description: string;
  status: 'active' | 'disabled';
  /** The next four are JSON lists. */
  vault_ids: string;
  allowed_paths: string;
  scopes: string;
  ip_allowlist: string | null;
  environment: string | null;
  mtls_required: number;
  require_dpop: number;
  dpop_jkt: string | null;
  external_ca_pem: string | null;
  session_limit: number | null;
  session_action: 'reject' | 'evict_oldest';
  session_ttl_seconds: number;
  secret_hash: Uint8Array;
  secret_made_at: number;
  /** The previous secret, while both are accepted. */
  former_secret_hash: Uint8Array | null;
  former_secret_until: number | null;
  created_by: string;
  created_at: number;
  updated_at: number;
  /** A JSON list in lower-case hex; null means none. */
  denied_thumbprints: string | null;
  /** Used in place of `connection_no` where another connection had that number first; null if `connection_no` is the number. */
  number: number | null;
}

export const CONNECTIONS = new AuthenticatedTable<'app_connections', ConnectionRow>('app_connections', {
  key: ['connection_no'],
  covered: [
    'client_id',
    'name',
    'description',
    'status',
    'vault_ids',
    'allowed_paths',
    'scopes',
    'ip_allowlist',
    'environment',
    'mtls_required',
    'require_dpop',
    'dpop_jkt',
    'external_ca_pem',
    'session_limit',
    'session_action',
    'session_ttl_seconds',
    'secret_hash',
    'secret_made_at',
    'former_secret_hash',
    'former_secret_until',
    'created_by',
    'created_at',
    'updated_at',
  ],
  appended: ['denied_thumbprints', 'number'],
});

/** The number that identifies the connection in the whole installation. */
export function numberOf({ number, connection_no }: Pick<ConnectionRow, 'number' | 'connection_no'>): number {
  return number ?? connection_no;
}

/** All resource names that policies may use for it. In its own tenant it is still known by the number that it had before it was renumbered. */
export function resourcesOf(row: ConnectionRow): string[] {
  const names = [numberOf(row), row.client_id, ...(row.number === null ? [] : [row.connection_no])];
  return names.map((name) => `app-connection/${name}`);
}

export const CURSOR_KIND = 'connections';

/** Must be the same expression as in the index. */
const NUMBER = sql<number>`coalesce(number, connection_no)`;

export async function insertConnection(tx: Tx, row: ConnectionRow): Promise<void> {
  await CONNECTIONS.insert(tx, row);
}

export function countConnections(tx: Reader, tenantId: string): Promise<number> {
  return countRows(tx.selectFrom('app_connections').where('tenant_id', '=', tenantId));
}

export async function findConnection(
  db: Reader,
  tenantId: string,
  connectionNo: number,
): Promise<ConnectionRow | undefined> {
  const query = db.selectFrom('app_connections').selectAll().where('tenant_id', '=', tenantId);
  return CONNECTIONS.checked(db, await query.where('connection_no', '=', connectionNo).executeTakeFirst());
}

/** Finds a connection by its number or by its former one. */
export async function findByNumber(db: Reader, tenantId: string, number: number): Promise<ConnectionRow | undefined> {
  const own = await findConnection(db, tenantId, number);
  if (own !== undefined) return own;
  const query = db.selectFrom('app_connections').selectAll().where('tenant_id', '=', tenantId);
  return CONNECTIONS.checked(db, await query.where(NUMBER, '=', number).executeTakeFirst());
}

/** Searches all tenants. Forged rows are ignored, so that a forged copy cannot hide the genuine row. */
export async function findNumbered(db: Reader, number: number): Promise<ConnectionRow | undefined> {
  const rows = await db.selectFrom('app_connections').selectAll().where(NUMBER, '=', number).execute();
  const authentic = await CONNECTIONS.authenticOf(db, rows);
  return authentic.length === 1 ? authentic[0] : undefined;
}

export async function isNumberTaken(db: Reader, number: number): Promise<boolean> {
  const query = db.selectFrom('app_connections').select('client_id').where(NUMBER, '=', number);
  return (await query.executeTakeFirst()) !== undefined;
}

/** Maps each `connection_no` of a tenant to its number in the whole installation. */
export async function connectionNumbers(
  db: Reader,
  tenantId: string,
  connectionNos: readonly number[],
): Promise<Map<number, number>> {
  if (connectionNos.length === 0) return new Map();
  const rows = await db
    .selectFrom('app_connections')
    .select(['connection_no', 'number'])
    .where('tenant_id', '=', tenantId)
    .where('connection_no', 'in', [...new Set(connectionNos)])
    .execute();
  return new Map(rows.map((row) => [row.connection_no, numberOf(row)]));
}

export async function findByClient(db: Reader, tenantId: string, clientId: string): Promise<ConnectionRow | undefined> {
  const row = await findClient(db, clientId);
  return row?.tenant_id === tenantId ? row : undefined;
}

/** Searches all tenants, for a caller who has presented only the client id so far. */
export async function findClient(db: Reader, clientId: string): Promise<ConnectionRow | undefined> {
  const query = db.selectFrom('app_connections').selectAll().where('client_id', '=', clientId);
  return CONNECTIONS.checked(db, await query.executeTakeFirst());
}

export async function lockConnection(
  tx: Tx,
  tenantId: string,
  connectionNo: number,
): Promise<ConnectionRow | undefined> {
  const [row] = await CONNECTIONS.lockedWhere(tx, (eb) => eb.and({ tenant_id: tenantId, connection_no: connectionNo }));
  return row;
}

export async function listConnections(
  db: Reader,
  tenantId: string,
  after: number,
  limit: number,
): Promise<Page<ConnectionRow>> {
  const rows = await connectionsAfter(db, tenantId, after, limit + 1);
  return pageOf(rows, limit, (row) => [CURSOR_KIND, String(row.connection_no)]);
}

export function connectionsByKey(
  db: Reader,
  tenantId: string,
  connectionNos: readonly number[],
): Promise<ConnectionRow[]> {
  return db
    .selectFrom('app_connections')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('connection_no', 'in', connectionNos)
    .execute();
}

export function connectionsAfter(db: Reader, tenantId: string, after: number, limit: number): Promise<ConnectionRow[]> {
  return db
    .selectFrom('app_connections')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('connection_no', '>', after)
    .orderBy('connection_no')
    .limit(limit)
    .execute();
}

/** The same without forged rows, for what is not about one of them. `next` is null at the end. */
export async function authenticConnectionsAfter(
  db: Reader,
  tenantId: string,
  after: number,
  limit: number,
): Promise<{ connections: ConnectionRow[]; next: number | null }> {
  const rows = await connectionsAfter(db, tenantId, after, limit);
  const next = rows.length < limit ? null : (rows.at(-1)?.connection_no ?? null);
  return { connections: await CONNECTIONS.authenticOf(db, rows), next };
}

export async function updateConnection(tx: Tx, row: ConnectionRow): Promise<void> {
  const { tenant_id, connection_no, client_id: _, ...change } = row;
  await CONNECTIONS.updateWhere(tx, (eb) => eb.and({ tenant_id, connection_no }), change);
}

export async function deleteConnection(tx: Tx, tenantId: string, connectionNo: number): Promise<void> {
  await tx
    .deleteFrom('connection_sessions')
    .where('tenant_id', '=', tenantId)
    .where('connection_no', '=', connectionNo)
    .execute();
  await CONNECTIONS.deleteWhere(tx, (eb) => eb.and({ tenant_id: tenantId, connection_no: connectionNo }));
}
