import { basename } from 'node:path';
import { DAY_MS } from '../kernel/base/clock.ts';
import { StartError } from '../kernel/base/data-folder.ts';
import { backupsIn, type FoundBackup } from './backup-folder.ts';
import { BackupReader } from './backup-format.ts';
import { readIndex } from './backup-index.ts';
import type { InstallationSnapshot } from './installation-snapshot.ts';

/** After so many days the next backup in a folder is a full one. */
const FULL_EVERY_DAYS = 7;

export interface BaseChoice {
  full?: boolean;
  fullEveryDays?: number;
}

/** The full backup that an incremental one builds on. */
export interface Base {
  header: { made_at: string; digest: string };
  /** The position of each of its blocks of rows, by digest. */
  positions: ReadonlyMap<string, number>;
}

/** The newest full backup of this installation in the folder, if it can be built on; otherwise a sentence that says why a full one is written. */
export function chooseBase(
  folder: string,
  { header, root }: InstallationSnapshot,
  { full = false, fullEveryDays = FULL_EVERY_DAYS }: BaseChoice,
): Base | string {
  if (full) return '';
  const now = Date.parse(header.made_at);
  // One from the future was made with a clock that was ahead: it cannot say how old it is.
  const newest = backupsIn(folder).find(
    (one) =>
      one.header.base === undefined &&
      one.header.installation_id === header.installation_id &&
      Date.parse(one.header.made_at) <= now,
  );
  if (newest === undefined) return 'It is a full backup, because the folder has no other that it could build on.';
  if (now - Date.parse(newest.header.made_at) >= fullEveryDays * DAY_MS)
    return `It is a full backup, because the last one is of ${newest.header.made_at}.`;
  const { kind, schema, root_key_id } = newest.header;
  if (kind !== header.kind || schema !== header.schema || root_key_id !== header.root_key_id)
    return 'It is a full backup, because the last one has another schema, root key or kind of database.';
  try {
    return opened(newest, root.key);
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    return `It is a full backup, because the last one, ${basename(newest.file)}, is damaged: remove that file.`;
  }
}

function opened({ file, header, digest }: FoundBackup, rootKey: InstallationSnapshot['root']['key']): Base | string {
  const reader = new BackupReader(file);
  try {
    const index = readIndex(reader, rootKey);
    if (index === null) return 'It is a full backup, because the last one is of an earlier release.';
    const positions = new Map(index.blocks.map((block, position) => [block.digest, position]));
    return { header: { made_at: header.made_at, digest }, positions };
  } finally {
    reader.close();
  }
}
