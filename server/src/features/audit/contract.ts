import Type, { type Static } from 'typebox';
import { ANY_TOKEN, BODY_BYTES_DEFAULT, endpoint, NONE, ORDINARY } from '../../kernel/endpoint/declaration.ts';
import { ROW_PROBLEMS } from '../../kernel/integrity/row-verification.ts';
import { described, named } from '../../kernel/wire/named-schemas.ts';
import {
  id,
  nextCursor,
  nullable,
  object,
  oneOf,
  pageQuery,
  timeFilter,
  timestampText,
} from '../../kernel/wire/wire.ts';

/** Fifteen digits stay below 2^53. */
const SEQ_MAX = 999_999_999_999_999;
const DECISIONS = ['allow', 'deny', 'error'] as const;

const AuditActor = named(
  'AuditActor',
  'Who performed the action.',
  object({
    kind: Type.String({ description: 'A person, a machine, or the service itself.' }),
    id: Type.String({ description: 'The id.' }),
    name: Type.String({ description: 'The name, such as an e-mail address.' }),
    key: Type.String({ description: 'The credential used: a token id, a client id, a run or a method.' }),
  }),
);

const AuditDecision = named('AuditDecision', 'allow: executed. deny: refused. error: failed.', oneOf(DECISIONS));

const ChangedRow = named(
  'ChangedRow',
  'The state of a row that decides access, after a change.',
  object({
    table: Type.String({ description: 'The table.' }),
    row: Type.String({ description: 'The row in it.' }),
    digest: nullable(Type.String({ description: 'A digest of the row after the change; null if it was deleted.' })),
    before: nullable(Type.String({ description: 'A digest of the row before the change; null if it is new.' })),
  }),
);

export const AuditRecord = named(
  'AuditEntry',
  'An entry of the audit log.',
  object({
    id: Type.String({ description: 'The id of the entry.' }),
    timestamp: timestampText,
    actor: AuditActor,
    action: Type.String({ description: 'The action, such as secrets:read or vault_created.' }),
    resource: Type.String({ description: 'The resource of the action.' }),
    vault: nullable(Type.String({ description: 'The vault of the resource, if any.' })),
    decision: AuditDecision,
    status: Type.Integer({ description: 'The HTTP status of the response.' }),
    ip: Type.String({ description: 'The address that the request came from.' }),
    user_agent: Type.String({ description: 'The User-Agent of the client.' }),
    request_id: Type.String({ description: 'The id of the request.' }),
    reason: nullable(Type.String({ description: 'Why the request was refused, or the reason that the caller gave.' })),
    details: Type.Record(Type.String(), Type.Unknown(), { description: 'Names, ids and counts; never a value.' }),
    rows: Type.Optional(
      Type.Array(ChangedRow, {
        description:
          'For each changed row that decides access: its digests before and after the change, or null if it was new or deleted.',
      }),
    ),
    seq: nullable(
      Type.Integer({
        description: 'Position in the chain; null until the entry is linked, a moment after it is recorded.',
      }),
    ),
    hash: nullable(Type.String({ description: 'SHA-256 over the previous hash and this entry, in hexadecimal.' })),
  }),
);
export type AuditRecord = Static<typeof AuditRecord>;

const filter = (description: string) => Type.Optional(Type.String({ minLength: 1, maxLength: 1200, description }));

export const auditFilters = {
  vault: filter('Name of a vault; with a final * every vault whose name starts with the text.'),
  actor: filter(
    'Id, name (e-mail address) or key (token id) of the actor; with a final * every one that starts with the text.',
  ),
  action: filter(
    'For example secrets:read; with a final * every action that starts with the text, such as vault_* or secrets:*.',
  ),
  resource: filter('The exact resource; with a final * every resource that starts with the text.'),
  decision: Type.Optional(described('Only entries of this decision.', AuditDecision)),
};

export const lookUpsFilter = Type.Optional(
  oneOf(
    ['include', 'exclude'],
    'Whether allowed requests are included that only looked something up: they changed nothing and showed no value of a secret. Default: include.',
  ),
);

export const AuditFilter = named(
  'AuditFilter',
  'Which entries of the audit log are meant. All must hold.',
  object(auditFilters),
);

const common = {
  ...ORDINARY,
  noun: 'audit',
  aboutNoun: {
    title: 'Audit log',
    group: 'People',
    guide: ['audit'],
    description: 'A tamper-evident log of who did what, and of what was refused.',
  },
  credentials: ANY_TOKEN,
  bodyBytesMax: 0,
  effect: 'read',
  params: NONE,
  body: NONE,
  status: 200,
} as const;

const EntryRange = named(
  'EntryRange',
  'Consecutive entries of the audit log.',
  object({
    first_seq: Type.Integer({ description: 'The number of the first entry.' }),
    last_seq: Type.Integer({ description: 'The number of the last entry.' }),
  }),
);

export const listAudit = endpoint({
  ...common,
  name: 'listAudit',
  method: 'GET',
  path: '/v1/audit',
  summary: 'Read the audit log, newest first',
  description:
    'A page reads a limited part of the log, so a rare filter may return a short or empty page with a `next_cursor`: continue until it is null.',
  permission: 'audit:read',
  resource: 'audit',
  rate: 'read',
  audit: 'audit:read',
  query: object({
    ...pageQuery,
    ...auditFilters,
    request_id: Type.Optional(described('Only entries of the request with this `X-Request-Id`.', id('req'))),
    look_ups: lookUpsFilter,
    from: timeFilter('At or after this time.'),
    to: timeFilter('Before this time.'),
  }),
  output: object({
    entries: Type.Array(AuditRecord),
    next_cursor: nextCursor,
    unreadable: Type.Array(EntryRange, {
      description:
        'Entries that cannot be listed, because somebody changed them in the database so that they cannot be read. Normally empty; if it is not, verify the log.',
    }),
    archived_until: Type.Union([timestampText, Type.Null()], {
      description:
        'If the page ends the list and the period reaches back to entries that were moved to the archive: the time up to which they were. They are not listed until the operator restores them.',
    }),
  }),
  errors: [],
});

const RowProblem = named(
  'RowProblem',
  'A row that was changed outside the service.',
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
  summary: 'Verify the whole chain of the audit log and every checkpoint',
  description:
    'Reports the first entry that was changed, removed, inserted or moved, or that contradicts a checkpoint, and every row that was forged, edited, rolled back or removed in the database. The duration is proportional to the size of the log and the number of rows.',
  permission: 'audit:verify',
  resource: 'audit',
  rate: 'aggregate',
  bulk: true,
  audit: 'audit:verify',
  query: NONE,
  output: object({
    valid: Type.Boolean({ description: 'No problem was found in the log or the rows.' }),
    entries: Type.Integer({ description: 'The number of entries in the chain, including purged and archived ones.' }),
    purged: Type.Integer({
      description:
        'The number of entries that were deleted because the retention of their vault ended; an entry `audit:purge` records each deletion.',
    }),
    archived: Type.Integer({
      description:
        'The number of entries that were moved to the archive. Of these the record of each range is checked, and what stays of it in the database.',
    }),
    first_broken: nullable(
      described(
        'Where the chain is first broken; null if it is intact.',
        object({
          seq: Type.Integer({ description: 'The number of the entry.' }),
          reason: Type.String({ description: 'What is wrong with the entry.' }),
        }),
      ),
    ),
    checkpoints: Type.Integer({
      description: 'The number of checkpoints that match the log, each with two valid signatures.',
    }),
    signed_seq: Type.Integer({
      description: 'The last entry that a checkpoint covers; 0 if there is none.',
    }),
    rows: described(
      'The result of checking the rows that decide access.',
      object({
        checked: Type.Integer({
          description:
            'The number of rows checked: those that decide access or define a secret, each against its MAC and its latest record in the log.',
        }),
        problems_count: Type.Integer({ description: 'The number of rows with a problem.' }),
        problems: Type.Array(RowProblem, {
          description: 'The first hundred problems.',
        }),
      }),
    ),
  }),
  errors: [],
});

export const Checkpoint = named(
  'Checkpoint',
  'A signature over the audit log up to an entry.',
  object({
    id: Type.Integer({ description: 'Numbered from 1 in each tenant.' }),
    tenant_id: id('tenant'),
    seq: Type.Integer({ description: 'The last entry that it covers.' }),
    hash: Type.String({ description: 'The hash of that entry, in hexadecimal.' }),
    signed_at: timestampText,
    key_id: Type.String({ description: 'The id of the signing key in `keys`.' }),
    signature: Type.String({ description: 'In base64: ML-DSA-65, then RSA-PSS-3072 (id-MLDSA65-RSA3072-PSS-SHA512).' }),
  }),
);
export type Checkpoint = Static<typeof Checkpoint>;

export const CheckpointKey = named(
  'CheckpointKey',
  'A public key that signed checkpoints.',
  object({
    key_id: Type.String({ description: 'The id of the key, derived from the key itself.' }),
    algorithm: Type.String({ description: 'The signature algorithm.' }),
    public_key: Type.String({ description: 'The public key, in base64.' }),
    endorsed_by: nullable(Type.String({ description: 'The previous key, which signed the id of this one.' })),
    endorsement: nullable(Type.String({ description: 'The signature of the previous key, in base64.' })),
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
    'One is signed every hour in which something was recorded. Store them elsewhere: with them, `coffer-verify` checks without this service whether an ' +
    'exported log is the one that was signed.',
  permission: 'audit:read',
  resource: 'audit',
  rate: 'read',
  audit: 'audit:read_checkpoints',
  query: object(pageQuery),
  output: object({
    checkpoints: Type.Array(Checkpoint),
    keys: Type.Array(CheckpointKey, {
      description: 'The public keys, newest first. Their ids are derived from them: store one id elsewhere.',
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
    'It covers everything recorded before this request; if the last checkpoint already does, that one is returned. Use it, for example, before handing over a log.',
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
  summary: 'Export the whole audit log in chain order, for `coffer-verify`',
  description:
    'JSON lines: first a header, then `{seq, hash, entry}` for each entry, where `entry` is the hashed list of its fields. A purged entry is ' +
    '`{seq, hash, purged_by}`, with the id of the entry that records the purge.',
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
        description: 'Start at this entry. Default: the first that is not in the archive.',
      }),
    ),
  }),
  raw: 'application/x-ndjson',
  output: NONE,
  errors: ['NOT_FOUND'],
});
