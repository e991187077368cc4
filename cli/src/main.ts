#!/usr/bin/env node
import { Command, CommanderError } from 'commander';
import {
  backup,
  bringUpToDate,
  explainFailure,
  loadConfig,
  newAdminToken,
  rekey,
  restore,
} from '../../server/src/operator/index.ts';
import packageJson from '../package.json' with { type: 'json' };

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

// What is written here are keys and tokens: nobody else reads them, not even for a moment.
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

server
  .command('backup <file>')
  .description('Write everything into one encrypted file, while the service goes on')
  .action((file: string) => print(backup(loadConfig(process.env), file)))
  .addHelpText('after', '\nIt opens with the root key of this moment: keep that key too, and not beside it.');
server
  .command('restore <file>')
  .description('Bring a backup into an empty data folder or database')
  .option('--revoke-tokens', 'end every token and session that was issued before the backup')
  .action((file: string, options: { revokeTokens?: boolean }) => print(restore(loadConfig(process.env), file, options)))
  .addHelpText(
    'after',
    '\nGive the root key by the same settings as for the service; with the provider "file", put it into the data folder first.',
  );

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
