import { AuthenticatedTable, type RowFilter } from '../../../kernel/integrity/authenticated-table.ts';
import type { Reader, Tx } from '../../../kernel/storage/database.ts';
import type { Authenticated } from '../../../kernel/storage/tables.ts';
import type { Cutoff } from '../../../kernel/time/cutoff.ts';

export interface AppConnectionsTokenTables {
  connection_tokens: Authenticated<ConnectionTokenRow>;
}

/** A token that was issued in exchange for an external identity, bound to a connection. */
export interface ConnectionTokenRow {
  tenant_id: string;
  token_id: string;
  connection_no: number;
  kind: 'federation' | 'workload';
  /** The federation or the method that issued it. */
  source: string;
  /** The subject that the external identity provider named. */
  subject: string;
  token_hash: Uint8Array;
  dpop_jkt: string | null;
  certificate_thumbprint: string | null;
  created_at: number;
  expires_at: number;
  revoked_at: number | null;
}

export const CONNECTION_TOKENS = new AuthenticatedTable<'connection_tokens', ConnectionTokenRow>('connection_tokens', {
  key: ['token_id'],
  covered: [
    'connection_no',
    'kind',
    'source',
    'subject',
    'token_hash',
    'dpop_jkt',
    'certificate_thumbprint',
    'created_at',
    'expires_at',
    'revoked_at',
  ],
});

export async function insertConnectionToken(tx: Tx, row: ConnectionTokenRow): Promise<void> {
  await CONNECTION_TOKENS.insert(tx, row);
}

export async function findConnectionToken(
  db: Reader,
  tenantId: string,
  tokenId: string,
): Promise<ConnectionTokenRow | undefined> {
  const query = db.selectFrom('connection_tokens').selectAll().where('tenant_id', '=', tenantId);
  return CONNECTION_TOKENS.checked(db, await query.where('token_id', '=', tokenId).executeTakeFirst());
}

export async function deleteTokensOf(tx: Tx, tenantId: string, connectionNo: number): Promise<void> {
  const deleted = await CONNECTION_TOKENS.deleteWhere(tx, (eb) =>
    eb.and({ tenant_id: tenantId, connection_no: connectionNo }),
  );
  tx.changes.noteRevoked(...deleted);
}

/** Revokes all tokens that one federation or method issued. The caller raises the epoch. */
export async function revokeTokensFrom(
  tx: Tx,
  tenantId: string,
  from: Pick<ConnectionTokenRow, 'connection_no' | 'kind' | 'source'>,
  now: number,
): Promise<void> {
  const { connection_no, kind, source } = from;
  const revoked = await CONNECTION_TOKENS.updateWhere(
    tx,
    (eb) => eb.and([eb.and({ tenant_id: tenantId, connection_no, kind, source }), eb('revoked_at', 'is', null)]),
    { revoked_at: now },
  );
  tx.changes.noteRevoked(...revoked);
}

export function expiredBefore(time: Cutoff): RowFilter<'connection_tokens'> {
  return (eb) => eb('expires_at', '<', time);
}
