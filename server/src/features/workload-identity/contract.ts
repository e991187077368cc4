import Type, { type Static } from 'typebox';
import { ANY_TOKEN, endpoint, NONE, ORDINARY } from '../../kernel/endpoint/declaration.ts';
import { described, named } from '../../kernel/wire/named-schemas.ts';
import {
  Deleted,
  freeText,
  idParam,
  nextCursor,
  object,
  objectWithExamples,
  oneOf,
  pageQuery,
  record,
  resourceName,
  timestampText,
} from '../../kernel/wire/wire.ts';

export const METHOD_TYPES = ['k8s_sa', 'aws_iam', 'gcp_iam', 'azure_msi', 'oidc_generic', 'spiffe'] as const;
export type MethodType = (typeof METHOD_TYPES)[number];
export const methodType = named('WorkloadMethodType', 'The kind of identity it accepts.', oneOf(METHOD_TYPES));

const LIST_MAX = 64;
const PATTERN_LENGTH_MAX = 512;
const PEM_LENGTH_MAX = 16 * 1024;
/** The longest token that is parsed. */
const TOKEN_LENGTH_MAX = 16 * 1024;
const URL_LENGTH_MAX = 512;

/** Text that is compared byte for byte: no spaces, no control characters. */
const exact = (maxLength: number, description: string) =>
  Type.String({ minLength: 1, maxLength, pattern: '^[\\u0021-\\u007e]+$', description });
const exactList = (maxLength: number, description: string) =>
  Type.Array(exact(maxLength, description), {
    maxItems: LIST_MAX,
    description: `${description} An empty list allows nobody.`,
  });
const patterns = (what: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: PATTERN_LENGTH_MAX }), {
    maxItems: LIST_MAX,
    description: `Regular expressions (RE2) of which one must match ${what} as a whole. An empty list allows nobody.`,
  });
const pem = (description: string) => freeText(PEM_LENGTH_MAX, description);
const audience = exact(512, 'The audience of the tokens; it must be their only one.');
const openedIssuer = exact(
  URL_LENGTH_MAX,
  'Replaces the provider’s own issuer; only on hosts that the operator allowed with CV_OUTBOUND_ALLOW.',
);

export const K8sConfig = object({
  issuer: exact(URL_LENGTH_MAX, 'The `iss` of the cluster’s service-account tokens.'),
  ca_cert_pem: pem('The certificate of the API server, or of the CA that signed it; no other is trusted.'),
  allowed_namespaces: exactList(63, 'Allowed namespaces.'),
  allowed_sa_names: exactList(253, 'Allowed names of service accounts.'),
  api_server_url: Type.Optional(exact(URL_LENGTH_MAX, 'URL of the API server; default: the issuer’s URL.')),
  token_reviewer_jwt: Type.Optional(
    exact(
      TOKEN_LENGTH_MAX,
      'A token with permission to create TokenReviews; default: the workload’s own token. Never returned.',
    ),
  ),
});
export type K8sConfig = Static<typeof K8sConfig>;

export const AwsConfig = object({
  allowed_arns: patterns('the ARN, with an assumed role as `arn:aws:iam::<account>:role/<name>`,'),
  sts_endpoint: Type.Optional(
    exact(
      URL_LENGTH_MAX,
      'The only STS endpoint accepted: one of AWS’s own, or one on a host that the operator allowed with CV_OUTBOUND_ALLOW.',
    ),
  ),
});
export type AwsConfig = Static<typeof AwsConfig>;

export const GcpConfig = object({
  expected_audience: audience,
  allowed_emails: exactList(254, 'Allowed e-mail addresses of service accounts.'),
  issuer: Type.Optional(openedIssuer),
});
export type GcpConfig = Static<typeof GcpConfig>;

export const AzureConfig = object({
  expected_audience: audience,
  allowed_object_ids: exactList(64, 'Allowed object ids of managed identities.'),
  tenant_id: Type.Optional(
    Type.String({
      pattern: '^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$',
      description:
        'The directory (tenant) whose identities are accepted. Without it, a token is verified with the keys of the directory it names, and only the object id is checked.',
    }),
  ),
  issuer: Type.Optional(openedIssuer),
});
export type AzureConfig = Static<typeof AzureConfig>;

export const OidcConfig = object({
  expected_issuer: exact(URL_LENGTH_MAX, 'The exact issuer; its keys are found by OpenID Connect discovery.'),
  expected_audience: audience,
  allowed_subjects: patterns('the subject'),
});
export type OidcConfig = Static<typeof OidcConfig>;

export const SpiffeConfig = object({
  trust_domain: Type.String({ pattern: '^[a-z0-9._-]{1,255}$', description: 'The trust domain, without `spiffe://`.' }),
  trust_bundle_pem: pem('Public keys, or certificates, that sign JWT-SVIDs of the trust domain.'),
  expected_audience: audience,
  allowed_spiffe_ids: patterns('the SPIFFE ID'),
});
export type SpiffeConfig = Static<typeof SpiffeConfig>;

const token = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: TOKEN_LENGTH_MAX, description }));

/** The workload's credential: the field or fields of its method's type. */
export const credentialFields = {
  k8s_token: token('k8s_sa: the projected service-account token.'),
  aws_signed_url: Type.Optional(
    Type.String({ minLength: 1, maxLength: 8192, description: 'aws_iam: a pre-signed GetCallerIdentity URL.' }),
  ),
  aws_signed_headers: Type.Optional(
    record('^[\\u0020-\\u007e]{0,64}$', Type.String({ maxLength: 1024 }), {
      maxProperties: 8,
      description: 'aws_iam: the headers signed with it, including `X-Coffer-Audience`.',
    }),
  ),
  gcp_jwt: token('gcp_iam: the identity token.'),
  azure_jwt: token('azure_msi: the access token of the identity endpoint.'),
  oidc_token: token('oidc_generic: the token.'),
  jwt_svid: token('spiffe: the JWT-SVID.'),
};
export const Credential = object(credentialFields);
export type Credential = Static<typeof Credential>;

/** Fifteen digits stay below 2^53. */
const NUMBER_MAX = 999_999_999_999_999;
const BODY_BYTES_MAX = 128 * 1024;

const number = (description: string) => Type.Integer({ minimum: 1, maximum: NUMBER_MAX, description });

/** The fields and their limits are checked by the schema of the method's type. */
const config = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  // Each type has its own schema, which checks the config once the type is known.
  additionalProperties: true,
  maxProperties: 16,
  description:
    'Fields by type. k8s_sa: issuer, ca_cert_pem, allowed_namespaces, allowed_sa_names, api_server_url?, token_reviewer_jwt?. aws_iam: allowed_arns, ' +
    'sts_endpoint?. gcp_iam: expected_audience, allowed_emails, issuer?. azure_msi: expected_audience, allowed_object_ids, tenant_id?, ' +
    'issuer?. oidc_generic: expected_issuer, expected_audience, allowed_subjects. spiffe: trust_domain, trust_bundle_pem, ' +
    'expected_audience, allowed_spiffe_ids.',
});

export const Method = named(
  'WorkloadMethod',
  'A login method, with which workloads of a cluster, cloud or issuer log in as an AppConnection.',
  object({
    id: Type.Integer({ description: 'Number of the method.' }),
    name: Type.String({ description: 'Its name.' }),
    type: methodType,
    app_connection_id: Type.Integer({ description: 'The AppConnection that its tokens are bound to.' }),
    config: Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      description: 'The config, without its secret members.',
    }),
    secrets_set: Type.Array(Type.String(), { description: 'Names of the secret members of the config that are set.' }),
    warnings: Type.Array(Type.String(), { description: 'Warnings about this config; empty if there are none.' }),
    created_by: Type.String({ description: 'The user or machine that created it.' }),
    created_at: timestampText,
    updated_at: timestampText,
  }),
);
export type Method = Static<typeof Method>;

const common = {
  ...ORDINARY,
  noun: 'workload-identity',
  aboutNoun: {
    title: 'Workload identity',
    group: 'Machines',
    guide: ['workload-identity'],
    description:
      'Login methods for workloads: they log in with the identity of their cluster or cloud, and act as an AppConnection.',
  },
  credentials: ANY_TOKEN,
  bodyBytesMax: BODY_BYTES_MAX,
  params: NONE,
  query: NONE,
  body: NONE,
} as const;

const ofOne = {
  resource: 'workload-method/{method_id}',
  params: object({ method_id: described('The number of a method.', idParam) }),
} as const;

const RIGHTS = 'Requires permission to update the AppConnection and to add members to its vaults.';

const AWS_METHOD = {
  name: 'payments-on-aws',
  type: 'aws_iam',
  app_connection_id: 1,
  config: { allowed_arns: ['arn:aws:iam::123456789012:role/payments'] },
} as const;

export const createMethod = endpoint({
  ...common,
  name: 'createWorkloadMethod',
  method: 'POST',
  path: '/workload-identity/methods',
  summary: 'Create a login method for workloads of a cluster, cloud or issuer',
  description: RIGHTS,
  permission: 'workload_methods:create',
  resource: 'workload-method',
  rate: 'write',
  audit: 'workload_methods:create',
  effect: 'change',
  body: objectWithExamples([AWS_METHOD], {
    name: resourceName,
    type: methodType,
    app_connection_id: number('The AppConnection that its tokens are bound to.'),
    config,
  }),
  status: 201,
  output: Method,
  errors: ['QUOTA_EXCEEDED', 'ALREADY_EXISTS', 'NOT_FOUND', 'VAULT_NOT_FOUND'],
});

export const listMethods = endpoint({
  ...common,
  name: 'listWorkloadMethods',
  method: 'GET',
  path: '/workload-identity/methods',
  summary: 'List the methods of the tenant',
  description: 'Does not include secret members of their config.',
  permission: 'workload_methods:list',
  resource: 'workload-method',
  rate: 'read',
  audit: 'workload_methods:list',
  effect: 'read',
  query: object(pageQuery),
  status: 200,
  output: object({ methods: Type.Array(Method), next_cursor: nextCursor }),
  errors: [],
});

export const readMethod = endpoint({
  ...common,
  ...ofOne,
  name: 'readWorkloadMethod',
  method: 'GET',
  path: '/workload-identity/methods/{method_id}',
  summary: 'Read a method',
  description: 'Does not include secret members of its config; `secrets_set` lists those that are set.',
  permission: 'workload_methods:read',
  rate: 'read',
  audit: 'workload_methods:read',
  effect: 'read',
  status: 200,
  output: Method,
  errors: ['NOT_FOUND'],
});

export const updateMethod = endpoint({
  ...common,
  ...ofOne,
  name: 'updateWorkloadMethod',
  method: 'PUT',
  path: '/workload-identity/methods/{method_id}',
  summary: 'Change a method',
  description: `Omitted fields are unchanged; \`config\` is replaced as a whole. Omitted secret members of it are kept unless their destination changes. The type cannot be changed. Tokens issued through the method are revoked. ${RIGHTS}`,
  permission: 'workload_methods:update',
  rate: 'write',
  audit: 'workload_methods:update',
  effect: 'change',
  body: object({
    name: Type.Optional(resourceName),
    type: Type.Optional(methodType),
    app_connection_id: Type.Optional(number('The AppConnection that its tokens are bound to.')),
    config: Type.Optional(config),
  }),
  status: 200,
  output: Method,
  errors: ['NOT_FOUND', 'ALREADY_EXISTS', 'VAULT_NOT_FOUND'],
});

export const deleteMethod = endpoint({
  ...common,
  ...ofOne,
  name: 'deleteWorkloadMethod',
  method: 'DELETE',
  path: '/workload-identity/methods/{method_id}',
  summary: 'Delete a method',
  description: 'Logins through it fail and tokens issued through it are revoked, immediately.',
  permission: 'workload_methods:delete',
  rate: 'write',
  audit: 'workload_methods:delete',
  effect: 'change',
  status: 200,
  output: Deleted,
  errors: ['NOT_FOUND'],
});

export const login = endpoint({
  ...common,
  name: 'workloadLogin',
  method: 'POST',
  path: '/workload-identity/login',
  summary: 'Exchange a workload’s identity for a token',
  description:
    'Send `method_id` and the credential of the method’s type. The token is valid for an hour and acts as the method’s AppConnection. With a DPoP header it is bound to that key. Every failure returns the same error; the audit log has the reason.',
  credentials: 'public',
  tenant: NONE,
  region: 'local',
  permission: NONE,
  resource: NONE,
  rate: 'auth',
  audit: 'workload:login',
  effect: 'change',
  bodyBytesMax: 64 * 1024,
  body: objectWithExamples([{ method_id: 1, jwt_svid: 'eyJhbGciOiJFUzI1NiJ9.e30.c2ln' }], {
    method_id: number('The method.'),
    ...credentialFields,
  }),
  status: 200,
  output: object({ cv_jwt: Type.String({ description: 'Send it as a bearer token.' }), expires_at: timestampText }),
  errors: ['LOGIN_DENIED', 'JWKS_KEY_NOT_FOUND', 'IP_NOT_ALLOWED', 'DPOP_REQUIRED', 'INVALID_DPOP_PROOF'],
});
