import { lastEntryUpTo } from '../../kernel/audit/chain/chain-position.ts';
import { timestamp } from '../../kernel/base/clock.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import type { TenantRegion } from './contract.ts';
import type { CellValues } from './crdt/operation.ts';
import type { RegionStatements } from './region-statements.ts';

type Head = CellValues['head'];

/** Compares the audit log that this region has of a tenant with how far it had come in its primary region, if that is known. */
export async function replicaOf(
  db: Reader,
  tenantId: string,
  published: Head | null,
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

/**
 * How far the log of a tenant had come in its primary region, with the time as of which that is known. It is null if that region has not published
 * it, or has not yet published those of all its tenants: what was published by a region before it says nothing about what is missing.
 */
export async function publishedHead(
  statements: RegionStatements,
  db: Reader,
  tenantId: string,
  region: string,
): Promise<Head | null> {
  const head = await statements.headOf(db, tenantId, region);
  const at = await statements.publishedBy(db, region);
  return head === null || at === null ? null : { ...head, at: Math.max(head.at, at) };
}
