import type { Command } from 'commander';
import { CommandError } from '../failure.ts';
import { ago, green, print, printJson, printTable, red } from '../output.ts';
import { clientOf, settingsOf, wantsJson } from '../settings.ts';

export function register(program: Command): void {
  const policies = program.command('policies').description('List policies, and simulate what they allow');
  policies
    .command('list', { isDefault: true })
    .description('List the policies')
    .action((_, command: Command) => list(command));
  policies
    .command('simulate <action> <resource>')
    .description(
      'Say whether somebody may do something, and by which rule: simulate secrets:read vault/shop/db/password --user ada@example.com',
    )
    .option('--policy <name>', 'by this policy alone')
    .option('--user <who>', 'for this person, by id or e-mail address')
    .option('--group <group>', 'for this group')
    .option('--connection <connection>', 'for this connection, by number or client id')
    .option('--ip <address>', 'from this address')
    .option('--mfa', 'with a second factor')
    .option('--time <time>', 'at this time')
    .action((action: string, resource: string, options: SimulateOptions, command: Command) =>
      simulate(action, resource, options, command),
    )
    .addHelpText(
      'after',
      '\nThe exit code is 0 also for deny: that is an answer, not a failure. Use --json in scripts.',
    );
}

interface SimulateOptions {
  policy?: string;
  user?: string;
  group?: string;
  connection?: string;
  ip?: string;
  mfa?: boolean;
  time?: string;
}

async function list(command: Command): Promise<void> {
  const policies = (
    await Array.fromAsync(
      clientOf(settingsOf(command)).pages('GET /v1/policies', { query: { limit: 1000 } }),
      (page) => page.policies,
    )
  ).flat();
  if (wantsJson(command)) return printJson(policies);
  printTable(
    policies,
    [
      { title: 'POLICY', of: ({ name }) => name, isFlexible: true },
      { title: 'VERSION', of: ({ version }) => version, isNumber: true },
      { title: 'STATEMENTS', of: ({ document }) => document.statement.length, isNumber: true },
      { title: 'CHANGED', of: ({ updated_at }) => ago(updated_at) },
      { title: 'DESCRIPTION', of: ({ description }) => description, isFlexible: true },
    ],
    'There is no policy that you may see.',
  );
}

async function simulate(action: string, resource: string, options: SimulateOptions, command: Command): Promise<void> {
  const { policy, user, group, connection, ip, mfa, time } = options;
  const principals = [user, group, connection].filter((one) => one !== undefined).length;
  if (principals > 1) throw new CommandError('Give one of --user, --group and --connection.');
  if (principals === 0 && policy === undefined)
    throw new CommandError('Whose rights? Give --user, --group, --connection or --policy.');
  const context = {
    ...(ip !== undefined && { ip }),
    ...(mfa === true && { mfa }),
    ...(time !== undefined && { time }),
  };
  const answer = await clientOf(settingsOf(command)).call(
    'POST /v1/policies/simulate',
    {
      body: {
        action,
        resource,
        ...(policy !== undefined && { policy }),
        ...(user !== undefined && { principal: { user } }),
        ...(group !== undefined && { principal: { group } }),
        ...(connection !== undefined && { principal: { app_connection: numberOrText(connection) } }),
        ...(Object.keys(context).length > 0 && { context }),
      },
    },
    { isRead: true },
  );
  if (wantsJson(command)) return printJson(answer);
  const paint = answer.decision === 'allow' ? green : red;
  print(`${paint(answer.decision)}: ${answer.reason}`);
  for (const { policy: by, sid, effect } of answer.matched)
    print(`  ${effect} by ${by}${sid == null ? '' : ` (${sid})`}`);
}

function numberOrText(text: string): number | string {
  return /^\d+$/.test(text) ? Number(text) : text;
}
