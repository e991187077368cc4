import Type, { type Static } from 'typebox';
import { described, named } from '../../kernel/wire/named-schemas.ts';
import { id, idParam, nullable, object, oneOf, timestampText } from '../../kernel/wire/wire.ts';

export const VAULTS_MAX = 100;
export const PATHS_MAX = 100;
export const SCOPES_MAX = 32;
export const CERTIFICATE_DAYS_DEFAULT = 30;
export const CERTIFICATE_DAYS_MAX = 90;
const DENIED_THUMBPRINTS_MAX = 200;
const PEM_CHARS_MAX = 16 * 1024;
const SESSIONS_MAX = 10_000;
export const SESSION_TTL_SECONDS_DEFAULT = 3600;
export const OVERLAP_SECONDS_MAX = 30 * 24 * 3600;
export const EXPORT_PASSWORD_LENGTH_MIN = 12;

/** What a connection may do in its locations unless scopes are given. */
export const SCOPES_DEFAULT = [
  'secrets:read',
  'secrets:read_metadata',
  'secrets:list',
  'secrets:aggregate',
  'eso:read',
] as const;

export const vaultIds = Type.Array(id('vault'), {
  minItems: 1,
  maxItems: VAULTS_MAX,
  uniqueItems: true,
  description: 'The vaults that the connection may access, by id.',
});
export const allowedPaths = Type.Array(Type.String({ minLength: 1, maxLength: 1024 }), {
  maxItems: PATHS_MAX,
  description:
    'Paths of secrets, without a leading slash. `*` matches within one segment, a final `/*` matches everything below; `["*"]` matches every path.',
});
export const scopes = Type.Array(Type.String({ maxLength: 64, pattern: '^(?:secrets|eso):(?:\\*|[a-z][a-z_]*)$' }), {
  minItems: 1,
  maxItems: SCOPES_MAX,
  description: `The actions that it may perform there. Default: ${SCOPES_DEFAULT.join(', ')}. A policy attached to it can allow more, in the same vaults and paths.`,
});
export const pem = (description: string) => Type.String({ minLength: 1, maxLength: PEM_CHARS_MAX, description });
const SessionAction = named(
  'SessionAction',
  'What happens when a new session would exceed the limit.',
  oneOf(['reject', 'evict_oldest']),
);
export const ConnectionStatus = named(
  'ConnectionStatus',
  'A disabled connection is refused, but keeps its settings and credentials.',
  oneOf(['active', 'disabled']),
);
export const sessionFields = {
  concurrent_session_limit: Type.Optional(
    nullable(
      Type.Integer({
        minimum: 1,
        maximum: SESSIONS_MAX,
        description: 'The maximum number of concurrent sessions; null: unlimited.',
      }),
    ),
  ),
  concurrent_session_action: Type.Optional(SessionAction),
  concurrent_session_ttl_seconds: Type.Optional(
    Type.Integer({
      minimum: 60,
      maximum: 30 * 24 * 3600,
      description: 'A session without requests for this long has expired, in seconds.',
    }),
  ),
};

/** For an authority whose revocation lists are not read, and for a certificate that must be refused at once. */
export const deniedThumbprints = Type.Array(Type.String({ pattern: '^[0-9a-f]{64}$' }), {
  maxItems: DENIED_THUMBPRINTS_MAX,
  uniqueItems: true,
  description:
    'SHA-256 thumbprints, as 64 lower-case hex digits, of certificates to refuse: of a client, or of a CA whose client certificates are all to be refused.',
});

export const Connection = named(
  'AppConnection',
  'A machine identity: what it may access, and how it must authenticate.',
  object({
    id: Type.Integer({ description: 'The number of the connection.' }),
    client_id: Type.String({ description: 'The client id of the connection: a UUID.' }),
    name: Type.String({ description: 'The name of the connection.' }),
    description: Type.String({ description: 'The purpose of the connection.' }),
    status: ConnectionStatus,
    vault: nullable(Type.String({ description: 'The name of its first vault.' })),
    vault_ids: Type.Array(Type.String(), { description: 'The vaults that it may access.' }),
    allowed_paths: Type.Array(Type.String(), { description: 'The paths that it may access in these vaults.' }),
    scopes: Type.Array(Type.String(), { description: 'The actions that it may perform there.' }),
    ip_allowlist: nullable(
      Type.Array(Type.String(), { description: 'Addresses and CIDR ranges that it may be used from; null: any.' }),
    ),
    environment: nullable(
      Type.String({ description: 'It may access only secrets of this environment; null: of any.' }),
    ),
    mtls_required: Type.Boolean({ description: 'It must present a client certificate.' }),
    tls_url: nullable(
      Type.String({
        description:
          'The URL of the service at which it can present its certificate; null if there is no TLS listener.',
      }),
    ),
    require_dpop: Type.Boolean({ description: 'It must send DPoP proofs.' }),
    dpop_jkt: nullable(Type.String({ description: 'The thumbprint of the key that signs its proofs.' })),
    external_ca_pem: nullable(
      Type.String({
        description: 'The external CA that issues its client certificates instead of the service, in PEM.',
      }),
    ),
    denied_thumbprints: Type.Array(Type.String(), { description: 'Thumbprints of certificates to refuse.' }),
    concurrent_session_limit: nullable(
      Type.Integer({ description: 'The maximum number of concurrent sessions; null: unlimited.' }),
    ),
    concurrent_session_action: SessionAction,
    concurrent_session_ttl_seconds: Type.Integer({
      description: 'A session without requests for this long has expired, in seconds.',
    }),
    client_secret_made_at: timestampText,
    former_client_secret_until: nullable(timestampText),
    created_by: Type.String({ description: 'The id of the creator.' }),
    created_at: timestampText,
    updated_at: timestampText,
  }),
);
export type Connection = Static<typeof Connection>;

export const ConnectionCertificate = named(
  'ConnectionCertificate',
  'A client certificate that was issued to a connection.',
  object({
    serial: Type.String({ description: 'The serial number, in hexadecimal.' }),
    thumbprint: Type.String({ description: 'The SHA-256 thumbprint, in hexadecimal.' }),
    is_exchanged: Type.Boolean({ description: 'It was issued to a CI job in exchange for its identity token.' }),
    not_before: timestampText,
    not_after: timestampText,
    revoked_at: nullable(
      described('When it is refused from: in the future if it was replaced with an overlap.', timestampText),
    ),
    reason: Type.String({ description: 'The reason for the revocation; empty unless it is revoked.' }),
  }),
);
export type ConnectionCertificate = Static<typeof ConnectionCertificate>;

export const certificateFields = {
  certificate_signing_request: nullable(
    Type.String({ description: 'The request that the certificate was issued for, in PEM.' }),
  ),
  certificate: nullable(Type.String({ description: 'The client certificate, in PEM.' })),
  ca_chain: nullable(Type.String({ description: 'The CA certificates that it chains to, in PEM.' })),
  private_key: nullable(Type.String({ description: 'Shown once, and only if the service created the key.' })),
};
export const shownSecret = Type.String({ description: 'Shown once.' });

export const connectionId = described('An AppConnection, by its number or its client id.', idParam);
