import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** In an installed package migrations are JavaScript. Folders hold parts of them. */
const FILE_NAME = /^(\d{4})-([a-z0-9-]+)\.[jt]s$/;

export const MIGRATIONS_FOLDER = join(import.meta.dirname, '../../../migrations');

export interface MigrationFile {
  file: string;
  version: number;
  name: string;
}

/** The files of the migrations, in order. The first one makes the schema of the oldest release that can be upgraded from. */
export function migrationFiles(folder: string): MigrationFile[] {
  const files = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile());
  const found = files.map(({ name: file }) => {
    const [, version, name] = FILE_NAME.exec(file) ?? [];
    if (version === undefined || name === undefined) throw new Error(`not a migration: ${file}`);
    return { file, version: Number(version), name };
  });
  const inOrder = found.toSorted((a, b) => a.version - b.version);
  const oldest = inOrder[0]?.version ?? 0;
  const wrong = inOrder.find(({ version }, i) => version !== oldest + i);
  if (wrong !== undefined) throw new Error(`migration ${wrong.version} is out of order`);
  return inOrder;
}

/** The schema that this release knows. */
export const SCHEMA_VERSION = migrationFiles(MIGRATIONS_FOLDER).at(-1)?.version ?? 0;

/** How the sessions of a node are named on PostgreSQL. Those of releases up to 0.4 have no number. */
export const SESSION_NAME = `coffer ${SCHEMA_VERSION}`;
/** In the syntax of PostgreSQL. Other commands of the service have other names, such as "coffer backup". */
export const SESSION_NAMES = '^coffer( [0-9]+)?$';
