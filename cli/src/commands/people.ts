import type { Command } from 'commander';
import { ago, note, printJson, printTable } from '../output.ts';
import { sayIfPending } from '../pending.ts';
import { clientOf, settingsOf, vaultOf, wantsJson } from '../settings.ts';

export function register(program: Command): void {
  const people = program.command('people').description('List and invite people, and give them access to a vault');
  people
    .command('list', { isDefault: true })
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
    .command('grant <who> [role]')
    .description('Make somebody reader (unless another role is given), writer or manager of a vault')
    .option('--vault <name>', 'the vault (COFFER_VAULT, or that of the project)')
    .action((who: string, role: VaultRole | undefined, options: { vault?: string }, command: Command) =>
      grant(who, role ?? 'reader', options, command),
    );
  people
    .command('members')
    .description('Show who has access to a vault')
    .option('--vault <name>', 'the vault (COFFER_VAULT, or that of the project)')
    .action((options: { vault?: string }, command: Command) => members(options, command));
}

type Role = 'owner' | 'admin' | 'auditor' | 'member';
type VaultRole = 'reader' | 'writer' | 'manager';

async function list(command: Command): Promise<void> {
  const pages = clientOf(settingsOf(command)).pages('GET /v1/users', { query: { limit: 1000 } });
  const users = (await Array.fromAsync(pages, (page) => page.users)).flat();
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

async function grant(who: string, role: VaultRole, options: { vault?: string }, command: Command): Promise<void> {
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

async function members(options: { vault?: string }, command: Command): Promise<void> {
  const settings = settingsOf(command);
  const vault = vaultOf(settings, options.vault);
  const pages = clientOf(settings).pages('GET /v1/vaults/{vault}/members', { path: { vault }, query: { limit: 1000 } });
  const all = (await Array.fromAsync(pages, (page) => page.members)).flat();
  if (wantsJson(command)) return printJson(all);
  printTable(
    all,
    [
      { title: 'KIND', of: ({ kind }) => kind },
      { title: 'WHO', of: ({ id }) => id, isFlexible: true },
      { title: 'ROLE', of: ({ role }) => role },
      { title: 'SINCE', of: ({ added_at }) => ago(added_at) },
    ],
    `Nobody is a member of ${vault}.`,
  );
}
