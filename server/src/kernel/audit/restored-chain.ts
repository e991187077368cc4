import type { MacKey } from '../crypto/keyring.ts';
import type { Tx } from '../storage/database.ts';
import { entryOf } from './entry.ts';
import { type Heads, headRow } from './heads.ts';

export const RESTORE_ACTION = 'server:restore';
/** More entries than a log gets per millisecond of its life. With it, numbers stay below 10^15 until the year 2286. */
const NUMBERS_A_MS = 100;

/**
 * After a restore, a chain continues at a number that no lost entry can have had, nor an entry of another restore of the same backup: it is derived
 * from the time, and no log can be ahead of that. Anyone who holds an export or a checkpoint of lost entries therefore never finds other entries
 * under their numbers. Returns the last number before the gap; null if the head is not authentic, because nothing is linked to it then.
 */
export async function skipLostNumbers(
  tx: Tx,
  heads: Heads,
  tenantId: string,
  { headKey, now }: { headKey: MacKey; now: number },
): Promise<number | null> {
  const head = await heads.row(tx, tenantId);
  if (head === undefined || !(await heads.isAuthentic(head, headKey))) return null;
  const seq = Math.max(head.seq, now * NUMBERS_A_MS);
  const { tenant_id: _, ...change } = headRow(tenantId, { seq, hash: head.hash }, headKey);
  await tx.updateTable('audit_heads').set(change).where('tenant_id', '=', tenantId).execute();
  return head.seq;
}

/** The last number before a restore, if this entry records one; null for any other or manipulated entry. Only such an entry may follow a gap. */
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
