import { canonicalEnvironment } from '../../kernel/authz/environment.ts';
import { CofferError, type FieldProblem, invalidField } from '../../kernel/base/errors.ts';
import type { Body, Output } from '../../kernel/endpoint/declaration.ts';
import { mapInSlices, nextIteration, TimeSlice } from '../../kernel/fairness/time-slice.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import { parsePath } from '../secrets/index.ts';
import { type ImportEntry, type ImportTarget, type PlannedChange, secretImport } from '../secrets/lifecycle/index.ts';
import { refuseReviewed } from '../secrets/review/index.ts';
import { sealerFor } from '../secrets/value/index.ts';
import { authorizedVault } from '../vaults/index.ts';
import type * as contract from './contract.ts';
import { IMPORT_ENTRIES_MAX } from './contract.ts';
import { DotenvError, type DotenvWarning, parseDotenv } from './dotenv.ts';

type ImportBody = Body<typeof contract.importSecrets>;
type Problem = Output<typeof contract.importSecrets>['problems'][number];
type Warning = Output<typeof contract.importSecrets>['warnings'][number];

interface GivenEntry extends ImportEntry {
  warnings: Omit<Warning, 'path'>[];
}

export async function importSecrets(ctx: Context, vaultName: string, body: ImportBody) {
  const vault = await authorizedVault(ctx, ctx.database.read, vaultName);
  if (body.keep_going === true && body.dry_run !== true) {
    throw invalidField('/body/keep_going', 'is for dry_run: an import is written whole or not at all');
  }
  refuseReviewed(ctx, vault, 'an import');
  const { entries, problems } = await entriesOf(ctx, body);
  const target: ImportTarget = {
    vault,
    options: {
      type: body.type ?? 'generic',
      environment: body.environment === undefined ? undefined : canonicalEnvironment(body.environment),
      promote: body.promote === true,
      onExisting: body.on_existing ?? 'update',
    },
  };
  if (body.dry_run === true) {
    ctx.record.describe({ dry_run: true, entries: entries.length });
    return answer(true, await planAll(ctx, target, entries, { problems }), { entries, problems });
  }
  const sealer = await sealerFor(ctx.kernel, vault);
  return ctx.change(async (tx) => {
    const planned = await planAll(ctx, target, entries, { tx });
    const slice = sliceIn(ctx, tx);
    for (const change of planned) {
      await slice.pause();
      await secretImport.carryOut(ctx, tx, { ...target, sealer }, change);
    }
    await secretImport.finish(ctx, tx, vault, planned);
    const result = answer(false, planned, { entries, problems });
    const { created, updated, unchanged, skipped } = result;
    ctx.record.describe({ created, updated, unchanged, skipped });
    return result;
  });
}

/** On SQLite nothing else yields to the event loop. In a transaction no other tenants get their turn first, because its locks are held. */
function sliceIn({ tenantId }: Context, tx: Tx | undefined): TimeSlice {
  return tx === undefined ? TimeSlice.of(tenantId) : new TimeSlice(nextIteration);
}

/** Entries are sorted by path, so that two concurrent imports lock secrets in the same order and cannot deadlock. */
async function planAll(
  ctx: Context,
  target: ImportTarget,
  entries: readonly ImportEntry[],
  { tx, problems = null }: { tx?: Tx; problems?: Problem[] | null },
): Promise<PlannedChange[]> {
  const planned: PlannedChange[] = [];
  const slice = sliceIn(ctx, tx);
  for (const entry of entries) {
    await slice.pause();
    try {
      planned.push(await secretImport.plan(ctx, target, entry, tx));
    } catch (error) {
      collect(problems, entry, error);
    }
  }
  return planned;
}

/** Adds what is wrong with an entry to the problems, if they are collected. Whatever is not about this entry alone is thrown. */
function collect(problems: Problem[] | null, { path, pointer }: ImportEntry, error: unknown): void {
  if (problems === null || !(error instanceof CofferError)) throw error;
  const { code, message, details } = error;
  if (code === 'VALIDATION_FAILED') {
    const [field] = (details?.['fields'] ?? []) as readonly FieldProblem[];
    if (field?.pointer !== pointer) throw error;
    problems.push({ code, message: field.reason, path });
  } else if (code === 'SECRET_ALREADY_EXISTS' || code === 'ROTATION_IN_PROGRESS') {
    problems.push({ code, message, path });
  } else {
    throw error;
  }
}

/** The entries to import. With `keep_going` the problems are those whose path is wrong; without it they are null. */
async function entriesOf(
  ctx: Context,
  body: ImportBody,
): Promise<{ entries: GivenEntry[]; problems: Problem[] | null }> {
  if ((body.secrets === undefined) === (body.dotenv === undefined)) {
    throw invalidField('/body', 'must have exactly one of secrets and dotenv');
  }
  const all = body.dotenv === undefined ? await fromJson(ctx, body.secrets ?? {}) : fromDotenv(body.dotenv);
  const before = prefixOf(body);
  const given = withoutLeftOut(all, before, body.leave_out ?? []);
  if (given.length === 0) throw invalidField('/body', 'has nothing to import');
  if (given.length > IMPORT_ENTRIES_MAX) throw invalidField('/body', `may have at most ${IMPORT_ENTRIES_MAX} entries`);
  const problems: Problem[] | null = body.keep_going === true ? [] : null;
  const entries: GivenEntry[] = [];
  const slice = TimeSlice.of(ctx.tenantId);
  for (const entry of given) {
    const pause = slice.pause();
    if (pause !== undefined) await pause;
    try {
      entries.push({ ...entry, path: parsePath(before + entry.path, entry.pointer) });
    } catch (error) {
      collect(problems, { ...entry, path: isShown(entry.path) ? before + entry.path : '?' }, error);
    }
  }
  return { entries: entries.sort((a, b) => (a.path < b.path ? -1 : 1)), problems };
}

function withoutLeftOut(all: readonly GivenEntry[], before: string, leaveOut: readonly string[]): GivenEntry[] {
  const given = new Map(all.map((entry) => [before + entry.path, entry]));
  for (const [i, path] of leaveOut.entries()) {
    if (!given.delete(path))
      throw invalidField(`/body/leave_out/${i}`, 'must be the path of an entry, with the prefix, once');
  }
  return [...given.values()];
}

/** Returns the prefix with a trailing slash. Only the last segment of a path can be a reserved word, so it is validated with one more segment. */
function prefixOf({ prefix }: ImportBody): string {
  if (prefix === undefined) return '';
  const before = prefix.endsWith('/') ? prefix : `${prefix}/`;
  parsePath(`${before}x`, '/body/prefix');
  return before;
}

function fromJson({ tenantId }: Context, secrets: Record<string, string>): Promise<GivenEntry[]> {
  return mapInSlices(tenantId, Object.entries(secrets), ([path, value]) => ({
    path,
    value,
    pointer: `/body/secrets/${shown(path)}`,
    warnings: [],
  }));
}

/** Only text that looks like a path is echoed: a key may be anything, even a misplaced value. */
function shown(path: string): string {
  return isShown(path) ? path.replaceAll('/', '~1') : '?';
}

function isShown(path: string): boolean {
  return /^[A-Za-z0-9._/-]{1,200}$/.test(path);
}

function fromDotenv(text: string): GivenEntry[] {
  try {
    return parseDotenv(text).entries.map(({ key, value, line, warnings }) => ({
      path: key,
      value,
      pointer: `/body/dotenv/line/${line}`,
      warnings: warnings.map((code) => ({ code, message: WARNINGS[code], line })),
    }));
  } catch (error) {
    if (!(error instanceof DotenvError)) throw error;
    throw invalidField(`/body/dotenv/line/${error.line}`, error.reason);
  }
}

const WARNINGS: Readonly<Record<DotenvWarning, string>> = {
  repeated_key: 'An earlier line has the same key; this last one is used.',
  unexpanded_variable: 'A shell would expand the text after $; it was imported literally.',
};

function answer(
  dry_run: boolean,
  planned: readonly PlannedChange[],
  { entries, problems }: Awaited<ReturnType<typeof entriesOf>>,
) {
  const count = (change: PlannedChange['change']) => planned.filter((one) => one.change === change).length;
  return {
    dry_run,
    created: count('create'),
    updated: count('update'),
    unchanged: count('unchanged'),
    skipped: count('skip'),
    changes: planned.map(({ entry, change, version }) => ({ path: entry.path, change, version })),
    warnings: entries.flatMap(({ path, warnings }) => warnings.map((warning) => ({ ...warning, path }))),
    problems: problems ?? [],
  };
}
