import { type Command, Option } from 'commander';
import { type Coffer, collected } from '../../../client/src/index.ts';
import { completionScript, SHELLS, type Shell, VALUE_KINDS, type ValueKind } from '../completion-script.ts';
import { CommandError } from '../failure.ts';
import { clientOf, type Settings, settingsOf, vaultOf } from '../settings.ts';
import { VERBS } from '../verbs.ts';

export function register(program: Command): void {
  program
    .command('completion <shell>')
    .description('Print a completion script for bash, zsh or fish')
    .addOption(new Option('--vault <name>').hideHelp())
    .action((what: string, options: { vault?: string }, command: Command) =>
      isValueKind(what) ? printValues(what, options, command) : print(what),
    )
    .addHelpText(
      'after',
      `
bash: coffer completion bash > ~/.local/share/bash-completion/completions/coffer
zsh:  coffer completion zsh > a file named _coffer in a folder of $fpath
fish: coffer completion fish > ~/.config/fish/completions/coffer.fish`,
    );
}

function isValueKind(text: string): text is ValueKind {
  return (VALUE_KINDS as readonly string[]).includes(text);
}

/** More than anybody reads through; the rest is found once more letters are typed. */
const VALUES_MAX = 1000;

/** What the scripts offer while a name is typed. */
async function printValues(kind: ValueKind, { vault }: { vault?: string }, command: Command): Promise<void> {
  const settings = settingsOf(command);
  const names = await valuesOf(clientOf(settings), kind, settings, vault);
  // A shell expands what it is given, so only plain ones are printed.
  const plain = names.filter((name) => /^[A-Za-z0-9_][A-Za-z0-9_./-]*$/.test(name));
  process.stdout.write(plain.map((name) => `${name}\n`).join(''));
}

async function valuesOf(coffer: Coffer, kind: ValueKind, settings: Settings, vault?: string): Promise<string[]> {
  const query = { limit: VALUES_MAX };
  switch (kind) {
    case 'vaults':
      return (await collected(coffer.vaults.list())).map(({ name }) => name);
    case 'paths': {
      const path = { vault: vaultOf(settings, vault) };
      const page = await coffer.call('GET /v1/vaults/{vault}/secrets', { path, query });
      return page.secrets.map((secret) => secret.path);
    }
    case 'environments':
      return (await collected(coffer.environments.list())).map(({ name }) => name);
    case 'groups':
      return (await coffer.call('GET /v1/groups', { query })).groups.map(({ name }) => name);
    case 'policies':
      return (await coffer.call('GET /v1/policies', { query })).policies.map(({ name }) => name);
  }
}

async function print(text: string): Promise<void> {
  const shell = SHELLS.find((one) => one === text);
  if (shell === undefined) throw new CommandError(`There is a script for ${SHELLS.join(', ')}.`);
  process.stdout.write(completionScript(shell as Shell, await allCommands()));
}

/** Every command of every verb, as commander knows them. `server` would load the service, so it is known by its name only. */
async function allCommands() {
  const { Command: New } = await import('commander');
  const program = new New('coffer');
  for (const name of ['--profile', '--url', '--ca-file', '--json', '--help']) program.addOption(new Option(name));
  const seen = new Set<string>();
  for (const [name, { load, summary }] of Object.entries(VERBS)) {
    if (name === 'server') program.command(name).description(summary);
    else if (!seen.has(name)) {
      (await load()).register(program);
      for (const { name: of } of program.commands.map((one) => ({ name: one.name() }))) seen.add(of);
    }
  }
  return program;
}
