import type { Command } from 'commander';
import { action, type Field, listing } from '../declared.ts';

type FederationRoute =
  | 'POST /app-connections/{connection}/federations'
  | 'PUT /app-connections/{connection}/federations/{federation_id}';

const FIELDS: readonly Field<FederationRoute>[] = [
  {
    flags: '--issuer <url>',
    description: 'the issuer of the tokens; by default that of github or gitlab',
    to: 'body/issuer',
  },
  {
    flags: '--jwks-url <url>',
    description: 'where its keys are; by default where the issuer says',
    to: 'body/jwks_url',
  },
  { flags: '--audience <audience>', description: 'the audience of the tokens', to: 'body/audience' },
  { flags: '--claim <name=value>', description: 'a claim that the tokens must have', to: 'body/claims', kind: 'pairs' },
  { flags: '--ttl <seconds>', description: 'how long a session lasts', to: 'body/token_ttl_seconds', kind: 'number' },
];
const PROVIDERS = 'github, gitlab, bitbucket, jenkins, teamcity or custom';

export function register(program: Command): void {
  const federations = program.command('federations').description('Let pipelines in without a secret of their own');
  listing(federations, {
    usage: 'list <connection>',
    alias: 'ls',
    summary: 'List the federations of a connection',
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
    empty: 'The connection has no federation.',
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
    says: ({ id, audience }) => `Created the federation ${id}. Its jobs request tokens for the audience ${audience}.`,
  });
  action(federations, {
    usage: 'update <connection> <number>',
    summary: 'Change a federation, or enable or disable it',
    route: 'PUT /app-connections/{connection}/federations/{federation_id}',
    arguments: ['path/connection', 'path/federation_id'],
    options: [
      { flags: '--name <name>', description: 'another name', to: 'body/name' },
      { flags: '--provider <provider>', description: PROVIDERS, to: 'body/provider' },
      { flags: '--subject <pattern>', description: 'whose tokens', to: 'body/subject_pattern' },
      ...FIELDS,
      { flags: '--enable', description: 'accept its tokens again', to: 'body/enabled', value: true },
      { flags: '--disable', description: 'refuse its tokens for now', to: 'body/enabled', value: false },
    ],
    says: ({ id, enabled }) => `Changed ${id}, which is ${enabled ? 'enabled' : 'disabled'}.`,
  });
  action(federations, {
    usage: 'delete <connection> <number>',
    alias: 'rm',
    summary: 'Delete a federation; its sessions end at once',
    route: 'DELETE /app-connections/{connection}/federations/{federation_id}',
    arguments: ['path/connection', 'path/federation_id'],
    asks: ({ number }) => `Delete the federation ${number}?`,
    says: (_, { number }) => `Deleted the federation ${number}.`,
  });
}
