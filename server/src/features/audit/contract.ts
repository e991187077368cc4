import Type, { type Static } from 'typebox';
import { ANY_TOKEN, BODY_BYTES_DEFAULT, endpoint, NONE } from '../../kernel/endpoint.ts';
import { ROW_PROBLEMS } from '../../kernel/integrity/row-verification.ts';
import { described, named } from '../../kernel/named-schemas.ts';
import { id, nextCursor, nullable, object, oneOf, pageQuery, timeFilter, timestampText } from '../../kernel/wire.ts';

/** Fifteen digits stay below 2^53. */
const SEQ_MAX = 999_999_999_999_999;
const DECISIONS = ['allow', 'deny', 'error'] as const;

const AuditActor = named(
  'AuditActor',
  'Who acted.',
  object({
    kind: Type.String({ description: 'A person, a machine, or the service itself.' }),
    id: Type.String({ description: 'The id.' }),
    name: Type.String({ description: 'The name, such as an e-mail address.' }),
    key: Type.String({ description: 'The credential: a token id, a client id, a run or a method.' }),
  }),
);

const AuditDecision = named(
  'AuditDecision',
  'allow: it was done. deny: it was refused. error: it failed.',
  oneOf(DECISIONS),
);

const ChangedRow = named(
  'ChangedRow',
  'What a change left of a row that decides access.',
  object({
    table: Type.String({ description: 'The table.' }),
    row: Type.String({ description: 'The row in it.' }),
    digest: nullable(Type.String({ description: 'A digest of it as it is now; null if it was deleted.' })),
    before: nullable(Type.String({ description: 'The same of what it was before; null if it is new.' })),
  }),
);

export const AuditRecord = named(
  'AuditEntry',
  'An entry of the audit log.',
  object({
    id: Type.String({ description: 'Its id.' }),
    timestamp: timestampText,
    actor: AuditActor,
    action: Type.String({ description: 'What was asked, such as secrets:read or vault_created.' }),
    resource: Type.String({ description: 'On what.' }),
    vault: nullable(Type.String({ description: 'The vault that it is about, if any.' })),
    decision: AuditDecision,
    status: Type.Integer({ description: 'The HTTP status of the answer.' }),
    ip: Type.String({ description: 'Where the request came from.' }),
    user_agent: Type.String({ description: 'What the client called itself.' }),
    request_id: Type.String({ description: 'The id of the request.' }),
    reason: nullable(Type.String({ description: 'Why it was refused, or why the caller asked.' })),
    details: Type.Record(Type.String(), Type.Unknown(), { description: 'Names, ids and counts; never a value.' }),
    rows: Type.Optional(
      Type.Array(ChangedRow, {
        description:
          'What a change left of the rows that decide access: the digest of each, or null if it was deleted; and of the row it found.',
      }),
    ),
    seq: nullable(
      Type.Integer({ description: 'Place in the chain; null until it is sealed, a moment after the entry.' }),
    ),
    hash: nullable(Type.String({ description: 'SHA-256 over the hash before and this entry, in hexadecimal.' })),
  }),
);
export type AuditRecord = Static<typeof AuditRecord>;

const filter = (description: string) => Type.Optional(Type.String({ minLength: 1, maxLength: 1200, description }));

const common = {
  noun: 'audit',
  nounDescription: 'What was done and refused, by whom, in a log that shows when it was tampered with.',
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
    action: filter('For example secrets:read; with a final * everything that begins so, as vault_* or secrets:*.'),
    resource: filter('The resource, exactly; with a final * everything that begins so.'),
    from: timeFilter('At or after this time.'),
    to: timeFilter('Before this time.'),
    decision: Type.Optional(described('Only entries of this decision.', AuditDecision)),
  }),
  output: object({ entries: Type.Array(AuditRecord), next_cursor: nextCursor }),
  errors: [],
});

const RowProblem = named(
  'RowProblem',
  'A row that is not as the service left it.',
  object({
    table: Type.String({ description: 'The table.' }),
    row: Type.String({ description: 'The row in it.' }),
    problem: oneOf(ROW_PROBLEMS, 'What is wrong with it.'),
  }),
);

export const verifyAudit = endpoint({
  ...common,
  name: 'verifyAudit',
  method: 'GET',
  path: '/v1/audit/verify',
  summary: 'Recompute the whole chain of the audit log, and check every checkpoint',
  description:
    'Names the first entry that was changed, removed, inserted or moved, or that a checkpoint tells otherwise of, and every row that was forged, edited, put back or taken away in the database. Takes time in proportion to the log and the rows.',
  permission: 'audit:verify',
  resource: 'audit',
  rate: 'aggregate',
  bulk: true,
  audit: 'audit:verify',
  query: NONE,
  output: object({
    valid: Type.Boolean({ description: 'Nothing is wrong with the log or the rows.' }),
    entries: Type.Integer({ description: 'How many entries the chain has, those that were purged included.' }),
    purged: Type.Integer({
      description:
        'How many of them are gone because their vault keeps them no longer, as an entry `audit:purge` of the log tells of each.',
    }),
    first_broken: nullable(
      described(
        'Where the chain breaks first; null if nowhere.',
        object({
          seq: Type.Integer({ description: 'The entry.' }),
          reason: Type.String({ description: 'What is wrong with it.' }),
        }),
      ),
    ),
    checkpoints: Type.Integer({
      description: 'How many checkpoints were found to fit, each with both its signatures.',
    }),
    signed_seq: Type.Integer({
      description: 'Up to this entry the last of them vouches for the log; 0 if there is none.',
    }),
    rows: described(
      'What was found of rows that decide access.',
      object({
        checked: Type.Integer({
          description:
            'Rows that decide who may do what, or what a secret is: each against its MAC, and against what the log last told of it.',
        }),
        problems_count: Type.Integer({ description: 'How many of them are not as they should be.' }),
        problems: Type.Array(RowProblem, {
          description: 'The first hundred of them.',
        }),
      }),
    ),
  }),
  errors: [],
});

export const Checkpoint = named(
  'Checkpoint',
  'A signature over the audit log as far as it had come.',
  object({
    id: Type.Integer({ description: 'Counted up from 1 in the tenant.' }),
    tenant_id: id('tenant'),
    seq: Type.Integer({ description: 'The entry that was the last one then.' }),
    hash: Type.String({ description: 'Its hash, in hexadecimal.' }),
    signed_at: timestampText,
    key_id: Type.String({ description: 'Which of `keys` signed it.' }),
    signature: Type.String({ description: 'In base64: ML-DSA-65, then RSA-PSS-3072 (id-MLDSA65-RSA3072-PSS-SHA512).' }),
  }),
);
export type Checkpoint = Static<typeof Checkpoint>;

export const CheckpointKey = named(
  'CheckpointKey',
  'A public key that signed checkpoints.',
  object({
    key_id: Type.String({ description: 'Its id, made from the key itself.' }),
    algorithm: Type.String({ description: 'How it signs.' }),
    public_key: Type.String({ description: 'In base64.' }),
    endorsed_by: nullable(Type.String({ description: 'The key before it, which signed its id.' })),
    endorsement: nullable(Type.String({ description: 'That signature, in base64.' })),
  }),
);
export type CheckpointKey = Static<typeof CheckpointKey>;

export const listCheckpoints = endpoint({
  ...common,
  name: 'listCheckpoints',
  method: 'GET',
  path: '/v1/audit/checkpoints',
  summary: 'List the signed checkpoints of the audit log, newest first',
  description:
    'One is signed each hour in which something was recorded. Keep them elsewhere: with them `coffer-verify` tells, without this service, whether an ' +
    'exported log is the one that was signed.',
  permission: 'audit:read',
  resource: 'audit',
  rate: 'read',
  audit: 'audit:read_checkpoints',
  query: object(pageQuery),
  output: object({
    checkpoints: Type.Array(Checkpoint),
    keys: Type.Array(CheckpointKey, {
      description: 'The public keys, newest first. Their ids are made from them: note the id of one, elsewhere.',
    }),
    next_cursor: nextCursor,
  }),
  errors: [],
});

export const createCheckpoint = endpoint({
  ...common,
  name: 'createCheckpoint',
  method: 'POST',
  path: '/v1/audit/checkpoints',
  summary: 'Sign a checkpoint of the audit log now',
  description:
    'It covers what was recorded before this request; if the last one does so already, that is the answer. For example before a log is handed over.',
  permission: 'audit:sign',
  resource: 'audit',
  rate: 'write',
  audit: 'audit:sign',
  effect: 'change',
  bodyBytesMax: BODY_BYTES_DEFAULT,
  query: NONE,
  status: 201,
  output: Checkpoint,
  errors: ['NOT_FOUND', 'IN_USE'],
});

export const exportAudit = endpoint({
  ...common,
  name: 'exportAudit',
  method: 'GET',
  path: '/v1/audit/export',
  summary: 'The whole audit log in the order of its chain, for `coffer-verify`',
  description:
    'Lines of JSON: first what follows, then `{seq, hash, entry}` for each entry, where `entry` is the list of its fields that is hashed. One that was purged is ' +
    '`{seq, hash, purged_by}`, with the id of the entry that records it.',
  permission: 'audit:read',
  resource: 'audit',
  rate: 'aggregate',
  bulk: true,
  audit: 'audit:export',
  query: object({
    from_seq: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: SEQ_MAX,
        description: 'Only from this entry on; from the first unless given.',
      }),
    ),
  }),
  raw: 'application/x-ndjson',
  output: NONE,
  errors: ['NOT_FOUND'],
});
