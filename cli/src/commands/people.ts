import type { Command } from 'commander';
import { type Coffer, CofferError } from '../../../client/src/index.ts';
import { CommandError, EXIT } from '../failure.ts';
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
    .action((email: string, options: { name?: string; role: Role }, command: Command) =>
      invite(email, options, command),
    );
  people
    .command('remove <who>')
    .description('Delete somebody’s account, by e-mail address or id: sessions and tokens end at once')
    .option('--yes', 'do not ask')
    .action((who: string, options: { yes?: boolean }, command: Command) => remove(who, options, command));
  withVault(people.command('grant <who> [role]'))
    .description('Make somebody reader (unless another role is given), writer or manager of a vault')
    .action((who: string, role: VaultRole | undefined, options: VaultOption, command: Command) =>
      grant(who, role ?? 'reader', options, command),
    );
  withVault(people.command('revoke <who>'))
    .description('Take somebody’s access to a vault away')
    .action((who: string, options: VaultOption, command: Command) => revoke(who, options, command));
  withVault(people.command('members'))
    .description('Show who has access to a vault')
    .action((options: VaultOption, command: Command) => members(options, command));
}

type Role = 'owner' | 'admin' | 'auditor' | 'member';
type VaultRole = 'reader' | 'writer' | 'manager';
interface VaultOption {
  vault?: string;
}

async function usersOf(coffer: Coffer) {
  const pages = coffer.pages('GET /v1/users', { query: { limit: 1000 } });
  return (await Array.fromAsync(pages, (page) => page.users)).flat();
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
      { title: 'SINCE', of: ({ created_at }) => ago(created_at) },
    ],
    'There is nobody that you may see.',
  );
}

async function invite(email: string, { name, role }: { name?: string; role: Role }, command: Command): Promise<void> {
  const settings = settingsOf(command);
  const body = { email, name: name ?? email.replace(/@.*/, ''), role, invite: true };
  const created = await clientOf(settings).call('POST /v1/users', { body }, { idempotencyKey: crypto.randomUUID() });
  if (wantsJson(command)) return printJson(created);
  if (sayIfPending(created) || !('invitation' in created) || created.invitation === undefined) return;
  process.stdout.write(`${created.invitation.token}\n`);
  const { expires_at } = created.invitation;
  note(`Until ${expires_at} ${email} can accept it: coffer login --invitation --url ${settings.url}`);
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
    { path: { vault }, body: { user: who, role } },
    { idempotencyKey: crypto.randomUUID() },
  );
  if (wantsJson(command)) return printJson(member);
  if (!sayIfPending(member)) note(`${who} is ${role} of ${vault}.`);
}

async function revoke(who: string, options: VaultOption, command: Command): Promise<void> {
  const settings = settingsOf(command);
  const vault = vaultOf(settings, options.vault);
  const coffer = clientOf(settings);
  const { id, email } = await personOf(coffer, who);
  const removed = await coffer.call(
    'DELETE /v1/vaults/{vault}/members/{member_id}',
    { path: { vault, member_id: id } },
    { idempotencyKey: crypto.randomUUID() },
  );
  if (wantsJson(command)) return printJson(removed);
  if (!sayIfPending(removed)) note(`${email} is no member of ${vault} any more.`);
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
  const all = (await Array.fromAsync(pages, (page) => page.members)).flat();
  if (wantsJson(command)) return printJson(all);
  const known = await usersOf(coffer).catch((error: unknown) => {
    // Who may not list people sees ids.
    if (error instanceof CofferError && error.status === 403) return [];
    throw error;
  });
  const names = new Map(known.map(({ id, email }) => [id, email]));
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
