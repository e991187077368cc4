import { setImmediate as nextTurn } from 'node:timers/promises';
import { canonicalEnvironment } from '../../kernel/authz/environment.ts';
import { invalidField } from '../../kernel/platform/errors.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Body, Output } from '../../kernel/request/declaration.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import {
  type ImportEntry,
  type ImportTarget,
  type PlannedChange,
  pathIn,
  sealerFor,
  secretImport,
} from '../secrets/index.ts';
import { authorizedVault } from '../vaults/index.ts';
import type * as contract from './contract.ts';
import { IMPORT_ENTRIES_MAX } from './contract.ts';
import { DotenvError, type DotenvWarning, parseDotenv } from './dotenv.ts';

/** On SQLite nothing else yields to the event loop while this many secrets are written. */
const ENTRIES_A_TURN = 20;

type ImportBody = Body<typeof contract.importSecrets>;
type Warning = Output<typeof contract.importSecrets>['warnings'][number];

interface GivenEntry extends ImportEntry {
  warnings: Omit<Warning, 'path'>[];
}

export async function importSecrets(ctx: Context, vaultName: string, body: ImportBody) {
  const vault = await authorizedVault(ctx, ctx.database.read, vaultName);
  const entries = entriesOf(body);
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
    return answer(true, await planAll(ctx, target, entries), entries);
  }
  const sealer = await sealerFor(ctx.kernel, vault);
  return ctx.change(async (tx) => {
    const planned = await planAll(ctx, target, entries, tx);
    for (const [i, change] of planned.entries()) {
      await secretImport.carryOut(ctx, tx, { ...target, sealer }, change);
      if (i % ENTRIES_A_TURN === 0) await nextTurn();
    }
    await secretImport.finish(ctx, tx, vault, planned);
    const result = answer(false, planned, entries);
    const { created, updated, unchanged, skipped } = result;
    ctx.record.describe({ created, updated, unchanged, skipped });
    return result;
  });
}

/** Entries are sorted by path, so that two concurrent imports lock secrets in the same order and cannot deadlock. */
async function planAll(
  ctx: Context,
  target: ImportTarget,
  entries: readonly ImportEntry[],
  tx?: Tx,
): Promise<PlannedChange[]> {
  const planned: PlannedChange[] = [];
  for (const [i, entry] of entries.entries()) {
    planned.push(await secretImport.plan(ctx, target, entry, tx));
    if (i % ENTRIES_A_TURN === 0) await nextTurn();
  }
  return planned;
}

function entriesOf(body: ImportBody): GivenEntry[] {
  if ((body.secrets === undefined) === (body.dotenv === undefined)) {
    throw invalidField('/body', 'must have exactly one of secrets and dotenv');
  }
  const given = body.dotenv === undefined ? fromJson(body.secrets ?? {}) : fromDotenv(body.dotenv);
  if (given.length === 0) throw invalidField('/body', 'has nothing to import');
  if (given.length > IMPORT_ENTRIES_MAX) throw invalidField('/body', `may have at most ${IMPORT_ENTRIES_MAX} entries`);
  const before = prefixOf(body);
  return given
    .map((entry) => ({ ...entry, path: pathIn(before + entry.path, entry.pointer) }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Returns the prefix with a trailing slash. Only the last segment of a path can be a reserved word, so it is validated with one more segment. */
function prefixOf({ prefix }: ImportBody): string {
  if (prefix === undefined) return '';
  const before = prefix.endsWith('/') ? prefix : `${prefix}/`;
  pathIn(`${before}x`, '/body/prefix');
  return before;
}

function fromJson(secrets: Record<string, string>): GivenEntry[] {
  return Object.entries(secrets).map(([path, value]) => ({
    path,
    value,
    pointer: `/body/secrets/${shown(path)}`,
    warnings: [],
  }));
}

/** Only text that looks like a path is echoed: a key may be anything, even a misplaced value. */
function shown(path: string): string {
  return /^[A-Za-z0-9._/-]{1,200}$/.test(path) ? path.replaceAll('/', '~1') : '?';
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

function answer(dry_run: boolean, planned: readonly PlannedChange[], entries: readonly GivenEntry[]) {
  const count = (change: PlannedChange['change']) => planned.filter((one) => one.change === change).length;
  return {
    dry_run,
    created: count('create'),
    updated: count('update'),
    unchanged: count('unchanged'),
    skipped: count('skip'),
    changes: planned.map(({ entry, change, version }) => ({ path: entry.path, change, version })),
    warnings: entries.flatMap(({ path, warnings }) => warnings.map((warning) => ({ ...warning, path }))),
  };
}
