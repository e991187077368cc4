import Type from 'typebox';
import { ANY_TOKEN, endpoint, NONE, ORDINARY } from '../../kernel/endpoint/declaration.ts';
import { described } from '../../kernel/wire/named-schemas.ts';
import { Deleted, idParam, lineOfText, object, objectWithExamples, resourceName } from '../../kernel/wire/wire.ts';
import {
  Discovery,
  GroupInput,
  GroupReplacement,
  ListOfAny,
  ListQuery,
  listOf,
  OVERLAP_SECONDS_MAX,
  PatchInput,
  ReadQuery,
  SCIM,
  ScimGroup,
  ScimToken,
  ScimTokenWithText,
  ScimUser,
  SearchInput,
  TTL_DAYS_DEFAULT,
  TTL_DAYS_MAX,
  UserInput,
  UserReplacement,
} from './schemas.ts';

/** A group of ten thousand members, each named by its id. */
const GROUP_BODY_BYTES_MAX = 2 * 1024 * 1024;
const GROUP_BODY_MEMBERS_MAX = 60_000;

const common = {
  ...ORDINARY,
  noun: 'scim',
  aboutNoun: {
    title: 'SCIM',
    group: 'People',
    guide: ['scim'],
    description:
      'SCIM 2.0 (RFC 7643 and 7644): the identity provider of an organization creates, changes and deactivates its people and groups. Errors and content types are those of SCIM.',
  },
  credentials: ['scim'],
  resource: 'scim',
  params: NONE,
  query: NONE,
  body: NONE,
  format: SCIM,
} as const;

const reading = {
  ...common,
  method: 'GET',
  permission: 'scim:read',
  rate: 'read',
  effect: 'read',
  status: 200,
} as const;
const changing = { ...common, permission: 'scim:write', rate: 'write', effect: 'change' } as const;

const userParams = object({ user_id: described('The id of a user.', idParam) });
const groupParams = object({ group_id: described('The id of a group.', idParam) });

export const listScimUsers = endpoint({
  ...reading,
  name: 'listScimUsers',
  path: '/scim/v2/Users',
  summary: 'List or find people of the provider',
  description:
    'Only those whom the provider provisions. A filter compares id, userName, externalId, displayName, name.givenName, name.familyName, active or emails.value by eq, ne, co, sw, ew or pr.',
  audit: 'scim:list_users',
  query: ListQuery,
  output: listOf(ScimUser),
  errors: [],
});

const searching = { ...reading, method: 'POST', audit: 'scim:search', body: SearchInput, errors: [] } as const;

export const searchScim = endpoint({
  ...searching,
  name: 'searchScim',
  path: '/scim/v2/.search',
  summary: 'Find people and groups of the provider',
  description:
    'As the lists do, with the query in the body. People come first; an attribute in the filter that groups do not have finds no group, and the other way round.',
  output: ListOfAny,
});

export const searchScimUsers = endpoint({
  ...searching,
  name: 'searchScimUsers',
  path: '/scim/v2/Users/.search',
  summary: 'Find people of the provider',
  description: 'As the list does, with the query in the body.',
  output: listOf(ScimUser),
});

export const searchScimGroups = endpoint({
  ...searching,
  name: 'searchScimGroups',
  path: '/scim/v2/Groups/.search',
  summary: 'Find groups of the provider',
  description: 'As the list does, with the query in the body.',
  output: listOf(ScimGroup),
});

export const createScimUser = endpoint({
  ...changing,
  name: 'createScimUser',
  method: 'POST',
  path: '/scim/v2/Users',
  summary: 'Provision a person',
  description:
    'If `externalId` is the subject of somebody who signed in before, the account is theirs. An account is never found by its e-mail address. Attributes that are not listed are ignored.',
  audit: 'scim:create_user',
  body: UserInput,
  status: 201,
  output: ScimUser,
  errors: ['ALREADY_EXISTS', 'QUOTA_EXCEEDED'],
});

export const readScimUser = endpoint({
  ...reading,
  name: 'readScimUser',
  path: '/scim/v2/Users/{user_id}',
  summary: 'Read a person of the provider',
  description: 'Whom the provider provisions.',
  audit: 'scim:read_user',
  params: userParams,
  query: ReadQuery,
  ifNoneMatch: true,
  output: ScimUser,
  errors: ['NOT_FOUND'],
});

export const replaceScimUser = endpoint({
  ...changing,
  name: 'replaceScimUser',
  method: 'PUT',
  path: '/scim/v2/Users/{user_id}',
  summary: 'Replace the attributes of a person',
  description: 'Names that are omitted are removed; `active` and `externalId` stay as they are if they are omitted.',
  audit: 'scim:update_user',
  params: userParams,
  body: UserReplacement,
  ifMatch: true,
  status: 200,
  output: ScimUser,
  errors: ['NOT_FOUND', 'ALREADY_EXISTS', 'VERSION_CONFLICT'],
});

export const updateScimUser = endpoint({
  ...changing,
  name: 'updateScimUser',
  method: 'PATCH',
  path: '/scim/v2/Users/{user_id}',
  summary: 'Change attributes of a person',
  description:
    'With `active` false, all sessions and tokens of the person end at once, and stay ended if the person is activated again. An owner cannot be changed.',
  audit: 'scim:update_user',
  params: userParams,
  body: PatchInput,
  ifMatch: true,
  status: 200,
  output: ScimUser,
  errors: ['NOT_FOUND', 'ALREADY_EXISTS', 'VERSION_CONFLICT'],
});

export const deleteScimUser = endpoint({
  ...changing,
  name: 'deleteScimUser',
  method: 'DELETE',
  path: '/scim/v2/Users/{user_id}',
  summary: 'Delete a person',
  description: 'Deletes the account with its sessions, tokens and memberships. An owner cannot be deleted.',
  audit: 'scim:delete_user',
  params: userParams,
  ifMatch: true,
  status: 204,
  output: NONE,
  errors: ['NOT_FOUND', 'VERSION_CONFLICT'],
});

export const listScimGroups = endpoint({
  ...reading,
  name: 'listScimGroups',
  path: '/scim/v2/Groups',
  summary: 'List or find groups of the provider',
  description:
    'Only those that the provider made. A filter compares id, displayName or externalId by eq, ne, co, sw, ew or pr, and members.value by eq, ne or pr. A page ends early if its groups have many members.',
  audit: 'scim:list_groups',
  query: ListQuery,
  output: listOf(ScimGroup),
  errors: [],
});

export const createScimGroup = endpoint({
  ...changing,
  name: 'createScimGroup',
  method: 'POST',
  path: '/scim/v2/Groups',
  summary: 'Create a group of the provider',
  description:
    'Its name here is made from `displayName`. A group that has this name already is never taken over. The role mapping of the provider applies to it.',
  audit: 'scim:create_group',
  body: GroupInput,
  bodyBytesMax: GROUP_BODY_BYTES_MAX,
  bodyMembersMax: GROUP_BODY_MEMBERS_MAX,
  status: 201,
  output: ScimGroup,
  errors: ['ALREADY_EXISTS', 'QUOTA_EXCEEDED'],
});

export const readScimGroup = endpoint({
  ...reading,
  name: 'readScimGroup',
  path: '/scim/v2/Groups/{group_id}',
  summary: 'Read a group of the provider',
  description: 'With its members, unless `excludedAttributes` says otherwise.',
  audit: 'scim:read_group',
  params: groupParams,
  query: ReadQuery,
  ifNoneMatch: true,
  output: ScimGroup,
  errors: ['NOT_FOUND'],
});

export const replaceScimGroup = endpoint({
  ...changing,
  name: 'replaceScimGroup',
  method: 'PUT',
  path: '/scim/v2/Groups/{group_id}',
  summary: 'Replace a group of the provider',
  description: 'Members stay as they are if `members` is omitted; an empty list removes all.',
  audit: 'scim:update_group',
  params: groupParams,
  body: GroupReplacement,
  bodyBytesMax: GROUP_BODY_BYTES_MAX,
  bodyMembersMax: GROUP_BODY_MEMBERS_MAX,
  ifMatch: true,
  status: 200,
  output: ScimGroup,
  errors: ['NOT_FOUND', 'ALREADY_EXISTS', 'QUOTA_EXCEEDED', 'VERSION_CONFLICT'],
});

export const updateScimGroup = endpoint({
  ...changing,
  name: 'updateScimGroup',
  method: 'PATCH',
  path: '/scim/v2/Groups/{group_id}',
  summary: 'Change a group of the provider, or its members',
  description:
    'A removal with a value removes the members that it names, and only these. The name here stays when `displayName` changes.',
  audit: 'scim:update_group',
  params: groupParams,
  body: PatchInput,
  bodyBytesMax: GROUP_BODY_BYTES_MAX,
  bodyMembersMax: GROUP_BODY_MEMBERS_MAX,
  ifMatch: true,
  status: 200,
  output: ScimGroup,
  errors: ['NOT_FOUND', 'ALREADY_EXISTS', 'QUOTA_EXCEEDED', 'VERSION_CONFLICT'],
});

export const deleteScimGroup = endpoint({
  ...changing,
  name: 'deleteScimGroup',
  method: 'DELETE',
  path: '/scim/v2/Groups/{group_id}',
  summary: 'Delete a group of the provider',
  description: 'With what was granted to it. Its members stay.',
  audit: 'scim:delete_group',
  params: groupParams,
  ifMatch: true,
  status: 204,
  output: NONE,
  errors: ['NOT_FOUND', 'VERSION_CONFLICT'],
});

const discovering = { ...reading, audit: 'scim:discover', query: ReadQuery, output: Discovery } as const;
const documentParams = object({
  id: Type.String({
    minLength: 1,
    maxLength: 128,
    pattern: '^[A-Za-z0-9:._-]+$',
    description: 'The id of the document.',
    examples: ['User'],
  }),
});

export const readServiceProviderConfig = endpoint({
  ...discovering,
  name: 'readScimServiceProviderConfig',
  path: '/scim/v2/ServiceProviderConfig',
  summary: 'Read what is supported of SCIM',
  description: 'As RFC 7643, 5 has it.',
  errors: [],
});

export const listResourceTypes = endpoint({
  ...discovering,
  name: 'listScimResourceTypes',
  path: '/scim/v2/ResourceTypes',
  summary: 'List the types of SCIM resources',
  description: 'As RFC 7643, 6 has it.',
  errors: [],
});

export const readResourceType = endpoint({
  ...discovering,
  name: 'readScimResourceType',
  path: '/scim/v2/ResourceTypes/{id}',
  summary: 'Read a type of SCIM resources',
  description: 'User or Group.',
  params: documentParams,
  errors: ['NOT_FOUND'],
});

export const listSchemas = endpoint({
  ...discovering,
  name: 'listScimSchemas',
  path: '/scim/v2/Schemas',
  summary: 'List the SCIM schemas',
  description: 'With the attributes that are stored; all others are ignored.',
  errors: [],
});

export const readSchema = endpoint({
  ...discovering,
  name: 'readScimSchema',
  path: '/scim/v2/Schemas/{id}',
  summary: 'Read a SCIM schema',
  description: 'With the attributes that are stored.',
  params: documentParams,
  errors: ['NOT_FOUND'],
});

const providerName = described('The name of a sign-on provider.', resourceName);

const tokenCommon = {
  ...ORDINARY,
  noun: 'scim',
  credentials: ANY_TOKEN,
  resource: 'sso-provider/{name}',
  region: 'local',
  params: object({ name: providerName }),
  query: NONE,
  body: NONE,
} as const;

const ofOne = {
  params: object({ name: providerName, token_id: described('The id of a SCIM token.', idParam) }),
} as const;

export const createScimToken = endpoint({
  ...tokenCommon,
  name: 'createScimToken',
  method: 'POST',
  path: '/auth/sso/providers/{name}/scim-tokens',
  summary: 'Create a token with which a provider uses SCIM',
  description:
    'Needs approval, because the provider then decides who has which role. A token that was approved later was shown to nobody: whoever requested it rotates it to get one.',
  permission: 'scim_tokens:create',
  rate: 'write',
  audit: 'scim_tokens:create',
  effect: 'change',
  approval: 'rbac_change',
  body: objectWithExamples([{ description: 'Okta', ttl_days: 365 }], {
    description: Type.Optional(lineOfText({ maxLength: 256 }, 'What it is for.')),
    ttl_days: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: TTL_DAYS_MAX,
        description: `How long it is valid. Default: ${TTL_DAYS_DEFAULT}.`,
      }),
    ),
  }),
  status: 201,
  output: ScimTokenWithText,
  errors: ['NOT_FOUND', 'QUOTA_EXCEEDED'],
});

export const listScimTokens = endpoint({
  ...tokenCommon,
  name: 'listScimTokens',
  method: 'GET',
  path: '/auth/sso/providers/{name}/scim-tokens',
  summary: 'List the SCIM tokens of a provider',
  description: 'All of them, oldest first. The tokens themselves are not stored.',
  permission: 'scim_tokens:list',
  rate: 'read',
  audit: 'scim_tokens:list',
  effect: 'read',
  status: 200,
  output: object({ tokens: Type.Array(ScimToken, { description: 'The tokens.' }) }),
  errors: ['NOT_FOUND'],
});

export const rotateScimToken = endpoint({
  ...tokenCommon,
  ...ofOne,
  name: 'rotateScimToken',
  method: 'POST',
  path: '/auth/sso/providers/{name}/scim-tokens/{token_id}/rotate',
  summary: 'Replace a SCIM token',
  description:
    'Only whoever requested the token can replace it, because a second person agreed to that. The former one is accepted for `overlap_seconds`. The expiry stays. Requires a session with a second factor shown within the last 15 minutes or, without a second factor, a sign-in within them.',
  permission: 'scim_tokens:rotate',
  rate: 'write',
  audit: 'scim_tokens:rotate',
  effect: 'change',
  body: objectWithExamples([{ overlap_seconds: 3600 }], {
    overlap_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: OVERLAP_SECONDS_MAX,
        description: 'How long the former token is accepted. Default: 0.',
      }),
    ),
  }),
  status: 200,
  output: ScimTokenWithText,
  errors: ['NOT_FOUND', 'MFA_REQUIRED'],
});

export const revokeScimToken = endpoint({
  ...tokenCommon,
  ...ofOne,
  name: 'revokeScimToken',
  method: 'DELETE',
  path: '/auth/sso/providers/{name}/scim-tokens/{token_id}',
  summary: 'Revoke a SCIM token',
  description: 'At once, with the one that it replaced. People and groups stay.',
  permission: 'scim_tokens:revoke',
  rate: 'write',
  audit: 'scim_tokens:revoke',
  effect: 'change',
  status: 200,
  output: Deleted,
  errors: ['NOT_FOUND'],
});
