import { notFound } from '../../kernel/base/errors.ts';
import type { Context } from '../../kernel/request/context.ts';
import { BASE_PATH, COUNT_MAX, GROUP_SCHEMA, LIST_SCHEMA, USER_SCHEMA } from './schemas.ts';

/** The documents with which a service describes what it supports (RFC 7643, 5 to 7, and RFC 7644, 4). */

const CORE = 'urn:ietf:params:scim:schemas:core:2.0';

export interface Document {
  schemas: string[];
  [name: string]: unknown;
}

export async function serviceProviderConfig(ctx: Context): Promise<Document> {
  return {
    schemas: [`${CORE}:ServiceProviderConfig`],
    patch: { supported: true },
    bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
    filter: { supported: true, maxResults: COUNT_MAX },
    changePassword: { supported: false },
    sort: { supported: false },
    etag: { supported: true },
    authenticationSchemes: [
      {
        type: 'oauthbearertoken',
        name: 'Bearer token',
        description: 'A token that starts with cv_scim_, which an admin creates for a sign-on provider.',
        primary: true,
      },
    ],
    meta: metaOf(ctx, 'ServiceProviderConfig', 'ServiceProviderConfig'),
  };
}

const RESOURCE_TYPES = [
  { id: 'User', endpoint: '/Users', description: 'A person', schema: USER_SCHEMA },
  { id: 'Group', endpoint: '/Groups', description: 'A group', schema: GROUP_SCHEMA },
];

export async function resourceTypes(ctx: Context): Promise<Document> {
  return listOf(RESOURCE_TYPES.map((type) => resourceTypeDocument(ctx, type)));
}

export async function resourceType(ctx: Context, id: string): Promise<Document> {
  const found = RESOURCE_TYPES.find((type) => type.id === id);
  if (found === undefined) throw notFound('resource type');
  return resourceTypeDocument(ctx, found);
}

function resourceTypeDocument(ctx: Context, { id, ...type }: (typeof RESOURCE_TYPES)[number]): Document {
  const schemas = [`${CORE}:ResourceType`];
  return { schemas, id, name: id, ...type, meta: metaOf(ctx, 'ResourceType', `ResourceTypes/${id}`) };
}

interface Attribute {
  name: string;
  type: 'string' | 'boolean' | 'complex' | 'reference';
  referenceTypes?: readonly string[];
  canonicalValues?: readonly string[];
  description: string;
  multiValued: boolean;
  required: boolean;
  caseExact: boolean;
  mutability: 'readWrite' | 'immutable' | 'readOnly';
  returned: 'default';
  uniqueness: 'none' | 'server';
  subAttributes?: Attribute[];
}

function attribute(name: string, description: string, more: Partial<Attribute> = {}): Attribute {
  return {
    name,
    type: 'string',
    description,
    multiValued: false,
    required: false,
    caseExact: false,
    mutability: 'readWrite',
    returned: 'default',
    uniqueness: 'none',
    ...more,
  };
}

const fixed = { mutability: 'readOnly' } as const;
const referenceTo = (type: string) => ({ type: 'reference', referenceTypes: [type], caseExact: true }) as const;

/** The attributes that are stored; all others are ignored. */
const SCHEMAS = [
  {
    id: USER_SCHEMA,
    name: 'User',
    description: 'A person',
    attributes: [
      attribute('userName', 'The name of the person at the provider', { required: true, uniqueness: 'server' }),
      attribute('name', 'The parts of the name', {
        type: 'complex',
        subAttributes: [
          attribute('formatted', 'The whole name'),
          attribute('givenName', 'The given name'),
          attribute('familyName', 'The family name'),
        ],
      }),
      attribute('displayName', 'The name that is shown'),
      attribute('emails', 'The e-mail address of the account', {
        type: 'complex',
        multiValued: true,
        // Only a userName that is an address could stand in for it.
        required: true,
        subAttributes: [
          attribute('value', 'The address', { required: true }),
          attribute('type', 'work', fixed),
          attribute('primary', 'true', { type: 'boolean', ...fixed }),
        ],
      }),
      attribute('active', 'Whether the account can be used', { type: 'boolean' }),
      attribute('groups', 'The groups of the provider that the person is in', {
        type: 'complex',
        multiValued: true,
        ...fixed,
        subAttributes: [
          attribute('value', 'The id of the group', { caseExact: true, ...fixed }),
          attribute('$ref', 'The URL of the group', { ...referenceTo('Group'), ...fixed }),
          attribute('display', 'Its displayName', fixed),
          attribute('type', 'direct', fixed),
        ],
      }),
    ],
  },
  {
    id: GROUP_SCHEMA,
    name: 'Group',
    description: 'A group',
    attributes: [
      attribute('displayName', 'The name of the group at the provider', { required: true, uniqueness: 'server' }),
      attribute('members', 'The members', {
        type: 'complex',
        multiValued: true,
        subAttributes: [
          attribute('value', 'The id of the user', { mutability: 'immutable', caseExact: true, required: true }),
          attribute('$ref', 'The URL of the user; the value decides', {
            ...referenceTo('User'),
            mutability: 'immutable',
          }),
          attribute('type', 'User', { mutability: 'immutable', canonicalValues: ['User'] }),
          attribute('display', 'The userName', fixed),
        ],
      }),
    ],
  },
];

export async function schemas(ctx: Context): Promise<Document> {
  return listOf(SCHEMAS.map((schema) => schemaDocument(ctx, schema)));
}

export async function schema(ctx: Context, id: string): Promise<Document> {
  const found = SCHEMAS.find((one) => one.id.toLowerCase() === id.toLowerCase());
  if (found === undefined) throw notFound('schema');
  return schemaDocument(ctx, found);
}

function schemaDocument(ctx: Context, found: (typeof SCHEMAS)[number]): Document {
  return { schemas: [`${CORE}:Schema`], ...found, meta: metaOf(ctx, 'Schema', `Schemas/${found.id}`) };
}

function listOf(documents: Document[]): Document {
  const { length } = documents;
  return { schemas: [LIST_SCHEMA], totalResults: length, startIndex: 1, itemsPerPage: length, Resources: documents };
}

function metaOf({ kernel }: Context, resourceType: string, path: string) {
  return { resourceType, location: `${kernel.addresses.baseUrl}${BASE_PATH}/${path}` };
}
