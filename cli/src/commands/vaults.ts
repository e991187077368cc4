import type { Command } from 'commander';
import { CommandError } from '../failure.ts';
import { ago, note, print, printJson, printTable } from '../output.ts';
import { sayIfPending } from '../pending.ts';
import { confirm, isInteractive } from '../prompt.ts';
import { clientOf, settingsOf, wantsJson } from '../settings.ts';

export function register(program: Command): void {
  const vaults = program.command('vaults').description('List, show, create and delete vaults');
  vaults
    .command('list', { isDefault: true })
    .alias('ls')
    .description('List the vaults that you may see')
    .action((_, command: Command) => list(command));
  vaults
    .command('show <vault>')
    .description('Show one vault')
    .action((vault: string, _, command: Command) => show(vault, command));
  vaults
    .command('create <name>')
    .description('Create a vault')
    .option('--stage <stage>', 'development, homologation, staging or production', 'development')
    .option('--description <text>', 'its purpose')
    .option('--zero-knowledge', 'values are encrypted before they are sent, and only you have the key')
    .action((name: string, options: CreateOptions, command: Command) => create(name, options, command));
  vaults
    .command('delete <vault>')
    .alias('rm')
    .description('Delete a vault; it can be restored until its retention ends')
    .option('--yes', 'do not ask')
    .action((vault: string, { yes }: { yes?: boolean }, command: Command) => remove(vault, yes === true, command));
}

interface CreateOptions {
  stage: string;
  description?: string;
  zeroKnowledge?: boolean;
}

async function list(command: Command): Promise<void> {
  const coffer = clientOf(settingsOf(command));
  const vaults = await Array.fromAsync(coffer.vaults.list());
  if (wantsJson(command)) return printJson(vaults);
  printTable(
    vaults,
    [
      { title: 'VAULT', of: (vault) => vault.name, isFlexible: true },
      { title: 'STAGE', of: (vault) => vault.environment },
      { title: 'SECRETS', of: (vault) => vault.secrets_count, isNumber: true },
      { title: 'CREATED', of: (vault) => ago(vault.created_at) },
    ],
    'You may see no vault. Create one: coffer vaults create NAME',
  );
}

async function show(vault: string, command: Command): Promise<void> {
  const detail = await clientOf(settingsOf(command)).vaults.get(vault);
  if (wantsJson(command)) return printJson(detail);
  print(`${detail.name} (${detail.id}), ${detail.environment}, ${detail.status}`);
  if (detail.description !== '') print(detail.description);
  print(`${detail.secrets_count} secrets, created ${ago(detail.created_at)}`);
  if (detail.is_zero_knowledge) print('Zero knowledge: the service has envelopes only.');
  for (const { name } of detail.policies ?? []) print(`Policy ${name}`);
}

async function create(name: string, options: CreateOptions, command: Command): Promise<void> {
  const { stage: environment, description, zeroKnowledge } = options;
  const created = await clientOf(settingsOf(command)).vaults.create({
    name,
    environment,
    ...(description !== undefined && { description }),
    ...(zeroKnowledge === true && { is_zero_knowledge: true }),
  });
  if (wantsJson(command)) return printJson(created);
  if (!sayIfPending(created)) note(`Created the vault ${name}.`);
}

async function remove(vault: string, isSure: boolean, command: Command): Promise<void> {
  const coffer = clientOf(settingsOf(command));
  if (!isSure) {
    if (!isInteractive()) throw new CommandError('Deleting needs --yes where nobody can be asked.');
    const { secrets_count } = await coffer.vaults.get(vault);
    if (!(await confirm(`Delete ${vault} with its ${secrets_count} secrets?`))) return note('Nothing was deleted.');
  }
  const deleted = await coffer.vaults.delete(vault);
  if (wantsJson(command)) return printJson(deleted);
  if (!sayIfPending(deleted)) note(`Deleted ${vault}. Until its retention ends it can be restored.`);
}
