import type { Context } from '../../../kernel/request/context.ts';
import { secretResource } from '../location.ts';
import { bulkDecrypt, type DecidedRow, type Opened } from '../reading/bulk-decrypt.ts';
import type { SecretRow } from '../storage/tables.ts';
import { isTemplate, type Part, type PartReader } from './parts.ts';
import { callerAsReader, fillTemplate, provenanceOf, recordParts, resolveTemplate } from './resolution.ts';
import { TemplateProblem } from './template-problem.ts';

/** A secret of a bulk read, with the vault it is in. */
export type TypedRow = DecidedRow & Pick<SecretRow, 'type'>;
export interface InVault {
  vault: string;
  vault_id: string;
}

/** A template as it was resolved once, before the first value of a bulk read is sent. */
export interface PlannedTemplate {
  parts: readonly Part[];
  /** Of the resolved value. */
  bytes: number;
}
export type TemplatePlan = ReadonlyMap<string, PlannedTemplate | TemplateProblem>;

export interface Resolved<R> extends Opened<R> {
  parts?: ReturnType<typeof provenanceOf>;
}

/**
 * Resolves the templates among these rows once, so that what cannot be given is known, and recorded, before anything is sent. The texts are not held
 * meanwhile: versions are immutable, so `resolvedValues` finds the same text again. Without a template it does nothing.
 */
export async function planTemplates<R extends TypedRow>(
  ctx: Context,
  rows: readonly R[],
  {
    vaultOf,
    mayRead,
    reader = callerAsReader(ctx, 'secrets:read'),
  }: { vaultOf(row: R): InVault; mayRead(row: R): boolean; reader?: PartReader },
): Promise<TemplatePlan> {
  const templates = rows.filter(isTemplate).map((row) => ({ ...row, ...vaultOf(row), planned: row }));
  if (templates.length === 0) return NO_TEMPLATES;
  const plan = new Map<string, PlannedTemplate | TemplateProblem>();
  for await (const opened of bulkDecrypt.acrossVaults(ctx, templates, ({ planned }) => mayRead(planned))) {
    for (const { row, value: text } of opened) plan.set(row.secret_id, await planned(ctx, { ...row, text }, reader));
  }
  return plan;
}
const NO_TEMPLATES: TemplatePlan = new Map();

async function planned(
  ctx: Context,
  whole: Parameters<typeof resolveTemplate>[1],
  reader: PartReader,
): Promise<PlannedTemplate | TemplateProblem> {
  try {
    const { value, parts } = await resolveTemplate(ctx, whole, reader);
    return { parts, bytes: Buffer.byteLength(value) };
  } catch (error) {
    if (error instanceof TemplateProblem) return error.inTemplate(whole);
    throw error;
  }
}

/** Why a row is not given, or null. A template that was deleted since it was listed has no plan. */
export function problemOf(plan: TemplatePlan, { secret_id }: Pick<SecretRow, 'secret_id'>): TemplateProblem | null {
  const found = plan.get(secret_id);
  return found instanceof TemplateProblem ? found : null;
}

/** Records the parts of the templates that are given. */
export function recordPlanned(
  ctx: Context,
  plan: TemplatePlan,
  at: { vault: string; path: string; secret_id: string },
) {
  const found = plan.get(at.secret_id);
  if (found === undefined || found instanceof TemplateProblem) return;
  recordParts(ctx, secretResource(at.vault, at.path), found.parts);
}

/** Fills in the templates among opened values, one at a time. One of which a part changed meanwhile is left out, like a secret that was deleted. */
export async function* resolvedValues<R extends Pick<SecretRow, 'secret_id'>>(
  ctx: Context,
  opened: AsyncGenerator<Opened<R>[]>,
  plan: TemplatePlan,
  reader: PartReader = callerAsReader(ctx, 'secrets:read'),
): AsyncGenerator<Resolved<R>[]> {
  for await (const some of opened) {
    if (plan.size === 0) {
      yield some;
      continue;
    }
    let ready: Resolved<R>[] = [];
    for (const one of some) {
      const found = plan.get(one.row.secret_id);
      if (found instanceof TemplateProblem) continue;
      if (found === undefined) {
        ready.push(one);
        continue;
      }
      // Not together with others, since a resolved text may be large.
      if (ready.length > 0) yield ready;
      const value = await fillTemplate(ctx, { text: one.value }, found.parts, reader);
      yield [{ row: one.row, value, parts: provenanceOf(found.parts) }];
      ready = [];
    }
    if (ready.length > 0) yield ready;
  }
}

/** Whether the response has a value from a vault whose reads are listed, so that the request is recorded. */
export function isAnyPartListed(plan: TemplatePlan): boolean {
  return plan
    .values()
    .some((one) => !(one instanceof TemplateProblem) && one.parts.some(({ log_reads }) => log_reads === 1));
}
