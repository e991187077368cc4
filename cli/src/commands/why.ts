import type { Command } from 'commander';
import { parseReference, type RouteOutput } from '../../../client/src/index.ts';
import { green, print, printJson, red } from '../output.ts';
import { clientOf, type Settings, settingsOf, vaultOf, wantsJson } from '../settings.ts';

export function register(program: Command): void {
  program
    .command('why <action> <path>')
    .description(
      'Say why you may or may not do something, and who can change that: coffer why secrets:read db/password',
    )
    .option('--vault <name>', 'the vault of the path (COFFER_VAULT, or that of the project)')
    .action((action: string, path: string, options: { vault?: string }, command: Command) =>
      why(action, path, options, command),
    )
    .addHelpText(
      'after',
      `
The path is that of a secret, coffer://vault/path, or any resource as policies name them: vault/shop, group/ops, policy/deploy.
The exit code is 0 also for a refusal: that is an answer. Use --json in scripts.`,
    );
}

type Explanation = RouteOutput<'POST /v1/policies/explain'>;

async function why(action: string, path: string, options: { vault?: string }, command: Command): Promise<void> {
  const settings = settingsOf(command);
  const resource = resourceOf(action, path, settings, options);
  const explained = await clientOf(settings).call(
    'POST /v1/policies/explain',
    { body: { action, resource } },
    { isRead: true },
  );
  if (wantsJson(command)) return printJson(explained);
  const { allowed, matched } = explained;
  print(`${allowed ? green('allowed') : red('refused')}: ${action} on ${resource}`);
  for (const { policy, sid, effect } of matched) print(`  ${effect} by ${policy}${sid === null ? '' : ` (${sid})`}`);
  if (!allowed) for (const line of advice(action, explained)) print(line);
}

function resourceOf(action: string, path: string, settings: Settings, options: { vault?: string }): string {
  if (path.startsWith('coffer://')) {
    const { vault, path: secret } = parseReference(path);
    return `vault/${vault}/${secret}`;
  }
  const isSecret = action.startsWith('secrets:') && !path.startsWith('vault/');
  return isSecret ? `vault/${vaultOf(settings, options.vault)}/${path}` : path;
}

function advice(action: string, explained: Explanation): string[] {
  const { reason, conditional, remedy, helpers, hidden_helpers, hidden_roles } = explained;
  const people = helpers.map(({ name }) => name);
  const roles = hidden_roles.length === 0 ? '' : ` (${hidden_roles.join(', ')})`;
  const others = `${hidden_helpers} ${people.length > 0 ? 'more ' : ''}${hidden_helpers === 1 ? 'person' : 'people'} whom you may not see${roles}`;
  const who = [...people, ...(hidden_helpers > 0 ? [others] : [])].join(', ');
  return [
    MEANING[reason]?.replace('ACTION', action) ?? '',
    ...(conditional ? ['It depends on the address, the time or a second factor: coffer login shows one again.'] : []),
    ...(remedy?.action === 'members:add' ? [`For a time, you can request it: ${requestOf(remedy.resource)}`] : []),
    ...(remedy === null ? [] : [`${REMEDY[remedy.action] ?? ''}: ${who === '' ? 'nobody at the moment' : who}`]),
  ].filter((line) => line !== '');
}

/** `coffer request` for the vault of a resource. */
function requestOf(resource: string): string {
  return `coffer request ${resource.split('/')[1]} --for 8h --reason TEXT`;
}

const MEANING: Readonly<Record<string, string>> = {
  no_match: 'Nothing gives you ACTION here.',
  explicit_deny: 'The first of these statements decides: a deny wins over every allow.',
  policies_too_costly: 'Your policies have too many patterns to decide: ask for some to be detached.',
  out_of_scope: 'The scope of your credential does not include it: use another one, or log in.',
  ip_not_allowed: 'Your credential may not be used from this address.',
};

const REMEDY: Readonly<Record<string, string>> = {
  'members:add': 'Who can give you a role in the vault',
  'policies:attach': 'Who can attach a policy to you that allows it',
  'policies:update': 'Who can change that policy',
};
