import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { CommandError } from '../failure.ts';
import { note, print, printJson } from '../output.ts';
import { formatProject, PROJECT_FILE, type Project } from '../project.ts';
import { ask, isInteractive } from '../prompt.ts';
import { clientOf, settingsOf, wantsJson } from '../settings.ts';

export function register(program: Command): void {
  program
    .command('init')
    .description(
      'Write .coffer.yaml: which vault or composed environment this project uses. It has no secrets; commit it.',
    )
    .option('--vault <name>', 'the vault')
    .option('--env <name>', 'the composed environment')
    .option('--prefix <path>', 'only secrets below this path of the vault')
    .option('--force', 'replace an existing file')
    .action((options: InitOptions, command: Command) => init(options, command));
}

interface InitOptions {
  vault?: string;
  env?: string;
  prefix?: string;
  force?: boolean;
}

async function init({ vault, env, prefix, force }: InitOptions, command: Command): Promise<void> {
  const file = join(process.cwd(), PROJECT_FILE);
  if (existsSync(file) && force !== true)
    throw new CommandError(`${PROJECT_FILE} is already there. To replace it: coffer init --force`);
  const settings = settingsOf(command);
  const coffer = clientOf(settings);
  const chosen = vault ?? (env === undefined ? await askForVault(coffer) : undefined);
  // What does not exist, or may not be seen, is better known now than at the first use.
  if (chosen !== undefined) await coffer.vaults.get(chosen);
  if (env !== undefined) await coffer.environments.compose(env, { resolve: false });
  const project: Project = {
    url: settings.url,
    ...(chosen !== undefined && { vault: chosen }),
    ...(env !== undefined && { environment: env }),
    ...(prefix !== undefined && { prefix }),
  };
  // Through no link: what is there may be somebody's.
  writeFileSync(file, formatProject(project), force === true ? {} : { flag: 'wx' });
  if (wantsJson(command)) return printJson({ file, ...project });
  note(`Wrote ${PROJECT_FILE}. Next: coffer run -- COMMAND`);
}

async function askForVault(coffer: ReturnType<typeof clientOf>): Promise<string> {
  if (!isInteractive()) throw new CommandError('Which vault? Give --vault NAME or --env NAME.');
  const names = await Array.fromAsync(coffer.vaults.list(), ({ name }) => name);
  if (names.length === 0) throw new CommandError('You may see no vault yet. Create one: coffer vaults create NAME');
  for (const name of names) print(`  ${name}`);
  return ask('Vault', names[0]);
}
