import type { Command } from 'commander';
import { becomeChild } from '../child.ts';
import { environmentFor } from '../child-environment.ts';
import { addGlobalOptionsAgain } from '../global-options.ts';
import { positive } from '../options.ts';
import { addAllOption, addSelectionOptions, type SelectionOptions, selectionOf } from '../selection.ts';
import { clientOf, settingsOf } from '../settings.ts';

export function register(program: Command): void {
  // Everything after the name of the command belongs to it, so the options of all verbs stand before it.
  program.enablePositionalOptions();
  const run = program.command('run <command> [args...]').description('Run a command with secrets in its environment');
  addGlobalOptionsAgain(addAllOption(addSelectionOptions(run)))
    .option('--watch', 'restart the command when a secret changes')
    .option('--interval <seconds>', 'how often --watch looks for changes', positive, 10)
    .option('--clean', 'give the command only the secrets, PATH, HOME, TERM and LANG')
    .option('--preserve', 'let variables that are already set win over secrets')
    .option(
      '--offline',
      'if the service cannot be reached, use the encrypted copy of the last run (see --offline-hours)',
    )
    .option('--offline-hours <hours>', 'how old that copy may be', '24')
    .passThroughOptions()
    .action((name: string, args: string[], options: RunOptions, command: Command) =>
      runCommand(name, args, options, command),
    )
    .addHelpText(
      'after',
      `
Variables whose value is a reference (coffer://vault/path#/field) are replaced by what they refer to. The command takes the place of this process,
so signals, exit code and terminal are its own; with --watch they are passed on. If a secret cannot be read, the command is not started.
Of a vault only variables that --only or .coffer.yaml names are given to it, because anyone who may write a secret chooses its name.

  coffer run -- npm start
  coffer run --vault shop --only API_KEY,DB_* -- npm start
  coffer run --env payments-eu --only DATABASE_URL -- ./migrate`,
    );
}

export interface RunOptions extends SelectionOptions {
  watch?: boolean;
  interval: number;
  clean?: boolean;
  preserve?: boolean;
  offline?: boolean;
  offlineHours: string;
}

async function runCommand(name: string, args: string[], options: RunOptions, command: Command): Promise<void> {
  const settings = settingsOf(command);
  const selection = selectionOf(settings, options);
  const coffer = clientOf(settings);
  if (options.watch === true) {
    const { runWatched } = await import('../watched-child.ts');
    process.exitCode = await runWatched(
      { coffer, settings },
      selection,
      { ...options, intervalMs: options.interval * 1000 },
      [name, ...args],
    );
    return;
  }
  await becomeChild(name, args, await environmentFor(coffer, settings, selection, options));
}
