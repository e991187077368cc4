import Type, { type Static } from 'typebox';
import { freeText, object, oneOf } from '../../kernel/wire.ts';

export const METHOD_TYPES = ['k8s_sa', 'aws_iam', 'gcp_iam', 'azure_msi', 'oidc_generic', 'spiffe'] as const;
export type MethodType = (typeof METHOD_TYPES)[number];
export const methodType = oneOf(METHOD_TYPES, 'Which kind of identity it accepts.');

const LIST_MAX = 64;
const PATTERN_LENGTH_MAX = 512;
const PEM_LENGTH_MAX = 64 * 1024;
/** As long as the longest token that is looked at. */
const TOKEN_LENGTH_MAX = 16 * 1024;
const URL_LENGTH_MAX = 512;

/** Text that is compared as it is: no spaces, no control characters. */
const exact = (maxLength: number, description: string) =>
  Type.String({ minLength: 1, maxLength, pattern: '^[\\u0021-\\u007e]+$', description });
const exactList = (maxLength: number, description: string) =>
  Type.Array(exact(maxLength, description), {
    maxItems: LIST_MAX,
    description: `${description} An empty list: nobody.`,
  });
const patterns = (what: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: PATTERN_LENGTH_MAX }), {
    maxItems: LIST_MAX,
    description: `Regular expressions (RE2) of which one must match ${what} as a whole. An empty list: nobody.`,
  });
const pem = (description: string) => freeText(PEM_LENGTH_MAX, description);
const audience = exact(512, 'The audience that tokens must name, and no other.');
const openedIssuer = exact(
  URL_LENGTH_MAX,
  'Stands in for the provider’s own issuer; only on hosts that the operator opened with CV_OUTBOUND_ALLOW.',
);

export const K8sConfig = object({
  issuer: exact(URL_LENGTH_MAX, 'The `iss` of the cluster’s service-account tokens.'),
  ca_cert_pem: pem('The certificate of the API server, or of the authority that signed it; no other is believed.'),
  allowed_namespaces: exactList(63, 'Namespaces.'),
  allowed_sa_names: exactList(253, 'Names of service accounts.'),
  api_server_url: Type.Optional(exact(URL_LENGTH_MAX, 'Where the API server is; the issuer’s URL unless given.')),
  token_reviewer_jwt: Type.Optional(
    exact(TOKEN_LENGTH_MAX, 'A token that may review others; the workload’s own unless given. Never shown again.'),
  ),
});
export type K8sConfig = Static<typeof K8sConfig>;

export const AwsConfig = object({
  allowed_arns: patterns('the ARN, with an assumed role as `arn:aws:iam::<account>:role/<name>`,'),
  sts_endpoint: Type.Optional(
    exact(
      URL_LENGTH_MAX,
      'The only STS endpoint accepted: one of AWS’s own, or one on a host that the operator opened.',
    ),
  ),
});
export type AwsConfig = Static<typeof AwsConfig>;

export const GcpConfig = object({
  expected_audience: audience,
  allowed_emails: exactList(254, 'E-mail addresses of service accounts.'),
  issuer: Type.Optional(openedIssuer),
});
export type GcpConfig = Static<typeof GcpConfig>;

export const AzureConfig = object({
  expected_audience: audience,
  allowed_object_ids: exactList(64, 'Object ids of managed identities.'),
  tenant_id: Type.Optional(
    Type.String({
      pattern: '^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$',
      description:
        'The directory whose identities are accepted. Without it nobody is: any directory could issue an object id.',
    }),
  ),
  issuer: Type.Optional(openedIssuer),
});
export type AzureConfig = Static<typeof AzureConfig>;

export const OidcConfig = object({
  expected_issuer: exact(URL_LENGTH_MAX, 'The issuer, exactly; its keys are found by discovery.'),
  expected_audience: audience,
  allowed_subjects: patterns('the subject'),
});
export type OidcConfig = Static<typeof OidcConfig>;

export const SpiffeConfig = object({
  trust_domain: Type.String({ pattern: '^[a-z0-9._-]{1,255}$', description: 'Without `spiffe://`.' }),
  trust_bundle_pem: pem('Public keys, or certificates, that sign JWT-SVIDs of the trust domain.'),
  expected_audience: audience,
  allowed_spiffe_ids: patterns('the SPIFFE ID'),
});
export type SpiffeConfig = Static<typeof SpiffeConfig>;

const token = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: TOKEN_LENGTH_MAX, description }));

/** What a workload shows: the field or fields of its method's type. */
export const credentialFields = {
  k8s_token: token('k8s_sa: the projected service-account token.'),
  aws_signed_url: Type.Optional(
    Type.String({ minLength: 1, maxLength: 8192, description: 'aws_iam: a pre-signed GetCallerIdentity URL.' }),
  ),
  aws_signed_headers: Type.Optional(
    Type.Record(Type.String({ maxLength: 64 }), Type.String({ maxLength: 1024 }), {
      maxProperties: 8,
      description: 'aws_iam: the headers that were signed with it, `X-Coffer-Audience` among them.',
    }),
  ),
  gcp_jwt: token('gcp_iam: the identity token.'),
  azure_jwt: token('azure_msi: the access token of the identity endpoint.'),
  oidc_token: token('oidc_generic: the token.'),
  jwt_svid: token('spiffe: the JWT-SVID.'),
};
export const Credential = object(credentialFields);
export type Credential = Static<typeof Credential>;
