import type { Command } from 'commander';
import { collected } from '../../../client/src/index.ts';
import { action } from '../declared.ts';
import { tree } from '../drawing.ts';
import { CommandError } from '../failure.ts';
import { branchesOf, countText, type FolderTree, folderTree } from '../folder-tree.ts';
import { nameFields } from '../named-fields.ts';
import { collect, wholeNumber } from '../options.ts';
import { ago, inTerminal, note, print, printJson, printTable } from '../output.ts';
import { sayIfPending } from '../pending.ts';
import { withProgress } from '../progress.ts';
import { confirm, isInteractive } from '../prompt.ts';
import { clientOf, settingsOf, wantsJson } from '../settings.ts';
import { addChangePassphrase } from './change-passphrase.ts';

export function register(program: Command): void {
  const vaults = program.command('vaults').description('List, show, create and delete vaults');
  vaults
    .command('list', { isDefault: true })
    .alias('ls')
    .description('List the vaults that you may see')
    .option('--deleted', 'those that can be restored')
    .action(({ deleted }: { deleted?: boolean }, command: Command) => list(deleted === true, command));
  vaults
    .command('tree [vault]')
    .description('Draw what is in the vaults that you may see, or in one of them')
    .option('--depth <levels>', 'how deep below a vault: all levels of one vault, one level of several', wholeNumber)
    .action((vault: string | undefined, { depth }: { depth?: number }, command: Command) =>
      drawTree(vault, depth, command),
    );
  vaults
    .command('show <vault>')
    .description('Show one vault')
    .action((vault: string, _, command: Command) => show(vault, command));
  nameFields(vaults.command('create <name>'), {
    environment: '--stage',
    is_zero_knowledge: '--zero-knowledge',
    tags: '--tag',
  })
    .description('Create a vault')
    .option('--stage <stage>', 'development, homologation, staging or production', 'development')
    .option('--description <text>', 'its purpose')
    .option('--tag <tags>', 'words to find it by, with commas between them', collect)
    .option('--zero-knowledge', 'values are encrypted before they are sent, and only you have the key')
    .action((name: string, options: CreateOptions, command: Command) => create(name, options, command));
  action(vaults, {
    usage: 'update <vault>',
    summary: 'Change what a vault is for, the age of its key, or what the audit log has of it',
    route: 'PATCH /v1/vaults/{vault}',
    arguments: ['path/vault'],
    options: [
      { flags: '--description <text>', description: 'its purpose', to: 'body/description' },
      {
        flags: '--tag <tags>',
        description: 'words to find it by, with commas between them',
        to: 'body/tags',
        kind: 'list',
      },
      {
        flags: '--rotate-key-every <days>',
        description: 'how old its key may grow',
        to: 'body/encryption/rotation_days',
        kind: 'number',
      },
      { flags: '--list-reads', description: 'the audit log lists each read', to: 'body/audit/log_reads', value: true },
      {
        flags: '--count-reads',
        description: 'the audit log only counts them',
        to: 'body/audit/log_reads',
        value: false,
      },
      {
        flags: '--change-control <setting>',
        description: 'none, or review: changes of its secrets wait until another person approves them',
        to: 'body/change_control',
      },
      {
        flags: '--keep-entries <days>',
        description: 'how long entries of the audit log are stored',
        to: 'body/audit/retention_days',
        kind: 'number',
      },
    ],
    says: ({ name }) => `Changed the vault ${name}.`,
  });
  action(vaults, {
    usage: 'restore <vault>',
    summary: 'Restore a deleted vault',
    route: 'POST /v1/vaults/{vault}/restore',
    arguments: ['path/vault'],
    says: ({ name }) => `Restored ${name}.`,
  });
  addChangePassphrase(vaults);
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
  tag?: string[];
  zeroKnowledge?: boolean;
}

async function list(isDeleted: boolean, command: Command): Promise<void> {
  const coffer = clientOf(settingsOf(command));
  const vaults = isDeleted
    ? (await collected(coffer.pages('GET /v1/vaults', { query: { status: 'deleted', limit: 1000 } }))).flatMap(
        (page) => page.vaults,
      )
    : await collected(coffer.vaults.list());
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

async function drawTree(name: string | undefined, depth: number | undefined, command: Command): Promise<void> {
  const coffer = clientOf(settingsOf(command));
  const vaults = name === undefined ? await collected(coffer.vaults.list()) : [await coffer.vaults.get(name)];
  const roots: FolderTree[] = [];
  await withProgress(async (progress) => {
    progress.begin({ title: 'Listing', unit: 'vaults', total: vaults.length });
    for (const vault of vaults) {
      const secrets = await collected(coffer.secrets.list(vault.name));
      roots.push(folderTree(`${vault.name} (${vault.environment})`, secrets));
      progress.reach(roots.length);
    }
  });
  if (wantsJson(command)) return printJson(roots);
  if (roots.length === 0) return note('You may see no vault. Create one: coffer vaults create NAME');
  const levels = depth ?? (name === undefined ? 1 : Number.POSITIVE_INFINITY);
  for (const root of roots)
    for (const line of [`${root.name}${countText(root)}`, ...tree(branchesOf(root, levels))]) print(inTerminal(line));
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
  const { stage: environment, description, tag, zeroKnowledge } = options;
  const created = await clientOf(settingsOf(command)).vaults.create({
    name,
    environment,
    ...(description !== undefined && { description }),
    ...(tag !== undefined && { tags: tag }),
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
