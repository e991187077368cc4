import type { Command } from 'commander';
import { action, type Field, listing } from '../declared.ts';

type Written =
  | 'POST /app-connections/{connection}/federations'
  | 'PUT /app-connections/{connection}/federations/{federation_id}';

const FIELDS: readonly Field<Written>[] = [
  { flags: '--issuer <url>', description: 'who signs the tokens, unless the provider says it', to: 'body/issuer' },
  { flags: '--jwks-url <url>', description: 'where its keys are, unless the issuer says it', to: 'body/jwks_url' },
  { flags: '--audience <audience>', description: 'whom the tokens are for', to: 'body/audience' },
  { flags: '--claim <name=value>', description: 'a claim that the tokens must have', to: 'body/claims', kind: 'pairs' },
  { flags: '--ttl <seconds>', description: 'how long a session lasts', to: 'body/token_ttl_seconds', kind: 'number' },
];
const PROVIDERS = 'github, gitlab, bitbucket, jenkins, teamcity or custom';

export function register(program: Command): void {
  const federations = program.command('federations').description('Let pipelines in without a secret of their own');
  listing(federations, {
    usage: 'list <connection>',
    alias: 'ls',
    summary: 'List what may use a connection',
    route: 'GET /app-connections/{connection}/federations',
    arguments: ['path/connection'],
    rows: (page) => page.federations,
    columns: [
      { title: 'NO', of: ({ id }) => id, isNumber: true },
      { title: 'NAME', of: ({ name }) => name, isFlexible: true },
      { title: 'PROVIDER', of: ({ provider }) => provider },
      { title: 'SUBJECT', of: ({ subject_pattern }) => subject_pattern, isFlexible: true },
      { title: 'STATUS', of: ({ enabled }) => (enabled ? 'enabled' : 'disabled') },
    ],
    empty: 'Nothing may use it without a credential of its own.',
  });
  action(federations, {
    usage: 'create <connection> <name>',
    summary: 'Let the jobs of a repository, or whatever else has such tokens, use a connection',
    route: 'POST /app-connections/{connection}/federations',
    arguments: ['path/connection', 'body/name'],
    options: [
      { flags: '--provider <provider>', description: PROVIDERS, to: 'body/provider', isRequired: true },
      {
        flags: '--subject <pattern>',
        description: 'whose tokens, such as repo:acme/shop:ref:refs/heads/main',
        to: 'body/subject_pattern',
        isRequired: true,
      },
      ...FIELDS,
    ],
    says: ({ id, audience }) => `Created ${id}. Its jobs ask for tokens for ${audience}.`,
  });
  action(federations, {
    usage: 'update <connection> <number>',
    summary: 'Change one, or turn it on and off',
    route: 'PUT /app-connections/{connection}/federations/{federation_id}',
    arguments: ['path/connection', 'path/federation_id'],
    options: [
      { flags: '--name <name>', description: 'another name', to: 'body/name' },
      { flags: '--provider <provider>', description: PROVIDERS, to: 'body/provider' },
      { flags: '--subject <pattern>', description: 'whose tokens', to: 'body/subject_pattern' },
      ...FIELDS,
      { flags: '--enable', description: 'let it in again', to: 'body/enabled', value: true },
      { flags: '--disable', description: 'let nobody in for now', to: 'body/enabled', value: false },
    ],
    says: ({ id, enabled }) => `Changed ${id}, which is ${enabled ? 'enabled' : 'disabled'}.`,
  });
  action(federations, {
    usage: 'delete <connection> <number>',
    alias: 'rm',
    summary: 'Delete one; its sessions end at once',
    route: 'DELETE /app-connections/{connection}/federations/{federation_id}',
    arguments: ['path/connection', 'path/federation_id'],
    asks: ({ number }) => `Delete the federation ${number}?`,
    says: (_, { number }) => `Deleted the federation ${number}.`,
  });
}
