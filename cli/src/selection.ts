import type { Command } from 'commander';
import { type Coffer, collected } from '../../client/src/index.ts';
import { CommandError, EXIT } from './failure.ts';
import { collect } from './options.ts';
import { env, isVaultOfProject, prefixOf, type Settings, vaultOf } from './settings.ts';
import { withoutTrailingSlashes } from './trailing-slashes.ts';
import { isNamed, isNamePattern, unmatched, type Variables, variablesOf } from './variables.ts';

/** Which secrets a command works with. */
export interface SelectionOptions {
  vault?: string;
  env?: string;
  prefix?: string;
  only?: string[];
  keepNames?: boolean;
  all?: boolean;
}

export function addSelectionOptions(command: Command): Command {
  return command
    .option('--vault <name>', 'all secrets of this vault that you may read (COFFER_VAULT)')
    .option('--env <name>', 'what this composed environment has, inherited secrets included')
    .option('--prefix <path>', 'only secrets of the vault below this path; it is left out of the names')
    .option(
      '--only <names>',
      'only these variables, with commas between them, or beginnings such as DB_*; each must be there',
      collect,
    )
    .option('--keep-names', 'leave small letters in the names of variables, as the secrets have them');
}

/** For commands whose environment is filled. */
export function addAllOption(command: Command): Command {
  return command.option('--all', 'every variable of the vault: anyone who may write a secret chooses its name');
}

/** What was chosen: an environment, or a vault with a prefix. */
export type Selection = { environment: string } | { vault: string; prefix: string; keepsNames: boolean };

/** By options first, then by the environment and the project. */
export function selectionOf(settings: Settings, options: SelectionOptions): Selection {
  refuseCertificateAlone(settings);
  if (options.env !== undefined && (options.vault !== undefined || options.prefix !== undefined)) {
    throw new CommandError('Give --env, or --vault with --prefix, not both.');
  }
  if (options.env !== undefined) return { environment: options.env };
  const { environment } = settings.project;
  const isVaultNamed = options.vault !== undefined || options.prefix !== undefined || env('COFFER_VAULT') !== undefined;
  if (environment !== undefined && !isVaultNamed) return { environment };
  const vault = vaultOf(settings, options.vault);
  const prefix = withoutTrailingSlashes(options.prefix ?? prefixOf(settings, options));
  return { vault, prefix, keepsNames: keepsNames(settings, options) };
}

/** Whether names stay as they are, because the command or the project says so. */
export function keepsNames({ project }: Settings, { keepNames }: { keepNames?: boolean }): boolean {
  return keepNames === true || project.names === 'keep';
}

/** A certificate alone opens single secrets by their paths; lists and everything else need the client secret as well. */
export function refuseCertificateAlone({ auth }: Settings): void {
  if (!('certificate' in auth)) return;
  throw new CommandError(
    'A certificate alone reads single secrets (coffer secrets get, coffer inject). Set COFFER_CLIENT_SECRET_FILE too.',
  );
}

/** Reads what was chosen. Nothing is left out silently: a value that cannot be had is a failure. */
export async function readVariables(
  coffer: Coffer,
  selection: Selection,
  only: readonly string[] | undefined,
  onProgress?: (read: number) => void,
): Promise<Variables> {
  const wrong = only?.find((one) => !isNamePattern(one));
  if (wrong !== undefined)
    throw new CommandError(`"${wrong}" is not the name of a variable. Give names, or beginnings: DB_*`);
  const variables =
    'environment' in selection
      ? await composed(coffer, selection.environment, only)
      : await ofVault(coffer, selection, onProgress);
  if (only === undefined) return variables;
  refuseMissing(only, variables);
  return new Map([...variables].filter(([name]) => isNamed(name, only)));
}

function refuseMissing(wanted: readonly string[], variables: Variables, where = ''): void {
  const missing = unmatched(wanted, variables.keys());
  if (missing.length === 0) return;
  throw new CommandError(
    `Missing: ${missing.join(', ')}${where}. There is ${[...variables.keys()].join(', ')}.`,
    EXIT.notFound,
  );
}

/**
 * The variables that a command is given. Anyone who may write a secret of a vault chooses its name, and there is always a name by which some program
 * runs code. So a secret of a vault becomes a variable only if the command (`--only`, `--all`) or the project names it. The names of a composed
 * environment are chosen by the people who bind them, not by writers of secrets.
 */
export async function readNamed(
  coffer: Coffer,
  { project }: Settings,
  selection: Selection,
  options: SelectionOptions,
): Promise<{ variables: Variables; leftOut: string[] }> {
  const variables = await readVariables(coffer, selection, options.only);
  const isChosen = options.only !== undefined || options.all === true || 'environment' in selection;
  if (isChosen) return { variables, leftOut: [] };
  const { variables: named } = project;
  if (named === undefined)
    throw new CommandError(
      `Which variables? There is ${[...variables.keys()].join(', ')}. Name those that the command needs: --only NAME,DB_*, or once for the project: coffer init. All of them: --all`,
    );
  if (isVaultOfProject(options)) refuseMissing(named, variables, ', which the project names');
  const isGiven = ([name]: [string, string]) => isNamed(name, named);
  return {
    variables: new Map([...variables].filter(isGiven)),
    leftOut: [...variables].filter((entry) => !isGiven(entry)).map(([name]) => name),
  };
}

async function composed(coffer: Coffer, environment: string, only: readonly string[] | undefined) {
  const { effective } = await coffer.environments.compose(environment);
  const wanted = Object.entries(effective).filter(([name]) => only === undefined || isNamed(name, only));
  const withheld = wanted.filter(([, { value }]) => value === undefined).map(([name]) => name);
  if (withheld.length > 0) {
    throw new CommandError(
      `You may not read ${withheld.join(', ')} of ${environment}, or they are fortress secrets. Choose others with --only.`,
      EXIT.refused,
    );
  }
  const sealed = wanted.filter(([, entry]) => entry.sealed === true).map(([name]) => name);
  if (sealed.length > 0) {
    throw new CommandError(
      `${sealed.join(', ')} of ${environment} are in zero-knowledge vaults, and only a client that has their key opens them. Choose others with --only.`,
      EXIT.refused,
    );
  }
  return new Map(wanted.map(([name, { value = '' }]) => [name, value]));
}

async function ofVault(
  coffer: Coffer,
  { vault, prefix, keepsNames }: Extract<Selection, { vault: string }>,
  onProgress?: (read: number) => void,
) {
  const below = prefix === '' ? {} : { prefix: `${prefix}/` };
  const secrets = await coffer.secrets.getAll(vault, { ...below, ...(onProgress && { onProgress }) });
  if (secrets.length === 0) {
    const where = prefix === '' ? vault : `${vault}/${prefix}`;
    throw new CommandError(`There is no secret in ${where} that you may read.`, EXIT.notFound);
  }
  return variablesOf(secrets, prefix, keepsNames);
}

/** What changes whenever a chosen secret does. It needs no values, so that watching is no reading in the audit log. */
export async function versionsOf(coffer: Coffer, selection: Selection, signal?: AbortSignal): Promise<string> {
  const call = signal === undefined ? {} : { signal };
  if ('environment' in selection) {
    const { effective } = await coffer.environments.compose(selection.environment, { resolve: false, ...call });
    return JSON.stringify(
      Object.values(effective).map(({ key_name, value_ref, parts_version }) => [key_name, value_ref, parts_version]),
    );
  }
  const { vault, prefix } = selection;
  const listing = { ...call, ...(prefix !== '' && { prefix: `${prefix}/` }) };
  const listed = await collected(coffer.secrets.list(vault, listing));
  return JSON.stringify(listed.map(({ path, version, parts_version }) => [path, version, parts_version]).toSorted());
}
