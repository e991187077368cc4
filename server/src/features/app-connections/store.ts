import { type Page, pageOf } from '../../kernel/storage/cursor.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';

declare module '../../kernel/storage/tables.ts' {
  interface Tables {
    app_connections: ConnectionRow;
  }
}

export interface ConnectionRow {
  tenant_id: string;
  connection_no: number;
  client_id: string;
  name: string;
  description: string;
  status: 'active' | 'disabled';
  /** JSON lists. */
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
  /** The secret before this one, while both are accepted. */
  former_secret_hash: Uint8Array | null;
  former_secret_until: number | null;
  created_by: string;
  created_at: number;
  updated_at: number;
}

export const CURSOR_KIND = 'connections';

export async function insertConnection(tx: Tx, row: ConnectionRow): Promise<void> {
  await tx.insertInto('app_connections').values(row).execute();
}

export function findConnection(db: Reader, tenantId: string, connectionNo: number): Promise<ConnectionRow | undefined> {
  return db
    .selectFrom('app_connections')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('connection_no', '=', connectionNo)
    .executeTakeFirst();
}

export function findByClient(db: Reader, tenantId: string, clientId: string): Promise<ConnectionRow | undefined> {
  return db
    .selectFrom('app_connections')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('client_id', '=', clientId)
    .executeTakeFirst();
}

/** Of whichever tenant: for a caller who has shown nothing but the client id so far. */
export function findClient(db: Reader, clientId: string): Promise<ConnectionRow | undefined> {
  return db.selectFrom('app_connections').selectAll().where('client_id', '=', clientId).executeTakeFirst();
}

export function lockConnection(tx: Tx, tenantId: string, connectionNo: number): Promise<ConnectionRow | undefined> {
  return tx
    .selectFrom('app_connections')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('connection_no', '=', connectionNo)
    .forUpdate()
    .executeTakeFirst();
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

export async function updateConnection(tx: Tx, row: ConnectionRow): Promise<void> {
  const { tenant_id, connection_no, client_id: _, ...change } = row;
  await tx
    .updateTable('app_connections')
    .set(change)
    .where('tenant_id', '=', tenant_id)
    .where('connection_no', '=', connection_no)
    .execute();
}

export async function deleteConnection(tx: Tx, tenantId: string, connectionNo: number): Promise<void> {
  for (const table of ['connection_sessions', 'connection_tokens', 'app_connections'] as const) {
    await tx.deleteFrom(table).where('tenant_id', '=', tenantId).where('connection_no', '=', connectionNo).execute();
  }
}
