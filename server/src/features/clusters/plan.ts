import type { Subject } from '../../kernel/authz/authorize.ts';
import { sha256 } from '../../kernel/crypto/digest.ts';
import { someInSlices } from '../../kernel/fairness/time-slice.ts';
import type { Context } from '../../kernel/request/context.ts';
import { dependsOnTime, mayCompose, mayRead } from './authors.ts';
import { DATA_KEY_CHARS_MAX, type WithheldReason } from './schemas.ts';
import { type Found, type LoadedPolicy, type PlannedRow, Sources } from './sources.ts';
import type { PolicyRow } from './store.ts';

/** What Kubernetes accepts in one Secret. */
const SECRET_BYTES_MAX = 1024 * 1024;
/** Values of one answer, before base64. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;

/** A policy with the secrets it names, as far as they were found, and why it delivers nothing, if so. */
export interface Planned {
  policy: PolicyRow;
  entries: readonly { key: string; row: PlannedRow }[];
  withheld: WithheldReason | null;
}

export type Authors = ReadonlyMap<string, Subject | null>;

export interface Plan {
  planned: readonly Planned[];
  /** Of the vaults and secrets as they were found. Null if more than those decided, so that the same mark does not mean the same plan. */
  mark: string | null;
}

/** Decides what each policy delivers now. No value is decrypted for it. */
export async function planOf(ctx: Context, policies: readonly LoadedPolicy[], authors: Authors): Promise<Plan> {
  const sources = new Sources(ctx);
  await sources.load(policies);
  const planned: Planned[] = [];
  let bytes = 0;
  for (const policy of policies) {
    const found = await sources.secretsOf(policy);
    const size = found.entries.reduce((sum, { row }) => sum + row.sealed_bytes, 0);
    const withheld = await reasonFor(
      ctx,
      { policy: policy.row, author: authors.get(policy.row.author_id) ?? null },
      found,
      size,
    );
    const isBeyond = withheld === null && bytes + size > ANSWER_BYTES_MAX;
    if (withheld === null && !isBeyond) bytes += size;
    planned.push({ policy: policy.row, entries: found.entries, withheld: isBeyond ? 'too_large' : withheld });
  }
  const isTimed = [...authors.values()].some((author) => author !== null && dependsOnTime(author));
  return { planned, mark: isTimed ? null : sources.mark() };
}

/** Changes whenever the content of the answer may have changed: a policy, a decision, a secret or its version. */
export function basisOf(planned: readonly Planned[]): string {
  const parts = planned.map(({ policy, entries, withheld }) => [
    policy.policy_id,
    withheld,
    withheld === null ? entries.map(({ key, row }) => [key, row.secret_id, row.version]) : [],
  ]);
  return sha256(JSON.stringify(parts)).toString('hex');
}

async function reasonFor(
  ctx: Context,
  { policy, author }: { policy: PolicyRow; author: Subject | null },
  { entries, problem }: Found,
  size: number,
): Promise<WithheldReason | null> {
  if (author === null) return 'author_inactive';
  const { environment_id } = policy;
  if (environment_id !== null && !mayCompose(ctx, author, environment_id)) return 'access_lost';
  // Before anything else is said about a secret, the author must be allowed to read it.
  const isUnreadable = ({ row }: (typeof entries)[number]) => !mayRead(ctx, author, row.vault, row);
  if (await someInSlices(ctx.tenantId, entries, isUnreadable)) return 'access_lost';
  if (problem !== null) return problem;
  if (entries.some(({ row }) => row.protection === 'fortress')) return 'fortress';
  if (entries.length === 0) return 'empty';
  if (!areKeysUsable(entries.map(({ key }) => key))) return 'key_conflict';
  return size > SECRET_BYTES_MAX ? 'too_large' : null;
}

function areKeysUsable(keys: readonly string[]): boolean {
  return keys.every((key) => key.length <= DATA_KEY_CHARS_MAX) && new Set(keys).size === keys.length;
}
