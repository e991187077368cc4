import Type, { type Static } from 'typebox';
import { environmentText } from '../../kernel/authz/environment.ts';
import { PolicyDocument, PolicyEffect } from '../../kernel/authz/policy.ts';
import { ANY_TOKEN, BODY_BYTES_DEFAULT, endpoint, NONE } from '../../kernel/request/declaration.ts';
import { described, named } from '../../kernel/request/named-schemas.ts';
import {
  Deleted,
  freeText,
  id,
  lineOfText,
  nextCursor,
  nullable,
  object,
  objectWithExamples,
  oneOf,
  pageQuery,
  resourceName,
  timestampText,
} from '../../kernel/request/wire.ts';

declare module '../../kernel/platform/ids.ts' {
  interface IdPrefixes {
    policy: 'policies';
  }
}

/** Fifteen digits stay below 2^53. */
const NUMBER_MAX = 999_999_999_999_999;

/** Exactly one of the fields must be given. */
export const PolicyPrincipal = named(
  'PolicyPrincipal',
  'The principal a policy applies to: exactly one of the three.',
  object({
    group: Type.Optional(lineOfText({ minLength: 1, maxLength: 64 }, 'A group, by id or name.')),
    user: Type.Optional(lineOfText({ minLength: 1, maxLength: 254 }, 'A user, by id or e-mail address.')),
    app_connection: Type.Optional(
      Type.Union(
        [
          Type.Integer({ minimum: 1, maximum: NUMBER_MAX }),
          lineOfText({ minLength: 1, maxLength: 64 }, 'A client id.'),
        ],
        { description: 'An AppConnection, by its number or client id.' },
      ),
    ),
  }),
);
export type PolicyPrincipal = Static<typeof PolicyPrincipal>;

const AttachedPrincipal = named(
  'AttachedPrincipal',
  'A principal a policy is attached to.',
  object({
    kind: oneOf(['group', 'user', 'app_connection'], 'Kind of the principal.'),
    id: Type.String({ description: 'Its id.' }),
  }),
);

const Attachment = named(
  'PolicyAttachment',
  'Attachment of a policy to a principal.',
  object({
    principal: AttachedPrincipal,
    attached_at: timestampText,
  }),
);

export const Policy = named(
  'Policy',
  'A policy: what it allows and denies to the principals it is attached to.',
  object({
    id: id('policy'),
    name: Type.String({ description: 'Its name, which cannot be changed.' }),
    description: Type.String({ description: 'Purpose of the policy.' }),
    document: PolicyDocument,
    version: Type.Integer({
      description: 'Increases with every change; send it as expected_version to protect against lost updates.',
    }),
    created_at: timestampText,
    updated_at: timestampText,
  }),
);
export type Policy = Static<typeof Policy>;

const PolicyDetail = named(
  'PolicyDetail',
  'A policy with its attachments.',
  object({ ...Policy.properties, attachments: Type.Array(Attachment) }),
);

const description = freeText(512, 'Purpose of the policy.');
const nameParam = object({ name: idParamOrName() });

function idParamOrName() {
  return Type.String({
    minLength: 1,
    maxLength: 64,
    pattern: '^[A-Za-z0-9._-]+$',
    description: 'A policy, by its name or its id.',
  });
}

const common = {
  noun: 'policies',
  nounDescription:
    'Rules that allow and deny actions on resources under conditions, and the principals they are attached to.',
  credentials: ANY_TOKEN,
  tenant: 'own',
  tier: NONE,
  region: 'forward',
  approval: NONE,
  plaintext: false,
  raw: NONE,
  bodyBytesMax: BODY_BYTES_DEFAULT,
  query: NONE,
} as const;

export const createPolicy = endpoint({
  ...common,
  name: 'createPolicy',
  method: 'POST',
  path: '/v1/policies',
  summary: 'Create a policy',
  description: 'It grants nothing until it is attached to a group or a user.',
  permission: 'policies:create',
  resource: 'policy',
  rate: 'write',
  audit: 'policies:create',
  effect: 'change',
  params: NONE,
  body: object({ name: resourceName, description: Type.Optional(description), document: PolicyDocument }),
  status: 201,
  output: Policy,
  errors: ['QUOTA_EXCEEDED', 'ALREADY_EXISTS'],
});

export const listPolicies = endpoint({
  ...common,
  name: 'listPolicies',
  method: 'GET',
  path: '/v1/policies',
  summary: 'List the policies of the tenant',
  description: 'Includes their documents, but not their attachments.',
  permission: 'policies:list',
  resource: 'policy',
  rate: 'read',
  audit: 'policies:list',
  effect: 'read',
  params: NONE,
  query: object(pageQuery),
  body: NONE,
  status: 200,
  output: object({ policies: Type.Array(Policy), next_cursor: nextCursor }),
  errors: [],
});

export const readPolicy = endpoint({
  ...common,
  name: 'readPolicy',
  method: 'GET',
  path: '/v1/policies/{name}',
  summary: 'Read a policy and its attachments',
  description: 'By its name or its id.',
  permission: 'policies:read',
  resource: 'policy/{name}',
  rate: 'read',
  audit: 'policies:read',
  effect: 'read',
  params: nameParam,
  body: NONE,
  status: 200,
  output: PolicyDetail,
  errors: ['NOT_FOUND'],
});

export const updatePolicy = endpoint({
  ...common,
  name: 'updatePolicy',
  method: 'PUT',
  path: '/v1/policies/{name}',
  summary: 'Replace a policy’s document',
  description:
    'Takes effect on the next request of everyone it is attached to, on every node. Needs approval if it is attached to anybody.',
  permission: 'policies:update',
  resource: 'policy/{name}',
  rate: 'write',
  audit: 'policies:update',
  effect: 'change',
  approval: 'rbac_change',
  params: nameParam,
  body: object({
    description: Type.Optional(description),
    document: PolicyDocument,
    expected_version: Type.Optional(
      Type.Integer({ minimum: 1, description: 'Fails unless this is still the current version.' }),
    ),
  }),
  status: 200,
  output: Policy,
  errors: ['QUOTA_EXCEEDED', 'NOT_FOUND', 'VERSION_CONFLICT'],
});

export const deletePolicy = endpoint({
  ...common,
  name: 'deletePolicy',
  method: 'DELETE',
  path: '/v1/policies/{name}',
  summary: 'Delete a policy that is not attached',
  description: 'Detach it first: deleting an attached policy fails with IN_USE.',
  permission: 'policies:delete',
  resource: 'policy/{name}',
  rate: 'write',
  audit: 'policies:delete',
  effect: 'change',
  params: nameParam,
  body: NONE,
  status: 200,
  output: Deleted,
  errors: ['NOT_FOUND'],
});

const attachmentChange = {
  ...common,
  approval: 'rbac_change',
  method: 'POST',
  resource: 'policy/{name}',
  rate: 'write',
  effect: 'change',
  params: nameParam,
  body: named(
    'PolicyAttachmentInput',
    'The principal to attach the policy to or detach it from.',
    object({ principal: PolicyPrincipal }),
  ),
  status: 200,
} as const;

export const attachPolicy = endpoint({
  ...attachmentChange,
  name: 'attachPolicy',
  path: '/v1/policies/{name}/attach',
  summary: 'Attach a policy to a group, a user or an AppConnection',
  description: 'Takes effect with the next request, on every node. Needs approval.',
  permission: 'policies:attach',
  audit: 'policies:attach',
  output: object({ policy: Type.String({ description: 'Name of the policy.' }), ...Attachment.properties }),
  errors: ['QUOTA_EXCEEDED', 'NOT_FOUND', 'ALREADY_EXISTS'],
});

export const detachPolicy = endpoint({
  ...attachmentChange,
  name: 'detachPolicy',
  path: '/v1/policies/{name}/detach',
  summary: 'Detach a policy',
  description: 'Takes effect with the next request, on every node. Needs approval.',
  permission: 'policies:detach',
  audit: 'policies:detach',
  output: object({
    policy: Type.String({ description: 'Name of the policy.' }),
    principal: Attachment.properties.principal,
  }),
  errors: ['NOT_FOUND'],
});

const SIMULATED = {
  principal: { user: 'ada@example.com' },
  action: 'secrets:read',
  resource: 'vault/payments/database/password',
};

const MatchedStatement = named(
  'MatchedStatement',
  'A statement that matches the simulated request.',
  object({
    policy: Type.String({ description: 'Name of the policy.' }),
    sid: nullable(Type.String({ description: 'The name of the statement, if it has one.' })),
    effect: PolicyEffect,
  }),
);

export const simulatePolicy = endpoint({
  ...common,
  name: 'simulatePolicy',
  method: 'POST',
  path: '/v1/policies/simulate',
  summary: 'Simulate an access decision',
  description:
    'With `principal`, all policies that apply to it are evaluated; with `policy` or `document`, only that one. Naming one takes the permission to read it, unless the principal is you; rights in a vault that you cannot see are left out. The same evaluator decides real requests. Omitted fields of `context` are filled in: the environment and tags of the vault or secret, as far as you may see them, and your own address and second factor if the principal is you.',
  permission: 'policies:simulate',
  resource: 'policy',
  rate: 'read',
  audit: 'policies:simulate',
  effect: 'read',
  params: NONE,
  body: objectWithExamples([SIMULATED], {
    policy: Type.Optional(described('A policy, by name.', resourceName)),
    document: Type.Optional(PolicyDocument),
    principal: Type.Optional(PolicyPrincipal),
    action: Type.String({ minLength: 3, maxLength: 128, description: 'For example secrets:read.' }),
    resource: Type.String({ minLength: 1, maxLength: 1200, description: 'For example vault/payments/db/password.' }),
    context: Type.Optional(
      described(
        'The circumstances of the request.',
        object({
          ip: Type.Optional(Type.String({ maxLength: 64, description: 'Source IP address.' })),
          mfa: Type.Optional(Type.Boolean({ description: 'Whether a second factor was used.' })),
          time: Type.Optional(Type.String({ format: 'date-time', maxLength: 40, description: 'Time of the request.' })),
          environment: Type.Optional(environmentText),
          tags: Type.Optional(
            Type.Array(Type.String({ maxLength: 128 }), { maxItems: 64, description: 'Tags of the vault or secret.' }),
          ),
        }),
      ),
    ),
  }),
  status: 200,
  output: object({
    decision: described('The decision.', PolicyEffect),
    reason: Type.String({ description: 'Explanation of the decision.' }),
    matched: Type.Array(MatchedStatement),
  }),
  errors: ['NOT_FOUND'],
});

const GrantedBy = named(
  'GrantedBy',
  'Where a right comes from.',
  object({
    kind: oneOf(
      ['role', 'membership', 'group', 'policy', 'connection'],
      'role: the role in the tenant. membership: of the vault. group: its memberships and policies. policy: attached to the principal. connection: the paths and scopes of the connection.',
    ),
    name: Type.String({ description: 'Name of the role, group, policy or connection; the role in the vault.' }),
  }),
);
export type GrantedBy = Static<typeof GrantedBy>;

const AllowedPrincipal = named(
  'AllowedPrincipal',
  'A principal that is allowed an action on a resource.',
  object({
    kind: oneOf(['user', 'app_connection'], 'Kind of the principal.'),
    id: Type.String({ description: 'The id of a user, the client id of a connection.' }),
    name: Type.String({ description: 'The e-mail address of a user, the name of a connection.' }),
    conditional: Type.Boolean({
      description: 'Whether it also needs a second factor, an address or a time that a policy requires.',
    }),
    because: Type.Array(GrantedBy),
  }),
);
export type AllowedPrincipal = Static<typeof AllowedPrincipal>;

export const whoCan = endpoint({
  ...common,
  name: 'whoCan',
  method: 'POST',
  path: '/v1/policies/who-can',
  summary: 'List who is allowed an action on a resource',
  description:
    'Active users, also by their groups, and connections that some request of theirs would be allowed, with what gives them the right. The same evaluator decides real requests. At most 200 are listed. The limits of personal access tokens are not regarded.',
  permission: 'policies:simulate',
  resource: 'policy',
  rate: 'aggregate',
  bulk: true,
  audit: 'policies:who_can',
  effect: 'read',
  params: NONE,
  body: objectWithExamples([{ action: SIMULATED.action, resource: SIMULATED.resource }], {
    action: Type.String({ minLength: 3, maxLength: 128, description: 'For example secrets:read.' }),
    resource: Type.String({ minLength: 1, maxLength: 1200, description: 'For example vault/payments/db/password.' }),
  }),
  status: 200,
  output: object({
    principals: Type.Array(AllowedPrincipal, { description: 'Users first, then connections, by name.' }),
    truncated: Type.Boolean({ description: 'Whether there are more than are listed.' }),
    hidden: Type.Integer({ description: 'How many more there are that you may not read.' }),
  }),
  errors: [],
});
