import type { Command } from 'commander';
import type { Schemas } from '../../../client/src/index.ts';
import { printJson, printTable } from '../output.ts';
import { clientOf, settingsOf, vaultOf, wantsJson } from '../settings.ts';

export function registerReferences(references: Command): void {
  references
    .description('Show what a template refers to, and which templates refer to a secret')
    .action((path: string, options: { vault?: string }, command: Command) => show(path, options, command));
}

async function show(path: string, options: { vault?: string }, command: Command): Promise<void> {
  const settings = settingsOf(command);
  const vault = vaultOf(settings, options.vault);
  const route = 'GET /v1/vaults/{vault}/references/{path}';
  const found = await clientOf(settings).call(route, { path: { vault, path } });
  if (wantsJson(command)) return printJson(found);
  printTable(
    [...rows('refers to', found.refers_to ?? []), ...rows('referred to by', found.referred_by)],
    [
      { title: 'REFERENCE', of: ({ direction }) => direction },
      { title: 'SECRET', of: ({ name }) => name, isFlexible: true },
    ],
    `${vault}/${path} refers to nothing, and no template that you may see refers to it.`,
  );
}

function rows(direction: string, secrets: readonly Schemas['SecretName'][]) {
  return secrets.map((secret) => ({ direction, name: nameOf(secret) }));
}

function nameOf({ vault, path }: Schemas['SecretName']): string {
  return `${vault}/${path}`;
}

/** Of templates that cannot be resolved any more. */
export function referrersNote(templates: readonly Schemas['SecretName'][]): string {
  return `These templates refer to it, and cannot be read until they are changed or another secret is there: ${templates.map(nameOf).join(', ')}`;
}
