import type { ResourceAttributes } from '../../../kernel/auth/call.ts';
import { canonicalEnvironment } from '../../../kernel/authz/environment.ts';
import { CofferError } from '../../../kernel/base/errors.ts';
import { nextIteration, TimeSlice } from '../../../kernel/fairness/time-slice.ts';
import type { Context } from '../../../kernel/request/context.ts';
import type { Reader } from '../../../kernel/storage/database.ts';
import { isLive } from '../../vaults/index.ts';
import { findVault, type VaultRow } from '../../vaults/storage/index.ts';
import { attributesOf, NO_VAULT } from '../authorization.ts';
import { environmentIn } from '../lifecycle/environment-rules.ts';
import { bulkDecrypt } from '../reading/bulk-decrypt.ts';
import { type MarkedRow, secretsAt } from '../reading/located-store.ts';
import { parseTemplate, REFERENCES_MAX, type Reference, TEMPLATE } from '../value/reference-text.ts';
import { VALUE_BYTES_MAX } from '../value/secret-types.ts';
import { type Named, TemplateProblem } from './template-problem.ts';

/** What sealing adds to the values of all parts, at most. */
const SEALED_OVERHEAD_BYTES = 4096;

/** A secret that a template is made of. */
export interface Part extends MarkedRow {
  vault: string;
  vault_id: string;
  log_reads: number;
}

/** The text of a template, and the environment whose rules hold for what it refers to. */
export interface Written extends Named {
  environment: string;
  text: string;
}

/** Who reads, and the action that each part takes. */
export interface PartReader {
  action: string;
  mayRead(at: Named, attributes: ResourceAttributes): boolean;
  /** Decides again on a part if rights changed before its value is read. */
  mayStillRead(at: Named, attributes: ResourceAttributes): boolean;
}

export function keyOf({ vault, path }: Named): string {
  return `${vault}/${path}`;
}

/**
 * Everything that a template is made of, each part once, after deciding that the reader may read all of it. The parts that the text names are all
 * decided on before anything is said about one of them, so a refusal does not tell which of the others exist.
 */
export async function loadParts(ctx: Context, whole: Written, reader: PartReader): Promise<Part[]> {
  const references = referencesIn(whole, whole.text);
  const direct = await located(ctx, [{ references, environment: whole.environment }], reader);
  const inner: { references: Reference[]; environment: string }[] = [];
  for await (const opened of openParts(ctx, direct.filter(isTemplate), reader)) {
    for (const { row, value } of opened) {
      inner.push({ references: referencesIn(row, value), environment: row.environment });
    }
  }
  const names = new Set([...references, ...inner.flatMap((one) => one.references)].map(keyOf));
  if (names.size > REFERENCES_MAX) throw TemplateProblem.of('too_many', references[0] ?? whole);
  const nested = await located(ctx, inner, reader);
  const tooDeep = nested.find(isTemplate);
  if (tooDeep !== undefined) throw TemplateProblem.of('too_deep', tooDeep);
  const parts = [...new Map([...direct, ...nested].map((part) => [keyOf(part), part])).values()];
  const bytes = parts.reduce((sum, { sealed_bytes }) => sum + sealed_bytes, 0);
  if (bytes > VALUE_BYTES_MAX + SEALED_OVERHEAD_BYTES) throw TemplateProblem.of('too_large', parts[0] ?? whole);
  return parts;
}

/** A text that was stored before references were checked may have too many, or one that is misspelt. */
function referencesIn(at: Named, text: string): Reference[] {
  const { references, problem } = parseTemplate(text);
  if (problem !== null || references.length > REFERENCES_MAX) throw TemplateProblem.of('too_many', references[0] ?? at);
  return references;
}

export function isTemplate({ type }: { type: string }): boolean {
  return type === TEMPLATE;
}

/** The values of parts, in the versions that were decided on. */
export function openParts(ctx: Context, parts: readonly Part[], reader: PartReader) {
  return bulkDecrypt.acrossVaults(ctx, parts, (row) => reader.mayStillRead(row, attributesOf(row)));
}

async function located(
  ctx: Context,
  texts: readonly { references: readonly Reference[]; environment: string }[],
  reader: PartReader,
): Promise<Part[]> {
  const wanted = texts.flatMap(({ references, environment }) => references.map((at) => ({ at, environment })));
  const found = await secretsNamed(
    ctx.database.read,
    ctx.tenantId,
    wanted.map(({ at }) => at),
  );
  for (const { at } of wanted) {
    const { vault, row } = found.get(keyOf(at)) ?? NOTHING;
    // A request for a missing secret is decided on with the vault's environment, as it is when it is read by itself.
    const attributes = row === undefined ? { environment: vault?.environment } : attributesOf(row);
    if (!reader.mayRead(at, attributes)) throw TemplateProblem.unreadable(reader.action, at);
  }
  return wanted.map(({ at, environment }) => usable(at, environment, found.get(keyOf(at)) ?? NOTHING));
}

function usable(at: Named, environment: string, { vault, row }: FoundByName): Part {
  if (vault === undefined || row === undefined) throw TemplateProblem.of('missing', at);
  if (vault.is_zero_knowledge === 1) throw TemplateProblem.of('zero_knowledge', at);
  if (row.protection === 'fortress') throw TemplateProblem.of('fortress', at);
  if (!fits(environment, row.environment)) throw TemplateProblem.of('environment', at);
  return { ...row, vault: vault.name, vault_id: vault.vault_id, log_reads: vault.log_reads };
}

/** A part becomes a part of the template's value, so it must fit where the template is, as if it were copied there. */
export function fits(template: string, part: string): boolean {
  try {
    environmentIn(canonicalEnvironment(template), canonicalEnvironment(part), false);
    return true;
  } catch (error) {
    if (error instanceof CofferError) return false;
    throw error;
  }
}

export interface FoundByName {
  vault: VaultRow | undefined;
  row: MarkedRow | undefined;
}
const NOTHING: FoundByName = { vault: undefined, row: undefined };

/** Secrets by names, with their vaults. The queries are the same for vaults that do not exist, so the time does not tell which do. */
export async function secretsNamed(
  db: Reader,
  tenantId: string,
  names: readonly Named[],
): Promise<Map<string, FoundByName>> {
  const found = new Map<string, FoundByName>();
  // It runs in transactions too, so only the event loop gets its turn, and no other request is waited for.
  const slice = new TimeSlice(nextIteration);
  for (const [name, inVault] of Map.groupBy(names, ({ vault }) => vault)) {
    const pause = slice.pause();
    if (pause !== undefined) await pause;
    const known = await findVault(db, tenantId, name);
    const vault = isLive(known) ? known : undefined;
    const paths = [...new Set(inVault.map(({ path }) => path))];
    const rows = await secretsAt(db, { tenantId, vaultId: vault?.vault_id ?? NO_VAULT }, paths);
    for (const path of paths) found.set(keyOf({ vault: name, path }), { vault, row: rows.get(path) });
  }
  return found;
}
