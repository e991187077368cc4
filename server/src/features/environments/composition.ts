import { notFound } from '../../kernel/platform/errors.ts';
import { Streamed } from '../../kernel/request/binding.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Query } from '../../kernel/request/declaration.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { attributesOf, bulkDecrypt, refuseInZeroKnowledge, secretResource } from '../secrets/index.ts';
import type * as contract from './contract.ts';
import { type ComposeEntry, LEVELS_MAX } from './contract.ts';
import { numberIn } from './service.ts';
import * as store from './store.ts';

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
  const number = numberIn(id);
  const rows = number === null ? [] : await store.composition(ctx.database.read, ctx.tenantId, number, LEVELS_MAX);
  const leaf = rows.at(-1);
  if (leaf === undefined) throw notFound('composed environment');
  const entries = effectiveOf(rows);
  const given = query.resolve === true ? entries.filter((entry) => mayBeGiven(ctx, entry)) : [];
  for (const entry of given) refuseInZeroKnowledge(entry, 'Composing values');
  ctx.record.describe({
    name: leaf.name,
    resolve: query.resolve === true,
    entries: entries.length,
    values: given.length,
  });
  for (const { vault, path, secret_id, version, log_reads } of given) {
    if (log_reads === 0) ctx.record.countUnlisted(vault, 1);
    else
      ctx.record.addEntry('secrets:read', secretResource(vault, path), { secret: secret_id, version, via: 'compose' });
  }
  return new Streamed(pieces(leaf, withValues(ctx, entries, given)));
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
  ctx: Context,
  entries: readonly Effective[],
  given: readonly Effective[],
): AsyncGenerator<ComposeEntry[]> {
  const rest = entries.values();
  for await (const opened of bulkDecrypt.acrossVaults(ctx, given, (entry) => mayBeGiven(ctx, entry))) {
    const ready: ComposeEntry[] = [];
    for (const { row, value } of opened) {
      for (const entry of rest) {
        if (entry !== row) ready.push(toWire(entry));
        else {
          ready.push({ ...toWire(entry), value });
          break;
        }
      }
    }
    yield ready;
  }
  yield [...rest].map(toWire);
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

function toWire({ key_name, secret_no, version, source }: Effective): ComposeEntry {
  return { key_name, value_ref: `secret:${secret_no}:v${version}`, source };
}
