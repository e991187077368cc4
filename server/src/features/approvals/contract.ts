import Type, { type Static } from 'typebox';
import { ApprovalKindName, CANCEL_REASONS } from '../../kernel/endpoint/approval.ts';
import { ANY_TOKEN, endpoint, NONE, ORDINARY } from '../../kernel/endpoint/declaration.ts';
import { described, named } from '../../kernel/wire/named-schemas.ts';
import {
  id,
  idParam,
  lineOfText,
  nextCursor,
  nullable,
  object,
  oneOf,
  pageQuery,
  timestampText,
} from '../../kernel/wire/wire.ts';
import { pathText } from '../secrets/index.ts';

const STATUSES = ['pending', 'completed', 'rejected', 'expired', 'failed', 'cancelled'] as const;
const REASON_LENGTH_MAX = 512;
const DIGEST_LENGTH_MAX = 64;

const Who = named(
  'ApprovalPerson',
  'A person, by id and by name.',
  object({ id: Type.String({ description: 'The id.' }), name: Type.String({ description: 'The name.' }) }),
);

const ApprovalLevelName = named(
  'ApprovalLevel',
  'Who decides. If nobody but the requester manages the vault, an admin decides instead of a vault manager. A reviewer has `secrets:review` on the secret.',
  oneOf(['vault_manager', 'admin', 'reviewer']),
);

const Level = named(
  'ApprovalDecision',
  'One of the decisions that an approval requires.',
  object({
    level: ApprovalLevelName,
    decided_by: nullable(Who),
    decision: nullable(oneOf(['approved', 'rejected'], 'The decision; null while it is pending.')),
    reason: nullable(Type.String({ description: 'The reason given by the person who decided.' })),
    at: nullable(timestampText),
  }),
);

const ApprovalStatus = named(
  'ApprovalStatus',
  '`failed`: it was approved but could not be executed; nothing was changed. `cancelled`: see `cancelled_because`.',
  oneOf(STATUSES),
);

const CancelReasonName = named(
  'ApprovalCancelReason',
  'The token or session of the request was revoked, the account of the requester was disabled or deleted, or an operator cancelled the request.',
  oneOf(CANCEL_REASONS),
);

const ApprovalFailure = named(
  'ApprovalFailure',
  'Why the approved request could not be executed.',
  object({
    code: Type.String({ description: 'An error code of this API.' }),
    message: Type.String({ description: 'The error message.' }),
    details: nullable(
      Type.Record(Type.String(), Type.Unknown()),
      'With VERSION_CONFLICT: what was expected and what is there, never a value. Null otherwise.',
    ),
  }),
);

const ApprovalDifference = named(
  'ApprovalDifference',
  'One value that the request would change.',
  object({
    what: Type.String({ description: 'The name of the value.' }),
    before: Type.Unknown({ description: 'The current value.' }),
    after: Type.Unknown({ description: 'The value after the change.' }),
  }),
);

export const Approval = named(
  'Approval',
  'A request that requires, or required, approval by another person.',
  object({
    id: id('approval'),
    kind: ApprovalKindName,
    operation: Type.String({ description: 'The `operationId` of the request.' }),
    resource: Type.String({ description: 'The resource of the request.' }),
    details: Type.Record(Type.String(), Type.Unknown(), {
      description: 'Details of the request in names, ids and counts, as in the audit log.',
    }),
    status: ApprovalStatus,
    can_approve: Type.Boolean({
      description:
        'Whether it is your turn to approve it. Your own request it is only if nobody else could approve it. A kind that requires a second factor requires it all the same.',
    }),
    requested_by: Who,
    created_at: timestampText,
    expires_at: timestampText,
    decided_at: nullable(timestampText),
    levels: Type.Array(Level, { description: 'The required decisions, in order.' }),
    self_approved: Type.Boolean({ description: 'Approved by the requester, because nobody else could approve it.' }),
    single_approver: Type.Boolean({ description: 'One person decided every level, because nobody else could.' }),
    cancelled_because: nullable(CancelReasonName),
    failure: nullable(ApprovalFailure),
  }),
);
export type Approval = Static<typeof Approval>;

const ShownRequest = named(
  'ApprovalRequest',
  'The request as it will be executed.',
  object({
    method: Type.String({ description: 'The HTTP method.' }),
    path: Type.String({ description: 'The path.' }),
    query: Type.String({ description: 'The query string, without `?`.' }),
    body: Type.Unknown({ description: 'The body as it was sent, with `[redacted]` in place of credentials.' }),
    names: Type.Record(Type.String(), Type.String(), {
      description: 'The name of each id in the request, for resources that you may see.',
    }),
    differences: Type.Array(ApprovalDifference, {
      description: 'The values that the request would change, before and after.',
    }),
  }),
);

export const ApprovalDetail = named(
  'ApprovalDetail',
  'An approval with its request.',
  object({
    ...Approval.properties,
    request: nullable(ShownRequest),
    digest: nullable(Type.String({ description: 'Identifies exactly what is shown here. Send it to approve.' })),
  }),
);
export type ApprovalDetail = Static<typeof ApprovalDetail>;

const approvalId = described('The id of an approval, `approval_…`.', idParam);

const common = {
  ...ORDINARY,
  noun: 'approvals',
  aboutNoun: {
    title: 'Approvals',
    group: 'People',
    guide: ['approvals', 'change-control'],
    description: 'Requests that require approval by a second person, and the decisions about them.',
  },
  credentials: ANY_TOKEN,
  resource: 'self/approvals',
  status: 200,
} as const;

export const listApprovals = endpoint({
  ...common,
  name: 'listApprovals',
  method: 'GET',
  path: '/approvals',
  summary: 'List approvals, newest first',
  description:
    'Lists the requests that you made and those that you could decide; owners, admins and auditors see all. A page examines a limited number of them and may be short or empty with a `next_cursor`: continue until it is null.',
  permission: 'approvals:list',
  rate: 'read',
  audit: 'approvals:list',
  effect: 'read',
  params: NONE,
  query: object({
    ...pageQuery,
    status: Type.Optional(described('Only approvals with this status.', ApprovalStatus)),
    requester: Type.Optional(oneOf(['self', 'any'], 'self: only requests that you made. Default: any.')),
  }),
  body: NONE,
  output: object({ approvals: Type.Array(Approval), next_cursor: nextCursor }),
  errors: [],
});

export const readApproval = endpoint({
  ...common,
  name: 'readApproval',
  method: 'GET',
  path: '/approvals/{approval_id}',
  summary: 'Read an approval and its progress',
  description: 'Includes the whole request, with credentials redacted, and the `digest` that approving requires.',
  permission: 'approvals:read',
  rate: 'read',
  audit: 'approvals:read',
  effect: 'read',
  params: object({ approval_id: approvalId }),
  query: NONE,
  body: NONE,
  output: ApprovalDetail,
  errors: ['NOT_FOUND'],
});

export const revealApproval = endpoint({
  ...common,
  name: 'revealApproval',
  method: 'GET',
  path: '/approvals/{approval_id}/values',
  summary: 'Reveal the present and the new value of a waiting change of a secret',
  description:
    'For another person who may review the change, and may read the secret. It is recorded as a read of the secret. Values of fortress secrets and of zero-knowledge vaults are not revealed.',
  permission: 'secrets:read',
  alsoAsks: ['approvals:read', 'secrets:review'],
  resource: 'loaded',
  loads: ['vault/{vault}/{path*}'],
  rate: 'read',
  audit: 'secrets:read',
  effect: 'read',
  plaintext: true,
  params: object({ approval_id: approvalId }),
  query: object({
    path: Type.Optional({
      ...pathText,
      description: 'The path of the change, if the request has several.',
    }),
  }),
  body: NONE,
  output: object({
    path: Type.String({ description: 'The path of the secret.' }),
    version: nullable(Type.Integer({ description: 'The present version.' }), 'Null if the secret would be created.'),
    before: nullable(Type.String({ description: 'The present value.' }), 'Null if the secret would be created.'),
    after: nullable(
      Type.String({ description: 'The value after the change.' }),
      'Null if the request has no new value, or the service makes it.',
    ),
  }),
  errors: ['NOT_FOUND', 'VAULT_NOT_FOUND', 'VERSION_CONFLICT', 'ZkBoundaryViolation'],
});

const reason = Type.Optional(lineOfText({ maxLength: REASON_LENGTH_MAX }, 'The reason for the decision.'));

const decision = {
  ...common,
  method: 'POST',
  permission: 'approvals:decide',
  rate: 'write',
  effect: 'change',
  params: object({ approval_id: approvalId }),
  query: NONE,
  output: ApprovalDetail,
  errors: ['NOT_FOUND', 'VERSION_CONFLICT', 'MFA_REQUIRED'],
} as const;

export const approveApproval = endpoint({
  ...decision,
  name: 'approveApproval',
  alsoAsks: ['secrets:review'],
  path: '/approvals/{approval_id}/approve',
  summary: 'Approve another person’s request',
  description:
    '`digest` confirms what you saw: it is in the response of `GET /approvals/{approval_id}`. The decision that completes an approval executes the request once, in the same transaction, with the permissions that the requester has now. If that fails, the response is the approval with the status `failed`.',
  body: object({
    digest: Type.String({
      minLength: 1,
      maxLength: DIGEST_LENGTH_MAX,
      description:
        'The `digest` of the approval as you read it. If the approval differs from what you saw, the response is 409.',
    }),
    reason,
  }),
  audit: 'approvals:approve',
});

export const rejectApproval = endpoint({
  ...decision,
  name: 'rejectApproval',
  path: '/approvals/{approval_id}/reject',
  summary: 'Reject a request, or withdraw your own',
  description: 'The request will never be executed.',
  body: object({ reason }),
  audit: 'approvals:reject',
});
