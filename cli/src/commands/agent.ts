import type { Command } from 'commander';
import { Agent, type OnChange } from '../agent/agent.ts';
import { parseTemplate } from '../agent/rendering.ts';
import { serveSocket } from '../agent/socket.ts';
import { CommandError } from '../failure.ts';
import { addGlobalOptionsAgain, type GlobalOptions } from '../global-options.ts';
import { collectWhole, positive } from '../options.ts';
import { note } from '../output.ts';
import {
  addAllOption,
  addSelectionOptions,
  refuseCertificateAlone,
  type SelectionOptions,
  selectionOf,
} from '../selection.ts';
import { clientOf, env, PROFILE, settingsOf } from '../settings.ts';

export function register(program: Command): void {
  program.enablePositionalOptions();
  const agent = program.command('agent').description('Keep a service supplied with secrets').enablePositionalOptions();
  const run = agent
    .command('run [command] [args...]')
    .description('Render templates, run a command with secrets, and follow their changes');
  addGlobalOptionsAgain(addAllOption(addSelectionOptions(run)))
    .option(
      '--template <source:target:mode>',
      'write a file from a template with references, mode 600 unless given; several times',
      collectWhole,
    )
    .option('--socket <path>', 'serve programs of the same user by this socket, without a credential of their own')
    .option(
      '--on-change <what>',
      'what happens to the command: restart, signal:SIGHUP (or another), or nothing',
      'restart',
    )
    .option('--reload <command>', 'run this after a change, for a service that was started elsewhere')
    .option('--interval <seconds>', 'how often to look for changes', positive, 10)
    .option(
      '--max-stale-hours <hours>',
      'how long to go on while the service cannot be reached or refuses',
      positive,
      24,
    )
    .option('--once', 'write the files and end')
    .passThroughOptions()
    .action((name: string | undefined, args: string[], options: RunOptions, command: Command) =>
      runAgent(name, args, options, command),
    )
    .addHelpText(
      'after',
      `
It logs in as a machine, by what the environment has: COFFER_URL with COFFER_CLIENT_ID and COFFER_CLIENT_SECRET_FILE (and
COFFER_CERT_FILE, COFFER_KEY_FILE), COFFER_TOKEN_FILE, COFFER_WORKLOAD_METHOD with COFFER_WORKLOAD_TOKEN_FILE, or COFFER_CONNECTION with COFFER_ID_TOKEN_FILE. Tokens and certificates are renewed at two
thirds of their life. Secrets reach the command's environment if --vault, --env or the project names some, of a vault those that --only or the project names. It ends with the exit code of the command.

  coffer agent run --template nginx.conf.tpl:/etc/nginx/nginx.conf --reload 'nginx -s reload'
  coffer agent run --env payments-eu -- ./server`,
    );
}

interface RunOptions extends SelectionOptions {
  template?: string[];
  socket?: string;
  onChange: string;
  reload?: string;
  interval: number;
  maxStaleHours: number;
  once?: boolean;
}

async function runAgent(
  name: string | undefined,
  args: string[],
  options: RunOptions,
  command: Command,
): Promise<void> {
  const settings = settingsOf(command);
  if (
    settings.source === PROFILE &&
    command.optsWithGlobals<GlobalOptions>().profile === undefined &&
    env('COFFER_PROFILE') === undefined
  ) {
    throw new CommandError(
      'An agent runs as a machine: set its credential (see --help), or name a profile with --profile.',
    );
  }
  refuseCertificateAlone(settings);
  const templates = (options.template ?? []).map(parseTemplate);
  const childCommand = name === undefined ? [] : [name, ...args];
  const hasSelection = name !== undefined && isSelected(options, settings.project);
  if (templates.length === 0 && childCommand.length === 0 && options.socket === undefined) {
    throw new CommandError('What should it do? Give a command, --template or --socket.');
  }
  const intervalMs = options.interval * 1000;
  const staleMs = options.maxStaleHours * 3_600_000;
  const coffer = clientOf(settings, true);
  const agent = new Agent(coffer, settings, hasSelection ? selectionOf(settings, options) : null, {
    ...options,
    templates,
    command: childCommand,
    onChange: onChangeOf(options.onChange),
    reload: options.reload ?? null,
    intervalMs,
    staleMs,
    isOnce: options.once === true,
  });
  const server =
    options.socket === undefined
      ? null
      : await serveSocket(options.socket, coffer, { maxAgeMs: intervalMs, staleIfErrorMs: staleMs });
  if (server !== null) note(`Serving ${options.socket}.`);
  try {
    process.exitCode = await agent.run();
  } finally {
    server?.closeAllConnections();
    server?.close();
  }
}

function isSelected(
  { vault, env: environment, prefix }: SelectionOptions,
  project: { vault?: string; environment?: string },
): boolean {
  return [vault, environment, prefix, env('COFFER_VAULT'), project.vault, project.environment].some(
    (one) => one !== undefined,
  );
}

function onChangeOf(text: string): OnChange {
  if (text === 'restart' || text === 'nothing') return { kind: text };
  const signal = /^signal:(SIG(?:HUP|USR1|USR2|TERM|INT|QUIT|WINCH))$/.exec(text)?.[1];
  if (signal === undefined) throw new CommandError('--on-change must be restart, nothing or signal:SIGHUP.');
  return { kind: 'signal', signal: signal as NodeJS.Signals };
}
