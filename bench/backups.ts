import { execFileSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Settings } from './cases.ts';
import { DATABASE_NAMES, databaseBytes, type Installation, type Installations } from './installation.ts';
import type { Row, Table } from './report.ts';
import { SCAN_PER_VAULT, SCAN_VAULTS, writeReads } from './scan-data.ts';

const ENTRIES = 200_000;
const MORE_ENTRIES = 2000;
const RESOURCES = 1000;
const MIB = 1024 * 1024;
/** Names of backups have no fractions of a second. */
const NEXT_NAME_MS = 1100;

/** The size of full and incremental backups beside a running service, and how long they and a restore on trial take. */
export async function backups(installations: Installations, settings: Settings): Promise<Table[]> {
  const rows: Row[] = [];
  for (const database of settings.databases) {
    const one = await installations.start(database, { vaults: SCAN_VAULTS, perVault: SCAN_PER_VAULT });
    const write = (entries: number) =>
      installations.whileStopped(one, async () => writeReads(one, { entries, days: 1, resources: RESOURCES }));
    const folder = installations.newFolder();
    await write(ENTRIES);
    const mib = (await databaseBytes(one.dataDir, one.databaseUrl)) / MIB;
    const add = (what: string, measured: Measured) =>
      rows.push({ database: DATABASE_NAMES[database], what, mib, ...measured });
    add('full', await backUp(one, folder));
    add('incremental, nothing new', await backUp(one, folder));
    await write(MORE_ENTRIES);
    add(`incremental, ${MORE_ENTRIES.toLocaleString('en-GB')} entries more`, await backUp(one, folder));
    add('restored on trial (--verify)', { file: null, seconds: coffer(one, 'server', 'backup', '--verify', folder) });
  }
  const columns = [
    { key: 'database', heading: 'database' },
    { key: 'mib', heading: 'of so many MiB', digits: 0 },
    { key: 'what', heading: 'backup' },
    { key: 'file', heading: 'file, MiB', digits: 1 },
    { key: 'seconds', heading: 's', digits: 1 },
  ];
  const title = `${(SCAN_VAULTS * SCAN_PER_VAULT).toLocaleString('en-GB')} secrets and ${ENTRIES.toLocaleString('en-GB')} audit entries`;
  return [{ name: 'backups', title, columns, rows, notes: [] }];
}

interface Measured {
  file: number | null;
  seconds: number;
}

async function backUp(one: Installation, folder: string): Promise<Measured> {
  await sleep(NEXT_NAME_MS);
  const before = new Set(readdirSync(folder));
  const seconds = coffer(one, 'server', 'backup', folder);
  const [name] = readdirSync(folder).filter((found) => !before.has(found));
  return { file: statSync(join(folder, String(name))).size / MIB, seconds };
}

function coffer({ env }: Installation, ...args: string[]): number {
  const started = performance.now();
  execFileSync(process.execPath, ['cli/main.js', ...args], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return (performance.now() - started) / 1000;
}
