import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { linkDurably } from '../kernel/crypto/root-key.ts';
import type { Config } from '../kernel/platform/config.ts';
import { StartError } from '../kernel/storage/data-folder.ts';
import { writeLastBackup } from '../kernel/storage/last-backup.ts';
import { type BackupHeader, BackupReader, BackupWriter } from './backup-format.ts';
import { backupLine } from './backup-records.ts';
import { type InstallationSnapshot, installationSnapshot } from './installation-snapshot.ts';

/** The name that means standard output. */
export const STANDARD_OUTPUT = '-';
const STANDARD_OUTPUT_FD = 1;
const UNFINISHED_SUFFIX = '.unfinished';
const NAME = /^coffer-\d{8}T\d{6}Z\.backup$/;

export interface BackupOptions {
  /** In a folder: how many backups of this installation are kept, this one included. */
  keep?: number;
}

/** Writes the whole installation, encrypted, into a file, a folder or standard output, while the service runs. */
export async function backup(config: Config, target: string, { keep }: BackupOptions = {}): Promise<string> {
  const folder = folderAt(target);
  if (keep !== undefined && folder === null)
    throw new StartError('--keep removes older backups in a folder: give an existing folder as the target.');
  const source = await installationSnapshot(config);
  try {
    const file = folder === null ? target : join(folder, nameOf(source.header));
    const rows = file === STANDARD_OUTPUT ? await writeTo(STANDARD_OUTPUT_FD, source) : await writeFile(file, source);
    const removed = folder === null || keep === undefined ? 0 : removeOlder(folder, source.header, keep);
    return [
      `${rows} ${file === STANDARD_OUTPUT ? 'were written to standard output' : `are in ${resolve(file)}`}. It can be restored only with the root key ${source.root.id}: store that key separately.`,
      ...(removed > 0 ? [`${removed} older ${removed === 1 ? 'backup was' : 'backups were'} removed.`] : []),
      ...noteBackup(config, source.header.made_at),
    ].join(' ');
  } finally {
    await source.close();
  }
}

function folderAt(target: string): string | null {
  const found = target === STANDARD_OUTPUT ? undefined : statSync(target, { throwIfNoEntry: false });
  return found?.isDirectory() ? resolve(target) : null;
}

function nameOf({ made_at }: BackupHeader): string {
  return `coffer-${made_at.replaceAll(/[-:]|\.\d+/g, '')}.backup`;
}

/** The file appears under its name once it is whole and durable. One that exists is never replaced. */
async function writeFile(file: string, source: InstallationSnapshot): Promise<string> {
  if (statSync(file, { throwIfNoEntry: false }) !== undefined) throw alreadyThere();
  const unfinished = `${file}.${randomBytes(4).toString('hex')}${UNFINISHED_SUFFIX}`;
  const fd = openSync(unfinished, 'wx', 0o600);
  try {
    const rows = await writeTo(fd, source);
    fsyncSync(fd);
    linkDurably(unfinished, file);
    return rows;
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'EEXIST' ? alreadyThere() : error;
  } finally {
    closeSync(fd);
    rmSync(unfinished, { force: true });
  }
}

function alreadyThere(): StartError {
  return new StartError('A file with this name already exists: choose another name, or remove the file.');
}

async function writeTo(fd: number, source: InstallationSnapshot): Promise<string> {
  const writer = new BackupWriter(fd, source.header, source.root.key);
  let counts: Readonly<Record<string, number>> = {};
  for await (const record of source.records()) {
    writer.write(backupLine(record));
    if ('counts' in record) counts = record.counts;
  }
  writer.finish();
  const rows = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return `${rows} rows of ${Object.keys(counts).length} tables`;
}

/**
 * Only files that are named as this command names them, and are backups of the same installation. The new backup stays whatever the others are
 * named: a clock that was ahead has named them.
 */
function removeOlder(folder: string, header: BackupHeader, keep: number): number {
  const older = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && NAME.test(entry.name) && entry.name < nameOf(header))
    .map(({ name }) => name)
    .filter((name) => installationOf(join(folder, name)) === header.installation_id)
    .toSorted()
    .toReversed()
    .slice(keep - 1);
  for (const name of older) rmSync(join(folder, name));
  return older.length;
}

/** Null if it is no backup, which is then left alone. */
function installationOf(file: string): string | null {
  try {
    const reader = new BackupReader(file);
    reader.close();
    return reader.header.installation_id;
  } catch (error) {
    if (error instanceof StartError) return null;
    throw error;
  }
}

/** The backup is there, whether or not the metrics of the service can say so. */
function noteBackup({ dataDir }: Config, madeAt: string): string[] {
  try {
    writeLastBackup(dataDir, Date.parse(madeAt));
    return [];
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return [
      `Its time could not be noted in ${dataDir} (${code}), so cv_last_backup_timestamp_seconds does not show it.`,
    ];
  }
}
