import { CofferError, type FieldProblem, invalid, invalidField, notFound } from '../../kernel/base/errors.ts';
import type { Query } from '../../kernel/endpoint/declaration.ts';
import { filterInSlices } from '../../kernel/fairness/time-slice.ts';
import { Streamed } from '../../kernel/request/binding.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { attributesOf, secretResource } from '../secrets/index.ts';
import { bulkDecrypt } from '../secrets/reading/index.ts';
import {
  isTemplate,
  partsVersions,
  planTemplates,
  problemOf,
  type Resolved,
  recordPlanned,
  resolvedValues,
  type TemplatePlan,
  TemplateProblem,
} from '../secrets/references/index.ts';
import { refuseInZeroKnowledge } from '../secrets/value/index.ts';
import {
  ENV_FILE_TYPE,
  type EnvFileFormat,
  envFileLine,
  envFileRefusal,
  nameRefusal,
  unpermitted,
} from '../transfer/index.ts';
import type * as contract from './contract.ts';
import { type ComposeEntry, LEVELS_MAX } from './contract.ts';
import { authorizedEnvironment, isNamed } from './service.ts';
import * as store from './store.ts';

/** Names that one refusal lists. */
const REFUSED_SHOWN_MAX = 20;

type Whole<T> = { [K in keyof T]: NonNullable<T[K]> };
type Source = ComposeEntry['source'];
/** A binding that is in effect, with the path from the root to the environment that has it. */
type Effective = Whole<store.ComposedRow> & { source: Source };

/** The values to return are chosen and recorded first. They are then decrypted and written one by one, so that they are never all in memory. */
export async function compose(
  ctx: Context,
  id: string,
  query: Query<typeof contract.composeEnvironment>,
): Promise<Streamed> {
  const { format } = query;
  if (format !== undefined && query.resolve !== true)
    throw invalidField('/query/resolve', 'must be true with a format, because a format has values: add resolve=true');
  const ref = await authorizedEnvironment(ctx, id);
  const rows = await store.composition(ctx.database.read, ctx.tenantId, ref.number, LEVELS_MAX);
  const leaf = rows.at(-1);
  if (leaf === undefined || !isNamed(ref, leaf)) throw notFound('composed environment');
  const all = effectiveOf(rows);
  const entries = query.key_name === undefined ? all : all.filter(({ key_name }) => key_name === query.key_name);
  const isResolved = query.resolve === true;
  const mayRead = (entry: Effective) => mayBeGiven(ctx, entry);
  const readable = isResolved ? await filterInSlices(ctx.tenantId, entries, mayRead) : [];
  const plan = await planTemplates(ctx, readable, { vaultOf: (entry) => entry, mayRead });
  const given = readable.filter((entry) => problemOf(plan, entry) === null);
  const opened = () => resolvedValues(ctx, bulkDecrypt.acrossVaults(ctx, given, mayRead), plan);
  if (format !== undefined) {
    refuseUnresolved(plan);
    refuseIncomplete(entries, given);
    if (format !== 'json') await refuseUnwritable(format, opened(), permittedBy(query));
  }
  ctx.record.describe({
    name: leaf.name,
    resolve: isResolved,
    ...(format !== undefined && { format }),
    ...(query.key_name !== undefined && { key_name: query.key_name }),
    entries: entries.length,
    values: given.length,
  });
  for (const entry of given) {
    const { vault, path, secret_id, version, log_reads } = entry;
    if (log_reads === 0) ctx.record.countUnlisted(vault, 1);
    else
      ctx.record.addEntry('secrets:read', secretResource(vault, path), { secret: secret_id, version, via: 'compose' });
    recordPlanned(ctx, plan, entry);
  }
  if (format === undefined) {
    const versions = await partsVersions(ctx, await filterInSlices(ctx.tenantId, entries.filter(isTemplate), mayRead));
    return new Streamed(pieces(leaf, withValues(entries, opened(), versions)));
  }
  if (format === 'json') return new Streamed(asJson(opened()));
  ctx.setHeader('Content-Type', ENV_FILE_TYPE);
  return new Streamed(asEnvFile(format, opened()));
}

type Values = AsyncGenerator<Resolved<Effective>[]>;

/** What refuses one template by itself, except that it may not be read, which `refuseIncomplete` says of all together. */
function refuseUnresolved(plan: TemplatePlan): void {
  for (const one of plan.values()) if (one instanceof TemplateProblem && one.reason !== 'unreadable') throw one;
}

/** A program that starts without one of its variables may do harm, so a format has all values or is refused. */
function refuseIncomplete(entries: readonly Effective[], given: readonly Effective[]): void {
  const complete = new Set(given);
  const withheld = entries.filter((entry) => !complete.has(entry));
  if (withheld.length > 0) {
    const names = withheld.map(({ key_name }) => key_name);
    const shown = names.slice(0, REFUSED_SHOWN_MAX).join(', ');
    const message = `You may not read ${shown}, or they are fortress secrets, which are never composed: use \`resolve\` without \`format\` to get the others.`;
    throw new CofferError('INSUFFICIENT_PRIVILEGE', message, { auditReason: 'secrets:read: not all may be read' });
  }
  for (const entry of entries) refuseInZeroKnowledge(entry, 'Composing in a format');
}

/** The names that the reader requested: a name alone, or those that may change how programs are loaded. */
function permittedBy({ permit = [], key_name }: Query<typeof contract.composeEnvironment>): readonly string[] {
  return key_name === undefined ? permit : [...permit, key_name];
}

/** Every value is checked before the first one is sent. Versions are immutable, so the values written afterwards are those that were checked. */
async function refuseUnwritable(format: EnvFileFormat, opened: Values, permitted: readonly string[]): Promise<void> {
  const problems: FieldProblem[] = [];
  const permit: string[] = [];
  for await (const some of opened) {
    for (const { row, value } of some) {
      const refusedName = nameRefusal(row.key_name, permitted);
      if (refusedName !== null) permit.push(row.key_name);
      const refusal = refusedName ?? envFileRefusal(format, row.key_name, value);
      if (refusal === null) continue;
      const instead = refusedName === null && format === 'dotenv' ? 'shell or json' : 'json';
      const reason = `${row.key_name} ${refusal}; request ${instead}`;
      problems.push(
        refusedName === null
          ? { pointer: '/query/format', reason: `cannot be ${format}: ${reason}` }
          : { pointer: '/query/permit', reason: `does not have ${row.key_name}: ${reason}` },
      );
    }
    if (problems.length >= REFUSED_SHOWN_MAX) break;
  }
  if (problems.length === 0) return;
  throw invalid(problems.slice(0, REFUSED_SHOWN_MAX), unpermitted(permit));
}

async function* asJson(opened: Values): AsyncGenerator<string> {
  yield '{';
  let separator = '\n';
  for await (const some of opened) {
    if (some.length === 0) continue;
    const lines = some.map(({ row, value }) => `  ${JSON.stringify(row.key_name)}: ${JSON.stringify(value)}`);
    yield separator + lines.join(',\n');
    separator = ',\n';
  }
  yield '\n}\n';
}

async function* asEnvFile(format: EnvFileFormat, opened: Values): AsyncGenerator<string> {
  for await (const some of opened) {
    yield some.map(({ row, value }) => envFileLine(format, row.key_name, value)).join('');
  }
}

/** The secrets in effect in an environment, sorted by key name; null if there is no such environment. */
export async function effectiveSecrets(
  db: Reader,
  tenantId: string,
  environmentId: number,
): Promise<Whole<store.ComposedRow>[] | null> {
  const rows = await store.composition(db, tenantId, environmentId, LEVELS_MAX);
  return rows.length === 0 ? null : effectiveOf(rows);
}

/** The rows come root first, so a binding nearer to the leaf replaces one farther away. The result is sorted by key name. */
function effectiveOf(rows: readonly store.ComposedRow[]): Effective[] {
  const effective = new Map<string, Effective>();
  let source: Source = [];
  for (const row of rows) {
    const { environment_id, name } = row;
    if (source.at(-1)?.environment_id !== environment_id) source = [...source, { environment_id, name }];
    if (isThere(row)) effective.set(row.key_name, { ...row, source });
  }
  return [...effective.values()].sort((a, b) => (a.key_name < b.key_name ? -1 : 1));
}

/** A binding whose secret or vault is deleted does not replace an inherited one. */
function isThere(row: store.ComposedRow): row is Whole<store.ComposedRow> {
  return row.key_name !== null && row.secret_id !== null && row.vault_id !== null;
}

function mayBeGiven(ctx: Context, entry: Effective): boolean {
  if (entry.protection === 'fortress') return false;
  return ctx.access.may('secrets:read', secretResource(entry.vault, entry.path), attributesOf(entry));
}

/** Yields every entry in order, some at a time, with its value where one is returned. An entry whose version was deleted meanwhile has no value. */
async function* withValues(
  entries: readonly Effective[],
  opened: Values,
  versions: ReadonlyMap<string, string>,
): AsyncGenerator<ComposeEntry[]> {
  const wire = (entry: Effective) => toWire(entry, versions.get(entry.secret_id));
  const rest = entries.values();
  for await (const some of opened) {
    const ready: ComposeEntry[] = [];
    for (const { row, value, parts } of some) {
      for (const entry of rest) {
        if (entry !== row) ready.push(wire(entry));
        else {
          const sealed = entry.is_zero_knowledge === 1 && { sealed: true as const };
          ready.push({ ...wire(entry), value, ...(parts !== undefined && { parts }), ...sealed });
          break;
        }
      }
    }
    yield ready;
  }
  yield [...rest].map(wire);
}

async function* pieces(leaf: store.ComposedRow, entries: AsyncGenerator<ComposeEntry[]>): AsyncGenerator<string> {
  yield `{"environment_id":${leaf.environment_id},"name":${JSON.stringify(leaf.name)},"effective":{`;
  let separator = '';
  for await (const some of entries) {
    if (some.length === 0) continue;
    yield separator + some.map((entry) => `${JSON.stringify(entry.key_name)}:${JSON.stringify(entry)}`).join(',');
    separator = ',';
  }
  yield '}}';
}

function toWire({ key_name, secret_no, version, source }: Effective, parts_version: string | undefined): ComposeEntry {
  const entry = { key_name, value_ref: `secret:${secret_no}:v${version}`, source };
  return parts_version === undefined ? entry : { ...entry, parts_version };
}
