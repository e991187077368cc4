import { rmSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { DAY_MS } from '../kernel/base/clock.ts';
import { systemTime } from '../kernel/time/sources.ts';
import { backupsIn, type FoundBackup, nameOf, unfinishedIn } from './backup-folder.ts';
import type { BackupHeader } from './backup-format.ts';

/**
 * Removes older backups of the same installation, so that `keep` remain, and the full ones that those need. The new backup stays whatever the others
 * are named: a clock that was ahead has named them.
 */
export function removeOlder(folder: string, header: BackupHeader, keep: number): number {
  const all = backupsIn(folder).filter((one) => one.header.installation_id === header.installation_id);
  const older = all
    .filter(({ file }) => basename(file) < nameOf(header))
    .toSorted((a, b) => (basename(a.file) < basename(b.file) ? 1 : -1));
  const unwanted = new Set(older.slice(keep - 1));
  const wanted = all.filter((one) => !unwanted.has(one));
  const needed = basesOf([...wanted, ...unfinishedIn(folder).filter(isBeingWritten)]);
  for (const { digest } of wanted) needed.delete(digest);
  let removed = 0;
  for (const { file, digest } of unwanted) {
    if (needed.delete(digest)) continue;
    rmSync(file, { force: true });
    removed++;
  }
  return removed;
}

function basesOf(backups: readonly FoundBackup[]): Set<string> {
  return new Set(backups.flatMap(({ header }) => header.base?.digest ?? []));
}

/** One that a killed process left must not hold its base forever. */
function isBeingWritten({ file }: FoundBackup): boolean {
  const found = statSync(file, { throwIfNoEntry: false });
  return found !== undefined && systemTime.now() - found.mtimeMs < DAY_MS;
}
