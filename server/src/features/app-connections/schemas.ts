import Type, { type Static } from 'typebox';
import { described, named } from '../../kernel/named-schemas.ts';
import { id, idParam, nullable, object, oneOf, timestampText } from '../../kernel/wire.ts';

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
  description: 'The vaults that it reaches, by id.',
});
export const allowedPaths = Type.Array(Type.String({ minLength: 1, maxLength: 1024 }), {
  maxItems: PATHS_MAX,
  description:
    'Paths of secrets, without a leading slash; `*` stays inside a segment, a final `/*` crosses. `["*"]` is everything.',
});
export const scopes = Type.Array(Type.String({ maxLength: 64, pattern: '^(?:secrets|eso):(?:\\*|[a-z][a-z_]*)$' }), {
  minItems: 1,
  maxItems: SCOPES_MAX,
  description: `What it may do there; ${SCOPES_DEFAULT.join(', ')} unless given. A policy attached to it can allow more, in the same places.`,
});
export const pem = (description: string) => Type.String({ minLength: 1, maxLength: PEM_CHARS_MAX, description });
const SessionAction = named(
  'SessionAction',
  'What happens to one session more than the limit.',
  oneOf(['reject', 'evict_oldest']),
);
export const ConnectionStatus = named(
  'ConnectionStatus',
  'A disabled connection is refused, and loses nothing.',
  oneOf(['active', 'disabled']),
);
export const sessionFields = {
  concurrent_session_limit: Type.Optional(
    nullable(Type.Integer({ minimum: 1, maximum: SESSIONS_MAX, description: 'Null: any number.' })),
  ),
  concurrent_session_action: Type.Optional(SessionAction),
  concurrent_session_ttl_seconds: Type.Optional(
    Type.Integer({
      minimum: 60,
      maximum: 30 * 24 * 3600,
      description: 'After so long without a request it has ended.',
    }),
  ),
};

/** For an authority whose revocation lists are not read, and for a certificate that must be refused at once. */
export const deniedThumbprints = Type.Array(Type.String({ pattern: '^[0-9a-f]{64}$' }), {
  maxItems: DENIED_THUMBPRINTS_MAX,
  uniqueItems: true,
  description:
    'SHA-256 thumbprints, as 64 lower-case hex digits, of certificates that it takes no longer: of a client, or of an authority whose clients all end.',
});

export const Connection = named(
  'AppConnection',
  'A machine’s identity: what it may reach, and how it must prove itself.',
  object({
    id: Type.Integer({ description: 'Its number.' }),
    client_id: Type.String({ description: 'Its client id: a UUID.' }),
    name: Type.String({ description: 'Its name.' }),
    description: Type.String({ description: 'What it is for.' }),
    status: ConnectionStatus,
    vault: nullable(Type.String({ description: 'The name of its first vault.' })),
    vault_ids: Type.Array(Type.String(), { description: 'The vaults that it reaches.' }),
    allowed_paths: Type.Array(Type.String(), { description: 'Where it may act in them.' }),
    scopes: Type.Array(Type.String(), { description: 'What it may do there.' }),
    ip_allowlist: nullable(
      Type.Array(Type.String(), { description: 'Addresses and CIDR ranges that it may come from; null: any.' }),
    ),
    environment: nullable(Type.String({ description: 'It reaches only secrets of this stage; null: of any.' })),
    mtls_required: Type.Boolean({ description: 'It must show a client certificate.' }),
    require_dpop: Type.Boolean({ description: 'It must send DPoP proofs.' }),
    dpop_jkt: nullable(Type.String({ description: 'The key of its proofs.' })),
    external_ca_pem: nullable(
      Type.String({ description: 'Who issues its client certificates in place of the service.' }),
    ),
    denied_thumbprints: Type.Array(Type.String(), { description: 'Certificates that it takes no longer.' }),
    concurrent_session_limit: nullable(Type.Integer({ description: 'So many at once; null: any number.' })),
    concurrent_session_action: SessionAction,
    concurrent_session_ttl_seconds: Type.Integer({
      description: 'After so long without a request a session has ended.',
    }),
    client_secret_made_at: timestampText,
    former_client_secret_until: nullable(timestampText),
    created_by: Type.String({ description: 'Who made it.' }),
    created_at: timestampText,
    updated_at: timestampText,
  }),
);
export type Connection = Static<typeof Connection>;

export const certificateFields = {
  certificate_signing_request: nullable(Type.String({ description: 'What the certificate was issued for, in PEM.' })),
  certificate: nullable(Type.String({ description: 'The client certificate, in PEM.' })),
  ca_chain: nullable(Type.String({ description: 'What it chains to, in PEM.' })),
  private_key: nullable(Type.String({ description: 'Shown once, and only if the service made the key.' })),
};
export const shownSecret = Type.String({ description: 'Shown once.' });

export const connectionId = described('An AppConnection, by its number or its client id.', idParam);
