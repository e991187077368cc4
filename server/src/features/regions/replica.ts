import { lastEntryUpTo } from '../../kernel/audit/chain-position.ts';
import { timestamp } from '../../kernel/platform/clock.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import type { TenantRegion } from './contract.ts';
import type { CellValues } from './crdt/operation.ts';

/** Compares the audit log that this region has of a tenant with what the primary region last published. */
export async function replicaOf(
  db: Reader,
  tenantId: string,
  published: CellValues['head'] | null,
): Promise<TenantRegion['replica']> {
  const local = await lastEntryUpTo(db, tenantId, published?.seq ?? Number.MAX_SAFE_INTEGER);
  const local_seq = local?.seq ?? 0;
  if (published === null)
    return { local_seq, published_seq: null, published_at: null, missing_entries: null, is_same_history: null };
  return {
    local_seq,
    published_seq: published.seq,
    published_at: timestamp(published.at),
    missing_entries: Math.max(0, published.seq - local_seq),
    is_same_history: local_seq === published.seq && local !== null ? local.hash === published.hash : null,
  };
}
