import type { Subject } from '../../kernel/authz/authorize.ts';
import { sha256 } from '../../kernel/crypto/digest.ts';
import { someInSlices } from '../../kernel/fairness/time-slice.ts';
import type { Context } from '../../kernel/request/context.ts';
import { secretResource } from '../secrets/index.ts';
import { isTemplate, type PartReader, planTemplates, problemOf, TemplateProblem } from '../secrets/references/index.ts';
import { dependsOnTime, mayCompose, mayRead, mayReadPart } from './authors.ts';
import { DATA_KEY_CHARS_MAX, type WithheldReason } from './schemas.ts';
import { type Entry, type Found, type LoadedPolicy, Sources } from './sources.ts';
import type { PolicyRow } from './store.ts';

/** What Kubernetes accepts in one Secret. */
const SECRET_BYTES_MAX = 1024 * 1024;
/** Values of one answer, before base64. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;

/** A policy with the secrets it names, as far as they were found, and why it delivers nothing, if so. */
export interface Planned {
  policy: PolicyRow;
  entries: readonly Entry[];
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
  let hasTemplate = false;
  for (const policy of policies) {
    const author = authors.get(policy.row.author_id) ?? null;
    const found = await withTemplates(ctx, author, await sources.secretsOf(policy));
    hasTemplate ||= found.entries.some(({ row }) => isTemplate(row));
    const size = found.entries.reduce((sum, { row, template }) => sum + (template?.bytes ?? row.sealed_bytes), 0);
    const withheld = await reasonFor(ctx, { policy: policy.row, author }, found, size);
    const isBeyond = withheld === null && bytes + size > ANSWER_BYTES_MAX;
    if (withheld === null && !isBeyond) bytes += size;
    planned.push({ policy: policy.row, entries: found.entries, withheld: isBeyond ? 'too_large' : withheld });
  }
  const isTimed = [...authors.values()].some((author) => author !== null && dependsOnTime(author));
  // The mark does not cover what templates refer to.
  return { planned, mark: isTimed || hasTemplate ? null : sources.mark() };
}

/** Changes whenever the content of the answer may have changed: a policy, a decision, a secret or its version. */
export function basisOf(planned: readonly Planned[]): string {
  const parts = planned.map(({ policy, entries, withheld }) => [
    policy.policy_id,
    withheld,
    withheld === null ? entries.map(basisOfEntry) : [],
  ]);
  return sha256(JSON.stringify(parts)).toString('hex');
}

function basisOfEntry({ key, row, template }: Entry): unknown[] {
  const parts = template?.parts.map(({ secret_id, version }) => [secret_id, version]);
  return [key, row.secret_id, row.version, ...(parts === undefined ? [] : [parts])];
}

/** Thrown where something is decrypted, if the rights of anybody in the tenant changed since the plan was begun. */
export class RightsMoved extends Error {}

/** Runs only once rights have changed. The decisions of the plan are then made again, all of them. */
export function refuseMoved(): boolean {
  throw new RightsMoved();
}

/**
 * Resolves the templates with the rights of the author, who must be allowed to read all that they are made of. The policy must deliver each part by
 * itself: somebody who may write one secret of it must not choose what else the rights of its author deliver.
 */
async function withTemplates(ctx: Context, author: Subject | null, found: Found): Promise<Found> {
  const rows = found.entries.map(({ row }) => row).filter(isTemplate);
  const isUnusable = ({ row }: Entry) =>
    row.protection === 'fortress' || author === null || !mayRead(ctx, author, row.vault, row);
  if (author === null || rows.length === 0 || found.problem !== null || found.entries.some(isUnusable)) return found;
  const delivered = new Set(found.entries.map(({ row }) => secretResource(row.vault, row.path)));
  const reader: PartReader = {
    action: 'secrets:read',
    mayRead: ({ vault, path }, attributes) =>
      delivered.has(secretResource(vault, path)) && mayReadPart(ctx, author, { vault, path }, attributes),
    mayStillRead: refuseMoved,
  };
  const plan = await planTemplates(ctx, rows, { vaultOf: (row) => row, mayRead: refuseMoved, reader });
  const entries = found.entries.map((entry): Entry => {
    const template = plan.get(entry.row.secret_id);
    return template === undefined || template instanceof TemplateProblem ? entry : { ...entry, template };
  });
  const problem = rows.map((row) => problemOf(plan, row)).find((one) => one !== null);
  return { entries, problem: problem === undefined ? null : REASONS[problem.reason] };
}

const REASONS: Record<TemplateProblem['reason'], WithheldReason> = {
  unreadable: 'access_lost',
  missing: 'secret_missing',
  fortress: 'fortress',
  zero_knowledge: 'zero_knowledge',
  too_large: 'too_large',
  environment: 'template_unresolved',
  too_deep: 'template_unresolved',
  too_many: 'template_unresolved',
  no_field: 'template_unresolved',
};

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
