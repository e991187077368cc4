import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, rmSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { StartError } from '../kernel/base/data-folder.ts';
import { linkDurably } from '../kernel/crypto/root-key.ts';
import { recordLastBackup } from '../kernel/storage/last-backup.ts';
import type { Config } from '../settings/config.ts';
import { type Base, type BaseChoice, chooseBase } from './backup-base.ts';
import { backupsIn, isFolder, nameOf, UNFINISHED_SUFFIX } from './backup-folder.ts';
import { type BackupHeader, BackupWriter, lineOf } from './backup-format.ts';
import { writeIndex } from './backup-index.ts';
import { backupLine, lastLine } from './backup-records.ts';
import { removeOlder } from './backup-retention.ts';
import { RowWriter } from './backup-rows.ts';
import { type InstallationSnapshot, installationSnapshot } from './installation-snapshot.ts';
import { NOT_SHOWN, type Progress } from './progress.ts';

/** The name that means standard output. */
export const STANDARD_OUTPUT = '-';
const STANDARD_OUTPUT_FD = 1;

export interface BackupOptions extends BaseChoice {
  /** In a folder: how many backups of this installation remain, this one included. */
  keep?: number;
  progress?: Progress;
}

/** Writes the whole installation, encrypted, into a file, a folder or standard output, while the service runs. In a folder it builds on the last full backup. */
export async function backup(config: Config, target: string, options: BackupOptions = {}): Promise<string> {
  const folder = target !== STANDARD_OUTPUT && isFolder(target) ? resolve(target) : null;
  refuseWithoutFolder(folder, options);
  const source = await installationSnapshot(config);
  try {
    const choice = folder === null ? '' : chooseBase(folder, source, options);
    const base = typeof choice === 'string' ? null : choice;
    const header: BackupHeader = { ...source.header, ...(base !== null && { base: base.header }) };
    const file = folder === null ? target : join(folder, nameOf(header));
    const made = { source, header, base, progress: options.progress ?? NOT_SHOWN };
    const written = file === STANDARD_OUTPUT ? await writeTo(STANDARD_OUTPUT_FD, made) : await writeFile(file, made);
    const removed = folder === null || options.keep === undefined ? 0 : removeOlder(folder, header, options.keep);
    const where = file === STANDARD_OUTPUT ? 'were written to standard output' : `are in ${resolve(file)}`;
    const how = base === null ? String(choice) : builtOn(base, written);
    return [
      `${sum(written.counts)} rows of ${Object.keys(written.counts).length} tables ${where}.`,
      ...(how === '' ? [] : [how]),
      `It can be restored only with the root key ${source.root.id}: store that key separately.`,
      ...(removed > 0 ? [`${removed} older ${removed === 1 ? 'backup was' : 'backups were'} removed.`] : []),
      ...(await noteBackup(config, header.made_at)),
    ].join(' ');
  } finally {
    await source.close();
  }
}

function refuseWithoutFolder(folder: string | null, { keep, full, fullEveryDays }: BackupOptions): void {
  if (folder !== null) return;
  if (keep !== undefined)
    throw new StartError('--keep removes older backups in a folder: give an existing folder as the target.');
  if (full !== undefined || fullEveryDays !== undefined)
    throw new StartError('Only backups in a folder build on others: with a file or standard output every one is full.');
}

function builtOn({ header }: Base, { counts, writtenRows }: Written): string {
  return `It is incremental: ${writtenRows} rows are in it, and ${sum(counts) - writtenRows} in the full backup of ${header.made_at}, without which it cannot be restored.`;
}

interface Made {
  source: InstallationSnapshot;
  header: BackupHeader;
  base: Base | null;
  progress: Progress;
}

interface Written {
  counts: Readonly<Record<string, number>>;
  /** Without those that are in the base. */
  writtenRows: number;
}

/** The file appears under its name once it is whole and durable. One that exists is never replaced. */
async function writeFile(file: string, made: Made): Promise<Written> {
  if (statSync(file, { throwIfNoEntry: false }) !== undefined) throw alreadyThere();
  const unfinished = `${file}.${randomBytes(4).toString('hex')}${UNFINISHED_SUFFIX}`;
  const fd = openSync(unfinished, 'wx', 0o600);
  try {
    const written = await writeTo(fd, made);
    fsyncSync(fd);
    linkDurably(unfinished, file);
    requireBase(file, made);
    return written;
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'EEXIST' ? alreadyThere() : error;
  } finally {
    closeSync(fd);
    rmSync(unfinished, { force: true });
  }
}

/** Another process may have removed older backups since this one began. */
function requireBase(file: string, { base }: Made): void {
  if (base === null || backupsIn(dirname(file)).some(({ digest }) => digest === base.header.digest)) return;
  rmSync(file);
  throw new StartError('The full backup that this one builds on was removed meanwhile: run it again.');
}

function alreadyThere(): StartError {
  return new StartError('A file with this name already exists: choose another name, or remove the file.');
}

async function writeTo(fd: number, { source, header, base, progress }: Made): Promise<Written> {
  const writer = new BackupWriter(fd, header, source.root.key);
  const rows = new RowWriter(writer, base);
  let done = 0;
  progress.begin({ title: 'Backup', unit: 'rows', total: progress.isShown ? await source.rowCount() : null });
  for await (const record of source.records()) {
    if ('table' in record) {
      rows.take(record.table, lineOf(backupLine(record)));
      progress.reach(++done);
    } else {
      rows.endBlock();
      if ('counts' in record) {
        writeIndex(writer, rows.index, (indexPiece) => lastLine(record, indexPiece));
        return { counts: record.counts, writtenRows: rows.writtenRows };
      }
      writer.write(lineOf(backupLine(record)));
    }
  }
  throw new Error('the snapshot has no counts');
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}

/** The backup is there, whether or not the metrics of the service can say so. */
async function noteBackup(config: Config, madeAt: string): Promise<string[]> {
  try {
    await recordLastBackup(config, Date.parse(madeAt));
    return [];
  } catch (error) {
    const { code } = error as { code?: string };
    const where = config.databaseUrl === null ? config.dataDir : 'the database';
    return [
      `Its time could not be recorded in ${where} (${code ?? (error as Error).name}), so cv_last_backup_timestamp_seconds does not show it.`,
    ];
  }
}
