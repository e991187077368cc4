import { difference } from '../../kernel/authz/path-ranges.ts';
import type { Context } from '../../kernel/context.ts';
import { type Query, Streamed } from '../../kernel/endpoint.ts';
import { CofferError, invalidField } from '../../kernel/errors.ts';
import {
  type DecidedRow,
  isWithin,
  openedValues,
  prefixRange,
  refuseInZeroKnowledge,
  SEEN,
  secretResource,
  vaultWithin,
  visiblePage,
  type Wanted,
} from '../secrets/index.ts';
import type { VaultRow } from '../vaults/index.ts';
import type * as contract from './contract.ts';
import { DOTENV_TYPE } from './contract.ts';
import { DotenvError, formatDotenv } from './dotenv.ts';

const EXPORTABLE: Wanted = ['secrets:export', 'secrets:read'];
type Opened = AsyncGenerator<{ row: DecidedRow; value: string }>;
const EXPORT_MAX = 10_000;
const PAGE = 1000;

/**
 * Half an export would be taken for the whole, so it is everything under the prefix or nothing. What lies where the caller may not read is
 * refused whether or not there is anything, and what they cannot even list is left out: an answer must not tell what is hidden.
 */
export async function exportSecrets(ctx: Context, vaultName: string, query: Query<typeof contract.exportSecrets>) {
  const { vault, ranges } = await vaultWithin(ctx, vaultName, EXPORTABLE);
  refuseInZeroKnowledge(vault, 'An export');
  if (difference([prefixRange(query.prefix)], ranges).length > 0) throw notAll();
  const isExportable = (row: DecidedRow) => isWithin(ctx, vaultName, row, EXPORTABLE);
  const rows = await everyRow(ctx, vault, query.prefix, isExportable);
  const open = rows.filter((row) => row.protection === 'standard');
  const isDotenv = query.format === 'dotenv';
  const names = isDotenv ? dotenvNames(open) : null;
  ctx.describe({ format: query.format ?? 'json', secrets: open.length, fortress_left_out: rows.length - open.length });
  for (const { path, secret_id, version } of open) {
    ctx.alsoRecord('secrets:read', secretResource(vaultName, path), { secret: secret_id, version, via: 'export' });
  }
  const opened = () => openedValues(ctx, vault, open, isExportable);
  if (names !== null) ctx.replyHeaders['Content-Type'] = DOTENV_TYPE;
  return new Streamed(names === null ? asJson(opened()) : asDotenv(opened(), names));
}

function notAll(): CofferError {
  return new CofferError('INSUFFICIENT_PRIVILEGE', 'You may not read everything here: narrow it with a prefix.', {
    auditReason: 'secrets:export: not all may be read',
  });
}

/** What an export needs of each secret. Its metadata is left out: all rows are held until the last value is written. */
async function everyRow(
  ctx: Context,
  vault: VaultRow,
  prefix: string | undefined,
  isExportable: (row: DecidedRow) => boolean,
): Promise<DecidedRow[]> {
  const isShown = (row: DecidedRow) => isExportable(row) || isWithin(ctx, vault.name, row, SEEN);
  const rows: DecidedRow[] = [];
  const ranges = [prefixRange(prefix)];
  let cursor: string | undefined;
  do {
    const page = await visiblePage(ctx, { vault, ranges, filter: {}, cursor, limit: PAGE, isShown });
    if (!page.rows.every(isExportable)) throw notAll();
    for (const { secret_id, version, protection, path, environment, tags, sealed_bytes } of page.rows) {
      rows.push({ secret_id, version, protection, path, environment, tags, sealed_bytes });
    }
    if (rows.length > EXPORT_MAX) {
      throw invalidField('/query/prefix', `must narrow it to at most ${EXPORT_MAX} secrets`);
    }
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  return rows;
}

/** Names that programs accept. Two paths that become one name are refused: one of the values would be lost. */
function dotenvNames(rows: readonly DecidedRow[]): Map<string, string> {
  const names = new Map<string, string>();
  const taken = new Map<string, string>();
  for (const { path } of rows) {
    const name = dotenvName(path);
    const other = taken.get(name);
    if (other !== undefined) {
      throw invalidField('/query/format', `cannot be dotenv: ${other} and ${path} would both be ${name}`);
    }
    taken.set(name, path);
    names.set(path, name);
  }
  return names;
}

/** A path that is a name already stays as it is, so that what was imported is exported the same. */
export function dotenvName(path: string): string {
  if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(path)) return path;
  const name = path.replace(/[^A-Za-z0-9]/g, '_').toUpperCase();
  return /^\d/.test(name) ? `_${name}` : name;
}

async function* asJson(opened: Opened): AsyncGenerator<string> {
  yield '{';
  let separator = '\n';
  for await (const { row, value } of opened) {
    yield `${separator}  ${JSON.stringify(row.path)}: ${JSON.stringify(value)}`;
    separator = ',\n';
  }
  yield '\n}\n';
}

async function* asDotenv(opened: Opened, names: ReadonlyMap<string, string>): AsyncGenerator<string> {
  for await (const { row, value } of opened) {
    const key = names.get(row.path) ?? row.path;
    try {
      yield formatDotenv([{ key, value }]);
    } catch (error) {
      if (!(error instanceof DotenvError)) throw error;
      yield `# ${key} is left out: its value fits in no environment variable\n`;
    }
  }
}
