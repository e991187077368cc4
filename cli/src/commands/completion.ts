import { type Command, Option } from 'commander';
import { completionScript, SHELLS, type Shell } from '../completion-script.ts';
import { CommandError } from '../failure.ts';
import { VERBS } from '../verbs.ts';

export function register(program: Command): void {
  program
    .command('completion <shell>')
    .description('Print a completion script for bash, zsh or fish')
    .action((shell: string) => print(shell))
    .addHelpText(
      'after',
      `
bash: coffer completion bash > ~/.local/share/bash-completion/completions/coffer
zsh:  coffer completion zsh > a file named _coffer in a folder of $fpath
fish: coffer completion fish > ~/.config/fish/completions/coffer.fish`,
    );
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
