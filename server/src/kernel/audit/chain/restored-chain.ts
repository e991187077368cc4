import type { MacKey } from '../../keys/keyring.ts';
import type { Tx } from '../../storage/database.ts';
import { entryOf } from '../entry/entry.ts';
import { type Heads, headRow } from './heads.ts';

export const RESTORE_ACTION = 'server:restore';
/** No log gets this many entries per millisecond on average. Sequence numbers stay below 10^15 until the year 2286. */
const SEQS_PER_MS = 100;

/**
 * After a restore, a chain continues at a sequence number derived from the current time, which is higher than any number the log had reached. New
 * entries thus never reuse the numbers of lost entries or of another restore of the same backup, which may be in exports and checkpoints. Returns the
 * last number before the gap; null if the head is not authentic, because nothing can be linked to it then.
 */
export async function skipLostNumbers(
  tx: Tx,
  heads: Heads,
  tenantId: string,
  { headKey, now }: { headKey: MacKey; now: number },
): Promise<number | null> {
  const head = await heads.row(tx, tenantId);
  if (head === undefined || !(await heads.isAuthentic(head, headKey))) return null;
  const seq = Math.max(head.seq, now * SEQS_PER_MS);
  const { tenant_id: _, ...change } = headRow(tenantId, { seq, hash: head.hash }, headKey);
  await tx.updateTable('audit_heads').set(change).where('tenant_id', '=', tenantId).execute();
  return head.seq;
}

/**
 * The last sequence number before a restore, if this entry records a restore; null if it does not or is malformed. Only an entry that records a
 * restore may follow a gap.
 */
export function resumedAfter(text: string): number | null {
  const fields = parsed(text);
  if (!Array.isArray(fields)) return null;
  const { action, actor_kind, details } = entryOf('', fields);
  if (action !== RESTORE_ACTION || actor_kind !== 'system') return null;
  const { resumes_after } = (parsed(details) ?? {}) as { resumes_after?: unknown };
  return Number.isSafeInteger(resumes_after) ? Number(resumes_after) : null;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
