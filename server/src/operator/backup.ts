import { existsSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Config } from '../kernel/platform/config.ts';
import { StartError } from '../kernel/storage/data-folder.ts';
import { writeLastBackup } from '../kernel/storage/last-backup.ts';
import { BackupWriter } from './backup-format.ts';
import { backupLine } from './backup-records.ts';
import { installationSnapshot } from './installation-snapshot.ts';

/** Writes the whole installation into one encrypted file, while the service runs. */
export async function backup(config: Config, target: string): Promise<string> {
  const file = resolve(target);
  if (existsSync(file))
    throw new StartError('A file with this name already exists: choose another name, or remove the file.');
  const source = await installationSnapshot(config);
  try {
    const writer = new BackupWriter(file, source.header, source.root.key);
    try {
      let counts: Readonly<Record<string, number>> = {};
      for await (const record of source.records()) {
        writer.write(backupLine(record));
        if ('counts' in record) counts = record.counts;
      }
      writer.finish();
      const rows = Object.values(counts).reduce((sum, count) => sum + count, 0);
      return `${rows} rows of ${Object.keys(counts).length} tables are in ${file}. It can be restored only with the root key ${source.root.id}: store that key separately.${noteBackup(config, source.header.made_at)}`;
    } catch (error) {
      writer.close();
      rmSync(file, { force: true });
      throw error;
    }
  } finally {
    await source.close();
  }
}

/** The backup is there, whether or not the metrics of the service can say so. */
function noteBackup({ dataDir }: Config, madeAt: string): string {
  try {
    writeLastBackup(dataDir, Date.parse(madeAt));
    return '';
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return ` Its time could not be noted in ${dataDir} (${code}), so cv_last_backup_timestamp_seconds does not show it.`;
  }
}
