import type { Command } from 'commander';
import { action, type Field, listing } from '../declared.ts';
import { ago } from '../output.ts';

type Written = 'POST /auth/sso/providers' | 'PATCH /auth/sso/providers/{name}';

const FIELDS: readonly Field<Written>[] = [
  { flags: '--client-secret', description: 'Client secret', to: 'body/client_secret', kind: 'secret' },
  {
    flags: '--scopes <scopes>',
    description: 'what to request, with commas between them',
    to: 'body/scopes',
    kind: 'list',
  },
  { flags: '--groups-claim <claim>', description: 'the claim that has the groups', to: 'body/groups_claim' },
  {
    flags: '--role <group=role>',
    description: 'the role that a group of the provider gives',
    to: 'body/role_mapping',
    kind: 'pairs',
  },
  {
    flags: '--group <theirs=ours>',
    description: 'the group here that a group of the provider is',
    to: 'body/group_mapping',
    kind: 'pairs',
  },
  {
    flags: '--default-role <role>',
    description: 'admin, auditor or member, for people whose groups give no role',
    to: 'body/default_role',
  },
  { flags: '--required', description: 'people of this tenant sign in no other way', to: 'body/required', value: true },
  { flags: '--not-required', description: 'other ways to sign in are open again', to: 'body/required', value: false },
  { flags: '--enable', description: 'let people sign in', to: 'body/enabled', value: true },
  { flags: '--disable', description: 'let nobody sign in by it', to: 'body/enabled', value: false },
];

export function register(program: Command): void {
  const signOn = program.command('sign-on').description('Let people sign in with your organization’s provider');
  listing(signOn, {
    usage: 'list',
    alias: 'ls',
    isDefault: true,
    summary: 'List the providers',
    route: 'GET /auth/sso/providers',
    rows: (page) => page.providers,
    columns: [
      { title: 'PROVIDER', of: ({ name }) => name },
      { title: 'ISSUER', of: ({ issuer }) => issuer, isFlexible: true },
      {
        title: 'ROLES',
        of: ({ role_mapping, default_role }) => [...Object.keys(role_mapping), default_role ?? ''].join(' ').trim(),
        isFlexible: true,
      },
      { title: 'STATUS', of: ({ enabled, required }) => (enabled ? (required ? 'required' : 'enabled') : 'disabled') },
      { title: 'CHANGED', of: ({ updated_at }) => ago(updated_at) },
    ],
    empty: 'There is no provider that you may see.',
  });
  action(signOn, {
    usage: 'show <provider>',
    summary: 'Print the settings of a provider, as JSON',
    route: 'GET /auth/sso/providers/{name}',
    arguments: ['path/name'],
    isRead: true,
    shows: (provider) => JSON.stringify(provider, null, 2),
  });
  action(signOn, {
    usage: 'create <provider>',
    summary: 'Add a provider of OpenID Connect',
    route: 'POST /auth/sso/providers',
    arguments: ['body/name'],
    options: [
      { flags: '--issuer <url>', description: 'its address', to: 'body/issuer', isRequired: true },
      {
        flags: '--client-id <id>',
        description: 'the client id of this service at the provider',
        to: 'body/client_id',
        isRequired: true,
      },
      { flags: '--subject-claim <claim>', description: 'sub or oid', to: 'body/subject_claim' },
      ...FIELDS,
    ],
    shows: ({ redirect_uri }) => redirect_uri,
    says: ({ name }) => `Added ${name}. Give it the address above, to which it sends people back.`,
    needsProof: true,
  });
  action(signOn, {
    usage: 'update <provider>',
    summary: 'Change a provider',
    route: 'PATCH /auth/sso/providers/{name}',
    arguments: ['path/name'],
    options: [
      { flags: '--issuer <url>', description: 'its address', to: 'body/issuer' },
      { flags: '--client-id <id>', description: 'the client id of this service at the provider', to: 'body/client_id' },
      ...FIELDS,
    ],
    says: ({ name }) => `Changed ${name}.`,
    needsProof: true,
  });
  action(signOn, {
    usage: 'scim-token <provider>',
    summary: 'Make a token by which a provider creates people here; it is printed once',
    route: 'POST /auth/sso/providers/{name}/scim-tokens',
    arguments: ['path/name'],
    options: [
      { flags: '--description <text>', description: 'its purpose', to: 'body/description' },
      { flags: '--days <number>', description: 'how long it is valid', to: 'body/ttl_days', kind: 'number' },
    ],
    shows: ({ token }) => token,
    says: ({ base_url }) => `The provider sends to ${base_url}. The token cannot be shown again.`,
    needsProof: true,
  });
  action(signOn, {
    usage: 'delete <provider>',
    alias: 'rm',
    summary: 'Remove a provider; nobody signs in by it any more',
    route: 'DELETE /auth/sso/providers/{name}',
    arguments: ['path/name'],
    asks: ({ provider }) => `Remove ${provider}?`,
    says: (_, { provider }) => `Removed ${provider}.`,
    needsProof: true,
  });
}
