import Type, { type Static } from 'typebox';
import { ANY_TOKEN, endpoint, NONE } from '../../kernel/endpoint.ts';
import { nextCursor, nullable, object, oneOf, pageQuery, timestampText } from '../../kernel/wire.ts';

const DECISIONS = ['allow', 'deny', 'error'] as const;

export const AuditRecord = object({
  id: Type.String(),
  timestamp: timestampText,
  actor: object({ kind: Type.String(), id: Type.String(), name: Type.String(), key: Type.String() }),
  action: Type.String(),
  resource: Type.String(),
  vault: nullable(Type.String()),
  decision: oneOf(DECISIONS),
  status: Type.Integer(),
  ip: Type.String(),
  user_agent: Type.String(),
  request_id: Type.String(),
  reason: nullable(Type.String()),
  details: Type.Record(Type.String(), Type.Unknown()),
  seq: nullable(
    Type.Integer({ description: 'Place in the chain; null until it is sealed, a moment after the entry.' }),
  ),
  hash: nullable(Type.String({ description: 'SHA-256 over the hash before and this entry, in hexadecimal.' })),
});
export type AuditRecord = Static<typeof AuditRecord>;

const filter = (description: string) => Type.Optional(Type.String({ minLength: 1, maxLength: 1200, description }));
const time = (description: string) => Type.Optional(Type.String({ format: 'date-time', maxLength: 40, description }));

const common = {
  noun: 'audit',
  credentials: ANY_TOKEN,
  tenant: 'own',
  tier: NONE,
  region: 'forward',
  approval: NONE,
  plaintext: false,
  raw: NONE,
  bodyBytesMax: 0,
  effect: 'read',
  params: NONE,
  body: NONE,
  status: 200,
} as const;

export const listAudit = endpoint({
  ...common,
  name: 'listAudit',
  method: 'GET',
  path: '/v1/audit',
  summary: 'Read the audit log, newest first',
  description:
    'A rare filter may answer a short or empty page with a `next_cursor`: a page looks at a bounded part of the log. Go on until `next_cursor` is null.',
  permission: 'audit:read',
  resource: 'audit',
  rate: 'read',
  audit: 'audit:read',
  query: object({
    ...pageQuery,
    vault: filter('Name of a vault.'),
    actor: filter('Id, name (e-mail address) or key (token id) of who acted.'),
    action: filter('For example secrets:read.'),
    resource: filter('The resource, exactly; with a final * everything that begins so.'),
    from: time('At or after this time.'),
    to: time('Before this time.'),
    decision: Type.Optional(oneOf(DECISIONS)),
  }),
  output: object({ entries: Type.Array(AuditRecord), next_cursor: nextCursor }),
  errors: [],
});

export const verifyAudit = endpoint({
  ...common,
  name: 'verifyAudit',
  method: 'GET',
  path: '/v1/audit/verify',
  summary: 'Recompute the whole chain of the audit log',
  description:
    'Names the first entry that was changed, removed, inserted or moved. Takes time in proportion to the log.',
  permission: 'audit:verify',
  resource: 'audit',
  rate: 'aggregate',
  audit: 'audit:verify',
  query: NONE,
  output: object({
    valid: Type.Boolean(),
    entries: Type.Integer({ description: 'How many entries the chain holds.' }),
    first_broken: nullable(object({ seq: Type.Integer(), reason: Type.String() })),
  }),
  errors: [],
});

export const AUDIT_ENDPOINTS = [listAudit, verifyAudit];
