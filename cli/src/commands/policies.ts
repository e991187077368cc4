import type { Command } from 'commander';
import { collected } from '../../../client/src/index.ts';
import { action, listing } from '../declared.ts';
import { CommandError } from '../failure.ts';
import { nameFields } from '../named-fields.ts';
import { ago, green, print, printJson, printTable, red } from '../output.ts';
import { clientOf, settingsOf, wantsJson } from '../settings.ts';

export function register(program: Command): void {
  const policies = program.command('policies').description('Write and attach policies, and simulate what they allow');
  policies
    .command('list', { isDefault: true })
    .description('List the policies')
    .action((_, command: Command) => list(command));
  const document = {
    description: 'a file with the document, or - for standard input',
    to: 'body/document',
    kind: 'json',
  } as const;
  const description = { flags: '--description <text>', description: 'its purpose', to: 'body/description' } as const;
  action(policies, {
    usage: 'show <policy>',
    summary: 'Print the document of a policy',
    route: 'GET /v1/policies/{name}',
    arguments: ['path/name'],
    isRead: true,
    shows: ({ document: shown }) => JSON.stringify(shown, null, 2),
    says: ({ name, version, attachments }) =>
      `${name}, version ${version}, for ${attachments.map(({ principal }) => `${principal.kind} ${principal.id}`).join(', ') || 'nobody'}.`,
  });
  action(policies, {
    usage: 'create <policy>',
    summary: 'Create a policy; it counts once it is attached',
    route: 'POST /v1/policies',
    arguments: ['body/name'],
    options: [{ flags: '--document <file>', isRequired: true, ...document }, description],
    says: ({ name }) => `Created the policy ${name}. Next: coffer policies attach ${name} --user EMAIL`,
  });
  action(policies, {
    usage: 'write <policy>',
    summary: 'Replace the document of a policy; the one before stays a version',
    route: 'PUT /v1/policies/{name}',
    arguments: ['path/name'],
    options: [
      { flags: '--document <file>', isRequired: true, ...document },
      description,
      {
        flags: '--expect <version>',
        description: 'fail unless this is still the newest version',
        to: 'body/expected_version',
        kind: 'number',
      },
    ],
    says: ({ name, version }) => `Wrote version ${version} of ${name}.`,
  });
  listing(policies, {
    usage: 'versions <policy>',
    summary: 'List the versions of a policy; --json has their documents',
    route: 'GET /v1/policies/{name}/versions',
    arguments: ['path/name'],
    rows: (page) => page.versions,
    columns: [
      { title: 'VERSION', of: ({ version }) => version, isNumber: true },
      { title: 'WRITTEN', of: ({ written_at }) => ago(written_at) },
      { title: 'STATEMENTS', of: (version) => version.document.statement.length, isNumber: true },
      { title: 'DESCRIPTION', of: (version) => version.description, isFlexible: true },
    ],
    empty: 'It has no versions.',
  });
  action(policies, {
    usage: 'delete <policy>',
    alias: 'rm',
    summary: 'Delete a policy that is attached to nobody',
    route: 'DELETE /v1/policies/{name}',
    arguments: ['path/name'],
    asks: ({ policy }) => `Delete the policy ${policy}?`,
    says: (_, { policy }) => `Deleted the policy ${policy}.`,
  });
  action(policies, {
    usage: 'who-can <action> <resource>',
    summary: 'List who is allowed something, and by what',
    route: 'POST /v1/policies/who-can',
    arguments: ['body/action', 'body/resource'],
    isRead: true,
    shows: ({ principals }) =>
      principals
        .map(
          ({ name, conditional, because }) =>
            `${name}${conditional ? ' (under conditions)' : ''}: ${because.map((one) => `${one.kind} ${one.name}`).join(', ')}`,
        )
        .join('\n') || 'nobody whom you may see',
    says: ({ hidden }) => (hidden === 0 ? 'There is nobody else.' : `There are ${hidden} more, whom you may not see.`),
  });
  for (const verb of ['attach', 'detach'] as const) {
    action(policies, {
      usage: `${verb} <policy>`,
      summary: `${verb === 'attach' ? 'Attach a policy to' : 'Detach a policy from'} a person, group or connection`,
      route: `POST /v1/policies/{name}/${verb}`,
      arguments: ['path/name'],
      options: [
        { flags: '--user <who>', description: 'a person, by e-mail address or id', to: 'body/principal/user' },
        { flags: '--group <group>', description: 'a group', to: 'body/principal/group' },
        {
          flags: '--connection <connection>',
          description: 'a connection, by number or client id',
          to: 'body/principal/app_connection',
          kind: 'number-or-text',
        },
      ],
      says: ({ principal }, { policy }) =>
        `${policy} is ${verb === 'attach' ? 'attached to' : 'detached from'} ${principal.kind} ${principal.id}.`,
    });
  }
  nameFields(policies.command('simulate <action> <resource>'), { app_connection: '--connection' })
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
    await collected(clientOf(settingsOf(command)).pages('GET /v1/policies', { query: { limit: 1000 } }))
  ).flatMap((page) => page.policies);
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
