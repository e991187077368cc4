import type { Command } from 'commander';
import type { Coffer } from '../../client/src/index.ts';
import { CommandError, EXIT } from './failure.ts';
import { collect } from './options.ts';
import { env, prefixOf, type Settings, vaultOf } from './settings.ts';
import { type Variables, variablesOf } from './variables.ts';

/** Which secrets a command works with. */
export interface SelectionOptions {
  vault?: string;
  env?: string;
  prefix?: string;
  only?: string[];
}

export function addSelectionOptions(command: Command): Command {
  return command
    .option('--vault <name>', 'all secrets of this vault that you may read (COFFER_VAULT)')
    .option('--env <name>', 'what this composed environment has, inherited secrets included')
    .option('--prefix <path>', 'only secrets of the vault below this path; it is left out of the names')
    .option('--only <names>', 'only these variables, with commas between them; each must be there', collect);
}

/** What was chosen: an environment, or a vault with a prefix. */
export type Selection = { environment: string } | { vault: string; prefix: string };

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
  return { vault, prefix: (options.prefix ?? prefixOf(settings, options)).replace(/\/+$/, '') };
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
  signal?: AbortSignal,
): Promise<Variables> {
  const call = signal === undefined ? {} : { signal };
  const variables =
    'environment' in selection
      ? await composed(coffer, selection.environment, only, call)
      : await ofVault(coffer, selection, call);
  if (only === undefined) return variables;
  const missing = only.filter((name) => !variables.has(name));
  if (missing.length > 0) {
    throw new CommandError(
      `Missing: ${missing.join(', ')}. There is ${[...variables.keys()].join(', ')}.`,
      EXIT.notFound,
    );
  }
  return new Map([...variables].filter(([name]) => only.includes(name)));
}

async function composed(coffer: Coffer, environment: string, only: readonly string[] | undefined, call: object) {
  const { effective } = await coffer.environments.compose(environment, call);
  const wanted = Object.entries(effective).filter(([name]) => only === undefined || only.includes(name));
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

async function ofVault(coffer: Coffer, { vault, prefix }: { vault: string; prefix: string }, call: object) {
  const below = prefix === '' ? {} : { prefix: `${prefix}/` };
  const secrets = await coffer.secrets.getAll(vault, { ...call, ...below });
  if (secrets.length === 0) {
    const where = prefix === '' ? vault : `${vault}/${prefix}`;
    throw new CommandError(`There is no secret in ${where} that you may read.`, EXIT.notFound);
  }
  return variablesOf(secrets, prefix);
}

/** What changes whenever a chosen secret does. It needs no values, so that watching is no reading in the audit log. */
export async function versionsOf(coffer: Coffer, selection: Selection, signal?: AbortSignal): Promise<string> {
  const call = signal === undefined ? {} : { signal };
  if ('environment' in selection) {
    const { effective } = await coffer.environments.compose(selection.environment, { resolve: false, ...call });
    return JSON.stringify(Object.values(effective).map(({ key_name, value_ref }) => [key_name, value_ref]));
  }
  const { vault, prefix } = selection;
  const listing = { ...call, ...(prefix !== '' && { prefix: `${prefix}/` }) };
  const secrets = await Array.fromAsync(coffer.secrets.list(vault, listing), ({ path, version }) => [path, version]);
  return JSON.stringify(secrets.toSorted());
}
