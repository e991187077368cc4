import type { Command } from 'commander';
import {
  CofferError,
  collected,
  parseReference,
  type Schemas,
  unlessPending,
  valueAt,
} from '../../../client/src/index.ts';
import { CommandError, EXIT } from '../failure.ts';
import { nameFields } from '../named-fields.ts';
import { collect } from '../options.ts';
import { ago, type Column, note, print, printJson, printTable, writeValue } from '../output.ts';
import { confirm, isInteractive, readSecretInput } from '../prompt.ts';
import { clientOf, prefixOf, type Settings, settingsOf, vaultOf, wantsJson } from '../settings.ts';
import { registerApply } from './secrets-apply.ts';
import { referrersNote, registerReferences } from './secrets-references.ts';
import { registerRelocation } from './secrets-relocation.ts';
import { registerRotation } from './secrets-rotation.ts';

const TYPES = ['api_key', 'password', 'token', 'database', 'ssh_key', 'certificate', 'json', 'template', 'generic'];

export function register(program: Command): void {
  const secrets = program.command('secrets').description('Read, write, edit, compare, rotate and search secrets');
  const withVault = (command: Command) =>
    command.option('--vault <name>', 'the vault (COFFER_VAULT, or that of the project)');
  withVault(secrets.command('list', { isDefault: true }).alias('ls'))
    .description('List secrets without their values')
    .option('--prefix <path>', 'only those whose path starts so')
    .option('--deleted', 'those that can be restored')
    .option('--expires-before <time>', 'only those whose value ends before this time, or has ended, such as 2027-01-31')
    .action((options, command) => list(options, command));
  withVault(secrets.command('get <path...>'))
    .description(
      'Print the value of a secret, or of several as JSON. A path may be a reference: coffer://vault/path#/field',
    )
    .option('--at <version>', 'an older version', numberOf)
    .option('--as-written', 'a template as it is written, without the values that it refers to')
    .option('--raw', 'at a terminal: print control characters as they are')
    .option('--field <pointer>', 'one field of a value that is JSON, such as /user')
    .action((paths, options, command) => get(paths, options, command));
  nameFields(withVault(secrets.command('set <path>')), {
    tags: '--tag',
    expected_version: '--expect',
    expires_at: '--expires',
  })
    .description('Write a value from standard input, or a prompt; it becomes a new version')
    .option('--type <type>', `${TYPES.slice(0, -1).join(', ')} or ${TYPES.at(-1)}`)
    .option('--description <text>', 'what it is')
    .option('--tag <tags>', 'words to find it by, with commas between them', collect)
    .option('--promote', 'allow a secret without an environment in a production vault')
    .option('--generate', 'have the service make the value of a new secret, by its type')
    .option('--empty', 'allow an empty value')
    .option('--expires <time>', 'when the value ends, such as 2027-01-31; you are reminded before')
    .option('--expect <version>', 'fail unless this is still the newest version (0: it must not exist)', numberOf)
    .action((path, options, command) => set(path, options, command));
  withVault(secrets.command('edit <path>'))
    .description('Edit a value in your editor, in a file that only you can read')
    .action((path, options, command) => edit(path, options, command));
  withVault(secrets.command('rm <path>').alias('delete'))
    .description('Delete a secret; it can be restored until its retention ends')
    .option('--yes', 'do not ask')
    .action((path, options, command) => remove(path, options, command));
  withVault(secrets.command('restore <path>'))
    .description('Restore a deleted secret')
    .action((path, options, command) => restore(path, options, command));
  withVault(secrets.command('history <path>'))
    .description('Show who changed a secret, when and why')
    .action((path, options, command) => history(path, options, command));
  withVault(secrets.command('rollback <path> <version>'))
    .description('Make the value of an older version the newest again')
    .option('--reason <text>', 'why')
    .action((path, version, options, command) => rollback(path, numberOf(version), options, command));
  withVault(secrets.command('rotate <path>'))
    .description('Replace a value by a new one that the service generates')
    .option('--reason <text>', 'why')
    .option(
      '--length <number>',
      'generate a text of so many characters, for a type that has no generator of its own',
      lengthOf,
    )
    .option('--stdin', 'take the new value from standard input or a prompt instead')
    .action((path, options, command) => rotate(path, options, command));
  registerRotation(secrets);
  registerRelocation(secrets);
  registerReferences(withVault(secrets.command('references <path>')));
  registerApply(secrets);
  withVault(secrets.command('diff <path> [from] [to]'))
    .description('Compare two versions line by line; without numbers, the newest and the one before it')
    .option('--show', 'show the values of changed lines')
    // biome-ignore lint/complexity/useMaxParams: commander passes each argument of the command line by itself
    .action((path, from, to, options, command) =>
      import('./secrets-diff.ts').then(({ diff }) => diff({ path, from, to }, options, command)),
    );
  withVault(secrets.command('search [text]'))
    .description('Search in paths; with --values, in the values that you may read')
    .option('--values', 'search in values, at the service, for a text from standard input or a prompt')
    .action((text, options, command) => search(text, options, command));
  secrets
    .command('find <part...>')
    .description('Find secrets in all vaults by a part of their path; several parts must all be in it')
    .action((parts, _options, command) => find(parts, command));
}

export interface VaultOption {
  vault?: string;
}

export function opened(command: Command, { vault }: VaultOption) {
  const settings = settingsOf(command);
  return { settings, coffer: clientOf(settings), vault: vaultOf(settings, vault), isJson: wantsJson(command) };
}

function lengthOf(text: string): number {
  const length = Number(text);
  if (!Number.isSafeInteger(length) || length < 1)
    throw new CommandError('--length must be a whole number, such as 32.');
  return length;
}

export function numberOf(text: string): number {
  const number = Number(text.replace(/^v/, ''));
  if (!Number.isSafeInteger(number) || number < 0)
    throw new CommandError(`${text} is not a version. Give a number, such as 3.`);
  return number;
}

const ENDS: Column<Schemas['ListedSecret']> = { title: 'ENDS', of: ({ expires_at }) => ago(expires_at) };

interface ListOptions extends VaultOption {
  prefix?: string;
  deleted?: boolean;
  expiresBefore?: string;
}

async function list(options: ListOptions, command: Command): Promise<void> {
  const { settings, coffer, vault, isJson } = opened(command, options);
  const { deleted, expiresBefore } = options;
  const prefix = options.prefix ?? prefixOf(settings, options);
  const listing = {
    ...(prefix !== '' && { prefix }),
    ...(deleted === true && { deleted }),
    ...(expiresBefore !== undefined && { expires_before: expiresBefore }),
  };
  const secrets = await collected(coffer.secrets.list(vault, listing));
  if (isJson) return printJson(secrets);
  printTable(
    secrets,
    [
      { title: 'PATH', of: ({ path }) => path, isFlexible: true },
      { title: 'TYPE', of: ({ type, protection }) => (protection === 'fortress' ? `${type} (fortress)` : type) },
      { title: 'VERSION', of: ({ version }) => version, isNumber: true },
      { title: 'CHANGED', of: ({ updated_at }) => ago(updated_at) },
      { title: 'ROTATES', of: ({ next_rotation }) => ago(next_rotation) },
      ...(secrets.some(({ expires_at }) => expires_at !== null) ? [ENDS] : []),
      { title: 'RISK', of: ({ risk_score }) => risk_score, isNumber: true },
    ],
    `There is no secret in ${vault} that you may see. Write one: coffer secrets set PATH --vault ${vault}`,
  );
}

async function get(
  paths: string[],
  options: VaultOption & { at?: number; asWritten?: boolean; field?: string; raw?: boolean },
  command: Command,
): Promise<void> {
  const settings = settingsOf(command);
  const coffer = clientOf(settings);
  const { at, asWritten, field } = options;
  if (paths.length > 1 && (at !== undefined || field !== undefined)) {
    throw new CommandError('--at and --field are for one path.');
  }
  const found = await Promise.all(
    paths.map(async (path) => {
      const located = locate(path, settings, options);
      const wanted = located.version ?? at;
      const secret = await coffer.secrets
        .get(located.vault, located.path, {
          ...(wanted !== undefined && { version: wanted }),
          ...(asWritten === true && { resolve: false }),
        })
        .catch((error: unknown) => {
          throw error instanceof CofferError && paths.length > 1 ? error.about(path) : error;
        });
      const pointer =
        located.pointer ?? (field === undefined ? undefined : field.startsWith('/') ? field : `/${field}`);
      const value =
        pointer === undefined ? secret.value : valueAt(secret.value, pointer, `${located.vault}/${located.path}`);
      return { ...secret, value };
    }),
  );
  const [only] = found;
  if (found.length === 1 && only !== undefined && !wantsJson(command)) return printValue(only.value, options.raw);
  printJson(found.length === 1 ? only : found);
}

/** A terminal gets a line break after the value, so that the prompt does not stick to it; a pipe gets the value as it is. */
function printValue(value: string, isRaw = false): void {
  const isTerminal = process.stdout.isTTY === true;
  writeValue(isTerminal && !value.endsWith('\n') ? `${value}\n` : value, 'As it is: --raw, or a pipe.', isRaw);
}

function locate(path: string, settings: Settings, { vault }: VaultOption) {
  return path.startsWith('coffer://') ? parseReference(path) : { vault: vaultOf(settings, vault), path };
}

interface SetOptions extends VaultOption {
  type?: string;
  description?: string;
  tag?: string[];
  promote?: boolean;
  empty?: boolean;
  generate?: boolean;
  expect?: number;
  expires?: string;
}

async function set(path: string, options: SetOptions, command: Command): Promise<void> {
  const { coffer, vault, isJson } = opened(command, options);
  const { type, description, tag, promote, expect, empty, expires } = options;
  if (path.includes('=')) {
    throw new CommandError(
      'A value is never an argument. Give it on standard input: printf %s VALUE | coffer secrets set PATH',
    );
  }
  // The service reads it for a new secret only, and a mistake would be written as a version of another type.
  if (type !== undefined && !TYPES.includes(type)) throw new CommandError(`--type must be one of ${TYPES.join(', ')}.`);
  const metadata = { ...(description !== undefined && { description }), ...(tag !== undefined && { tags: tag }) };
  if (options.generate === true) {
    if (expect !== undefined || empty === true)
      throw new CommandError('--generate makes the value of a new secret: omit --expect and --empty.');
    const body = {
      path,
      ...(type !== undefined && { type }),
      ...(Object.keys(metadata).length > 0 && { metadata }),
      ...(promote === true && { promote }),
      ...(expires !== undefined && { expires_at: expires }),
    };
    const route = 'POST /v1/vaults/{vault}/secrets';
    const created = await coffer.call(route, { path: { vault }, body }, { idempotencyKey: crypto.randomUUID() });
    unlessPending(created);
    if (isJson) return printJson(created);
    return note(`The service made the value of ${vault}/${path}.`);
  }
  const value = await readSecretInput(`Value of ${path}`, empty === true);
  const stored = await coffer.secrets.set(vault, path, value, {
    ...(type !== undefined && { type }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
    ...(promote === true && { promote }),
    ...(expires !== undefined && { expires_at: expires }),
    ...(expect !== undefined && { expectedVersion: expect }),
  });
  if (isJson) return printJson(stored);
  note(`Wrote version ${stored.version} of ${vault}/${path}.`);
  if (type !== undefined && stored.type !== type)
    note(`It keeps its type, ${stored.type}; the console can give it another one.`);
}

async function edit(path: string, options: VaultOption, command: Command): Promise<void> {
  if (!isInteractive())
    throw new CommandError('An editor needs a terminal. Use coffer secrets set, which reads standard input.');
  const { coffer, vault } = opened(command, options);
  const { value, version } = await coffer.secrets.get(vault, path, { resolve: false }).catch((error: unknown) => {
    if (error instanceof CofferError && error.code === 'SECRET_NOT_FOUND') return { value: '', version: 0 };
    throw error;
  });
  const { edited } = await import('../editor.ts');
  const changed = await edited(value, path);
  if (changed === null) return note('Nothing was changed.');
  const stored = await coffer.secrets.set(vault, path, changed, { expectedVersion: version });
  note(`Wrote version ${stored.version} of ${vault}/${path}.`);
}

async function remove(path: string, options: VaultOption & { yes?: boolean }, command: Command): Promise<void> {
  const { coffer, vault, isJson } = opened(command, options);
  if (options.yes !== true) {
    if (!isInteractive()) throw new CommandError('Deleting needs --yes where nobody can be asked.');
    if (!(await confirm(`Delete ${vault}/${path}?`))) return note('Nothing was deleted.');
  }
  const deleted = await coffer.secrets.delete(vault, path);
  if (isJson) return printJson(deleted);
  note(`Deleted ${vault}/${path}. To take that back: coffer secrets restore ${path} --vault ${vault}`);
  if (deleted.referred_by.length > 0) note(referrersNote(deleted.referred_by));
}

async function restore(path: string, options: VaultOption, command: Command): Promise<void> {
  const { coffer, vault, isJson } = opened(command, options);
  const restored = await coffer.call(
    'POST /v1/vaults/{vault}/secrets/{path}/restore',
    { path: { vault, path }, body: {} },
    { idempotencyKey: crypto.randomUUID() },
  );
  unlessPending(restored);
  if (isJson) return printJson(restored);
  note(`Restored ${vault}/${path}.`);
}

async function history(path: string, options: VaultOption, command: Command): Promise<void> {
  const { coffer, vault, isJson } = opened(command, options);
  const versions = await collected(coffer.secrets.versions(vault, path));
  if (isJson) return printJson(versions);
  printTable(
    versions,
    [
      { title: 'VERSION', of: ({ version }) => version, isNumber: true },
      { title: 'WHEN', of: ({ created_at }) => ago(created_at) },
      { title: 'WHO', of: ({ author }) => author.name, isFlexible: true },
      { title: 'HOW', of: ({ operation }) => operation },
      { title: 'WHY', of: ({ reason }) => reason, isFlexible: true },
    ],
    'It has no versions.',
  );
}

async function rollback(
  path: string,
  version: number,
  options: VaultOption & { reason?: string },
  command: Command,
): Promise<void> {
  const { coffer, vault, isJson } = opened(command, options);
  const { reason } = options;
  const done = await coffer.secrets.rollback(vault, path, version, reason === undefined ? {} : { reason });
  if (isJson) return printJson(done);
  note(`Version ${done.version} of ${vault}/${path} has the value of version ${version}.`);
}

interface RotateOptions extends VaultOption {
  reason?: string;
  length?: number;
  stdin?: boolean;
}

async function rotate(path: string, options: RotateOptions, command: Command): Promise<void> {
  const { coffer, vault, isJson } = opened(command, options);
  const { reason, length, stdin } = options;
  const value = stdin === true ? await readSecretInput(`New value of ${path}`) : undefined;
  const done = await coffer.secrets.rotate(vault, path, {
    ...(reason !== undefined && { reason }),
    ...(length !== undefined && { generator: { length } }),
    ...(value !== undefined && { value }),
  });
  if (isJson) return printJson(done);
  note(
    done.status === 'completed'
      ? `Rotated ${vault}/${path}: version ${done.version}.`
      : `The rotation of ${vault}/${path} is under way.`,
  );
}

async function search(
  text: string | undefined,
  options: VaultOption & { values?: boolean },
  command: Command,
): Promise<void> {
  const { coffer, vault, isJson } = opened(command, options);
  if (options.values === true) {
    if (text !== undefined)
      throw new CommandError('Other users can see arguments: give the text on standard input, or at the prompt.');
    const query = await readSecretInput('Text to search for');
    const route = 'POST /v1/vaults/{vault}/search';
    const found = await coffer.call(route, { path: { vault }, body: { query } }, { isRead: true });
    if (isJson) return printJson(found);
    return printPaths(found.matches, vault);
  }
  if (text === undefined) throw new CommandError('Which text? coffer secrets search TEXT');
  const all = await collected(coffer.secrets.list(vault));
  const matching = all.filter(({ path }) => path.toLowerCase().includes(text.toLowerCase()));
  if (isJson) return printJson(matching);
  printPaths(matching, vault);
}

async function find(parts: string[], command: Command): Promise<void> {
  const coffer = clientOf(settingsOf(command));
  const found = await collected(coffer.secrets.find(parts));
  if (wantsJson(command)) return printJson(found);
  if (found.length === 0) throw new CommandError('No secret that you may list has such a path.', EXIT.notFound);
  printTable(
    found,
    [
      { title: 'VAULT', of: ({ vault }) => vault },
      { title: 'PATH', of: ({ path }) => path, isFlexible: true },
      { title: 'TYPE', of: ({ type, protection }) => (protection === 'fortress' ? `${type} (fortress)` : type) },
      { title: 'CHANGED', of: ({ updated_at }) => ago(updated_at) },
    ],
    '',
  );
}

function printPaths(found: readonly { path: string }[], vault: string): void {
  if (found.length === 0) throw new CommandError(`Nothing in ${vault} matches.`, EXIT.notFound);
  for (const { path } of found) print(path);
}
