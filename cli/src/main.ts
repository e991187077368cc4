import { Command, CommanderError } from 'commander';
import { CofferError } from '../../client/src/index.ts';
import packageJson from '../package.json' with { type: 'json' };
import { EXIT, exitCodeOf, explain } from './failure.ts';
import { addGlobalOptions } from './global-options.ts';
import { suggestion } from './suggestion.ts';
import { VERBS, type Verb, type VerbModule } from './verbs.ts';

/**
 * The command line. Only the file of the verb that is used is loaded, because a command that people type all day must start at once.
 */

function programWith(name: string, version: string): Command {
  const program = addGlobalOptions(new Command('coffer')).description(
    'The command line of Coffer, a secrets-management service.',
  );
  // After a verb, people mean the version of a secret, and a script would store the release instead of a value.
  if (name === '') program.version(version);
  return program
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(usageError(text)) })
    .configureHelp({ showGlobalOptions: name !== '' && name !== 'server' })
    .addHelpText('after', name === '' ? HELP : '');
}

/** A mistake in a command points to the help of that command. */
function pointToHelp(command: Command, path: string): void {
  command.showHelpAfterError(`Run ${path} --help for usage.`);
  for (const each of command.commands) pointToHelp(each, `${path} ${each.name()}`);
}

/** What was typed may be a value that does not belong there, so it is not repeated. */
function usageError(text: string): string {
  const hint =
    '\nA value is never an argument, because other users can see those: give it on standard input, or at the prompt.';
  return text
    .replace(/(too many arguments.*?but got \d+).*/s, `$1.${hint}\n`)
    .replace(/(unknown option '--?[\w-]+)=.*'/s, "$1'");
}

const HELP = `
First: coffer login, then coffer init in your project. Secrets come from standard input, a prompt or an editor, never from arguments.
Exit codes: 0 done, 1 usage or this machine, 2 the service or the network failed, 3 refused, 4 not found; run exits like its command.`;

/** The first argument that is no option, and no value of one. */
function verbIn(args: readonly string[]): string {
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? '';
    if (['--profile', '--url', '--ca-file'].includes(arg)) i++;
    else if (!arg.startsWith('-')) return arg;
  }
  return '';
}

/** Which commit and schema it is takes reading files, so that is read only where it is printed. */
async function versionText(args: readonly string[]): Promise<string> {
  if (!args.some((arg) => arg === '--version' || arg === '-V')) return packageJson.version;
  const { RELEASE } = await import('../../server/src/operator/release.ts');
  return `${packageJson.version} (${RELEASE})`;
}

async function main(args: readonly string[]): Promise<void> {
  const isHelpOfVerb = args[0] === 'help' && args.length > 1;
  const name = isHelpOfVerb ? String(args[1]) : verbIn(args);
  const verb: Verb | undefined = Object.hasOwn(VERBS, name) ? VERBS[name] : undefined;
  const program = programWith(verb === undefined ? '' : name, await versionText(args));
  let loaded: VerbModule | undefined;
  let executed: Command | null = null;
  try {
    loaded = await verb?.load();
    if (loaded !== undefined) loaded.register(program);
    else addSummaries(program);
    program.hook('preAction', (_, action) => {
      executed = action;
    });
    pointToHelp(program, 'coffer');
    refuseUnknownCommand(program, name, args);
    await program.parseAsync(isHelpOfVerb ? [...args.slice(1), '--help'] : [...args], { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? EXIT.done : EXIT.local;
      return;
    }
    if (error instanceof CofferError && error.code === 'PENDING_APPROVAL') {
      (await import('./pending.ts')).sayPending(error, executed);
      return;
    }
    const said = loaded?.explain?.(error) ?? explain(error, executed);
    if (said !== '') process.stderr.write(`${said}\n`);
    process.exitCode = exitCodeOf(error);
  }
}

/** A verb with a command of its own for no name, such as `secrets`, would take a misspelt name for an argument of that one. */
function refuseUnknownCommand(program: Command, name: string, args: readonly string[]): void {
  const verb = program.commands.find((one) => one.name() === name);
  const typed = args[args.indexOf(name) + 1] ?? '-';
  if (verb === undefined || verb.commands.length === 0 || verb.registeredArguments.length > 0 || typed.startsWith('-'))
    return;
  const known = [...verb.commands.flatMap((one) => [one.name(), ...one.aliases()]), 'help'];
  if (known.includes(typed)) return;
  const nearest = suggestion(typed, known);
  verb.error(`error: unknown command${nearest === null ? '' : `. Did you mean ${name} ${nearest}?`}`, {
    exitCode: EXIT.local,
  });
}

/** The help and the refusal of an unknown verb need their names only. */
function addSummaries(program: Command): void {
  for (const [name, { summary }] of Object.entries(VERBS)) {
    program
      .command(name)
      .description(summary)
      .action(() => {});
  }
}

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A reader of the first lines, such as `head`, has all it needs.
  if (error.code === 'EPIPE') process.exit(EXIT.done);
  process.stderr.write(`Standard output cannot be written (${error.code}).\n`);
  process.exit(EXIT.local);
});
await main(process.argv.slice(2));
