import type { Command } from 'commander';
import { collected } from '../../../client/src/index.ts';
import { action, listing } from '../declared.ts';
import { ago, printJson, printTable } from '../output.ts';
import { clientOf, settingsOf, wantsJson } from '../settings.ts';
import { namesOfPeople } from './people.ts';

export function register(program: Command): void {
  const groups = program.command('groups').description('Put people into groups, for policies and vaults');
  listing(groups, {
    usage: 'list',
    alias: 'ls',
    isDefault: true,
    summary: 'List the groups',
    route: 'GET /v1/groups',
    rows: (page) => page.groups,
    columns: [
      { title: 'GROUP', of: ({ name }) => name, isFlexible: true },
      { title: 'PEOPLE', of: ({ members_count }) => members_count, isNumber: true },
      { title: 'CREATED', of: ({ created_at }) => ago(created_at) },
      { title: 'DESCRIPTION', of: ({ description }) => description, isFlexible: true },
    ],
    empty: 'There is no group that you may see.',
  });
  action(groups, {
    usage: 'create <name>',
    summary: 'Create a group',
    route: 'POST /v1/groups',
    arguments: ['body/name'],
    options: [{ flags: '--description <text>', description: 'its purpose', to: 'body/description' }],
    says: ({ name }) => `Created the group ${name}. Next: coffer groups add ${name} EMAIL`,
  });
  action(groups, {
    usage: 'describe <group> <text>',
    summary: 'Change the description of a group',
    route: 'PATCH /v1/groups/{group_id}',
    arguments: ['path/group_id', 'body/description'],
    says: ({ name }) => `Changed the description of ${name}.`,
  });
  action(groups, {
    usage: 'delete <group>',
    alias: 'rm',
    summary: 'Delete a group; its members lose the rights that it gave them',
    route: 'DELETE /v1/groups/{group_id}',
    arguments: ['path/group_id'],
    asks: ({ group }) => `Delete the group ${group}?`,
    says: (_, { group }) => `Deleted the group ${group}.`,
  });
  action(groups, {
    usage: 'add <group> <who>',
    summary: 'Put somebody into a group, by e-mail address or id',
    route: 'POST /v1/groups/{group_id}/members',
    arguments: ['path/group_id', 'body/user_id'],
    says: (_, { who, group }) => `${who} is in ${group}.`,
  });
  action(groups, {
    usage: 'remove <group> <who>',
    summary: 'Take somebody out of a group',
    route: 'DELETE /v1/groups/{group_id}/members/{user_id}',
    arguments: ['path/group_id', 'path/user_id'],
    says: (_, { who, group }) => `${who} is not in ${group} any more.`,
  });
  groups
    .command('members <group>')
    .description('Show who is in a group')
    .action((group: string, _, command: Command) => members(group, command));
}

async function members(group_id: string, command: Command): Promise<void> {
  const coffer = clientOf(settingsOf(command));
  const pages = coffer.pages('GET /v1/groups/{group_id}/members', { path: { group_id }, query: { limit: 1000 } });
  const all = (await collected(pages)).flatMap((page) => page.members);
  if (wantsJson(command)) return printJson(all);
  const names = await namesOfPeople(coffer);
  printTable(
    all,
    [
      { title: 'WHO', of: ({ user_id }) => names.get(user_id) ?? user_id, isFlexible: true },
      { title: 'SINCE', of: ({ added_at }) => ago(added_at) },
    ],
    `Nobody is in ${group_id}.`,
  );
}
