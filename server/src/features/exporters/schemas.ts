import Type, { type Static } from 'typebox';
import { named } from '../../kernel/wire/named-schemas.ts';
import { id, nullable, object, oneOf, timestampText } from '../../kernel/wire/wire.ts';
import { AuditFilterSchema } from '../audit/index.ts';

export const EXPORTER_TYPES = ['splunk_hec', 'elastic', 'datadog', 'syslog', 'otlp', 'https_json'] as const;
export type ExporterType = (typeof EXPORTER_TYPES)[number];
export const FORMATS = ['native', 'ecs', 'ocsf', 'cef'] as const;
export type FormatName = (typeof FORMATS)[number];

const ENDPOINT_CHARS_MAX = 2048;
const CREDENTIAL_CHARS_MAX = 4096;
const CA_CHARS_MAX = 64 * 1024;

/** They are sent as they are, in a header. */
const IN_A_HEADER = '^[\\u0021-\\u007e]+$';
/** Sent as base64, so they may have spaces and other letters. A colon would end the user name. */
const USER_NAME = '^[^\\u0000-\\u001f\\u007f:]+$';
const PASSWORD = '^[^\\u0000-\\u001f\\u007f]+$';

const credential = (description: string, pattern: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: CREDENTIAL_CHARS_MAX, pattern, description }));

export const type = named(
  'ExporterType',
  'The protocol of the receiver. splunk_hec: the HTTP Event Collector. elastic: Elasticsearch and OpenSearch. https_json: lines of JSON to any receiver.',
  oneOf(EXPORTER_TYPES),
);
export const format = named(
  'ExporterFormat',
  'native: as GET /v1/audit shows entries. ecs: Elastic Common Schema. ocsf: Open Cybersecurity Schema Framework. cef: Common Event Format.',
  oneOf(FORMATS),
);
export const credentials = named(
  'ExporterCredentials',
  'splunk_hec: token. datadog: api_key. elastic: api_key, or username and password. otlp and https_json: token, if the receiver needs one. Never shown again.',
  // `writeOnly` keeps it from being shown to the people who approve the request.
  Type.Object(
    {
      token: credential('A token.', IN_A_HEADER),
      api_key: credential('An API key.', IN_A_HEADER),
      username: credential('A user name.', USER_NAME),
      password: credential('A password.', PASSWORD),
    },
    { additionalProperties: false, writeOnly: true },
  ),
);
export type Credentials = Static<typeof credentials>;
export const endpointText = Type.String({
  minLength: 1,
  maxLength: ENDPOINT_CHARS_MAX,
  examples: ['https://siem.example.com/audit'],
  description:
    'Where entries are sent: a URL; for syslog tls://host:port, or tcp://host:port for a private host that the operator has allowed. elastic: the URL of the data stream or index. otlp: with or without /v1/logs.',
});
export const caPem = Type.String({
  minLength: 1,
  maxLength: CA_CHARS_MAX,
  description: 'Certificates in PEM that alone are trusted for the receiver, instead of those of the system.',
});
export const enabled = Type.Boolean({
  description: 'Whether entries are sent. Those recorded meanwhile are sent later.',
});

const Loss = named(
  'ExporterLoss',
  'Entries that the receiver does not have, although the exporter is past them.',
  object({
    from_seq: Type.Integer({ description: 'The first of them.' }),
    to_seq: Type.Integer({ description: 'The last of them.' }),
    kind: oneOf(['rejected', 'skipped'], 'rejected: the receiver refused them. skipped: it would have dropped them.'),
    reason: Type.String({ description: 'Why.' }),
    at: timestampText,
  }),
);

export const Exporter = named(
  'Exporter',
  'Sends the audit log to a SIEM, each entry at least once and in order.',
  object({
    id: id('exporter'),
    name: Type.String({ description: 'The name of the exporter.' }),
    type,
    format,
    filter: AuditFilterSchema,
    endpoint: Type.String({ description: 'Where entries are sent.' }),
    ca_pem: nullable(Type.String({ description: 'The only trusted certificates; null: those of the system.' })),
    enabled,
    cursor: Type.Integer({ description: 'The sequence number of the last entry that was sent or passed over.' }),
    lag_entries: Type.Integer({ description: 'The number of entries after the cursor.' }),
    lag_seconds: Type.Integer({ description: 'The age of the first entry after the cursor.' }),
    delivered: Type.Integer({ description: 'Entries that the receiver has taken.' }),
    rejected: Type.Integer({ description: 'Entries that the receiver refused.' }),
    skipped: Type.Integer({ description: 'Entries that were not sent, because the receiver would drop them.' }),
    losses: Type.Array(Loss, { description: 'The newest rejected and skipped entries.' }),
    last_success_at: nullable(timestampText),
    last_error: nullable(Type.String({ description: 'What went wrong since the last success.' })),
    created_by: Type.String({ description: 'The id of the creator.' }),
    created_at: timestampText,
    updated_at: timestampText,
  }),
);
export type Exporter = Static<typeof Exporter>;
