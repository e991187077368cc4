import { type Dirent, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { StartError } from '../kernel/base/data-folder.ts';
import { type BackupHeader, BackupReader } from './backup-format.ts';

export const UNFINISHED_SUFFIX = '.unfinished';
const NAME = /^coffer-\d{8}T\d{6}Z(\.incremental)?\.backup$/;

export interface FoundBackup {
  file: string;
  header: BackupHeader;
  digest: string;
}

export function nameOf({ made_at, base }: BackupHeader): string {
  const time = made_at.replaceAll(/[-:]|\.\d+/g, '');
  return `coffer-${time}${base === undefined ? '' : '.incremental'}.backup`;
}

export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** The backups that are named as `coffer server backup` names them, the newest first. Other files are left alone. */
export function backupsIn(folder: string): FoundBackup[] {
  return found(folder, (entry) => NAME.test(entry.name));
}

/** Those that are still being written, as far as their header is. */
export function unfinishedIn(folder: string): FoundBackup[] {
  return found(folder, (entry) => entry.name.endsWith(UNFINISHED_SUFFIX));
}

function found(folder: string, isWanted: (entry: Dirent) => boolean): FoundBackup[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && isWanted(entry))
    .map((entry) => backupAt(join(folder, entry.name)))
    .filter((one) => one !== null)
    .toSorted((a, b) => Date.parse(b.header.made_at) - Date.parse(a.header.made_at));
}

/** Null if it is no backup. */
function backupAt(file: string): FoundBackup | null {
  try {
    const reader = new BackupReader(file);
    reader.close();
    return { file, header: reader.header, digest: reader.digest };
  } catch (error) {
    if (error instanceof StartError) return null;
    throw error;
  }
}

/** The file itself, or of a folder the newest backup that is not later than `at`. */
export function chosenBackup(source: string, at: number | null): string {
  if (!isFolder(source)) {
    if (at !== null) throw new StartError('--at chooses from a folder: give the folder that has the backups.');
    return resolve(source);
  }
  const all = backupsIn(resolve(source));
  if (new Set(all.map(({ header }) => header.installation_id)).size > 1)
    throw new StartError('The folder has backups of several installations: give the file to restore.');
  const [oldest] = all.toReversed();
  if (oldest === undefined)
    throw new StartError(
      'The folder has no backup that `coffer server backup` of this release or an earlier one made.',
    );
  const chosen = all.find(({ header }) => at === null || Date.parse(header.made_at) <= at);
  if (chosen === undefined)
    throw new StartError(`The oldest backup in the folder is of ${oldest.header.made_at}: there is none before.`);
  return chosen.file;
}

/** Opens the full backup that an incremental one needs. It is known by its digest, whatever its name. */
export function openBase(incremental: BackupReader, given: string | null): BackupReader | null {
  const { base } = incremental.header;
  if (base === undefined) {
    if (given === null) return null;
    throw new StartError(`${basename(incremental.file)} is a full backup: restore it without --base.`);
  }
  const folder = dirname(incremental.file);
  const file = given ?? allIn(folder).find(({ digest }) => digest === base.digest)?.file;
  if (file === undefined)
    throw new StartError(
      `${basename(incremental.file)} is incremental and needs the full backup of ${base.made_at}, which is not in ${folder}: put it there, or name it with --base. Nothing was changed.`,
    );
  const reader = new BackupReader(resolve(file));
  if (reader.digest === base.digest) return reader;
  reader.close();
  throw new StartError(
    `${basename(file)} is not the backup that ${basename(incremental.file)} needs: that is the full one of ${base.made_at}. Nothing was changed.`,
  );
}

/** A base may have been renamed. */
function allIn(folder: string): FoundBackup[] {
  return found(folder, () => true);
}
