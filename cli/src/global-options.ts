import { type Command, Option } from 'commander';

/** The options that every verb takes. */
export interface GlobalOptions {
  profile?: string;
  url?: string;
  caFile?: string;
  json?: boolean;
}

const OPTIONS: readonly (readonly [flags: string, description: string])[] = [
  ['--profile <name>', 'the profile to use (COFFER_PROFILE)'],
  ['--url <url>', 'the address of the service (COFFER_URL)'],
  ['--ca-file <file>', 'CA certificates to trust instead of those of the system, in PEM (COFFER_CA_FILE)'],
  ['--json', 'print JSON, for scripts'],
];

export function addGlobalOptions(command: Command): Command {
  for (const [flags, description] of OPTIONS) command.option(flags, description);
  return command;
}

/** For a command that takes them after its name too. Its help lists them among the global ones only. */
export function addGlobalOptionsAgain(command: Command): Command {
  for (const [flags, description] of OPTIONS) command.addOption(new Option(flags, description).hideHelp());
  return command;
}
