import Type, { type Static } from 'typebox';
import { environmentText } from '../../kernel/authz/environment.ts';
import { PolicyDocument, PolicyEffect } from '../../kernel/authz/policy.ts';
import { ANY_TOKEN, BODY_BYTES_DEFAULT, endpoint, NONE } from '../../kernel/endpoint.ts';
import { described, named } from '../../kernel/named-schemas.ts';
import {
  Deleted,
  freeText,
  id,
  nextCursor,
  nullable,
  object,
  objectWithExamples,
  oneOf,
  pageQuery,
  resourceName,
  timestampText,
} from '../../kernel/wire.ts';

/** Fifteen digits stay below 2^53. */
const NUMBER_MAX = 999_999_999_999_999;

/** Exactly one of the fields must be given. */
export const PolicyPrincipal = named(
  'PolicyPrincipal',
  'Whom a policy counts for: exactly one of the three.',
  object({
    group: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'A group, by id or name.' })),
    user: Type.Optional(Type.String({ minLength: 1, maxLength: 254, description: 'A user, by id or e-mail address.' })),
    app_connection: Type.Optional(
      Type.Union([Type.Integer({ minimum: 1, maximum: NUMBER_MAX }), Type.String({ minLength: 1, maxLength: 64 })], {
        description: 'An AppConnection, by its number or client id.',
      }),
    ),
  }),
);
export type PolicyPrincipal = Static<typeof PolicyPrincipal>;

const AttachedPrincipal = named(
  'AttachedPrincipal',
  'Whom a policy counts for.',
  object({
    kind: oneOf(['group', 'user', 'app_connection'], 'Which of them it is.'),
    id: Type.String({ description: 'Its id.' }),
  }),
);

const Attachment = named(
  'PolicyAttachment',
  'That a policy counts for somebody.',
  object({
    principal: AttachedPrincipal,
    attached_at: timestampText,
  }),
);

export const Policy = named(
  'Policy',
  'A policy: what it allows and denies to whom it is attached to.',
  object({
    id: id('policy'),
    name: Type.String({ description: 'Its name, which never changes.' }),
    description: Type.String({ description: 'What it is for.' }),
    document: PolicyDocument,
    version: Type.Integer({
      description: 'Grows with every change; send it as expected_version to change only what you read.',
    }),
    created_at: timestampText,
    updated_at: timestampText,
  }),
);
export type Policy = Static<typeof Policy>;

const PolicyDetail = named(
  'PolicyDetail',
  'A policy with whom it is attached to.',
  object({ ...Policy.properties, attachments: Type.Array(Attachment) }),
);

const description = freeText(512, 'What it is for.');
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
  nounDescription: 'What is allowed and denied, on what and under which conditions, and to whom that is attached.',
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
  summary: 'Write a policy',
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
  description: 'With their documents, but not with whom they are attached to.',
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
  summary: 'Read a policy and what it is attached to',
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
    expected_version: Type.Optional(Type.Integer({ minimum: 1, description: 'Only if this is still its version.' })),
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
  summary: 'Remove a policy that is attached to nobody',
  description: 'Detach it first: one that still counts for somebody is IN_USE.',
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
    'Whom the policy is to count for, or no longer.',
    object({ principal: PolicyPrincipal }),
  ),
  status: 200,
} as const;

export const attachPolicy = endpoint({
  ...attachmentChange,
  name: 'attachPolicy',
  path: '/v1/policies/{name}/attach',
  summary: 'Let a policy count for a group, a user or an AppConnection',
  description: 'Counts from the next request on, on every node. Needs approval.',
  permission: 'policies:attach',
  audit: 'policies:attach',
  output: object({ policy: Type.String({ description: 'Its name.' }), ...Attachment.properties }),
  errors: ['QUOTA_EXCEEDED', 'NOT_FOUND', 'ALREADY_EXISTS'],
});

export const detachPolicy = endpoint({
  ...attachmentChange,
  name: 'detachPolicy',
  path: '/v1/policies/{name}/detach',
  summary: 'Let a policy count no longer',
  description: 'Counts no longer from the next request on, on every node. Needs approval.',
  permission: 'policies:detach',
  audit: 'policies:detach',
  output: object({ policy: Type.String({ description: 'Its name.' }), principal: Attachment.properties.principal }),
  errors: ['NOT_FOUND'],
});

const SIMULATED = {
  principal: { user: 'ada@example.com' },
  action: 'secrets:read',
  resource: 'vault/payments/database/password',
};

const MatchedStatement = named(
  'MatchedStatement',
  'A statement that has something to say about what is asked.',
  object({
    policy: Type.String({ description: 'Its name.' }),
    sid: nullable(Type.String({ description: 'The name of the statement, if it has one.' })),
    effect: PolicyEffect,
  }),
);

export const simulatePolicy = endpoint({
  ...common,
  name: 'simulatePolicy',
  method: 'POST',
  path: '/v1/policies/simulate',
  summary: 'Ask what would be decided, without doing it',
  description:
    'With `principal`, all that counts for them is asked; with `policy` or `document`, that alone. The very evaluator that guards requests answers. What `context` leaves out is taken from what is there: the environment and tags of the vault or secret, as far as you may see them, and your own address and second factor if the principal is you.',
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
          ip: Type.Optional(Type.String({ maxLength: 64, description: 'Where it comes from.' })),
          mfa: Type.Optional(Type.Boolean({ description: 'Whether a second factor was shown.' })),
          time: Type.Optional(Type.String({ format: 'date-time', maxLength: 40, description: 'When.' })),
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
    decision: described('What would be decided.', PolicyEffect),
    reason: Type.String({ description: 'In words.' }),
    matched: Type.Array(MatchedStatement),
  }),
  errors: ['NOT_FOUND'],
});
