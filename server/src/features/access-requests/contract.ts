import Type, { type Static } from 'typebox';
import { ANY_TOKEN, endpoint, NONE, ORDINARY } from '../../kernel/endpoint/declaration.ts';
import { described, named } from '../../kernel/wire/named-schemas.ts';
import {
  Deleted,
  id,
  idParam,
  lineOfText,
  nextCursor,
  nullable,
  object,
  objectWithExamples,
  oneOf,
  pageQuery,
  timestampText,
  vaultName,
} from '../../kernel/wire/wire.ts';
import { TIMED_ROLES } from '../vaults/timed-access/index.ts';

const REASON_LENGTH_MAX = 512;
const TTL_SECONDS_MIN = 60;
const TTL_SECONDS_MAX = 30 * 24 * 60 * 60;

const Role = named(
  'TimedRole',
  'reader: lists and reads secrets. writer: also changes secrets. Nobody manages a vault for a time.',
  oneOf(TIMED_ROLES),
);

const Status = named(
  'AccessStatus',
  'active: it gives rights now. ended: it gives none any more.',
  oneOf(['active', 'ended']),
);

export const Access = named(
  'TimedAccess',
  'A role in a vault, or below a path in it, that somebody has until a time.',
  object({
    id: id('access'),
    vault: Type.String({ description: 'The name of the vault.' }),
    path: nullable(Type.String(), 'The path that it is limited to, with everything below; null for the whole vault.'),
    user_id: id('user'),
    role: Role,
    reason: Type.String({ description: 'What it was requested for.' }),
    approval_id: id('approval'),
    granted_at: timestampText,
    expires_at: timestampText,
    status: Status,
    ended_at: nullable(timestampText),
    ended_by: nullable(Type.String(), 'The user who ended it early; null if it ended by itself.'),
  }),
);
export type Access = Static<typeof Access>;

const common = {
  ...ORDINARY,
  noun: 'access requests',
  aboutNoun: {
    title: 'Access requests',
    group: 'People',
    guide: ['access-requests'],
    description:
      'Access to a vault for a time: requested by those who need it, approved by those who manage the vault.',
  },
  credentials: ANY_TOKEN,
  resource: 'self/access-requests',
} as const;

export const requestAccess = endpoint({
  ...common,
  name: 'requestAccess',
  method: 'POST',
  path: '/v1/access-requests',
  summary: 'Request a role in a vault for a time',
  description:
    'Answers 202 with an approval, whether or not the vault exists. Another person who manages the vault decides, or an owner or admin if nobody does. Once approved, the access lasts for `ttl_seconds` and ends by itself. A longer one is a new request.',
  approval: 'access_request',
  permission: 'access_requests:create',
  rate: 'write',
  audit: 'access_requested',
  effect: 'change',
  params: NONE,
  query: NONE,
  body: objectWithExamples([{ vault: 'payments', role: 'reader', ttl_seconds: 3600, reason: 'Incident 4711' }], {
    vault: vaultName,
    path: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 1024,
        description: 'Only the secret at this path and those below it; default: the whole vault.',
      }),
    ),
    role: Role,
    ttl_seconds: Type.Integer({
      minimum: TTL_SECONDS_MIN,
      maximum: TTL_SECONDS_MAX,
      description: 'How long the access lasts once it is approved.',
    }),
    reason: lineOfText({ minLength: 1, maxLength: REASON_LENGTH_MAX }, 'What it is needed for.'),
  }),
  status: 201,
  output: Access,
  errors: ['VAULT_NOT_FOUND', 'QUOTA_EXCEEDED'],
});

export const listAccess = endpoint({
  ...common,
  name: 'listAccess',
  alsoAsks: ['members:list'],
  method: 'GET',
  path: '/v1/access-requests',
  summary: 'List access that was given for a time, newest first',
  description:
    'Lists your own, and that to vaults whose members you may list, also what has ended: a report of all access that was for a time. What waits for a decision is in `GET /approvals`.',
  permission: 'access_requests:list',
  rate: 'read',
  audit: 'access_requests:list',
  effect: 'read',
  params: NONE,
  query: object({
    ...pageQuery,
    vault: Type.Optional(described('Only access to the vault of this name.', vaultName)),
    status: Type.Optional(described('Only access with this status.', Status)),
  }),
  body: NONE,
  status: 200,
  output: object({ access: Type.Array(Access), next_cursor: nextCursor }),
  errors: [],
});

export const endAccess = endpoint({
  ...common,
  name: 'endAccess',
  alsoAsks: ['members:remove'],
  method: 'DELETE',
  path: '/v1/access-requests/{access_id}',
  summary: 'End access before its time',
  description:
    'Your own, or that to a vault whose members you may remove. The rights end with the next request, on every node.',
  permission: 'access_requests:end',
  rate: 'write',
  audit: 'access_ended',
  effect: 'change',
  params: object({ access_id: described('The id of an access, `access_…`.', idParam) }),
  query: NONE,
  body: NONE,
  status: 200,
  output: Deleted,
  errors: ['NOT_FOUND'],
});
