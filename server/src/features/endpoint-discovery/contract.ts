import Type from 'typebox';
import { ANY_TOKEN, endpoint, NONE, ORDINARY } from '../../kernel/endpoint/declaration.ts';
import { described } from '../../kernel/wire/named-schemas.ts';
import {
  idParam,
  nextCursor,
  nullable,
  object,
  pageQuery,
  timestampText,
  userIdOrEmail,
} from '../../kernel/wire/wire.ts';
import {
  DriftItem,
  driftKind,
  EndpointAccount,
  EndpointAccountWithKeys,
  REPORT_BYTES_MAX,
  REPORT_MEMBERS_MAX,
  reportFields,
} from './schemas.ts';

const common = {
  ...ORDINARY,
  noun: 'endpoint-discovery',
  aboutNoun: {
    title: 'Endpoint discovery',
    group: 'Machines',
    guide: ['hosts'],
    description: 'See which accounts and SSH keys exist on hosts, and which of them should not.',
  },
  credentials: ANY_TOKEN,
  resource: 'endpoint-account/*',
  query: NONE,
  body: NONE,
  params: NONE,
} as const;

const ofOne = { params: object({ account_id: described('The id of an account.', idParam) }) } as const;

export const reportAccounts = endpoint({
  ...common,
  credentials: ['cluster'],
  name: 'reportEndpointAccounts',
  method: 'POST',
  path: '/kube-guardian/endpoint-accounts',
  summary: 'Report the accounts of a host',
  description:
    'For the agent. A report replaces an older one of the same host in the same cluster; an older report, or the same one again, changes nothing.',
  permission: 'endpoint_accounts:report',
  resource: 'loaded',
  loads: ['cluster/{cluster_id}'],
  rate: 'write',
  bulk: true,
  audit: 'endpoint_accounts:report',
  effect: 'change',
  bodyBytesMax: REPORT_BYTES_MAX,
  bodyMembersMax: REPORT_MEMBERS_MAX,
  body: object(reportFields),
  status: 200,
  output: object({
    host_id: Type.String({ description: 'The id of the host.' }),
    accepted: Type.Integer({
      description: 'How many accounts the service has of this scan; 0 if it is older than the last one.',
    }),
    excluded: Type.Integer({ description: 'How many accounts were left out because nobody can log in to them.' }),
    scanned_at: timestampText,
    is_newest: Type.Boolean({ description: 'False if a newer scan of the host is known, so this one was ignored.' }),
  }),
  errors: ['QUOTA_EXCEEDED'],
});

export const listAccounts = endpoint({
  ...common,
  name: 'listEndpointAccounts',
  method: 'GET',
  path: '/endpoint-discovery/accounts',
  summary: 'List accounts on hosts',
  description: 'Ordered by id. Accounts that are gone are listed for 90 days with `is_present` false.',
  permission: 'endpoint_accounts:list',
  rate: 'read',
  audit: 'endpoint_accounts:list',
  effect: 'read',
  query: object({
    host: Type.Optional(Type.String({ minLength: 1, maxLength: 253, description: 'The id or the name of a host.' })),
    username: Type.Optional(
      Type.String({ minLength: 1, maxLength: 256, description: 'The name of the local account.' }),
    ),
    key_type: Type.Optional(
      Type.String({ minLength: 1, maxLength: 64, description: 'Accounts that have a key of this type.' }),
    ),
    ...pageQuery,
  }),
  status: 200,
  output: object({ accounts: Type.Array(EndpointAccount), next_cursor: nextCursor }),
  errors: [],
});

export const readAccount = endpoint({
  ...common,
  ...ofOne,
  name: 'readEndpointAccount',
  method: 'GET',
  path: '/endpoint-discovery/accounts/{account_id}',
  summary: 'Read an account with its SSH keys',
  description: 'Fingerprints only: keys themselves are never sent to the service.',
  permission: 'endpoint_accounts:read',
  resource: 'endpoint-account/{account_id}',
  rate: 'read',
  audit: 'endpoint_accounts:read',
  effect: 'read',
  status: 200,
  output: EndpointAccountWithKeys,
  errors: ['NOT_FOUND'],
});

export const linkAccount = endpoint({
  ...common,
  ...ofOne,
  name: 'linkEndpointAccount',
  method: 'POST',
  path: '/endpoint-discovery/accounts/{account_id}/link',
  summary: 'Say whose account it is',
  description: 'The link stays when the host is scanned again, and wins over the name and over comments of keys.',
  permission: 'endpoint_accounts:link',
  alsoAsks: ['users:read'],
  resource: 'endpoint-account/{account_id}',
  rate: 'write',
  audit: 'endpoint_accounts:link',
  effect: 'change',
  body: object({ user: nullable(userIdOrEmail, 'A user, by id or e-mail address; null removes the link.') }),
  status: 200,
  output: EndpointAccount,
  errors: ['NOT_FOUND'],
});

export const readStats = endpoint({
  ...common,
  name: 'readEndpointStats',
  method: 'GET',
  path: '/endpoint-discovery/stats',
  summary: 'Count hosts, accounts, keys and drift',
  description: 'Without accounts that are gone.',
  permission: 'endpoint_accounts:list',
  rate: 'read',
  bulk: true,
  audit: 'endpoint_accounts:stats',
  effect: 'read',
  status: 200,
  output: object({
    hosts_scanned: Type.Integer({ description: 'How many hosts have reported.' }),
    accounts: Type.Integer({ description: 'How many accounts they have.' }),
    ssh_keys: Type.Integer({ description: 'How many keys may log in to them.' }),
    drift: Type.Integer({ description: 'How many differences from the members of vaults there are.' }),
  }),
  errors: [],
});

export const listDrift = endpoint({
  ...common,
  name: 'listEndpointDrift',
  method: 'GET',
  path: '/endpoint-discovery/drift',
  summary: 'List differences between hosts and members of vaults',
  description:
    'An account belongs to the person it is linked to, else to the person whose e-mail address begins with its name, else to the person that a comment of a key names.',
  permission: 'endpoint_drift:list',
  alsoAsks: ['endpoint_accounts:read', 'users:read'],
  rate: 'read',
  bulk: true,
  audit: 'endpoint_drift:list',
  effect: 'read',
  query: object({ kind: Type.Optional(driftKind), ...pageQuery }),
  status: 200,
  output: object({ drift: Type.Array(DriftItem), next_cursor: nextCursor }),
  errors: [],
});
