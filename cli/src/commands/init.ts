import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { type Coffer, CofferError, collected } from '../../../client/src/index.ts';
import { writePrivateFile } from '../../../client/src/node/index.ts';
import { CommandError } from '../failure.ts';
import { isLoadingName } from '../loading-names.ts';
import { collect } from '../options.ts';
import { note, print, printJson } from '../output.ts';
import { formatProject, PROJECT_FILE, type Project, parseProject } from '../project.ts';
import { ask, isInteractive } from '../prompt.ts';
import { clientOf, settingsOf, wantsJson } from '../settings.ts';
import { withoutTrailingSlashes } from '../trailing-slashes.ts';
import { variableName } from '../variables.ts';

const NAMES_MAX = 500;
/** Everybody who works on the project may read it. */
const MODE = 0o644;

export function register(program: Command): void {
  program
    .command('init')
    .description(
      'Write .coffer.yaml: which vault or composed environment this project uses. It has no secrets; commit it.',
    )
    .option('--vault <name>', 'the vault')
    .option('--env <name>', 'the composed environment')
    .option('--prefix <path>', 'only secrets below this path of the vault')
    .option(
      '--only <names>',
      'the variables that commands get, or beginnings such as DB_*; unless given, those that the vault has now',
      collect,
    )
    .option('--keep-names', 'leave small letters in the names of variables, as the secrets have them')
    .option('--force', 'replace an existing file')
    .action((options: InitOptions, command: Command) => init(options, command));
}

interface InitOptions {
  vault?: string;
  env?: string;
  prefix?: string;
  only?: string[];
  keepNames?: boolean;
  force?: boolean;
}

async function init({ vault, env, prefix, only, keepNames, force }: InitOptions, command: Command): Promise<void> {
  const file = join(process.cwd(), PROJECT_FILE);
  if (lstatSync(file, { throwIfNoEntry: false }) !== undefined && force !== true)
    throw new CommandError(`${PROJECT_FILE} is already there. To replace it: coffer init --force`);
  const settings = settingsOf(command);
  const coffer = clientOf(settings);
  const chosen = vault ?? (env === undefined ? await askForVault(coffer) : undefined);
  // What does not exist, or may not be seen, is better known now than at the first use.
  if (chosen !== undefined) await coffer.vaults.get(chosen);
  if (env !== undefined) await coffer.environments.compose(env, { resolve: false });
  const variables =
    only ??
    (chosen === undefined
      ? []
      : await namesIn(coffer, chosen, withoutTrailingSlashes(prefix ?? ''), keepNames === true));
  const project: Project = {
    url: settings.url,
    ...(chosen !== undefined && { vault: chosen }),
    ...(env !== undefined && { environment: env }),
    ...(prefix !== undefined && { prefix }),
    ...(keepNames === true && { names: 'keep' }),
    ...(variables.length > 0 && { variables }),
  };
  const text = formatProject(project);
  // A name that the file cannot have is refused before it is written.
  parseProject(text, PROJECT_FILE);
  // Replaced in one step and through no link: what one leads to may be somebody's.
  writePrivateFile(file, text, MODE);
  if (wantsJson(command)) return printJson({ file, ...project });
  note(`Wrote ${PROJECT_FILE}. Next: coffer run -- COMMAND`);
}

/** The variables that the secrets of a vault would be, without those that change how programs are loaded. */
async function namesIn(coffer: Coffer, vault: string, prefix: string, keepsNames: boolean): Promise<string[]> {
  const names = new Set<string>();
  try {
    for await (const { path } of coffer.secrets.list(vault, prefix === '' ? {} : { prefix: `${prefix}/` })) {
      names.add(variableName(path, prefix, keepsNames));
      if (names.size > NAMES_MAX)
        throw new CommandError(
          `${vault} has more than ${NAMES_MAX} secrets. Say which: --prefix PATH, or --only NAME,DB_*`,
        );
    }
  } catch (error) {
    // Somebody who may read secrets may not be allowed to list them.
    if (!(error instanceof CofferError) || error.status !== 403) throw error;
  }
  return [...names].filter((name) => !isLoadingName(name)).toSorted();
}

async function askForVault(coffer: ReturnType<typeof clientOf>): Promise<string> {
  if (!isInteractive()) throw new CommandError('Which vault? Give --vault NAME or --env NAME.');
  const names = (await collected(coffer.vaults.list())).map(({ name }) => name);
  if (names.length === 0) throw new CommandError('You may see no vault yet. Create one: coffer vaults create NAME');
  for (const name of names) print(`  ${name}`);
  return ask('Vault', names[0]);
}
