import { MAX_PRINCIPAL_COST } from '../../kernel/authz/limits.ts';
import { invalid } from '../../kernel/base/errors.ts';
import { inSlices, nextIteration } from '../../kernel/fairness/time-slice.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import { groupsOfUser } from '../groups/storage/index.ts';
import { compiledPolicy } from './compiled-policies.ts';
import { type AttachmentRow, type PolicyRow, type PrincipalKind, policiesFor } from './store.ts';

/** Holders of a policy that are checked when it grows. A decision checks the sum again, so the others are refused what would take too long. */
const HOLDERS_CHECKED_MAX = 100;

interface Holder {
  readonly kind: PrincipalKind;
  readonly id: string;
}

export function costReason(cost: number): string {
  return `would take ${cost} comparisons for each decision, and ${MAX_PRINCIPAL_COST} are allowed for all policies of a principal: use fewer patterns with ** or several * in the middle, or fewer address and time conditions`;
}

/** Call it after the change, in its transaction. For a user the policies of their groups count too. */
export async function refuseCostlyHolder(tx: Tx, tenantId: string, holder: Holder, pointer: string): Promise<void> {
  const groups = holder.kind === 'user' ? await groupsOfUser(tx, tenantId, holder.id) : [];
  const holders = [holder, ...groups.map((id) => ({ kind: 'group' as const, id }))];
  const cost = await inSlices(costOf(await policiesFor(tx, tenantId, holders)), nextIteration);
  if (cost <= MAX_PRINCIPAL_COST) return;
  const reason = `is not possible: with it, the policies of ${holder.kind} ${holder.id} ${costReason(cost)}`;
  throw invalid([{ pointer, reason }], { cost, limit: MAX_PRINCIPAL_COST });
}

export async function refuseCostlyHolders(
  tx: Tx,
  tenantId: string,
  attachments: readonly AttachmentRow[],
): Promise<void> {
  for (const { principal_kind, principal_id } of attachments.slice(0, HOLDERS_CHECKED_MAX)) {
    await refuseCostlyHolder(tx, tenantId, { kind: principal_kind, id: principal_id }, '/body/document');
  }
}

/** A step is one policy, which may have to be compiled. */
function* costOf(rows: readonly PolicyRow[]): Generator<void, number> {
  let cost = 0;
  for (const row of rows) {
    cost += compiledPolicy(row).cost;
    yield;
  }
  return cost;
}
