import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ANCHOR_FILE } from '../kernel/audit/chain/anchor.ts';
import { timestamp } from '../kernel/base/clock.ts';
import { StartError } from '../kernel/base/data-folder.ts';
import type { Kernel } from '../kernel/request/kernel.ts';
import { listMigrations, migrate, refuseOlder, schemaAfter } from '../kernel/storage/migrate.ts';
import { systemTime } from '../kernel/time/sources.ts';
import type { Config } from '../settings/config.ts';
import { RESTORING } from '../start/installation.ts';
import { openRootKey } from '../start/open-root-key.ts';
import { chosenBackup, openBase } from './backup-folder.ts';
import { BackupReader, lockedIn } from './backup-format.ts';
import { sourceRecords } from './backup-records.ts';
import { linesOf } from './backup-rows.ts';
import { checkCopy } from './check-copy.ts';
import { fillDatabase } from './fill-database.ts';
import { finishRestore, type Restored, type RestoredFrom } from './finish-restore.ts';
import { NOT_SHOWN, type Progress } from './progress.ts';

export interface RestoreOptions {
  revokeTokens?: boolean;
  /** From a folder: the newest backup that is not later. */
  at?: number;
  /** The full backup that an incremental one needs, if it is not in the same folder. */
  base?: string;
  progress?: Progress;
}

/** Restores a backup of either database into an empty folder or database. `source` is its file, or the folder that has it. */
export async function restore(config: Config, source: string, options: RestoreOptions = {}): Promise<string> {
  const isRevokingTokens = options.revokeTokens === true;
  const file = chosenBackup(source, options.at ?? null);
  const { restored, madeAt } = await restoreInto(
    config,
    { file, base: options.base ?? null, progress: options.progress ?? NOT_SHOWN },
    { isRevokingTokens },
  );
  return restoredText(restored, madeAt, isRevokingTokens);
}

/** Restores a backup into a folder that is removed again, and verifies what it contains. Neither the service nor its database is involved. */
export async function verifyBackup(config: Config, source: string, progress: Progress = NOT_SHOWN): Promise<string> {
  const file = chosenBackup(source, null);
  const scratch = mkdtempSync(join(tmpdir(), 'coffer-verify-'));
  const remove = () => rmSync(scratch, { recursive: true, force: true });
  const interrupted = () => {
    remove();
    process.exit(1);
  };
  for (const signal of SIGNALS) process.once(signal, interrupted);
  let checked = '';
  const check = async (kernel: Kernel) => {
    checked = await checkCopy(kernel, 'The backup', progress);
  };
  try {
    const target = { ...config, dataDir: scratch, databaseUrl: null };
    const { madeAt } = await restoreInto(target, { file, base: null, progress }, { isRevokingTokens: false, check });
    return `The backup of ${madeAt} can be restored: ${checked}`;
  } finally {
    for (const signal of SIGNALS) process.off(signal, interrupted);
    remove();
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

async function restoreInto(
  config: Config,
  from: { file: string; base: string | null; progress: Progress },
  how: Pick<RestoredFrom, 'isRevokingTokens' | 'check'>,
): Promise<{ restored: Restored; madeAt: string }> {
  const reader = new BackupReader(from.file);
  let base: BackupReader | null = null;
  try {
    base = openBase(reader, from.base);
    const { header } = reader;
    const migrations = listMigrations();
    if (header.schema > schemaAfter(migrations)) {
      throw new StartError('The backup was made by a newer release: restore it with that release or a newer one.');
    }
    refuseOlder(header.schema, migrations);
    const { root } = await openRootKey(config, lockedIn(header), { what: 'this backup' });
    refuseFromTheFuture(header.made_at);
    const restored = await fillDatabase(config, {
      schema: header.schema,
      mark: `${RESTORING} ${header.made_at}`,
      // What is restored on trial is removed in any case.
      isCheckedFirst: how.check === undefined,
      progress: from.progress,
      records: () => sourceRecords(linesOf(reader, base, root.key)),
      finish: async (database, { content: journal }) => {
        await migrate(database, migrations);
        // The anchor holds the position of the audit log that is being replaced.
        rmSync(join(config.dataDir, ANCHOR_FILE), { force: true });
        return finishRestore(config, database, { madeAt: header.made_at, root, journal, ...how });
      },
    });
    return { restored, madeAt: header.made_at };
  } finally {
    base?.close();
    reader.close();
  }
}

function refuseFromTheFuture(madeAt: string): void {
  if (systemTime.now() >= Date.parse(madeAt)) return;
  throw new StartError(
    `The backup was made at ${madeAt}, which is later than the clock says: set the clock, then retry. Numbers that must not repeat are derived from the time. Nothing was changed.`,
  );
}

const TOKENS_LISTED_MAX = 100;

/** A restore undoes every later change, so the operator must see what it brings back. */
function restoredText({ good, revoked, unrecorded }: Restored, madeAt: string, isRevoking: boolean): string {
  const lines = [
    `Everything was restored to its state at ${madeAt}. All later changes are undone: users, rights, passwords and tokens that were removed or revoked since are back. Review them, then start the service.`,
  ];
  if (isRevoking) {
    lines.push(
      `${revoked} tokens and sessions from before the backup were revoked: run "coffer server new-admin-token" for a new one.`,
    );
  } else if (good.length > 0) {
    lines.push(
      `These ${good.length} tokens and sessions are valid again, even if they were revoked after the backup. Revoke those that should not be valid, or restore again with --revoke-tokens, which revokes them all:`,
      ...good
        .slice(0, TOKENS_LISTED_MAX)
        .map(
          (token) =>
            `  ${token.tokenId} ${token.kind} ${JSON.stringify(token.name)} of ${token.holder} in ${token.tenantId}, until ${timestamp(token.expiresAt)}`,
        ),
    );
    if (good.length > TOKENS_LISTED_MAX) lines.push(`  and ${good.length - TOKENS_LISTED_MAX} more`);
  }
  for (const tenantId of unrecorded)
    lines.push(
      `The restore could not be recorded in the audit log of ${tenantId}, because its keys cannot be decrypted.`,
    );
  return lines.join('\n');
}
