import Type, { type Static } from 'typebox';
import type { Context } from './context.ts';
import { named } from './named-schemas.ts';
import type { Tx } from './storage/database.ts';
import { id, object, oneOf, timestampText } from './wire.ts';

/** Who decides: each level by another person, as long as there is another. */
export type ApprovalLevel = 'vault_manager' | 'admin';

interface ApprovalRule {
  /** What cannot be undone waits even where nobody else could decide: for a second, separate call. */
  isDestructive: boolean;
  levels: readonly ApprovalLevel[];
}

/** What takes two people. */
export const APPROVAL_RULES = {
  vault_delete: { isDestructive: true, levels: ['vault_manager', 'admin'] },
  eaas_key_delete: { isDestructive: true, levels: ['admin'] },
  tenant_region_promote: { isDestructive: true, levels: ['admin'] },
  mfa_disable: { isDestructive: false, levels: ['admin'] },
  siem_change: { isDestructive: false, levels: ['admin'] },
  rbac_change: { isDestructive: false, levels: ['admin'] },
} as const satisfies Record<string, ApprovalRule>;

export type ApprovalKind = keyof typeof APPROVAL_RULES;
export const APPROVAL_KINDS = Object.keys(APPROVAL_RULES) as readonly ApprovalKind[];

export function ruleOf(kind: ApprovalKind): ApprovalRule {
  return APPROVAL_RULES[kind];
}

/** Why a request is not carried out although nobody decided against it. */
export const CANCEL_REASONS = ['credential_revoked', 'account_ended', 'operator'] as const;
export type CancelReason = (typeof CANCEL_REASONS)[number];

export const ApprovalKindName = named('ApprovalKind', 'What takes a second person.', oneOf(APPROVAL_KINDS));

/** The answer to a request that waits for somebody else, in place of the endpoint's own. */
export const PENDING_STATUS = 202;
export const PendingApproval = named(
  'PendingApproval',
  'A request that was accepted, and waits for somebody else to approve it.',
  object({
    status: oneOf(['pending_approval'], 'It is not done yet.'),
    approval_id: id('approval'),
    approval: ApprovalKindName,
    resource: Type.String({ description: 'What it would change.' }),
    expires_at: timestampText,
  }),
);
export type PendingApproval = Static<typeof PendingApproval>;

/**
 * What a rule saw when it was asked and the approver will rely on: versions, states, counts. If it differs when the operation is carried
 * out, the operation is not the one that was approved.
 */
export type Basis = Readonly<Record<string, string | number | null>>;

/** What is different afterwards. Ids in it are shown with their names. */
export interface Difference {
  what: string;
  before: unknown;
  after: unknown;
}

/** What an operation that must wait says of itself, beside the request. All of it must still be so when it is carried out. */
export interface Proposal {
  basis?: Basis;
  /** Shown to whoever decides: for a change of something that is there, what it is and what it will be. */
  differences?: readonly Difference[];
  /** Whom it is about, if they may be unable to decide on it: who lost their second factor. */
  subject?: string;
}

/** Stores an approval in the transaction it is given. */
export type StoreApproval = (tx: Tx) => Promise<PendingApproval>;

/** Where requests wait for somebody else. The kernel only knows that there is such a place. */
export interface ApprovalQueue {
  /** Whether the caller is the one person of the tenant who could approve this. */
  standsAlone(ctx: Context, proposal: Proposal): Promise<boolean>;
  /** Seals what was asked, for which keys may have to be made: outside any transaction. */
  prepare(ctx: Context, proposal: Proposal): Promise<StoreApproval>;
  /** Names of the vaults that hold a fortress secret, deleted ones too. */
  fortressVaults(tenantId: string): Promise<readonly string[]>;
}

/** Ends the transaction of a change that is valid and must wait. It never leaves `Context.change`. */
export class ApprovalRequired extends Error {
  readonly proposal: Proposal;

  constructor(proposal: Proposal) {
    super('an approval is required');
    this.proposal = proposal;
  }
}

/** Leaves the handler once the approval is stored: nothing that follows the change may run, since it did not happen. */
export class AwaitsApproval extends Error {
  constructor() {
    super('the request waits for an approval');
  }
}
