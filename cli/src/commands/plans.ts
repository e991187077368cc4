import type { Command } from 'commander';
import type { RouteOutput } from '../../../client/src/index.ts';
import { action } from '../declared.ts';
import { ago, printJson, printTable } from '../output.ts';
import { clientOf, settingsOf, wantsJson } from '../settings.ts';

export function register(program: Command): void {
  const plans = program.command('plans').description('What each plan allows, and what your tenant uses of its own');
  plans
    .command('usage')
    .description('Show what your tenant uses of its plan')
    .action((_, command: Command) => showUsage(command));
  plans
    .command('list', { isDefault: true })
    .alias('ls')
    .description('List the plans with their limits; for operators')
    .action((_, command: Command) => list(command));
  action(plans, {
    usage: 'update <plan>',
    summary: 'Set the limits of a plan; one that is left out is that of the service again',
    route: 'PUT /admin/plans/{plan}',
    arguments: ['path/plan'],
    options: [
      {
        flags: '--quota <name=number>',
        description: 'how many a tenant may have, such as vaults=20; none for no limit',
        to: 'body/quotas',
        kind: 'limits',
      },
      {
        flags: '--limit <class=number>',
        description: 'requests a minute: read, write, rotate or aggregate',
        to: 'body/requests_per_minute',
        kind: 'limits',
      },
    ],
    says: ({ plan }) => `Set the limits of ${plan}. See them: coffer plans`,
  });
}

type Use = RouteOutput<'GET /saas/tier'>['quotas']['vaults'];

async function showUsage(command: Command): Promise<void> {
  const usage = await clientOf(settingsOf(command)).call('GET /saas/tier', {});
  if (wantsJson(command)) return printJson(usage);
  const { requests_per_minute, ...quotas } = usage.quotas;
  const rates = Object.entries(requests_per_minute).map(([name, use]) => [`${name} requests a minute`, use] as const);
  const rows: (readonly [string, Use])[] = [...Object.entries(quotas), ...rates];
  printTable(
    rows,
    [
      { title: `OF ${usage.tier.toUpperCase()}`, of: ([name]) => name.replaceAll('_', ' ') },
      { title: 'USED', of: ([, { used }]) => used, isNumber: true },
      { title: 'LIMIT', of: ([, { limit }]) => limit ?? 'none', isNumber: true },
    ],
    '',
  );
  if (usage.grace_period !== null)
    process.stderr.write(`A payment is overdue: the plan ends ${ago(usage.grace_period.until)}.\n`);
}

async function list(command: Command): Promise<void> {
  const { plans } = await clientOf(settingsOf(command)).call('GET /admin/plans', {});
  if (wantsJson(command)) return printJson(plans);
  const textOf = (limits: object) =>
    Object.entries(limits)
      .map(([name, limit]) => `${name}=${limit ?? 'none'}`)
      .join(' ');
  printTable(
    plans,
    [
      { title: 'PLAN', of: ({ plan }) => plan },
      { title: 'SET', of: ({ updated_at }) => ago(updated_at) || 'never' },
      { title: 'QUOTAS', of: ({ quotas }) => textOf(quotas), isFlexible: true },
      { title: 'REQUESTS A MINUTE', of: ({ requests_per_minute }) => textOf(requests_per_minute), isFlexible: true },
    ],
    'There are no plans.',
  );
}
