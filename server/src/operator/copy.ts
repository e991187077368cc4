import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ANCHOR_FILE } from '../kernel/audit/chain/anchor.ts';
import { lockDataFolder, StartError } from '../kernel/base/data-folder.ts';
import type { Kernel } from '../kernel/request/kernel.ts';
import { parseDatabaseUrl } from '../kernel/storage/database-url.ts';
import { listMigrations, migrate, refuseOlder, schemaAfter } from '../kernel/storage/migrate.ts';
import type { Config } from '../settings/config.ts';
import { RESTORING } from '../start/installation.ts';
import { DATABASE_FILE } from '../start/open-storage.ts';
import { checkCopy } from './check-copy.ts';
import { fillDatabase } from './fill-database.ts';
import { finishRestore } from './finish-restore.ts';
import { type InstallationSnapshot, installationSnapshot } from './installation-snapshot.ts';
import { refuseOtherNodes } from './other-nodes.ts';
import { NOT_SHOWN, type Progress } from './progress.ts';

/**
 * Copies the installation of these settings into an empty PostgreSQL database and does not change the source. Nothing may change the source
 * meanwhile: whatever is written after its row was copied would be missing in the copy.
 */
export async function copyTo(config: Config, url: string, progress: Progress = NOT_SHOWN): Promise<string> {
  if (parseDatabaseUrl(url) === null) {
    throw new StartError('Set --to to the URL of an empty PostgreSQL database: postgres://user@host:5432/name');
  }
  const lock = await holdSource(config);
  // The data folder belongs to the source, so the audit anchor in it must not be overwritten.
  const scratch = mkdtempSync(join(tmpdir(), 'coffer-copy-'));
  try {
    // The anchor is still checked against the copy, so that a database that was reset to an older state is not copied.
    const anchor = join(config.dataDir, ANCHOR_FILE);
    if (existsSync(anchor)) copyFileSync(anchor, join(scratch, ANCHOR_FILE));
    const source = await installationSnapshot(config);
    try {
      return await copyInto({ ...config, dataDir: scratch, databaseUrl: url }, source, progress);
    } finally {
      await source.close();
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true });
    lock?.release();
  }
}

async function holdSource(config: Config): Promise<{ release(): void } | null> {
  if (config.databaseUrl !== null) {
    await refuseOtherNodes(config);
    return null;
  }
  if (existsSync(join(config.dataDir, DATABASE_FILE))) return lockDataFolder(config.dataDir);
  throw new StartError(
    `There is no Coffer database in ${config.dataDir}. Set CV_DATA_DIR to the same value as for the service.`,
  );
}

async function copyInto(target: Config, source: InstallationSnapshot, progress: Progress): Promise<string> {
  const { header, root } = source;
  let checked = '';
  const migrations = listMigrations();
  if (header.schema > schemaAfter(migrations)) {
    throw new StartError(
      'The database was written by a newer release: copy it with that release. Nothing was changed.',
    );
  }
  refuseOlder(header.schema, migrations);
  await fillDatabase(target, {
    schema: header.schema,
    mark: `${RESTORING} copy ${await stateOf(source)}`,
    isCheckedFirst: false,
    progress,
    records: () => source.records(),
    finish: async (database, { content: journal }) => {
      await migrate(database, migrations);
      const check = async (kernel: Kernel) => {
        checked = await checkCopy(kernel, 'The copy', progress);
      };
      const from = { madeAt: header.made_at, root, isRevokingTokens: false, journal, check };
      return finishRestore(target, database, from);
    },
  });
  return `Everything was copied: ${checked} Set CV_DATABASE_URL and start the service with the same root key. The source is unchanged: keep it until the new database has proven itself, then remove it, and never run both.`;
}

/** An interrupted copy continues only if the source is unchanged: every change, and every recorded read, moves the head of an audit log. */
async function stateOf(source: InstallationSnapshot): Promise<string> {
  const heads: string[] = [];
  for await (const { tenant_id, seq, hash } of source.rows('audit_heads')) {
    heads.push(`${tenant_id} ${seq} ${Buffer.from(hash as Uint8Array).toString('hex')}`);
  }
  return createHash('sha256').update(heads.sort().join('\n')).digest('hex');
}
