import Type, { type Static } from 'typebox';
import { PolicyDocument, PolicyEffect } from '../../kernel/authz/policy.ts';
import { named } from '../../kernel/wire/named-schemas.ts';
import { id, lineOfText, nullable, object, oneOf, timestampText } from '../../kernel/wire/wire.ts';

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

export const AttachedPrincipal = named(
  'AttachedPrincipal',
  'A principal a policy is attached to.',
  object({
    kind: oneOf(['group', 'user', 'app_connection'], 'Kind of the principal.'),
    id: Type.String({ description: 'Its id.' }),
  }),
);

export const Attachment = named(
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

export const PolicyDetail = named(
  'PolicyDetail',
  'A policy with its attachments.',
  object({ ...Policy.properties, attachments: Type.Array(Attachment) }),
);

export const PolicyVersion = named(
  'PolicyVersion',
  'A policy as it was, or is, in one of its versions.',
  object({
    version: Type.Integer({ description: 'The number of the version.' }),
    description: Type.String({ description: 'Purpose of the policy.' }),
    document: PolicyDocument,
    written_at: { ...timestampText, description: 'When this version was written.' },
    is_current: Type.Boolean({ description: 'Whether this is the version that counts.' }),
  }),
);

export const MatchedStatement = named(
  'MatchedStatement',
  'A statement that matches the simulated request.',
  object({
    policy: Type.String({ description: 'Name of the policy.' }),
    sid: nullable(Type.String({ description: 'The name of the statement, if it has one.' })),
    effect: PolicyEffect,
  }),
);

export const GrantedBy = named(
  'GrantedBy',
  'Where a right comes from.',
  object({
    kind: oneOf(
      ['role', 'membership', 'access', 'group', 'policy', 'connection'],
      'role: the role in the tenant. membership: of the vault. access: to the vault for a time. group: its memberships and policies. policy: attached to the principal. connection: the paths and scopes of the connection.',
    ),
    name: Type.String({ description: 'Name of the role, group, policy or connection; the role in the vault.' }),
    until: nullable(timestampText, 'When an access ends by itself; null for everything else.'),
  }),
);
export type GrantedBy = Static<typeof GrantedBy>;

/** Who can be allowed something by themselves. */
export const AllowedKind = named(
  'AllowedPrincipalKind',
  'A person or a connection.',
  oneOf(['user', 'app_connection'], 'A person or a connection.'),
);

export const AllowedPrincipal = named(
  'AllowedPrincipal',
  'A principal that is allowed an action on a resource.',
  object({
    kind: AllowedKind,
    id: Type.String({ description: 'The id of a user, the client id of a connection.' }),
    name: Type.String({ description: 'The e-mail address of a user, the name of a connection.' }),
    conditional: Type.Boolean({
      description: 'Whether it also needs a second factor, an address or a time that a policy requires.',
    }),
    because: Type.Array(GrantedBy),
  }),
);
export type AllowedPrincipal = Static<typeof AllowedPrincipal>;
