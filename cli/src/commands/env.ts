import type { Command } from 'commander';
import { collected, parseReference } from '../../../client/src/index.ts';
import { action } from '../declared.ts';
import { CommandError, EXIT } from '../failure.ts';
import { nameFields } from '../named-fields.ts';
import { note, printJson, printTable } from '../output.ts';
import { clientOf, settingsOf, vaultOf, wantsJson } from '../settings.ts';

export function register(program: Command): void {
  const env = program.command('env').description('Create, fill and show composed environments');
  env
    .command('list', { isDefault: true })
    .alias('ls')
    .description('List the composed environments')
    .action((_, command: Command) => list(command));
  env
    .command('compose [environment]')
    .description(
      'Show which secrets an environment has, and where each comes from; coffer export --env prints the values',
    )
    .action((name: string | undefined, _, command: Command) => compose(name, command));
  env
    .command('create <name>')
    .description('Create a composed environment')
    .option('--parent <name>', 'the one it inherits from')
    .option('--description <text>', 'its purpose')
    .action((name: string, options: { parent?: string; description?: string }, command: Command) =>
      create(name, options, command),
    );
  action(env, {
    usage: 'update <environment>',
    summary: 'Rename or describe an environment, or let it inherit from another one',
    route: 'PUT /environments/{environment_id}',
    arguments: ['path/environment_id'],
    options: [
      { flags: '--name <name>', description: 'another name', to: 'body/name' },
      { flags: '--description <text>', description: 'its purpose', to: 'body/description' },
      { flags: '--parent <name>', description: 'the one it inherits from', to: 'body/parent' },
      { flags: '--alone', description: 'it inherits from none', to: 'body/parent', value: null },
    ],
    says: ({ name }) => `Changed the composed environment ${name}.`,
  });
  action(env, {
    usage: 'delete <environment>',
    alias: 'rm',
    summary: 'Delete an environment; the secrets that it has stay',
    route: 'DELETE /environments/{environment_id}',
    arguments: ['path/environment_id'],
    asks: ({ environment }) => `Delete the composed environment ${environment}?`,
    says: (_, { environment }) => `Deleted the composed environment ${environment}.`,
  });
  nameFields(env.command('bind <environment> <variable> <path>'), { key_name: '<variable>' })
    .description('Give a variable of an environment the value of a secret; the path may be coffer://vault/path')
    .option('--vault <name>', 'the vault (COFFER_VAULT, or that of the project)')
    // biome-ignore lint/complexity/useMaxParams: commander passes each argument of the command line by itself
    .action((name: string, variable: string, path: string, options: { vault?: string }, command: Command) =>
      bind({ environment: name, variable, path }, options, command),
    );
  env
    .command('unbind <environment> <variable>')
    .description('Take a variable out of an environment; one that is inherited takes effect again')
    .action((name: string, variable: string, _, command: Command) => unbind(name, variable, command));
}

async function list(command: Command): Promise<void> {
  const all = await collected(clientOf(settingsOf(command)).environments.list());
  if (wantsJson(command)) return printJson(all);
  const names = new Map(all.map(({ id, name }) => [id, name]));
  printTable(
    all,
    [
      { title: 'ENVIRONMENT', of: ({ name }) => name, isFlexible: true },
      {
        title: 'INHERITS FROM',
        of: ({ parent_id }) => (parent_id === null ? '' : (names.get(parent_id) ?? parent_id)),
      },
      { title: 'DESCRIPTION', of: ({ description }) => description, isFlexible: true },
    ],
    'There is no composed environment that you may see.',
  );
}

async function compose(name: string | undefined, command: Command): Promise<void> {
  const settings = settingsOf(command);
  const chosen = name ?? settings.project.environment;
  if (chosen === undefined) throw new CommandError('Which environment? coffer env list shows them.');
  const composed = await clientOf(settings).environments.compose(chosen, { resolve: false });
  if (wantsJson(command)) return printJson(composed);
  printTable(
    Object.values(composed.effective),
    [
      { title: 'VARIABLE', of: ({ key_name }) => key_name, isFlexible: true },
      { title: 'SECRET', of: ({ value_ref }) => value_ref },
      { title: 'FROM', of: ({ source }) => source.map(({ name: one }) => one).join(' > '), isFlexible: true },
    ],
    `${composed.name} has no secrets.`,
  );
}

async function create(
  name: string,
  { parent, description }: { parent?: string; description?: string },
  command: Command,
): Promise<void> {
  const created = await clientOf(settingsOf(command)).call(
    'POST /environments',
    { body: { name, ...(parent !== undefined && { parent }), ...(description !== undefined && { description }) } },
    { idempotencyKey: crypto.randomUUID() },
  );
  if (wantsJson(command)) return printJson(created);
  note(`Created the composed environment ${name}. Next: coffer env bind ${name} VARIABLE PATH`);
}

async function bind(
  { environment, variable, path: given }: { environment: string; variable: string; path: string },
  options: { vault?: string },
  command: Command,
): Promise<void> {
  const settings = settingsOf(command);
  const coffer = clientOf(settings);
  const { vault, path } = given.startsWith('coffer://')
    ? parseReference(given)
    : { vault: vaultOf(settings, options.vault), path: given };
  const secret = await find(coffer.secrets.list(vault, { prefix: path }), (one) => one.path === path);
  if (secret === null) throw new CommandError(`There is no ${path} in ${vault} that you may see.`, EXIT.notFound);
  const bound = await coffer.call(
    'POST /environments/{environment_id}/secrets',
    { path: { environment_id: environment }, body: { secret_id: secret.secret_id, key_name: variable } },
    { idempotencyKey: crypto.randomUUID() },
  );
  if (wantsJson(command)) return printJson(bound);
  note(`${variable} of ${environment} is ${vault}/${path}.`);
}

async function unbind(name: string, variable: string, command: Command): Promise<void> {
  const coffer = clientOf(settingsOf(command));
  const environment_id = name;
  const pages = coffer.pages('GET /environments/{environment_id}/secrets', { path: { environment_id } });
  const bindings = (await collected(pages)).flatMap((page) => page.secrets);
  const binding = bindings.find(({ key_name }) => key_name === variable);
  if (binding === undefined) throw new CommandError(`${name} itself has no ${variable}.`, EXIT.notFound);
  const removed = await coffer.call(
    'DELETE /environments/{environment_id}/secrets/{secret_id}',
    { path: { environment_id, secret_id: String(binding.secret_id) } },
    { idempotencyKey: crypto.randomUUID() },
  );
  if (wantsJson(command)) return printJson(removed);
  note(`Took ${variable} out of ${name}.`);
}

async function find<T>(all: AsyncIterable<T>, isIt: (one: T) => boolean): Promise<T | null> {
  for await (const one of all) if (isIt(one)) return one;
  return null;
}
