import Type, { type Static } from 'typebox';
import { ApprovalKindName, CANCEL_REASONS } from '../../kernel/approval.ts';
import { ANY_TOKEN, BODY_BYTES_DEFAULT, endpoint, NONE } from '../../kernel/endpoint.ts';
import { described, named } from '../../kernel/named-schemas.ts';
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
} from '../../kernel/wire.ts';

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
  'Who decides; an admin can stand in for a vault manager.',
  oneOf(['vault_manager', 'admin']),
);

const Level = named(
  'ApprovalDecision',
  'One of the decisions that an approval takes.',
  object({
    level: ApprovalLevelName,
    decided_by: nullable(Who),
    decision: nullable(oneOf(['approved', 'rejected'], 'What was decided; null until it is.')),
    reason: nullable(Type.String({ description: 'Why, in the words of who decided.' })),
    at: nullable(timestampText),
  }),
);

const ApprovalStatus = named(
  'ApprovalStatus',
  '`failed`: it was approved and could not be carried out; nothing of it remains. `cancelled`: see `cancelled_because`.',
  oneOf(STATUSES),
);

const CancelReasonName = named(
  'ApprovalCancelReason',
  'The token or session it was asked for with was revoked, the account disabled or deleted, or whoever runs the service cancelled it.',
  oneOf(CANCEL_REASONS),
);

const ApprovalFailure = named(
  'ApprovalFailure',
  'Why what was approved could not be carried out.',
  object({
    code: Type.String({ description: 'A code of this API.' }),
    message: Type.String({ description: 'The same in words.' }),
  }),
);

const ApprovalDifference = named(
  'ApprovalDifference',
  'One thing that would change.',
  object({
    what: Type.String({ description: 'What it is.' }),
    before: Type.Unknown({ description: 'As it is.' }),
    after: Type.Unknown({ description: 'As it would be.' }),
  }),
);

export const Approval = named(
  'Approval',
  'A request that needs, or needed, somebody else.',
  object({
    id: id('approval'),
    kind: ApprovalKindName,
    operation: Type.String({ description: 'The `operationId` of what was asked for.' }),
    resource: Type.String({ description: 'What it is about.' }),
    details: Type.Record(Type.String(), Type.Unknown(), {
      description: 'What is asked for, in names, ids and counts, as the audit log has it.',
    }),
    status: ApprovalStatus,
    requested_by: Who,
    created_at: timestampText,
    expires_at: timestampText,
    decided_at: nullable(timestampText),
    levels: Type.Array(Level, { description: 'The decisions that it takes, in their order.' }),
    self_approved: Type.Boolean({ description: 'Approved by who asked, since there was nobody else.' }),
    single_approver: Type.Boolean({ description: 'One person decided every level, since there was nobody else.' }),
    cancelled_because: nullable(CancelReasonName),
    failure: nullable(ApprovalFailure),
  }),
);
export type Approval = Static<typeof Approval>;

const ShownRequest = named(
  'ApprovalRequest',
  'What was asked for, as it will be carried out.',
  object({
    method: Type.String({ description: 'The HTTP method.' }),
    path: Type.String({ description: 'The path.' }),
    query: Type.String({ description: 'The query, without `?`.' }),
    body: Type.Unknown({ description: 'As it was sent, with `[redacted]` in the place of credentials.' }),
    names: Type.Record(Type.String(), Type.String(), {
      description: 'The name of each id that is in it, of what you may see.',
    }),
    differences: Type.Array(ApprovalDifference, {
      description: 'What it would change, as it is and as it would be.',
    }),
  }),
);

export const ApprovalDetail = named(
  'ApprovalDetail',
  'An approval with the request that it is about.',
  object({
    ...Approval.properties,
    request: nullable(ShownRequest),
    digest: nullable(Type.String({ description: 'Names what is shown here. To approve, send it.' })),
  }),
);
export type ApprovalDetail = Static<typeof ApprovalDetail>;

const approvalId = described('The id of an approval, `approval_…`.', idParam);

const common = {
  noun: 'approvals',
  nounDescription: 'What takes a second person: requests that wait, and decisions about them.',
  credentials: ANY_TOKEN,
  tenant: 'own',
  tier: NONE,
  region: 'forward',
  approval: NONE,
  plaintext: false,
  raw: NONE,
  bodyBytesMax: BODY_BYTES_DEFAULT,
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
    'Those you asked for and those you could decide; all of them for owners, admins and auditors. A page looks at a bounded number of them and may come back short or empty with a `next_cursor`: go on until it is null.',
  permission: 'approvals:list',
  rate: 'read',
  audit: 'approvals:list',
  effect: 'read',
  params: NONE,
  query: object({ ...pageQuery, status: Type.Optional(described('Only those of this status.', ApprovalStatus)) }),
  body: NONE,
  output: object({ approvals: Type.Array(Approval), next_cursor: nextCursor }),
  errors: [],
});

export const readApproval = endpoint({
  ...common,
  name: 'readApproval',
  method: 'GET',
  path: '/approvals/{approval_id}',
  summary: 'Read an approval and how far it is',
  description: 'With the whole request, in which credentials are redacted, and the `digest` that approving takes.',
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

const reason = Type.Optional(lineOfText({ maxLength: REASON_LENGTH_MAX }, 'Why.'));

const decision = {
  ...common,
  method: 'POST',
  permission: 'approvals:decide',
  rate: 'write',
  effect: 'change',
  params: object({ approval_id: approvalId }),
  query: NONE,
  output: ApprovalDetail,
  errors: ['NOT_FOUND', 'VERSION_CONFLICT'],
} as const;

export const approveApproval = endpoint({
  ...decision,
  name: 'approveApproval',
  path: '/approvals/{approval_id}/approve',
  summary: 'Approve what somebody else asked for',
  description:
    '`digest` says what you saw: it is in the answer of `GET /approvals/{approval_id}`, beside the request that it names. The decision that completes an approval carries the operation out, once, in the same transaction, with the rights that who asked has now. If that fails, the answer is the approval with the status `failed`.',
  body: object({
    digest: Type.String({
      minLength: 1,
      maxLength: DIGEST_LENGTH_MAX,
      description: 'Of the approval as you read it. If it is not the one you saw, the answer is 409.',
    }),
    reason,
  }),
  audit: 'approvals:approve',
});

export const rejectApproval = endpoint({
  ...decision,
  name: 'rejectApproval',
  path: '/approvals/{approval_id}/reject',
  summary: 'Reject what somebody asked for, or withdraw what you asked for',
  description: 'Nothing of it is carried out, then or later.',
  body: object({ reason }),
  audit: 'approvals:reject',
});
