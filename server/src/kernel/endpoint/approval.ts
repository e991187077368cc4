import Type, { type Static } from 'typebox';
import type { Tx } from '../storage/database.ts';
import { named } from '../wire/named-schemas.ts';
import { id, object, oneOf, timestampText } from '../wire/wire.ts';

/**
 * The role that approves a step: a manager of the vault, for whom an admin stands in only if the vault has no other manager, or an admin. Each level
 * must be approved by a different person, as long as the tenant has one. A reviewer has `secrets:review` on what is changed; nobody stands in.
 */
export type ApprovalLevel = 'vault_manager' | 'admin' | 'reviewer';

interface ApprovalRule {
  /** It waits for a second, separate call even if nobody else could approve it, because it cannot be undone or a person asks it for themselves. */
  alwaysWaits: boolean;
  /** The approver has just shown a second factor that opens fortress secrets. */
  needsProof?: boolean;
  /**
   * It still waits when the session ends in which it was requested, as by a logout. It does not when all sessions of the person are ended, as when
   * their password is reset or they are disabled: the requester may have been somebody else.
   */
  outlivesSession?: boolean;
  /** What an owner requests is approved by another owner too, as long as the tenant has one. */
  needsOwnerForOwner?: boolean;
  levels: readonly ApprovalLevel[];
}

/**
 * The operations that need the approval of a second person. The list is here and not in the features, because the API names it as a closed set and
 * stored requests refer to it.
 */
export const APPROVAL_RULES = {
  vault_delete: { alwaysWaits: true, levels: ['vault_manager', 'admin'] },
  eaas_key_delete: { alwaysWaits: true, levels: ['admin'] },
  tenant_region_promote: { alwaysWaits: true, levels: ['admin'] },
  mfa_disable: { alwaysWaits: false, levels: ['admin'] },
  siem_change: { alwaysWaits: false, levels: ['admin'] },
  rbac_change: { alwaysWaits: false, levels: ['admin'] },
  secret_change: { alwaysWaits: true, levels: ['reviewer'] },
  access_request: { alwaysWaits: true, levels: ['vault_manager'] },
  mfa_trust: {
    alwaysWaits: true,
    needsProof: true,
    outlivesSession: true,
    needsOwnerForOwner: true,
    levels: ['admin', 'admin'],
  },
} as const satisfies Record<string, ApprovalRule>;

export type ApprovalKind = keyof typeof APPROVAL_RULES;
export const APPROVAL_KINDS = Object.keys(APPROVAL_RULES) as readonly ApprovalKind[];

export function ruleOf(kind: ApprovalKind): ApprovalRule {
  return APPROVAL_RULES[kind];
}

/** Why a pending request is not carried out although nobody rejected it. */
export const CANCEL_REASONS = ['credential_revoked', 'account_ended', 'operator'] as const;
export type CancelReason = (typeof CANCEL_REASONS)[number];

export const ApprovalKindName = named(
  'ApprovalKind',
  'The kind of operation that requires approval by a second person.',
  oneOf(APPROVAL_KINDS),
);

/** The response to a request that waits for approval, in place of the endpoint's own response. */
export const PENDING_STATUS = 202;
export const PendingApproval = named(
  'PendingApproval',
  'The request was accepted and is waiting for approval by another person.',
  object({
    status: oneOf(['pending_approval'], 'Approval is pending; nothing has changed yet.'),
    approval_id: id('approval'),
    approval: ApprovalKindName,
    resource: Type.String({ description: 'The resource that the request would change.' }),
    expires_at: timestampText,
  }),
);
export type PendingApproval = Static<typeof PendingApproval>;

/**
 * What the handler saw when the request was made, and what the approver relies on: versions, states, counts. If it differs when the operation is
 * carried out, the operation is no longer the one that was approved.
 */
export type Basis = Readonly<Record<string, string | number | null>>;

/** One value that the operation changes. Ids in it are shown with their names. */
export interface Difference {
  what: string;
  before: unknown;
  after: unknown;
}

/** What an operation that must wait declares in addition to its request. All of it must still hold when the operation is carried out. */
export interface Proposal {
  basis?: Basis;
  /** Shown to the approver: for a change of an existing object, its values before and after. */
  differences?: readonly Difference[];
  /** The user the operation is about, who may be unable to approve it, such as a user who lost their second factor. */
  subject?: string;
  /** The user who loses rights by it. They neither approve nor reject it, so that they cannot hold it up. */
  takesFrom?: string;
  /** It only takes rights away, from an identity provider or from an account that one made. An owner with a fresh proof need not wait for anybody. */
  ownerMayAct?: boolean;
}

/** Updates the resource while its approval is pending. Each hook runs in the transaction of the approval itself. */
export interface ApprovalHooks {
  /** The request was stored: the resource can be marked as pending, with the id of this approval. */
  requested?(tx: Tx, tenantId: string, approval: PendingResource): Promise<void>;
  /** The request was rejected, cancelled, expired or could not be executed: undo the mark with this approval's id, and only that one. */
  released?(tx: Tx, tenantId: string, approval: PendingResource): Promise<void>;
}

export interface PendingResource {
  approval_id: string;
  resource: string;
}

/** Rolls back the transaction of a change that is valid but must wait for approval. `OwnTransaction` always catches it. */
export class ApprovalRequired extends Error {
  readonly proposal: Proposal;

  constructor(proposal: Proposal) {
    super('approval is required');
    this.proposal = proposal;
  }
}

/** Leaves the handler once the approval is stored. Nothing after the change may run, because the change has not happened. */
export class AwaitsApproval extends Error {
  constructor() {
    super('approval is pending');
  }
}
