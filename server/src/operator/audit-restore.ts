import { existsSync, readFileSync } from 'node:fs';
import {
  ArchiveError,
  archiveTargetOf,
  findArchive,
  prunedRanges,
  restoreRange,
  splitObject,
} from '../features/audit/archive/index.ts';
import { PqcKeys } from '../features/pqc/index.ts';
import type { ArchiveRow } from '../kernel/audit/chain/archived-ranges.ts';
import { timestamp } from '../kernel/base/clock.ts';
import { StartError } from '../kernel/base/data-folder.ts';
import type { Kernel } from '../kernel/request/kernel.ts';
import type { Config } from '../settings/config.ts';
import { withKernel } from './with-kernel.ts';

export interface AuditRestoreOptions {
  tenant?: string;
  /** Times; only ranges with entries of this period are restored. */
  from?: string;
  to?: string;
  /** How long the entries stay. */
  days: number;
}

interface Chosen {
  row: ArchiveRow;
  /** Null if it is read from the archive. */
  file: string | null;
}

/** Makes archived ranges of the audit logs searchable again: those in the files, or those in the archive that the options choose. */
export async function restoreAudit(
  config: Config,
  files: readonly string[],
  options: AuditRestoreOptions,
): Promise<string> {
  const period = {
    from: timeOf('--from', options.from) ?? 0,
    to: timeOf('--to', options.to) ?? Number.MAX_SAFE_INTEGER,
  };
  if (files.length === 0 && options.tenant === undefined)
    throw new StartError('Name the files to restore, or choose ranges of the archive with --tenant.');
  return withKernel(config, async ({ kernel }) => {
    const isWanted = ({ tenant_id, first_at, last_at }: ArchiveRow) =>
      (options.tenant === undefined || tenant_id === options.tenant) && last_at >= period.from && first_at < period.to;
    const chosen = files.length > 0 ? await ofFiles(kernel, files) : await ofArchive(kernel, String(options.tenant));
    const wanted = chosen.filter(({ row }) => isWanted(row));
    if (wanted.length === 0) return 'No archived range has entries of that tenant and period: nothing was restored.';
    const lines: string[] = [];
    for (const one of wanted) lines.push(await restoreOne(kernel, one, options.days));
    return lines.join('\n');
  });
}

async function restoreOne(kernel: Kernel, { row, file }: Chosen, days: number): Promise<string> {
  const object = file === null ? await archiveTargetOf(kernel)?.read(row.object) : readFileSync(file);
  const name = file ?? row.object;
  if (object === undefined) throw new StartError('Set CV_AUDIT_ARCHIVE to the archive, or name the files to restore.');
  if (object === null) throw new StartError(`The archive has no ${name}: bring it back from a copy of the archive.`);
  try {
    await restoreRange({ kernel, keys: new PqcKeys(kernel) }, row, object, days);
  } catch (error) {
    if (error instanceof ArchiveError)
      throw new StartError(`${name} cannot be restored: ${error.message}. Nothing of it was restored.`);
    throw error;
  }
  const period = `${timestamp(row.first_at)} to ${timestamp(row.last_at)}`;
  return `${row.tenant_id}: ${row.entries} entries from ${period} are searchable for ${days} days.`;
}

async function ofFiles(kernel: Kernel, files: readonly string[]): Promise<Chosen[]> {
  const chosen: Chosen[] = [];
  for (const file of files) {
    if (!existsSync(file)) throw new StartError(`There is no file ${file}.`);
    try {
      const { header } = splitObject(readFileSync(file));
      const row = await findArchive(kernel.database.read, String(header.tenant_id), Number(header.first_seq));
      if (row === undefined) throw new ArchiveError('this installation has no record of such an archive');
      if (row.pruned_at === null) throw new ArchiveError('its entries are in the database already');
      chosen.push({ row, file });
    } catch (error) {
      if (!(error instanceof ArchiveError)) throw error;
      throw new StartError(`${file} cannot be restored: ${error.message}. Nothing was restored.`);
    }
  }
  return chosen;
}

async function ofArchive(kernel: Kernel, tenantId: string): Promise<Chosen[]> {
  return (await prunedRanges(kernel.database.read, tenantId)).map((row) => ({ row, file: null }));
}

function timeOf(option: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  const time = Date.parse(text);
  if (!Number.isFinite(time)) throw new StartError(`${option} must be a time such as 2026-11-14T10:00:00.000Z.`);
  return time;
}
