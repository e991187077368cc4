import { difference } from '../../kernel/authz/path-ranges.ts';
import { CofferError, type FieldProblem, invalid, invalidField } from '../../kernel/base/errors.ts';
import type { Query } from '../../kernel/endpoint/declaration.ts';
import { someInSlices, TimeSlice } from '../../kernel/fairness/time-slice.ts';
import { Streamed } from '../../kernel/request/binding.ts';
import type { Context } from '../../kernel/request/context.ts';
import { secretResource } from '../secrets/index.ts';
import { bulkDecrypt, type Opened, visibleSecrets } from '../secrets/reading/index.ts';
import {
  planTemplates,
  problemOf,
  recordPlanned,
  resolvedValues,
  type TemplatePlan,
  type TypedRow,
} from '../secrets/references/index.ts';
import { refuseInZeroKnowledge } from '../secrets/value/index.ts';
import type { VaultRow } from '../vaults/storage/index.ts';
import type * as contract from './contract.ts';
import { ENV_FILE_TYPE } from './contract.ts';
import { type EnvFileFormat, envFileLine, envFileRefusal, nameRefusal, unpermitted, variableName } from './env-file.ts';

const EXPORTABLE = ['secrets:export', 'secrets:read'];
const NOT_RESOLVED: TemplatePlan = new Map();
type Values = AsyncGenerator<Opened<TypedRow>[]>;
const EXPORT_MAX = 10_000;
const PAGE = 1000;
/** Refused values that one response lists; with more of them, the caller exports as JSON. */
const REFUSED_SHOWN_MAX = 20;

/**
 * An incomplete export would be mistaken for a complete one, so it is everything under the prefix or nothing. If the prefix covers paths the caller
 * may not read, the export is refused even if nothing is there. Secrets they cannot even list are left out, so that the response reveals nothing
 * hidden.
 */
export async function exportSecrets(ctx: Context, vaultName: string, query: Query<typeof contract.exportSecrets>) {
  const { vault, ranges } = await visibleSecrets.vault(ctx, vaultName, EXPORTABLE);
  refuseInZeroKnowledge(vault, 'Export');
  if (difference([visibleSecrets.prefixRange(query.prefix)], ranges).length > 0) throw notAll();
  const isExportable = visibleSecrets.isAllowedIn(ctx, vaultName, EXPORTABLE);
  const rows = await everyRow(ctx, vault, query.prefix, isExportable);
  const open = rows.filter((row) => row.protection === 'standard');
  const vaultOf = () => ({ vault: vaultName, vault_id: vault.vault_id });
  const plan =
    query.resolve === false ? NOT_RESOLVED : await planTemplates(ctx, open, { vaultOf, mayRead: isExportable });
  for (const row of open) {
    const problem = problemOf(plan, row);
    if (problem !== null) throw problem;
  }
  const opened = () => resolvedValues(ctx, bulkDecrypt.inVault(ctx, vault, open, isExportable), plan);
  const format = query.format ?? 'json';
  ctx.record.describe({ format, secrets: open.length, fortress_left_out: rows.length - open.length });
  if (format !== 'json') await refuseUnwritable(ctx, { format, permit: query.permit }, open, opened());
  const slice = TimeSlice.of(ctx.tenantId);
  for (const { path, secret_id, version } of open) {
    const pause = slice.pause();
    if (pause !== undefined) await pause;
    ctx.record.addEntry('secrets:read', secretResource(vaultName, path), { secret: secret_id, version, via: 'export' });
    recordPlanned(ctx, plan, { vault: vaultName, path, secret_id });
  }
  if (format === 'json') return new Streamed(asJson(opened()));
  ctx.setHeader('Content-Type', ENV_FILE_TYPE);
  return new Streamed(asEnvFile(format, opened()));
}

function notAll(): CofferError {
  return new CofferError(
    'INSUFFICIENT_PRIVILEGE',
    'You cannot read all of these secrets: select fewer with `prefix`.',
    {
      auditReason: 'secrets:export: not all may be read',
    },
  );
}

/** Every secret under the prefix, or a refusal. All rows stay in memory until the last value is written. */
async function everyRow(
  ctx: Context,
  vault: VaultRow,
  prefix: string | undefined,
  isExportable: (row: TypedRow) => boolean,
): Promise<TypedRow[]> {
  const isListed = visibleSecrets.isAllowedIn(ctx, vault.name, visibleSecrets.LISTED);
  const isShown = (row: TypedRow) => isExportable(row) || isListed(row);
  const rows: TypedRow[] = [];
  const ranges = [visibleSecrets.prefixRange(prefix)];
  let cursor: string | undefined;
  do {
    const page = await visibleSecrets.bulkPage(ctx, { vault, ranges, cursor, limit: PAGE, isShown });
    if (await someInSlices(ctx.tenantId, page.rows, (row) => !isExportable(row))) throw notAll();
    rows.push(...page.rows);
    if (rows.length > EXPORT_MAX) {
      throw invalidField('/query/prefix', `must select at most ${EXPORT_MAX} secrets`);
    }
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  return rows;
}

/**
 * Checks every value before the first one is sent, because a file that lacks one would be mistaken for complete. Versions are immutable, so the
 * values written afterwards are those that were checked.
 */
async function refuseUnwritable(
  ctx: Context,
  { format, permit: permitted }: { format: EnvFileFormat; permit: readonly string[] | undefined },
  rows: readonly TypedRow[],
  opened: Values,
): Promise<void> {
  await refuseSameNames(ctx, format, rows);
  const problems: FieldProblem[] = [];
  const permit: string[] = [];
  for await (const some of opened) {
    for (const { row, value } of some) {
      const name = variableName(row.path);
      const refusedName = nameRefusal(name, permitted);
      if (refusedName !== null) permit.push(name);
      const refusal = refusedName ?? envFileRefusal(format, name, value);
      if (refusal === null) continue;
      const instead = refusedName === null && format === 'dotenv' ? 'shell or json' : 'json';
      const reason = `${row.path} ${refusal}; use a narrower prefix, or request ${instead}`;
      problems.push(
        refusedName === null
          ? { pointer: '/query/format', reason: `cannot be ${format}: ${reason}` }
          : { pointer: '/query/permit', reason: `does not have ${name}: ${reason}` },
      );
    }
    if (problems.length >= REFUSED_SHOWN_MAX) break;
  }
  if (problems.length === 0) return;
  throw invalid(problems.slice(0, REFUSED_SHOWN_MAX), unpermitted(permit));
}

/** If two paths became the same name, one of the values would be lost. */
async function refuseSameNames(ctx: Context, format: EnvFileFormat, rows: readonly TypedRow[]): Promise<void> {
  const taken = new Map<string, string>();
  const slice = TimeSlice.of(ctx.tenantId);
  for (const { path } of rows) {
    const pause = slice.pause();
    if (pause !== undefined) await pause;
    const name = variableName(path);
    const other = taken.get(name);
    if (other !== undefined) {
      throw invalidField('/query/format', `cannot be ${format}: ${other} and ${path} would both become ${name}`);
    }
    taken.set(name, path);
  }
}

async function* asJson(opened: Values): AsyncGenerator<string> {
  yield '{';
  let separator = '\n';
  for await (const some of opened) {
    if (some.length === 0) continue;
    const lines = some.map(({ row, value }) => `  ${JSON.stringify(row.path)}: ${JSON.stringify(value)}`);
    yield separator + lines.join(',\n');
    separator = ',\n';
  }
  yield '\n}\n';
}

async function* asEnvFile(format: EnvFileFormat, opened: Values): AsyncGenerator<string> {
  for await (const some of opened) {
    yield some.map(({ row, value }) => envFileLine(format, variableName(row.path), value)).join('');
  }
}
