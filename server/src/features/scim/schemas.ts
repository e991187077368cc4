import Type, { type Static, type TSchema } from 'typebox';
import { named } from '../../kernel/wire/named-schemas.ts';
import { IN_A_LINE, id, nullable, object, timestampText } from '../../kernel/wire/wire.ts';
import type { WireFormat } from '../../kernel/wire/wire-format.ts';

export const BASE_PATH = '/scim/v2';

export const ERROR_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:Error';
export const LIST_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:ListResponse';
export const SEARCH_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:SearchRequest';
export const PATCH_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';
export const USER_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const GROUP_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:Group';

/** RFC 7644, 3.12, table 9. */
export type ScimType =
  | 'invalidFilter'
  | 'uniqueness'
  | 'mutability'
  | 'invalidSyntax'
  | 'invalidPath'
  | 'noTarget'
  | 'invalidValue';

/** RFC 7644, 3.12. */
const ScimError = named(
  'ScimError',
  'An error of a SCIM endpoint (RFC 7644, 3.12).',
  object({
    schemas: Type.Array(Type.String(), { description: `Contains ${ERROR_SCHEMA}.` }),
    status: Type.String({ description: 'The HTTP status, as text.' }),
    scimType: Type.Optional(Type.String({ description: 'The kind of error, where SCIM names one.' })),
    detail: Type.String({ description: 'For people; the wording may change.' }),
  }),
);

export const SCIM: WireFormat = {
  name: 'Scim',
  under: BASE_PATH,
  mediaType: 'application/scim+json',
  statuses: { VALIDATION_FAILED: 400, VERSION_CONFLICT: 412 },
  errorSchema: ScimError,
  errorBody: ({ code, message, details }, status) => {
    const scimType = (details?.['scimType'] as ScimType | undefined) ?? TYPES[code];
    return { schemas: [ERROR_SCHEMA], status: String(status), ...(scimType && { scimType }), detail: message };
  },
};

const TYPES: Readonly<Record<string, ScimType>> = {
  INVALID_REQUEST: 'invalidSyntax',
  VALIDATION_FAILED: 'invalidValue',
  ALREADY_EXISTS: 'uniqueness',
};

/** One page of a list. */
export const COUNT_MAX = 200;
export const COUNT_DEFAULT = 100;
export const FILTER_LENGTH_MAX = 2048;
const SEARCHED_ATTRIBUTES_MAX = 50;
export const OPERATIONS_MAX = 1000;
export const USER_NAME_LENGTH_MAX = 256;
export const NAME_LENGTH_MAX = 128;

const schemasOf = (urn: string) => Type.Array(Type.String(), { description: `Contains ${urn}.` });

const Meta = named(
  'ScimMeta',
  'When a resource was made and changed, and where it is.',
  object({
    resourceType: Type.Optional(Type.String({ description: 'User or Group.' })),
    created: Type.Optional(timestampText),
    lastModified: Type.Optional(timestampText),
    location: Type.Optional(Type.String({ description: 'Its address.' })),
    version: Type.Optional(Type.String({ description: 'Its ETag.' })),
  }),
);

const Name = named(
  'ScimName',
  'The parts of a name.',
  object({
    formatted: Type.Optional(Type.String({ description: 'The whole name.' })),
    givenName: Type.Optional(Type.String({ description: 'The given name.' })),
    familyName: Type.Optional(Type.String({ description: 'The family name.' })),
  }),
);

const Email = named(
  'ScimEmail',
  'The e-mail address of the account. There is one.',
  object({
    value: Type.Optional(Type.String({ description: 'The address.' })),
    type: Type.Optional(Type.String({ description: 'work' })),
    primary: Type.Optional(Type.Boolean({ description: 'true' })),
  }),
);

const MembershipRef = named(
  'ScimMembership',
  'A group that a person is in.',
  object({
    value: Type.Optional(Type.String({ description: 'The id of the group.' })),
    $ref: Type.Optional(Type.String({ description: 'Its URL.' })),
    display: Type.Optional(Type.String({ description: 'Its displayName.' })),
    type: Type.Optional(Type.String({ description: 'direct' })),
  }),
);

/** Which attributes are present depends on `attributes` and `excludedAttributes`. */
export const ScimUser = named(
  'ScimUser',
  'A person whom the provider provisions (RFC 7643, 4.1).',
  object({
    schemas: schemasOf(USER_SCHEMA),
    id: Type.String({ description: 'The id of the user.' }),
    externalId: Type.Optional(Type.String({ description: 'Equals the subject with which the person signs in.' })),
    userName: Type.Optional(Type.String({ description: 'Unique in the provider, in any case.' })),
    name: Type.Optional(Name),
    displayName: Type.Optional(Type.String({ description: 'The name that is shown.' })),
    emails: Type.Optional(Type.Array(Email, { description: 'One address.' })),
    active: Type.Optional(Type.Boolean({ description: 'Whether the account can be used.' })),
    groups: Type.Optional(
      Type.Array(MembershipRef, { description: 'The groups of the provider that the person is in, if any.' }),
    ),
    meta: Type.Optional(Meta),
  }),
);
export type ScimUser = Static<typeof ScimUser>;

const Member = named(
  'ScimMember',
  'A member of a group.',
  object({
    value: Type.Optional(Type.String({ description: 'The id of the user.' })),
    $ref: Type.Optional(Type.String({ description: 'Their URL.' })),
    type: Type.Optional(Type.String({ description: 'User' })),
    display: Type.Optional(Type.String({ description: 'The userName.' })),
  }),
);

export const ScimGroup = named(
  'ScimGroup',
  'A group of the provider (RFC 7643, 4.2).',
  object({
    schemas: schemasOf(GROUP_SCHEMA),
    id: Type.String({ description: 'The id of the group.' }),
    externalId: Type.Optional(Type.String({ description: 'The id of the provider.' })),
    displayName: Type.Optional(Type.String({ description: 'Unique in the provider, in any case.' })),
    members: Type.Optional(Type.Array(Member, { description: 'Its members.' })),
    meta: Type.Optional(Meta),
  }),
);
export type ScimGroup = Static<typeof ScimGroup>;

export const listOf = <S extends TSchema>(resource: S) =>
  object({
    schemas: schemasOf(LIST_SCHEMA),
    totalResults: Type.Integer({ description: 'How many match, on all pages.' }),
    startIndex: Type.Integer({ description: 'The index of the first, from 1.' }),
    itemsPerPage: Type.Integer({ description: 'How many are on this page.' }),
    Resources: Type.Array(resource, { description: 'The page.' }),
  });

/** Attributes that are not known here are ignored, as RFC 7644, 3.3 requires; so is a member that is not declared. */
const open = { additionalProperties: true } as const;
const anything = (description: string, examples?: unknown[]) =>
  Type.Unsafe<unknown>({ description, ...(examples && { examples }) });

/** Null is the same as an attribute that is omitted (RFC 7643, 2.5). */
const line = (maxLength: number, description: string, example: string) =>
  nullable(Type.String({ maxLength, pattern: `^${IN_A_LINE}*$`, examples: [example] }), description);

const userAttributes = {
  schemas: Type.Optional(anything(`Contains ${USER_SCHEMA}.`, [[USER_SCHEMA]])),
  userName: Type.Optional(line(USER_NAME_LENGTH_MAX, 'Unique in the provider, in any case.', 'ada@acme.example')),
  externalId: Type.Optional(anything('Equals the subject with which the person signs in.', ['00u1b2c3'])),
  active: Type.Optional(anything('A boolean, or its name as text.', [true])),
  displayName: Type.Optional(line(NAME_LENGTH_MAX, 'The name that is shown.', 'Ada Lovelace')),
  name: Type.Optional(anything('formatted, givenName and familyName.', [{ givenName: 'Ada', familyName: 'Lovelace' }])),
  emails: Type.Optional(
    anything('The primary one counts, or else that of type work, or else the first.', [
      [{ value: 'ada@acme.example', type: 'work', primary: true }],
    ]),
  ),
};
const USER_EXAMPLE = {
  schemas: [USER_SCHEMA],
  userName: 'ada@acme.example',
  externalId: '00u1b2c3',
  name: { givenName: 'Ada', familyName: 'Lovelace' },
  emails: [{ value: 'ada@acme.example', type: 'work', primary: true }],
  active: true,
};
export const UserInput = Type.Object(userAttributes, { ...open, examples: [USER_EXAMPLE] });
const USER_REPLACEMENT = { schemas: [USER_SCHEMA], userName: 'grace@acme.example', displayName: 'Grace', active: true };
export const UserReplacement = Type.Object(userAttributes, { ...open, examples: [USER_REPLACEMENT] });

const groupAttributes = {
  schemas: Type.Optional(anything(`Contains ${GROUP_SCHEMA}.`, [[GROUP_SCHEMA]])),
  displayName: Type.Optional(line(USER_NAME_LENGTH_MAX, 'Unique in the provider, in any case.', 'Platform Admins')),
  externalId: Type.Optional(anything('The id of the provider.', ['8f3a'])),
  members: Type.Optional(anything('Objects whose `value` is the id of a user.', [[]])),
};
const GROUP_EXAMPLE = { schemas: [GROUP_SCHEMA], displayName: 'Platform Admins', members: [] };
export const GroupInput = Type.Object(groupAttributes, { ...open, examples: [GROUP_EXAMPLE] });
const GROUP_REPLACEMENT = { schemas: [GROUP_SCHEMA], displayName: 'Platform Team' };
export const GroupReplacement = Type.Object(groupAttributes, { ...open, examples: [GROUP_REPLACEMENT] });

const operation = named(
  'ScimOperation',
  'A change of one attribute, or of several without a path.',
  Type.Object(
    {
      op: Type.Optional(anything('add, replace or remove, in any case.', ['replace'])),
      path: Type.Optional(anything('The attribute. Without one, `value` has attributes.', ['active'])),
      value: Type.Optional(anything('The new value; for a removal, the members to remove.', [false])),
    },
    open,
  ),
);
export const PatchInput = Type.Object(
  {
    schemas: Type.Optional(anything(`Contains ${PATCH_SCHEMA}.`, [[PATCH_SCHEMA]])),
    Operations: Type.Array(operation, {
      minItems: 1,
      maxItems: OPERATIONS_MAX,
      description: 'Carried out in order, all or none.',
    }),
  },
  {
    ...open,
    examples: [{ schemas: [PATCH_SCHEMA], Operations: [{ op: 'replace', path: 'active', value: false }] }],
  },
);

const attributeList = (description: string) => Type.Optional(Type.String({ maxLength: 1024, description }));
const projection = {
  attributes: attributeList('Attributes to return besides id and schemas, separated by commas.'),
  excludedAttributes: attributeList('Attributes to leave out, separated by commas, such as members.'),
};
/** Providers add parameters of their own. */
export const ReadQuery = Type.Object(projection, open);
export const ListQuery = Type.Object(
  {
    ...projection,
    filter: Type.Optional(
      Type.String({
        maxLength: FILTER_LENGTH_MAX,
        description: 'Attributes compared by eq, ne, co, sw, ew and pr, joined by and, or, not and parentheses.',
        examples: ['userName eq "ada@acme.example"'],
      }),
    ),
    startIndex: Type.Optional(
      Type.Integer({
        minimum: -Number.MAX_SAFE_INTEGER,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'The index of the first, from 1; less counts as 1.',
      }),
    ),
    count: Type.Optional(
      Type.Integer({
        minimum: -Number.MAX_SAFE_INTEGER,
        maximum: Number.MAX_SAFE_INTEGER,
        description: `The number of resources, at most ${COUNT_MAX}; 0 or less gives the total alone. Default: ${COUNT_DEFAULT}.`,
      }),
    ),
  },
  open,
);
const attributeNames = (description: string) =>
  Type.Optional(Type.Array(Type.String({ maxLength: 256 }), { maxItems: SEARCHED_ATTRIBUTES_MAX, description }));
/** A list query in a body (RFC 7644, 3.4.3). */
export const SearchInput = Type.Object(
  {
    schemas: Type.Optional(anything(`Contains ${SEARCH_SCHEMA}.`, [[SEARCH_SCHEMA]])),
    attributes: attributeNames('Attributes to return besides id and schemas.'),
    excludedAttributes: attributeNames('Attributes to leave out, such as members.'),
    filter: ListQuery.properties.filter,
    startIndex: ListQuery.properties.startIndex,
    count: ListQuery.properties.count,
  },
  { ...open, examples: [{ schemas: [SEARCH_SCHEMA], filter: 'displayName sw "A"', startIndex: 1, count: 10 }] },
);
export type SearchInput = Static<typeof SearchInput>;

const AnyResource = named(
  'ScimResource',
  'A person or a group, as `meta.resourceType` says.',
  Type.Object(
    {
      schemas: Type.Array(Type.String(), { description: 'The schema of the resource.' }),
      id: Type.String({ description: 'Its id.' }),
    },
    open,
  ),
);
export const ListOfAny = listOf(AnyResource);

export type ListQuery = Static<typeof ListQuery>;
export type ReadQuery = Static<typeof ReadQuery>;

/** Documents of RFC 7643, 5 to 7, which describe themselves. */
export const Discovery = named(
  'ScimDocument',
  'What this service supports of SCIM (RFC 7643, 5 to 7).',
  Type.Object({ schemas: Type.Array(Type.String(), { description: 'The schema of the document.' }) }, open),
);

/** Per provider: one in use, and others while it is replaced. */
export const TOKENS_MAX = 5;
export const TTL_DAYS_MAX = 365;
export const TTL_DAYS_DEFAULT = 365;
export const OVERLAP_SECONDS_MAX = 7 * 24 * 3600;

const tokenFields = {
  id: id('scim'),
  provider: Type.String({ description: 'The provider whose people and groups it manages.' }),
  description: Type.String({ description: 'What it is for.' }),
  expires_at: timestampText,
  former_token_until: nullable(timestampText, 'Until when the token that it replaced is accepted; null if it is not.'),
  created_by: Type.String({ description: 'The id of the creator.' }),
  created_at: timestampText,
};

export const ScimToken = named('ScimToken', 'A token with which a provider uses SCIM.', object(tokenFields));
export type ScimToken = Static<typeof ScimToken>;

export const ScimTokenWithText = named(
  'ScimTokenWithText',
  'A token with which a provider uses SCIM, just made.',
  object({
    ...tokenFields,
    token: Type.String({ description: 'The token (`cv_scim_…`). Returned once.' }),
    base_url: Type.String({ description: 'The address to configure at the provider.' }),
  }),
);
export type ScimTokenWithText = Static<typeof ScimTokenWithText>;
