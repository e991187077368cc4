import { type Command, InvalidArgumentError } from 'commander';
import {
  acceptClock,
  acceptRows,
  allowPurge,
  backup,
  breakGlassApprove,
  breakGlassCancel,
  breakGlassMakeOwner,
  breakGlassResetMfa,
  bringUpToDate,
  copyTo,
  explainFailure,
  hardenProcess,
  loadConfig,
  newAdminToken,
  planMigration,
  rekey,
  restore,
  restoreAudit,
  STANDARD_OUTPUT,
  verifyBackup,
  verifyInstallation,
} from '../../../server/src/operator/index.ts';
import { type ProgressBar, withProgress } from '../progress.ts';
import { registerSeals } from './server-seal.ts';
import { registerUnseal } from './unseal.ts';

const EXIT_FAILED = 1;

export { explainFailure as explain };

/** Commands for the installation on this machine. Only this file loads the service's code. */
export function register(program: Command): void {
  hardenProcess();
  // These commands write keys and tokens, which other users must never be able to read, not even for a moment.
  process.umask(0o077);
  const server = program
    .command('server')
    .description('Administer an installation on its own machine')
    .addHelpText('after', '\nThe commands read the same CV_ environment variables as the service.');

  server
    .command('rekey')
    .description('Replace the root key and every key under it, without changing secret values')
    .option('--revoke-tokens', 'revoke every token and session that was issued before')
    .action((options: { revokeTokens?: boolean }) =>
      print((progress) => rekey(loadConfig(process.env), { ...options, progress })),
    )
    .addHelpText(
      'after',
      `
Stop the service first, on every node. With the provider "file" a new key is created. With "env" and "passphrase" give the new one in
CV_NEW_ROOT_KEY, CV_NEW_ROOT_PASSPHRASE or CV_NEW_ROOT_PASSPHRASE_FILE, in addition to the current settings. An interrupted rekey
either changed nothing or is completed by the next start. If someone may have had the old key and a copy of the database, use
--revoke-tokens, and also change all secrets and second factors, because they may know them.`,
    );
  registerSeals(server);
  registerUnseal(server);
  server
    .command('migrate')
    .description('Apply pending schema migrations to the database')
    .option('--plan', 'only say what would be done')
    .option(
      '--end-older-nodes',
      'also while nodes of an earlier release are running, which can then commit nothing more',
    )
    .action(({ plan = false, endOlderNodes = false }: { plan?: boolean; endOlderNodes?: boolean }) => {
      const config = loadConfig(process.env);
      return print(() => (plan ? planMigration(config) : bringUpToDate(config, { endsOlderNodes: endOlderNodes })));
    });
  operatorCommand(
    server,
    'new-admin-token',
    'Create a token for the first owner, to replace a lost one',
    newAdminToken,
  );

  operatorCommand(
    server,
    'accept-clock',
    'Accept the current clock although records with later times exist',
    acceptClock,
  ).addHelpText(
    'after',
    `
While the clock is behind the newest record, no job removes expired data. Use this once the clock is correct, if it was ahead before.`,
  );

  argumentCommand(
    server,
    { name: 'allow-purge', argument: '<job>', description: 'Let a job remove more than its limit, once' },
    allowPurge,
  ).addHelpText(
    'after',
    `
A job that would remove more than a tenth of the existing data removes nothing, and logs what it found. Make sure that the clock is correct and
that so much has really expired; then this lets the job run once within a day.`,
  );
  argumentCommand(
    server,
    {
      name: 'authenticate-rows',
      argument: '<tenant>',
      description: 'Accept the rows of a tenant whose audit log was changed before an upgrade',
    },
    acceptRows,
  );
  const breakGlass = server
    .command('break-glass')
    .description('Emergency actions that bypass the approvals of a tenant')
    .addHelpText(
      'after',
      `
Each use is recorded in the audit log of the tenant, shown to each of its admins in GET /auth/me, and counted in the metric
cv_break_glass_uses. With SQLite stop the service first.`,
    );
  argumentCommand(
    breakGlass,
    { name: 'approve', argument: '<approval>', description: 'Complete an approval that nobody can decide' },
    breakGlassApprove,
  );
  argumentCommand(
    breakGlass,
    { name: 'cancel', argument: '<approval>', description: 'Cancel an approval that nobody can decide' },
    breakGlassCancel,
  );
  argumentCommand(
    breakGlass,
    { name: 'reset-mfa', argument: '<user>', description: 'Remove the second factor of a user who lost it' },
    breakGlassResetMfa,
  );
  argumentCommand(
    breakGlass,
    { name: 'make-owner', argument: '<user>', description: 'Make a user an owner of their tenant' },
    breakGlassMakeOwner,
  );

  server
    .command('verify')
    .description('Verify every audit log, and every row that decides access or holds a secret')
    .option('--checkpoint <file...>', 'also compare the logs with checkpoints stored elsewhere')
    .addHelpText(
      'after',
      '\nWith SQLite stop the service first, or use GET /v1/audit/verify instead. The exit code is 1 if verification fails.',
    )
    .action(async ({ checkpoint = [] }: { checkpoint?: string[] }) => {
      const { report, isValid } = await withProgress((progress) =>
        verifyInstallation(loadConfig(process.env), checkpoint, progress),
      );
      process.stdout.write(`${report}\n`);
      if (!isValid) process.exitCode = EXIT_FAILED;
    });
  server
    .command('audit-restore [files...]')
    .description('Make archived ranges of the audit logs searchable again')
    .option('--tenant <id>', 'only ranges of this tenant; required unless files are named')
    .option('--from <time>', 'only ranges with entries at or after this time')
    .option('--to <time>', 'only ranges with entries before this time')
    .option('--days <number>', 'how long they stay in the database', countOf, 30)
    .action((files: string[], options: { tenant?: string; from?: string; to?: string; days: number }) =>
      print(() => restoreAudit(loadConfig(process.env), files, options)),
    )
    .addHelpText(
      'after',
      `
Without files the objects are read from the archive that CV_AUDIT_ARCHIVE names. Each is verified before anything of it is restored. Its
entries are listed by GET /v1/audit until they are pruned again. With SQLite stop the service first.`,
    );
  server
    .command('backup <target>')
    .description('Write everything into one encrypted file, while the service keeps running')
    .option(
      '--keep <number>',
      'in a folder: remove older backups of this installation, so that so many remain',
      countOf,
    )
    .option('--full', 'in a folder: write a full backup, although an incremental one would do')
    .option('--full-every <days>', 'in a folder: write a full backup when the last one is so old (7 days)', countOf)
    .option('--verify', 'write nothing; restore the backup (of a folder the newest) on trial, and verify its content')
    .action(async (target: string, { verify = false, fullEvery, ...options }: BackupFlags) => {
      const config = loadConfig(process.env);
      if (verify) return print((progress) => verifyBackup(config, target, progress));
      const said = await withProgress((progress) =>
        backup(config, target, {
          ...options,
          progress,
          ...(fullEvery !== undefined && { fullEveryDays: fullEvery }),
        }),
      );
      // Standard output has the backup.
      (target === STANDARD_OUTPUT ? process.stderr : process.stdout).write(`${said}\n`);
    })
    .addHelpText(
      'after',
      `
The target is a file that does not exist yet, a folder, in which the backup is named by its time, or "-" for standard output. In a folder
a backup is incremental: it has only the rows that the last full one in the folder lacks, and needs that one to be restored. A backup can
be restored only with the current root key: store that key too, separately. --verify needs as much room for temporary files as the
database takes.`,
    );
  server
    .command('restore <source>')
    .description('Restore a backup, of SQLite or PostgreSQL, into an empty data folder or database')
    .option('--at <time>', 'from a folder: restore the newest backup that is not later than this time', timeOf)
    .option('--base <file>', 'the full backup that an incremental one needs, if it is not in the same folder')
    .option('--revoke-tokens', 'revoke every token and session that was issued before the backup')
    .action((source: string, options: RestoreFlags) =>
      print((progress) => restore(loadConfig(process.env), source, { ...options, progress })),
    )
    .addHelpText(
      'after',
      '\nThe source is a file, or a folder, of which the newest backup is restored. Give the root key with the same settings as for the service; with the provider "file", put it into the data folder first.',
    );

  server
    .command('copy')
    .description('Copy everything into an empty PostgreSQL database, with the service stopped')
    .requiredOption('--to <url>', 'the database: postgres://user@host:5432/name')
    .action(({ to }: { to: string }) => print((progress) => copyTo(loadConfig(process.env), to, progress)))
    .addHelpText(
      'after',
      `
It counts the rows of every table, verifies every audit log and every row that decides access or holds a secret, and decrypts a sample of values before the copy
can be started. The source is not changed. An interrupted copy can be run again. Give the password in PGPASSWORD rather than in the
URL: other users of the machine can see command lines.`,
    );
}

type BackupFlags = NonNullable<Parameters<typeof backup>[2]> & { verify?: boolean; fullEvery?: number };
type RestoreFlags = NonNullable<Parameters<typeof restore>[2]>;
type ActWithArgument = (config: ReturnType<typeof loadConfig>, argument: string) => Promise<string>;

function argumentCommand(
  of: Command,
  { name, argument, description }: { name: string; argument: string; description: string },
  act: ActWithArgument,
) {
  return of
    .command(`${name} ${argument}`)
    .description(description)
    .action((given: string) => print(() => act(loadConfig(process.env), given)));
}

function operatorCommand(
  server: Command,
  name: string,
  description: string,
  act: (config: ReturnType<typeof loadConfig>) => Promise<string>,
) {
  return server
    .command(name)
    .description(description)
    .action(() => print(() => act(loadConfig(process.env))));
}

function countOf(text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a number from 1.');
}

function timeOf(text: string): number {
  const at = /^\d{4}-\d{2}-\d{2}T[\d:.]+(Z|[+-]\d{2}:\d{2})$/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(at)) return at;
  throw new InvalidArgumentError('It must be a time with its zone, such as 2026-11-17T14:00:00Z.');
}

async function print(act: (progress: ProgressBar) => Promise<string>): Promise<void> {
  process.stdout.write(`${await withProgress(act)}\n`);
}
