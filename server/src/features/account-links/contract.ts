import Type, { type Static } from 'typebox';
import { ANY_TOKEN, endpoint, NONE, ORDINARY } from '../../kernel/endpoint/declaration.ts';
import { named } from '../../kernel/wire/named-schemas.ts';
import { Deleted, nullable, object, objectWithExamples, timestampText } from '../../kernel/wire/wire.ts';
import { BegunAtProvider, browserAnswer, providerParam } from '../sign-on/index.ts';

/** The identities at providers with which a person signs in to their account. */
const common = {
  ...ORDINARY,
  noun: 'sign-on',
  credentials: ['session'],
  region: 'local',
  permission: NONE,
  resource: NONE,
  params: NONE,
  query: NONE,
  body: NONE,
} as const;

const SignOnLink = named(
  'SignOnLink',
  'A provider of the tenant, and whether you sign in with it.',
  object({
    provider: Type.String({ description: 'Its name.' }),
    linked_at: nullable(timestampText, 'Since when you can sign in with it; null if you cannot.'),
  }),
);
export type SignOnLink = Static<typeof SignOnLink>;

export const listLinks = endpoint({
  ...common,
  name: 'listSsoLinks',
  method: 'GET',
  path: '/auth/links',
  summary: 'List the OpenID providers with which you can sign in, or could',
  description: 'The enabled providers of your tenant, of which there are few.',
  rate: 'read',
  audit: 'auth:sso_links',
  effect: 'read',
  status: 200,
  output: object({ links: Type.Array(SignOnLink) }),
  errors: [],
});

export const beginLink = endpoint({
  ...common,
  name: 'beginSsoLink',
  method: 'POST',
  path: '/auth/links',
  summary: 'Begin to link your account with an OpenID provider',
  description:
    'Returns the address of the provider to open, and sets a cookie that binds the request to this browser and to you for ten minutes. The provider sends the browser back to the console, which confirms it. Requires that you have just shown a second factor or, without one, have just signed in.',
  rate: 'auth',
  audit: 'auth:sso_link_begin',
  effect: 'change',
  body: objectWithExamples([{ provider: 'okta' }], { provider: providerParam }),
  status: 200,
  output: BegunAtProvider,
  errors: ['LOGIN_DENIED', 'MFA_REQUIRED', 'IN_USE'],
});

export const confirmLink = endpoint({
  ...common,
  name: 'confirmSsoLink',
  method: 'POST',
  path: '/auth/links/confirm',
  summary: 'Link your account with the identity that just signed in at the provider',
  description:
    'With what the provider sent, from the browser, the page and the account that began it. From then on you can sign in with the provider too, and your role and groups follow it, unless you are an owner. An identity that belongs to another account is refused. E-mail addresses play no part.',
  rate: 'auth',
  audit: 'auth:sso_link',
  effect: 'change',
  body: object(browserAnswer),
  status: 200,
  output: SignOnLink,
  errors: ['LOGIN_DENIED', 'MFA_REQUIRED', 'ALREADY_EXISTS', 'IN_USE'],
});

export const deleteLink = endpoint({
  ...common,
  name: 'deleteSsoLink',
  credentials: ANY_TOKEN,
  permission: 'sso_links:delete',
  resource: 'self/links/{provider}',
  method: 'DELETE',
  path: '/auth/links/{provider}',
  summary: 'No longer sign in with an OpenID provider',
  description:
    'Your other sessions that began there, or at another provider of the same issuer, end. Requires that you have just shown a second factor or, without one, have just signed in, and that you keep another way in: a password or a passkey. A link that SCIM made stays, and so does the one to a provider that the tenant requires of you.',
  rate: 'auth',
  audit: 'auth:sso_unlink',
  effect: 'change',
  params: object({ provider: providerParam }),
  status: 200,
  output: Deleted,
  errors: ['NOT_FOUND', 'MFA_REQUIRED', 'IN_USE'],
});
