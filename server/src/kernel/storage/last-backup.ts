import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A file in the data folder, because the command that makes backups does not write to the database of a running service. */
const LAST_BACKUP_FILE = 'last-backup.json';

/** Stores when a backup was made, for the metrics of the service. */
export function writeLastBackup(dataDir: string, madeAt: number): void {
  const file = join(dataDir, LAST_BACKUP_FILE);
  writeFileSync(`${file}.tmp`, `${JSON.stringify({ made_at: new Date(madeAt).toISOString() })}\n`, { mode: 0o600 });
  renameSync(`${file}.tmp`, file);
}

/** Returns when the last backup was made; 0 if there was none, or if the file does not say so. */
export function readLastBackup(dataDir: string): number {
  try {
    const { made_at } = JSON.parse(readFileSync(join(dataDir, LAST_BACKUP_FILE), 'utf8')) as { made_at?: string };
    return Date.parse(made_at ?? '') || 0;
  } catch (error) {
    // A file that cannot be read says nothing about a backup, and the alert for a missing one is then right.
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
}
