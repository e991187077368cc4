import { copyFileSync } from 'node:fs';
import { join } from 'node:path';

/** Set by test/run.ts: an SQLite file with the schema of this release and nothing in it. */
export const FILE_VARIABLE = 'COFFER_TEST_SQLITE_FILE';

/** Puts a copy into a data folder, where the runner has prepared one. */
export function copyMigratedFile(dataDir: string): void {
  const file = process.env[FILE_VARIABLE];
  if (file !== undefined) copyFileSync(file, join(dataDir, 'coffer.db'));
}
