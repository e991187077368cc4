import type { Context } from '../../kernel/context.ts';
import { type Query, Streamed } from '../../kernel/endpoint.ts';
import { notFound } from '../../kernel/errors.ts';
import { attributesOf, decryptedAcross, refuseInZeroKnowledge, secretResource } from '../secrets/index.ts';
import type * as contract from './contract.ts';
import { type ComposeEntry, LEVELS_MAX } from './contract.ts';
import { numberIn } from './service.ts';
import * as store from './store.ts';

type Whole<T> = { [K in keyof T]: NonNullable<T[K]> };
type Source = ComposeEntry['source'];
/** A binding that counts, with the line from the root to the environment that has it. */
type Effective = Whole<store.ComposedRow> & { source: Source };

/** Which values are given is decided and recorded first; they are then opened and written one by one, and never all held. */
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
  ctx.describe({ name: leaf.name, resolve: query.resolve === true, entries: entries.length, values: given.length });
  for (const { vault, path, secret_id, version, log_reads } of given) {
    if (log_reads === 0) ctx.countUnlisted(vault, 1);
    else ctx.alsoRecord('secrets:read', secretResource(vault, path), { secret: secret_id, version, via: 'compose' });
  }
  return new Streamed(pieces(leaf, withValues(ctx, entries, given)));
}

/** Root first, so that what is nearer to the leaf replaces what is farther; in the order of their names. */
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

/** A secret that is deleted, or whose vault is, gives way to the one it would replace. */
function isThere(row: store.ComposedRow): row is Whole<store.ComposedRow> {
  return row.key_name !== null && row.secret_id !== null && row.vault_id !== null;
}

function mayBeGiven(ctx: Context, entry: Effective): boolean {
  if (entry.protection === 'fortress') return false;
  return ctx.may('secrets:read', secretResource(entry.vault, entry.path), attributesOf(entry));
}

/** Every entry in order, those that are given with their value; one whose version is gone by now comes without. */
async function* withValues(
  ctx: Context,
  entries: readonly Effective[],
  given: readonly Effective[],
): AsyncGenerator<ComposeEntry> {
  const rest = entries.values();
  for await (const { row, value } of decryptedAcross(ctx, given, (entry) => mayBeGiven(ctx, entry))) {
    for (const entry of rest) {
      if (entry !== row) yield toWire(entry);
      else {
        yield { ...toWire(entry), value };
        break;
      }
    }
  }
  for (const entry of rest) yield toWire(entry);
}

async function* pieces(leaf: store.ComposedRow, entries: AsyncGenerator<ComposeEntry>): AsyncGenerator<string> {
  yield `{"environment_id":${leaf.environment_id},"name":${JSON.stringify(leaf.name)},"effective":{`;
  let separator = '';
  for await (const entry of entries) {
    yield `${separator}${JSON.stringify(entry.key_name)}:${JSON.stringify(entry)}`;
    separator = ',';
  }
  yield '}}';
}

function toWire({ key_name, secret_no, version, source }: Effective): ComposeEntry {
  return { key_name, value_ref: `secret:${secret_no}:v${version}`, source };
}
