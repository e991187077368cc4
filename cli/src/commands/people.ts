import type { Command } from 'commander';
import { type Coffer, CofferError, collected } from '../../../client/src/index.ts';
import { action } from '../declared.ts';
import { CommandError, EXIT } from '../failure.ts';
import { nameFields } from '../named-fields.ts';
import { collect } from '../options.ts';
import { ago, note, printJson, printTable } from '../output.ts';
import { sayIfPending } from '../pending.ts';
import { confirm, isInteractive } from '../prompt.ts';
import { clientOf, settingsOf, vaultOf, wantsJson } from '../settings.ts';

export function register(program: Command): void {
  const people = program.command('people').description('List and invite people, and give them access to a vault');
  const withVault = (command: Command) =>
    command.option('--vault <name>', 'the vault (COFFER_VAULT, or that of the project)');
  people
    .command('list', { isDefault: true })
    .alias('ls')
    .description('List the people of the tenant')
    .action((_, command: Command) => list(command));
  people
    .command('invite <email>')
    .description('Invite somebody; send them what is printed, by a way that only they read')
    .option('--name <name>', 'their name; the part before the @ unless given')
    .option('--role <role>', 'member, auditor, admin or owner', 'member')
    .option(
      '--vault <vaults>',
      'vaults that they are let into, with their role there: shop=reader,live=writer',
      collect,
    )
    .action((email: string, options: InviteOptions, command: Command) => invite(email, options, command));
  registerAccounts(people);
  action(people, {
    usage: 'reinvite <who>',
    summary: 'Invite somebody again whose invitation was lost or has expired; the former invitation ends',
    route: 'POST /v1/users/{user_id}/invite',
    arguments: [{ to: 'path/user_id', translate: idOf }],
    shows: ({ token }) => token,
    says: ({ expires_at }, { who }) => `Until ${expires_at} ${who} can accept it: coffer login --invitation`,
  });
  people
    .command('remove <who>')
    .description('Delete somebody’s account, by e-mail address or id: sessions and tokens end at once')
    .option('--yes', 'do not ask')
    .action((who: string, options: { yes?: boolean }, command: Command) => remove(who, options, command));
  nameFields(withVault(people.command('grant <who> [role]')), { user: '<who>' })
    .description('Make somebody reader (unless another role is given), writer or manager of a vault')
    .option('--group', 'it is a group')
    .action((who: string, role: VaultRole | undefined, options: VaultOption, command: Command) =>
      grant(who, role ?? 'reader', options, command),
    );
  withVault(people.command('revoke <who>'))
    .description('Take somebody’s access to a vault away')
    .option('--group', 'it is a group')
    .action((who: string, options: VaultOption, command: Command) => revoke(who, options, command));
  action(people, {
    usage: 'role <who> <role>',
    summary: 'Make somebody member, auditor, admin or owner of the tenant',
    route: 'PATCH /v1/users/{user_id}',
    arguments: [{ to: 'path/user_id', translate: idOf }, 'body/role'],
    says: ({ email, role }) => `${email} is ${role}.`,
  });
  for (const [name, status, summary] of [
    ['disable', 'disabled', 'Disable somebody’s account; sessions and tokens stop at once'],
    ['enable', 'active', 'Enable somebody’s account again'],
  ] as const) {
    action(people, {
      usage: `${name} <who>`,
      summary,
      route: 'PATCH /v1/users/{user_id}',
      arguments: [{ to: 'path/user_id', translate: idOf }],
      options: [{ flags: '--status', description: '', to: 'body/status', kind: 'fixed', otherwise: status }],
      says: (user) => `${user.email} is ${user.status}.`,
    });
  }
  action(people, {
    usage: 'member-role <who> <role>',
    summary: 'Change the role that a person or group has in a vault: reader, writer or manager',
    route: 'PATCH /v1/vaults/{vault}/members/{member_id}',
    arguments: [{ to: 'path/member_id', translate: memberIdOf }, 'body/role'],
    options: [
      {
        flags: '--vault <name>',
        description: 'the vault (COFFER_VAULT, or that of the project)',
        to: 'path/vault',
        kind: 'vault',
      },
      { flags: '--group', description: 'it is a group', to: 'path/member_id', kind: 'local' },
    ],
    says: ({ role }, { who }) => `${who} is ${role} now.`,
  });
  action(people, {
    usage: 'review',
    summary: 'Confirm that the members of a vault are the right ones',
    route: 'POST /v1/vaults/{vault}/members/review',
    options: [
      {
        flags: '--vault <name>',
        description: 'the vault (COFFER_VAULT, or that of the project)',
        to: 'path/vault',
        kind: 'vault',
      },
    ],
    says: ({ vault, reviewed }) => `Reviewed the ${reviewed} members of ${vault}.`,
  });
  withVault(people.command('members'))
    .description('Show who has access to a vault')
    .action((options: VaultOption, command: Command) => members(options, command));
}

/** What gives somebody an account, or gets them into it again. */
function registerAccounts(people: Command): void {
  const who = { to: 'path/user_id', translate: idOf } as const;
  action(people, {
    usage: 'add <email>',
    summary: 'Make an account with a password, from standard input or a prompt; better is an invitation',
    route: 'POST /v1/users',
    arguments: ['body/email'],
    options: [
      { flags: '--name <name>', description: 'their name', to: 'body/name' },
      { flags: '--role <role>', description: 'member (the default), auditor, admin or owner', to: 'body/role' },
      { flags: '--password', description: 'Password', to: 'body/password', kind: 'input' },
    ],
    says: ({ email, role }) => `${email} is ${role}, and logs in with coffer login.`,
  });
  action(people, {
    usage: 'password <who>',
    summary: 'Give somebody another password, from standard input or a prompt; sessions and tokens end',
    route: 'PATCH /v1/users/{user_id}',
    arguments: [who],
    options: [{ flags: '--password', description: 'Password', to: 'body/password', kind: 'input' }],
    says: ({ email }) => `${email} logs in with the new password, and should change it: coffer password`,
  });
  action(people, {
    usage: 'reset-factors <who>',
    summary: 'Take away all second factors of somebody who lost them',
    route: 'DELETE /v1/users/{user_id}/mfa',
    arguments: [who],
    needsProof: true,
    asks: (given) => `Take away all second factors of ${given['who']}?`,
    says: (_, given) => `${given['who']} has no second factor any more.`,
  });
  action(people, {
    usage: 'trust-factors <who>',
    summary: 'Let somebody’s new second factors open fortress secrets on their first day',
    route: 'POST /v1/users/{user_id}/mfa/trust',
    arguments: [who],
    needsProof: true,
    says: (_, given) => `The second factors of ${given['who']} are trusted.`,
  });
  action(people, {
    usage: 'break-glass <who>',
    summary: 'Let an owner in without the provider that the tenant requires',
    route: 'PATCH /v1/users/{user_id}',
    arguments: [who],
    options: [{ flags: '--off', description: 'no longer', to: 'body/break_glass', value: false, otherwise: true }],
    says: ({ email, break_glass }) =>
      break_glass ? `${email} gets in without the provider.` : `${email} needs the provider again.`,
  });
}

type Role = 'owner' | 'admin' | 'auditor' | 'member';
type VaultRole = 'reader' | 'writer' | 'manager';
interface InviteOptions {
  name?: string;
  role: Role;
  vault?: string[];
}
interface VaultOption {
  vault?: string;
  group?: boolean;
}

async function usersOf(coffer: Coffer) {
  const pages = coffer.pages('GET /v1/users', { query: { limit: 1000 } });
  return (await collected(pages)).flatMap((page) => page.users);
}

/** E-mail addresses by id; none for a caller without the right to list people. */
export async function namesOfPeople(coffer: Coffer): Promise<Map<string, string>> {
  const known = await usersOf(coffer).catch((error: unknown) => {
    if (error instanceof CofferError && error.status === 403) return [];
    throw error;
  });
  return new Map(known.map(({ id, email }) => [id, email]));
}

async function list(command: Command): Promise<void> {
  const users = await usersOf(clientOf(settingsOf(command)));
  if (wantsJson(command)) return printJson(users);
  printTable(
    users,
    [
      { title: 'PERSON', of: ({ email }) => email, isFlexible: true },
      { title: 'NAME', of: ({ name }) => name, isFlexible: true },
      { title: 'ROLE', of: ({ role }) => role },
      { title: 'STATUS', of: ({ status }) => status },
      { title: 'FACTORS', of: ({ second_factors }) => second_factors.map(({ kind }) => kind).join(' ') },
      { title: 'SINCE', of: ({ created_at }) => ago(created_at) },
    ],
    'There is nobody that you may see.',
  );
}

async function invite(email: string, { name, role, vault }: InviteOptions, command: Command): Promise<void> {
  const settings = settingsOf(command);
  const vaults = vault === undefined ? {} : { vaults: vault.map(vaultAndRole) };
  const body = { email, name: name ?? email.replace(/@.*/, ''), role, invite: true, ...vaults };
  const created = await clientOf(settings).call('POST /v1/users', { body }, { idempotencyKey: crypto.randomUUID() });
  if (wantsJson(command)) return printJson(created);
  if (sayIfPending(created) || !('invitation' in created) || created.invitation === undefined) return;
  process.stdout.write(`${created.invitation.token}\n`);
  const { expires_at } = created.invitation;
  note(`Until ${expires_at} ${email} can accept it: coffer login --invitation --url ${settings.url}`);
}

function vaultAndRole(text: string): { vault: string; role: VaultRole } {
  const [, vault, role] = /^([^=]+)=(reader|writer|manager)$/.exec(text) ?? [];
  if (vault === undefined)
    throw new CommandError('--vault must be written VAULT=ROLE, with reader, writer or manager.');
  return { vault, role: role as VaultRole };
}

async function remove(who: string, { yes }: { yes?: boolean }, command: Command): Promise<void> {
  const coffer = clientOf(settingsOf(command));
  const { id, email } = await personOf(coffer, who);
  if (yes !== true) {
    if (!isInteractive()) throw new CommandError('Removing somebody needs --yes where nobody can be asked.');
    if (!(await confirm(`Delete the account of ${email}?`))) return note('Nothing was changed.');
  }
  const route = 'DELETE /v1/users/{user_id}';
  const removed = await coffer.call(route, { path: { user_id: id } }, { idempotencyKey: crypto.randomUUID() });
  if (wantsJson(command)) return printJson(removed);
  if (!sayIfPending(removed)) note(`Deleted the account of ${email}.`);
}

async function grant(who: string, role: VaultRole, options: VaultOption, command: Command): Promise<void> {
  const settings = settingsOf(command);
  const vault = vaultOf(settings, options.vault);
  const member = await clientOf(settings).call(
    'POST /v1/vaults/{vault}/members',
    { path: { vault }, body: { ...(options.group === true ? { group: who } : { user: who }), role } },
    { idempotencyKey: crypto.randomUUID() },
  );
  if (wantsJson(command)) return printJson(member);
  if (!sayIfPending(member)) note(`${who} is ${role} of ${vault}.`);
}

async function revoke(who: string, { group, ...options }: VaultOption, command: Command): Promise<void> {
  const settings = settingsOf(command);
  const vault = vaultOf(settings, options.vault);
  const coffer = clientOf(settings);
  const { id, email } = group === true ? { id: await groupIdOf(coffer, who), email: who } : await personOf(coffer, who);
  const removed = await coffer.call(
    'DELETE /v1/vaults/{vault}/members/{member_id}',
    { path: { vault, member_id: id } },
    { idempotencyKey: crypto.randomUUID() },
  );
  if (wantsJson(command)) return printJson(removed);
  if (!sayIfPending(removed)) note(`${email} is no longer a member of ${vault}.`);
}

async function idOf(coffer: Coffer, who: string): Promise<string> {
  return (await personOf(coffer, who)).id;
}

async function memberIdOf(coffer: Coffer, who: string, command: Command): Promise<string> {
  return command.opts<VaultOption>().group === true ? groupIdOf(coffer, who) : idOf(coffer, who);
}

async function groupIdOf(coffer: Coffer, group_id: string): Promise<string> {
  return (await coffer.call('GET /v1/groups/{group_id}', { path: { group_id } })).id;
}

async function personOf(coffer: Coffer, who: string): Promise<{ id: string; email: string }> {
  const found = (await usersOf(coffer)).find(({ id, email }) => id === who || email === who.toLowerCase());
  if (found === undefined)
    throw new CommandError(`There is nobody with that address or id. coffer people lists them.`, EXIT.notFound);
  return found;
}

async function members(options: VaultOption, command: Command): Promise<void> {
  const settings = settingsOf(command);
  const vault = vaultOf(settings, options.vault);
  const coffer = clientOf(settings);
  const pages = coffer.pages('GET /v1/vaults/{vault}/members', { path: { vault }, query: { limit: 1000 } });
  const all = (await collected(pages)).flatMap((page) => page.members);
  if (wantsJson(command)) return printJson(all);
  const names = await namesOfPeople(coffer);
  printTable(
    all,
    [
      { title: 'KIND', of: ({ kind }) => kind },
      { title: 'WHO', of: ({ id }) => names.get(id) ?? id, isFlexible: true },
      { title: 'ROLE', of: ({ role }) => role },
      { title: 'SINCE', of: ({ added_at }) => ago(added_at) },
    ],
    `Nobody is a member of ${vault}.`,
  );
}
