import { sql } from 'kysely';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import type { Cutoff } from '../../kernel/time/cutoff.ts';

export interface RiskReadTables {
  secret_reads: SecretReadRow;
}

/** When somebody last read a secret, to the hour. Hourly counts are deleted long before a reader is stale. */
export interface SecretReadRow {
  tenant_id: string;
  secret_id: string;
  actor_kind: string;
  actor_id: string;
  last_read_at: number;
}

const DELETED_AT_ONCE = 1000;

/** A repeated row changes nothing, so that a run that was interrupted can begin again. */
export async function storeReads(tx: Tx, rows: readonly SecretReadRow[]): Promise<void> {
  if (rows.length === 0) return;
  await tx
    .insertInto('secret_reads')
    .values(rows)
    .onConflict((c) =>
      c.columns(['tenant_id', 'secret_id', 'actor_kind', 'actor_id']).doUpdateSet({
        last_read_at: sql<number>`case when excluded.last_read_at > secret_reads.last_read_at
          then excluded.last_read_at else secret_reads.last_read_at end`,
      }),
    )
    .execute();
}

/** Who read these secrets since a time. */
export function readsSince(
  db: Reader,
  tenantId: string,
  secretIds: readonly string[],
  since: number,
): Promise<SecretReadRow[]> {
  if (secretIds.length === 0) return Promise.resolve([]);
  return db
    .selectFrom('secret_reads')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('secret_id', 'in', secretIds)
    .where('last_read_at', '>=', since)
    .execute();
}

export async function deleteReadsOf(tx: Tx, tenantId: string, secretIds: readonly string[]): Promise<void> {
  if (secretIds.length === 0) return;
  await tx.deleteFrom('secret_reads').where('tenant_id', '=', tenantId).where('secret_id', 'in', secretIds).execute();
}

export async function deleteReadsOfActor(tx: Tx, tenantId: string, kind: string, id: string): Promise<void> {
  await tx
    .deleteFrom('secret_reads')
    .where('tenant_id', '=', tenantId)
    .where('actor_kind', '=', kind)
    .where('actor_id', '=', id)
    .execute();
}

/** Deletes what nobody has read since a time; returns how many rows. */
export async function deleteReadsBefore(tx: Tx, cutoff: Cutoff): Promise<number> {
  const rows = await tx
    .selectFrom('secret_reads')
    .selectAll()
    .where('last_read_at', '<', cutoff)
    .limit(DELETED_AT_ONCE)
    .execute();
  for (const { tenant_id, secret_id, actor_kind, actor_id } of rows) {
    await tx
      .deleteFrom('secret_reads')
      .where((eb) => eb.and({ tenant_id, secret_id, actor_kind, actor_id }))
      .where('last_read_at', '<', cutoff)
      .execute();
  }
  return rows.length;
}
