import Type from 'typebox';
import { environmentText } from '../../kernel/authz/environment.ts';
import { PolicyDocument, PolicyEffect } from '../../kernel/authz/policy.ts';
import { RoleName } from '../../kernel/authz/roles.ts';
import { ANY_TOKEN, endpoint, NONE, ORDINARY } from '../../kernel/endpoint/declaration.ts';
import { described, named } from '../../kernel/wire/named-schemas.ts';
import {
  Deleted,
  freeText,
  nextCursor,
  nullable,
  object,
  objectWithExamples,
  oneOf,
  pageQuery,
  resourceName,
} from '../../kernel/wire/wire.ts';
import {
  AllowedPrincipal,
  Attachment,
  MatchedStatement,
  Policy,
  PolicyDetail,
  PolicyPrincipal,
  PolicyVersion,
} from './schemas.ts';

/** Versions of a policy that can be read, with the current one. A policy may have 64 KiB. */
export const VERSIONS_MAX = 100;

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
  ...ORDINARY,
  noun: 'policies',
  aboutNoun: {
    title: 'Policies',
    group: 'People',
    guide: ['policies'],
    description:
      'Rules that allow and deny actions on resources under conditions, and the principals they are attached to.',
  },
  credentials: ANY_TOKEN,
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

export const listPolicyVersions = endpoint({
  ...common,
  name: 'listPolicyVersions',
  method: 'GET',
  path: '/v1/policies/{name}/versions',
  summary: 'List the versions of a policy, newest first',
  description: `The current version and the ${VERSIONS_MAX - 1} before it, with their documents. They go with the policy when it is deleted; the audit log says who wrote each.`,
  permission: 'policies:read',
  resource: 'policy/{name}',
  rate: 'read',
  audit: 'policies:list_versions',
  effect: 'read',
  params: nameParam,
  query: object(pageQuery),
  body: NONE,
  status: 200,
  output: object({ versions: Type.Array(PolicyVersion), next_cursor: nextCursor }),
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
      Type.Integer({
        minimum: 1,
        maximum: 2 ** 31 - 1,
        description: 'Fails unless this is still the current version.',
      }),
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

export const explainAccess = endpoint({
  ...common,
  name: 'explainAccess',
  method: 'POST',
  path: '/v1/policies/explain',
  summary: 'Say why you may or may not do something',
  description:
    'Decided by the evaluator that decides requests, for you, with this credential, from this address, now. After a refusal it says who could change that: by a role in the vault, by attaching a policy, or by changing the one that denies. It tells nothing about whether the resource exists.',
  permission: NONE,
  resource: NONE,
  rate: 'aggregate',
  bulk: true,
  audit: 'policies:explain',
  effect: 'read',
  params: NONE,
  body: objectWithExamples([{ action: SIMULATED.action, resource: SIMULATED.resource }], {
    action: Type.String({ minLength: 3, maxLength: 128, description: 'For example secrets:read.' }),
    resource: Type.String({ minLength: 1, maxLength: 1200, description: 'For example vault/payments/db/password.' }),
  }),
  status: 200,
  output: object({
    allowed: Type.Boolean({ description: 'The decision.' }),
    reason: oneOf(
      ['allowed', 'explicit_deny', 'no_match', 'policies_too_costly', 'out_of_scope', 'ip_not_allowed'],
      'explicit_deny: a statement denies it. no_match: nothing allows it. out_of_scope, ip_not_allowed: the limits of the credential. policies_too_costly: your policies have too many patterns.',
    ),
    matched: Type.Array(MatchedStatement, { description: 'The statements that apply, those that deny first.' }),
    conditional: Type.Boolean({
      description: 'Whether another address, another time or a second factor would change the refusal.',
    }),
    remedy: nullable(
      named(
        'AccessRemedy',
        'The right that somebody needs who is to change the refusal.',
        object({
          action: Type.String({ description: 'members:add, policies:attach or policies:update.' }),
          resource: Type.String({ description: 'What they need it on.' }),
        }),
      ),
    ),
    helpers: Type.Array(AllowedPrincipal, { description: 'People who have that right and whom you may read.' }),
    hidden_helpers: Type.Integer({ description: 'How many more there are.' }),
    hidden_roles: Type.Array(RoleName, { description: 'The roles in the tenant that give them the right.' }),
  }),
  errors: [],
});
