import type { Reader } from '../../storage/database.ts';
import { lastPrunedUpTo } from './archived-ranges.ts';
import { hexOf } from './chain.ts';

const HASH_BYTES = 32;

/** The last linked entry of a tenant's log whose number is not above `seq`; null if there is none. */
export async function lastEntryUpTo(
  db: Reader,
  tenantId: string,
  seq: number,
): Promise<{ seq: number; hash: string } | null> {
  const segment = await db
    .selectFrom('audit_segments')
    .select(['first_seq', 'hashes'])
    .where('tenant_id', '=', tenantId)
    .where('first_seq', '>', 0)
    .where('first_seq', '<=', seq)
    .orderBy('first_seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (segment === undefined || segment.first_seq === null || segment.hashes === null) return null;
  const last = Math.min(seq, segment.first_seq + segment.hashes.length / HASH_BYTES - 1);
  const at = (last - segment.first_seq) * HASH_BYTES;
  return { seq: last, hash: Buffer.from(segment.hashes.subarray(at, at + HASH_BYTES)).toString('hex') };
}

/** The hash of the last entry whose number is not above `seq`, in hexadecimal, also if that entry was archived and pruned; null if there is none. */
export async function hashUpTo(db: Reader, tenantId: string, seq: number): Promise<string | null> {
  const stored = await lastEntryUpTo(db, tenantId, seq);
  const pruned = await lastPrunedUpTo(db, tenantId, seq);
  if (pruned !== undefined && pruned.last_seq > (stored?.seq ?? 0)) return hexOf(pruned.last_hash);
  return stored?.hash ?? null;
}
