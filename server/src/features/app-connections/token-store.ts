import type { Reader, Tx } from '../../kernel/storage/database.ts';
import type { Cutoff } from '../../kernel/time/cutoff.ts';

declare module '../../kernel/storage/tables.ts' {
  interface Tables {
    connection_tokens: ConnectionTokenRow;
  }
}

/** A token that was exchanged for another identity, bound to a connection. */
export interface ConnectionTokenRow {
  tenant_id: string;
  token_id: string;
  connection_no: number;
  kind: 'federation' | 'workload';
  /** The federation or the method it came by. */
  source: string;
  /** Whom the other side said it is. */
  subject: string;
  token_hash: Uint8Array;
  dpop_jkt: string | null;
  certificate_thumbprint: string | null;
  created_at: number;
  expires_at: number;
  revoked_at: number | null;
}

export async function insertConnectionToken(tx: Tx, row: ConnectionTokenRow): Promise<void> {
  await tx.insertInto('connection_tokens').values(row).execute();
}

export function findConnectionToken(
  db: Reader,
  tenantId: string,
  tokenId: string,
): Promise<ConnectionTokenRow | undefined> {
  return db
    .selectFrom('connection_tokens')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('token_id', '=', tokenId)
    .executeTakeFirst();
}

/** All that came by one federation or method. The caller raises the epoch. */
export async function revokeTokensFrom(
  tx: Tx,
  tenantId: string,
  from: Pick<ConnectionTokenRow, 'connection_no' | 'kind' | 'source'>,
  now: number,
): Promise<void> {
  await tx
    .updateTable('connection_tokens')
    .set({ revoked_at: now })
    .where('tenant_id', '=', tenantId)
    .where('connection_no', '=', from.connection_no)
    .where('kind', '=', from.kind)
    .where('source', '=', from.source)
    .where('revoked_at', 'is', null)
    .execute();
}

export async function deleteTokensBefore(tx: Tx, time: Cutoff): Promise<void> {
  await tx.deleteFrom('connection_tokens').where('expires_at', '<', time).execute();
}
