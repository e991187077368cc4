import { Command, CommanderError } from 'commander';
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
  rekey,
  restore,
  verifyInstallation,
} from '../../server/src/operator/index.ts';
import packageJson from '../package.json' with { type: 'json' };

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

hardenProcess();
// These commands write keys and tokens, which other users must never be able to read, not even for a moment.
process.umask(0o077);

const program = new Command('coffer')
  .description('The command line of Coffer, a service that keeps secrets.')
  .version(packageJson.version)
  .exitOverride()
  .showHelpAfterError('Run coffer --help to see what there is.');

const server = program
  .command('server')
  .description('Tend an installation from its own machine')
  .addHelpText('after', '\nThe commands read the same CV_ environment variables as the service.');

server
  .command('rekey')
  .description('Replace the root key and every key under it; no value is touched')
  .option('--revoke-tokens', 'end every token and session that was issued before')
  .action((options: { revokeTokens?: boolean }) => print(rekey(loadConfig(process.env), options)))
  .addHelpText(
    'after',
    `
Stop the service first, on every node. With the provider "file" a new key is made. With "env" and "passphrase" give the new one in
CV_NEW_ROOT_KEY, CV_NEW_ROOT_PASSPHRASE or CV_NEW_ROOT_PASSPHRASE_FILE, beside the present settings. A rekey that is interrupted
either did not happen or is finished by the next start. If somebody may have had the old key and a copy of the database, use
--revoke-tokens, and change the secrets and second factors too: those they know.`,
  );
operatorCommand('migrate', 'Bring the schema of the database up to date', bringUpToDate);
operatorCommand('new-admin-token', 'Make a token for the first owner, in place of one that is lost', newAdminToken);

operatorCommand('accept-clock', 'Trust the clock although something was recorded later', acceptClock).addHelpText(
  'after',
  `
While the clock is behind the newest record, nothing is removed because its time is over. Use this once the clock is right, if it was ahead before.`,
);

argumentCommand('allow-purge', '<job>', 'Let a job remove more than its share, once', allowPurge).addHelpText(
  'after',
  `
A job that would remove more than a tenth of what there is removes nothing, and logs what it found. Make sure that the clock is right and that
so much is really over; then the job may run once within a day.`,
);
argumentCommand(
  'authenticate-rows',
  '<tenant>',
  'Trust the rows of a tenant whose audit log was changed before an upgrade',
  acceptRows,
);
const breakGlass = server
  .command('break-glass')
  .description('Do what nobody of a tenant can do any more, past its approvals')
  .addHelpText(
    'after',
    `
Each use is recorded in the audit log of the tenant, told to every admin of it in GET /auth/me, and counted in the metric
cv_break_glass_uses. With SQLite stop the service first.`,
  );
argumentCommand('approve', '<approval>', 'Complete an approval that nobody can decide', breakGlassApprove, breakGlass);
argumentCommand('cancel', '<approval>', 'Cancel an approval that nobody can decide', breakGlassCancel, breakGlass);
argumentCommand(
  'reset-mfa',
  '<user>',
  'Take away the second factor of somebody who lost it',
  breakGlassResetMfa,
  breakGlass,
);
argumentCommand('make-owner', '<user>', 'Make somebody an owner of their tenant', breakGlassMakeOwner, breakGlass);

server
  .command('verify')
  .description('Check every audit log, and every row that decides access or is a secret')
  .option('--checkpoint <file...>', 'hold the logs against checkpoints that were kept elsewhere')
  .addHelpText(
    'after',
    '\nWith SQLite stop the service first, or ask it with GET /v1/audit/verify. Ends with 1 if anything is wrong.',
  )
  .action(async ({ checkpoint = [] }: { checkpoint?: string[] }) => {
    const { report, isValid } = await verifyInstallation(loadConfig(process.env), checkpoint);
    process.stdout.write(`${report}\n`);
    if (!isValid) process.exitCode = EXIT_FAILED;
  });
server
  .command('backup <file>')
  .description('Write everything into one encrypted file, while the service goes on')
  .action((file: string) => print(backup(loadConfig(process.env), file)))
  .addHelpText('after', '\nIt opens with the root key of this moment: keep that key too, and not beside it.');
server
  .command('restore <file>')
  .description('Bring a backup, of SQLite or PostgreSQL, into an empty data folder or database')
  .option('--revoke-tokens', 'end every token and session that was issued before the backup')
  .action((file: string, options: { revokeTokens?: boolean }) => print(restore(loadConfig(process.env), file, options)))
  .addHelpText(
    'after',
    '\nGive the root key by the same settings as for the service; with the provider "file", put it into the data folder first.',
  );

server
  .command('copy')
  .description('Copy everything into an empty PostgreSQL database, with the service stopped')
  .requiredOption('--to <url>', 'the database: postgres://user@host:5432/name')
  .action(({ to }: { to: string }) => print(copyTo(loadConfig(process.env), to)))
  .addHelpText(
    'after',
    `
It counts the rows of every table, verifies every audit log and every row that decides something, and opens a sample of values before the copy
can be started. The source is left as it is. A copy that is interrupted can be run again. Give the password in PGPASSWORD rather than in the
URL: other users of the machine can see a command line.`,
  );

type ActWithArgument = (config: ReturnType<typeof loadConfig>, argument: string) => Promise<string>;

function argumentCommand(name: string, argument: string, description: string, act: ActWithArgument, of = server) {
  return of
    .command(`${name} ${argument}`)
    .description(description)
    .action((given: string) => print(act(loadConfig(process.env), given)));
}

function operatorCommand(
  name: string,
  description: string,
  act: (config: ReturnType<typeof loadConfig>) => Promise<string>,
) {
  return server
    .command(name)
    .description(description)
    .action(() => print(act(loadConfig(process.env))));
}

async function print(said: Promise<string>): Promise<void> {
  process.stdout.write(`${await said}\n`);
}

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? 0 : EXIT_USAGE;
  } else {
    process.stderr.write(`${explainFailure(error)}\n`);
    process.exitCode = EXIT_FAILED;
  }
}
