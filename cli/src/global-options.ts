import type { Command } from 'commander';

/** The options that every verb takes. */
export interface GlobalOptions {
  profile?: string;
  url?: string;
  caFile?: string;
  json?: boolean;
}

export function addGlobalOptions(command: Command): Command {
  return command
    .option('--profile <name>', 'the profile to use (COFFER_PROFILE)')
    .option('--url <url>', 'the address of the service (COFFER_URL)')
    .option('--ca-file <file>', 'CA certificates to trust instead of those of the system, in PEM (COFFER_CA_FILE)')
    .option('--json', 'print JSON, for scripts');
}
