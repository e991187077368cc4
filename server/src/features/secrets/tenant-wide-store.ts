import type { Reader } from '../../kernel/storage/database.ts';
import { SUMMARY, type SummaryRow } from './store.ts';

export type PlacedRow = SummaryRow & { vault_id: string };

/** Secrets of the whole tenant in the order of their paths. */
export function secretsByPath(db: Reader, tenantId: string, after: string, limit: number): Promise<PlacedRow[]> {
  return everywhere(db, tenantId).where('path', '>', after).orderBy('path').limit(limit).execute();
}

/**
 * In the order of their values' keyed digests; those that have none are left out, and so are those of zero-knowledge vaults, which had
 * one before 0.3.0.
 */
export function secretsByFingerprint(
  db: Reader,
  tenantId: string,
  after: Uint8Array,
  limit: number,
): Promise<(PlacedRow & { fingerprint: Uint8Array | null })[]> {
  return everywhere(db, tenantId)
    .select('fingerprint')
    .where('fingerprint', '>', after)
    .where('vault_id', 'not in', (eb) =>
      eb
        .selectFrom('vaults')
        .select('vaults.vault_id')
        .where('vaults.tenant_id', '=', tenantId)
        .where('vaults.is_zero_knowledge', '=', 1),
    )
    .orderBy('fingerprint')
    .limit(limit)
    .execute();
}

function everywhere(db: Reader, tenantId: string) {
  return db
    .selectFrom('secrets')
    .select([...SUMMARY, 'vault_id'])
    .where('tenant_id', '=', tenantId)
    .where('deleted_no', '=', 0);
}
