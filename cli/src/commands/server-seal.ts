import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import {
  addSeal,
  checkSeals,
  listSeals,
  loadConfig,
  removeSeal,
  StartError,
} from '../../../server/src/operator/index.ts';
import { isInteractive } from '../prompt.ts';

const EXIT_FAILED = 1;

/** `coffer server seal …`: what opens the root key. */
export function registerSeals(server: Command): void {
  const seal = server
    .command('seal')
    .description('Administer the seals of the root key: any one of them opens it')
    .addHelpText(
      'after',
      `
A seal is "file", "env" or "passphrase" (the provider of CV_ROOT_KEY_PROVIDER), "shamir" (shares that people hold), or a key elsewhere, such as
aws-kms:arn:aws:kms:…. A copy of the root key is stored for each, and CV_SEALS says which are used, in which order. With SQLite stop the
service first; with PostgreSQL nodes may run meanwhile.`,
    );
  seal
    .command('list')
    .description('Show the seals, and when each was last seen to open')
    .action(async () => print(await listSeals(loadConfig(process.env))));
  seal
    .command('add <reference>')
    .description('Seal the root key under one more seal, or anew')
    .option('--needed <number>', 'shamir: how many shares open it', numberOf)
    .option('--parts <number>', 'shamir: how many shares there are', numberOf)
    .option('--out <folder>', 'shamir: write each share to a file in this folder, instead of to the terminal')
    .action(async (reference: string, { out, ...options }: { needed?: number; parts?: number; out?: string }) => {
      if (reference === 'shamir' && out === undefined && !isInteractive())
        throw new StartError('This is no terminal to show shares on: say --out FOLDER, which gets a file for each.');
      const keep = (shares: readonly string[]) => {
        if (out === undefined) for (const share of shares) print(`\n${share}`);
        else for (const [at, share] of shares.entries()) writeShare(join(out, `share-${at + 1}.txt`), share);
      };
      const { said } = await addSeal(loadConfig(process.env), reference, { ...options, keep });
      print(said);
    });
  seal
    .command('remove <reference>')
    .description('Take a seal away, once another one was seen to open')
    .option('--leave-one', 'also if only one other seal is left')
    .action(async (reference: string, options: { leaveOne?: boolean }) =>
      print(await removeSeal(loadConfig(process.env), reference, options)),
    );
  seal
    .command('check')
    .description('Open every seal and compare it with the root key; the exit code is 1 if one does not open')
    .action(async () => {
      const { report, isWhole } = await checkSeals(loadConfig(process.env));
      print(report);
      if (!isWhole) process.exitCode = EXIT_FAILED;
    });
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function writeShare(file: string, share: string): void {
  const fd = openSync(file, 'wx', 0o600);
  try {
    writeSync(fd, `${share}\n`);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  print(file);
}

function numberOf(text: string): number {
  if (/^[1-9]\d{0,2}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a number from 1 to 999.');
}
