import type { Command } from 'commander';
import { CommandError } from '../failure.ts';
import { printJson, printTable } from '../output.ts';
import { clientOf, settingsOf, wantsJson } from '../settings.ts';

export function register(program: Command): void {
  const env = program.command('env').description('List and compose environments');
  env
    .command('list', { isDefault: true })
    .description('List the composed environments')
    .action((_, command: Command) => list(command));
  env
    .command('compose [environment]')
    .description(
      'Show which secrets an environment has, and where each comes from; coffer export --env prints the values',
    )
    .action((name: string | undefined, _, command: Command) => compose(name, command));
}

async function list(command: Command): Promise<void> {
  const all = await Array.fromAsync(clientOf(settingsOf(command)).environments.list());
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
