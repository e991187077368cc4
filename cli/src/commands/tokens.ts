import type { Command } from 'commander';
import { collected } from '../../../client/src/index.ts';
import { CommandError } from '../failure.ts';
import { withFreshProof } from '../fresh-session.ts';
import { nameFields } from '../named-fields.ts';
import { collect } from '../options.ts';
import { ago, note, printJson, printTable } from '../output.ts';
import { clientOf, settingsOf, wantsJson } from '../settings.ts';

export function register(program: Command): void {
  const tokens = program.command('tokens').description('List, create and revoke personal access tokens');
  tokens
    .command('list', { isDefault: true })
    .description('List your tokens')
    .action((_, command: Command) => list(command));
  nameFields(tokens.command('create <name>'), { ...SCOPE_NAMES, ttl_days: '--days' })
    .description('Create a token; it is printed once')
    .option('--days <number>', 'how long it is valid, at most 365', '30')
    .option('--vault <names>', 'only for these vaults, with commas between them', collect)
    .option('--action <actions>', 'only for these actions, such as secrets:read,secrets:list', collect)
    .option('--ip <ranges>', 'only from these addresses', collect)
    .option('--keep', 'it goes on when you end your sessions or change your password')
    .action((name: string, options: CreateOptions, command: Command) => create(name, options, command));
  tokens
    .command('revoke <token>')
    .description('Revoke a token, by its id; it is refused from the next request on')
    .action((id: string, _, command: Command) => revoke(id, command));
}

const SCOPE_NAMES = { 'scope/vaults': '--vault', 'scope/actions': '--action', ip_allowlist: '--ip' };

interface CreateOptions {
  days: string;
  vault?: string[];
  action?: string[];
  ip?: string[];
  keep?: boolean;
}

async function list(command: Command): Promise<void> {
  const tokens = (
    await collected(clientOf(settingsOf(command)).pages('GET /auth/tokens', { query: { limit: 1000 } }))
  ).flatMap((page) => page.tokens);
  if (wantsJson(command)) return printJson(tokens);
  printTable(
    tokens,
    [
      { title: 'TOKEN', of: ({ id }) => id },
      { title: 'NAME', of: ({ name }) => name, isFlexible: true },
      { title: 'KIND', of: ({ kind }) => kind },
      {
        title: 'SCOPE',
        of: ({ scope }) => [...(scope?.vaults ?? []), ...(scope?.actions ?? [])].join(' '),
        isFlexible: true,
      },
      { title: 'STATUS', of: ({ status }) => status },
      { title: 'EXPIRES', of: ({ expires_at }) => ago(expires_at) },
    ],
    'You have no tokens.',
  );
}

async function create(name: string, { days, vault, action, ip, keep }: CreateOptions, command: Command): Promise<void> {
  const ttl_days = Number(days);
  if (!Number.isSafeInteger(ttl_days) || ttl_days < 1 || ttl_days > 365)
    throw new CommandError('--days must be a number from 1 to 365.');
  const scope = { ...(vault !== undefined && { vaults: vault }), ...(action !== undefined && { actions: action }) };
  const body = {
    name,
    ttl_days,
    ...(Object.keys(scope).length > 0 && { scope }),
    ...(ip !== undefined && { ip_allowlist: ip }),
    ...(keep === true && { ends_with_sessions: false }),
  };
  const created = await withFreshProof(command, (coffer) =>
    coffer.call('POST /auth/tokens', { body }, { idempotencyKey: crypto.randomUUID() }),
  );
  if (wantsJson(command)) return printJson(created);
  process.stdout.write(`${created.token}\n`);
  note(`${created.id} expires ${ago(created.expires_at)}. It cannot be shown again.`);
  if (created.ends_with_sessions)
    note('It ends when you end your sessions or change your password, unless you keep it then.');
}

async function revoke(id: string, command: Command): Promise<void> {
  const revoked = await clientOf(settingsOf(command)).call(
    'DELETE /auth/tokens/{token_id}',
    { path: { token_id: id } },
    { idempotencyKey: crypto.randomUUID() },
  );
  if (wantsJson(command)) return printJson(revoked);
  note(`Revoked ${id}.`);
}
