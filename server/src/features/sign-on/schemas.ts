import Type, { type Static } from 'typebox';
import { named } from '../../kernel/wire/named-schemas.ts';
import { IN_A_LINE, NAME_PATTERN, nullable, object, oneOf, record, timestampText } from '../../kernel/wire/wire.ts';

/** Roles that a provider can give. An owner is made by an owner, so that no provider can take over a tenant. */
export const MAPPED_ROLES = ['admin', 'auditor', 'member'] as const;
export type MappedRole = (typeof MAPPED_ROLES)[number];

/** Per tenant, since each login with a password looks at all of them. */
export const PROVIDERS_MAX = 10;
const MAPPING_MAX = 100;
const SCOPES_MAX = 16;
export const ISSUER_LENGTH_MAX = 512;
export const SCOPES_DEFAULT = ['openid', 'email', 'profile'];
export const GROUPS_CLAIM_DEFAULT = 'groups';

export const subjectClaim = named(
  'SsoSubjectClaim',
  'The claim that says who somebody is, and equals externalId in SCIM: oid for Entra, sub for others.',
  oneOf(['sub', 'oid'] as const),
);

export const mappedRole = named(
  'SsoRole',
  'A role that a provider can give. Only an owner can make an owner.',
  oneOf(MAPPED_ROLES),
);
const exact = (maxLength: number, description: string) =>
  Type.String({ minLength: 1, maxLength, pattern: '^[\\u0021-\\u007e]+$', description });
/** A group of the provider is any line of text. */
const PROVIDER_GROUP = `^${IN_A_LINE}{1,256}$`;

export const fields = {
  scopes: Type.Optional(
    Type.Array(exact(64, 'A scope.'), {
      maxItems: SCOPES_MAX,
      description: `Scopes to request; must contain openid. Default: ${SCOPES_DEFAULT.join(', ')}.`,
    }),
  ),
  groups_claim: Type.Optional(
    exact(128, `The claim that lists the groups of a person. Default: ${GROUPS_CLAIM_DEFAULT}.`),
  ),
  role_mapping: Type.Optional(
    record(PROVIDER_GROUP, mappedRole, {
      maxProperties: MAPPING_MAX,
      description: 'Group of the provider → role. Of several the highest counts: admin, auditor, member.',
    }),
  ),
  group_mapping: Type.Optional(
    record(PROVIDER_GROUP, Type.String({ pattern: NAME_PATTERN }), {
      maxProperties: MAPPING_MAX,
      description: 'Group of the provider → name of a group here. People join and leave these groups at each sign-in.',
    }),
  ),
  default_role: Type.Optional(
    nullable(
      mappedRole,
      'The role of people whose groups give none; null refuses them, and is required for an issuer at which anybody can have an account, such as Google. Default: null.',
    ),
  ),
  required: Type.Optional(
    Type.Boolean({
      description:
        'If true, only break-glass owners can log in with a password or a passkey; every owner while there is none. Default: false.',
    }),
  ),
  enabled: Type.Optional(Type.Boolean({ description: 'Whether people can sign in with it. Default: true.' })),
};
export const issuer = exact(ISSUER_LENGTH_MAX, 'The issuer; the rest is found by OpenID Connect discovery.');
export const clientId = exact(256, 'The client id that the provider gave this service.');
export const clientSecret = Type.String({
  minLength: 1,
  maxLength: 1024,
  pattern: '^[\\u0021-\\u007e]+$',
  writeOnly: true,
  description: 'The client secret. Never returned. Without one, the client is public.',
});

export const SsoProvider = named(
  'SsoProvider',
  'An OpenID provider with which people of the tenant sign in.',
  object({
    name: Type.String({ description: 'Its name, which is part of the address of the sign-in.' }),
    issuer: Type.String({ description: 'The issuer of its tokens.' }),
    client_id: Type.String({ description: 'The client id of this service.' }),
    has_client_secret: Type.Boolean({ description: 'Whether a client secret is stored.' }),
    scopes: Type.Array(Type.String(), { description: 'Requested scopes.' }),
    subject_claim: subjectClaim,
    groups_claim: Type.String({ description: 'The claim that lists the groups of a person.' }),
    role_mapping: Type.Record(Type.String(), mappedRole, { description: 'Group of the provider → role.' }),
    group_mapping: Type.Record(Type.String(), Type.String(), {
      description: 'Group of the provider → name of a group here.',
    }),
    default_role: nullable(mappedRole, 'The role of people whose groups give none; null refuses them.'),
    required: Type.Boolean({
      description:
        'Whether only break-glass owners can log in with a password or a passkey; every owner while there is none.',
    }),
    enabled: Type.Boolean({ description: 'Whether people can sign in with it.' }),
    redirect_uri: Type.String({ description: 'The address to register with the provider. No other provider has it.' }),
    post_logout_redirect_uri: Type.String({
      description: 'The address to register for people who sign out at the provider.',
    }),
    backchannel_logout_uri: Type.String({
      description: 'The address to register for back-channel logout, with which the provider ends sessions here.',
    }),
    created_by: Type.String({ description: 'The id of the creator.' }),
    created_at: timestampText,
    updated_at: timestampText,
  }),
);
export type SsoProvider = Static<typeof SsoProvider>;

export const providerParam = Type.String({
  pattern: NAME_PATTERN,
  description: 'The name of a provider.',
  examples: ['okta'],
});
const authorizationCode = Type.String({
  minLength: 1,
  maxLength: 4096,
  description: 'From the provider.',
  examples: ['SplxlOBeZQQYbYS6WxSbIA'],
});
const stateText = Type.String({
  minLength: 1,
  maxLength: 512,
  description: 'From the provider, as it was sent there.',
  examples: ['af0ifjsldkj'],
});
const redirectUriText = Type.String({
  minLength: 1,
  maxLength: 2048,
  description: 'The address to which the provider sent the browser, without its query.',
  examples: ['https://coffer.example/auth/sso/callback/tenant_01/okta'],
});
const issText = Type.String({
  minLength: 1,
  maxLength: ISSUER_LENGTH_MAX,
  description: 'The issuer (RFC 9207).',
});

/** The fields of what a provider sends with the browser. */
export const providerAnswer = { code: authorizationCode, state: stateText, iss: Type.Optional(issText) };
/** The same, as the console passes it on. */
export const browserAnswer = {
  ...providerAnswer,
  redirect_uri: redirectUriText,
  flow_key: Type.String({
    minLength: 1,
    maxLength: 128,
    writeOnly: true,
    description: 'What the page got when it began the sign-in, which proves that the same page finishes it.',
    examples: ['wq3L0pR7cX9sTn2VbYk5mJ8dHfG1aZ4eQ6uI0oP7xRs'],
  }),
};

/** Where a browser goes on to the provider. */
export const BegunAtProvider = object({
  url: Type.String({ description: 'Where to send the person.' }),
  flow_key: Type.String({
    description: 'Store it in the page, where no other program can write, and send it to finish. Returned once.',
  }),
});
