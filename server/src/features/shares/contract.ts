import Type, { type Static } from 'typebox';
import { ANY_TOKEN, endpoint, NONE, ORDINARY } from '../../kernel/endpoint/declaration.ts';
import { described, named } from '../../kernel/wire/named-schemas.ts';
import {
  Deleted,
  id,
  idParam,
  nextCursor,
  nullable,
  object,
  objectWithExamples,
  oneOf,
  pageQuery,
  timestampText,
} from '../../kernel/wire/wire.ts';

/** A value of 32 KiB, sealed and in base64url. */
const ENVELOPE_LENGTH_MAX = 45_000;
const EXPIRY_SECONDS_MIN = 60;
const EXPIRY_SECONDS_MAX = 30 * 24 * 60 * 60;
const VIEWS_MAX = 100;

const Envelope = Type.String({
  minLength: 1,
  maxLength: ENVELOPE_LENGTH_MAX,
  pattern: '^share:v1:(?:key|passphrase:[A-Za-z0-9_-]{22}):[A-Za-z0-9_-]{16}:[A-Za-z0-9_-]{22,}$',
  description:
    'The value, sealed by the client library or `coffer share`: `share:v1:key:<iv>:<ciphertext>`, or `share:v1:passphrase:<salt>:<iv>:<ciphertext>`, each part in base64url. The key never leaves the link.',
  examples: ['share:v1:key:kPp1x0o7w2N4q8aB:3mJtqg0zcQfUqS1v8X9pLwYkZrA7'],
});

const Share = named(
  'Share',
  'A value that is shared by a link. The service can neither open nor show it.',
  object({
    id: id('share'),
    created_by: id('user'),
    status: oneOf(
      ['open', 'opened', 'expired', 'revoked'],
      'open: it can still be opened. opened: as often as it was allowed.',
    ),
    views: Type.Integer({ description: 'How often it may be opened in all.' }),
    views_left: Type.Integer({ description: 'How often it may still be opened.' }),
    created_at: timestampText,
    expires_at: timestampText,
    opened_at: nullable(timestampText, 'When it was last opened.'),
  }),
);
export type Share = Static<typeof Share>;

const common = {
  ...ORDINARY,
  noun: 'shares',
  aboutNoun: {
    title: 'Shares',
    group: 'Secrets',
    guide: ['shares'],
    description: 'Values handed to somebody by a link that opens them once. The key is in the link, and nowhere else.',
  },
  credentials: ANY_TOKEN,
  resource: 'self/shares',
} as const;

const shareParams = object({ share_id: described('The id of a share, `share_…`.', idParam) });

export const createShare = endpoint({
  ...common,
  name: 'createShare',
  method: 'POST',
  path: '/v1/shares',
  summary: 'Share a value by a link',
  description:
    'Seal the value first, and append the key to the link: `/s/<id>#<key>`. Browsers and the command line do not send what is after `#`.',
  permission: 'shares:create',
  rate: 'write',
  audit: 'share_created',
  effect: 'change',
  params: NONE,
  query: NONE,
  body: objectWithExamples(
    [{ envelope: 'share:v1:key:kPp1x0o7w2N4q8aB:3mJtqg0zcQfUqS1v8X9pLwYkZrA7', expires_in_seconds: 3600, views: 1 }],
    {
      envelope: Envelope,
      expires_in_seconds: Type.Integer({
        minimum: EXPIRY_SECONDS_MIN,
        maximum: EXPIRY_SECONDS_MAX,
        description: 'After this time nobody can open it.',
      }),
      views: Type.Optional(
        Type.Integer({ minimum: 1, maximum: VIEWS_MAX, description: 'How often it may be opened. Default: 1.' }),
      ),
    },
  ),
  status: 201,
  output: Share,
  errors: ['QUOTA_EXCEEDED'],
});

export const listShares = endpoint({
  ...common,
  name: 'listShares',
  method: 'GET',
  path: '/v1/shares',
  summary: 'List the values that you shared, newest first',
  description:
    'Owners and admins see those of everybody in the tenant. Links that are over are listed until they are deleted, within hours.',
  permission: 'shares:list',
  rate: 'read',
  audit: 'shares:list',
  effect: 'read',
  params: NONE,
  query: object(pageQuery),
  body: NONE,
  status: 200,
  output: object({ shares: Type.Array(Share), next_cursor: nextCursor }),
  errors: [],
});

export const revokeShare = endpoint({
  ...common,
  name: 'revokeShare',
  method: 'DELETE',
  path: '/v1/shares/{share_id}',
  summary: 'Revoke a link',
  description:
    'Nobody can open it from then on, and what was sealed is deleted. Owners and admins can revoke those of others.',
  permission: 'shares:revoke',
  rate: 'write',
  audit: 'share_revoked',
  effect: 'change',
  params: shareParams,
  query: NONE,
  body: NONE,
  status: 200,
  output: Deleted,
  errors: ['NOT_FOUND'],
});

const publicPart = {
  ...ORDINARY,
  noun: 'shares',
  credentials: 'public',
  tenant: NONE,
  permission: NONE,
  resource: NONE,
  region: 'local',
  query: NONE,
} as const;

export const openShare = endpoint({
  ...publicPart,
  name: 'openShare',
  method: 'POST',
  path: '/v1/shares/{share_id}/open',
  summary: 'Open a link: take what was sealed',
  description:
    'Counts as one view. A link that does not exist, was opened, was revoked or has expired gets the same response. The page at `/s/<id>` sends it after a click, so programs that look at links open nothing.',
  rate: 'auth',
  audit: 'share_opened',
  effect: 'change',
  params: shareParams,
  body: NONE,
  status: 200,
  output: object({
    envelope: Envelope,
    views_left: Type.Integer({ description: 'How often it may still be opened.' }),
  }),
  errors: ['NOT_FOUND'],
});

const publicFile = {
  ...publicPart,
  method: 'GET',
  rate: 'none',
  audit: NONE,
  effect: 'read',
  body: NONE,
  bodyBytesMax: 0,
  status: 200,
  output: NONE,
  errors: [],
} as const;

export const getSharePage = endpoint({
  ...publicFile,
  name: 'getSharePage',
  path: '/s/{share_id}',
  summary: 'The page of a link',
  description: 'The same for every link, whether or not it exists. It opens nothing until somebody clicks.',
  params: shareParams,
  raw: 'text/html; charset=utf-8',
});

export const getShareScript = endpoint({
  ...publicFile,
  name: 'getShareScript',
  path: '/s/script.js',
  summary: 'The script of the page of a link',
  description: 'Part of the page at `/s/{share_id}`: it opens what was sealed, in the browser.',
  params: NONE,
  raw: 'text/javascript; charset=utf-8',
});

export const getShareStyle = endpoint({
  ...publicFile,
  name: 'getShareStyle',
  path: '/s/style.css',
  summary: 'The style sheet of the page of a link',
  description: 'Part of the page at `/s/{share_id}`.',
  params: NONE,
  raw: 'text/css; charset=utf-8',
});
