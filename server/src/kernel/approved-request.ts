import type { ApprovalQueue, Proposal } from './approval.ts';
import { NO_PROOFS } from './auth/authentication.ts';
import type { Call } from './call.ts';
import { type ChangeHooks, Context } from './context.ts';
import { CofferError } from './errors.ts';
import type { Kernel } from './kernel.ts';
import { authorizeDeclared, type ReadyEndpoint, requireOwnTenant, requireTier } from './pipeline.ts';
import type { Principal } from './principal.ts';
import type { Reader, Tx } from './storage/database.ts';

export interface Grant {
  approvalId: string;
  /** The id of the user whose approval was the last one needed. */
  approvedBy: string;
  /** The proposal that was stored when the operation was requested. */
  proposal: Proposal;
}

/** What an approved request takes from the request that completes the approval. */
export interface Around extends Pick<ApprovalQueue, 'fortressVaults'> {
  within(act: (tx: Tx) => Promise<void>): Promise<void>;
  /** The original requester, with the rights they have now. */
  requester(db: Reader): Promise<Principal>;
}

/**
 * A request that was approved and is now carried out: for its original requester, with their current rights, through the same handler that would
 * have answered it at once. Its change is part of the change of the request that completed the approval, so both commit or neither does.
 */
export class ApprovedRequest extends Context {
  readonly #endpoint: ReadyEndpoint;
  readonly #grant: Grant;
  readonly #within: Around['within'];

  constructor(kernel: Kernel, endpoint: ReadyEndpoint, call: Call, grant: Grant, around: Around) {
    super(kernel, endpoint.declaration, call, insideAnother(around));
    this.#endpoint = endpoint;
    this.#grant = grant;
    this.#within = around.within;
    this.describe({ approval_id: grant.approvalId, approved_by: grant.approvedBy });
  }

  /** Runs the steps of the pipeline that still apply. The input is validated again, because a newer release may read it differently. */
  async run(): Promise<void> {
    requireTier(this);
    requireOwnTenant(this);
    const input = this.#endpoint.validate(this.call);
    authorizeDeclared(this);
    await this.#endpoint.handler(this, input);
    if (this.committed === null) throw new Error(`${this.declaration.name} was approved and changed nothing`);
  }

  override get approvalId(): string {
    return this.#grant.approvalId;
  }

  override async needsApproval(_tx: Tx, { basis = {}, differences = [] }: Proposal = {}): Promise<void> {
    const approved = this.#grant.proposal;
    const isSame = (now: unknown, then: unknown) => JSON.stringify(now) === JSON.stringify(then);
    // Requests stored by release 0.4 and earlier have no differences, so only their basis is compared.
    const isAsShown = approved.differences === undefined || isSame(differences, approved.differences);
    if (isSame(basis, approved.basis ?? {}) && isAsShown) return;
    throw new CofferError('VERSION_CONFLICT', 'What it is about has changed since it was asked for: ask for it again.');
  }

  override async change<T>(fn: (tx: Tx) => Promise<T>): Promise<T> {
    if (this.committed !== null) throw new Error('one request makes one change');
    const headKey = await this.kernel.audit.headKey(this.tenantId);
    const results: T[] = [];
    await this.#within(async (tx) => {
      // The transaction may be retried, and only the last attempt counts.
      results.length = 0;
      this.alsoRecorded.length = 0;
      results.push(await fn(tx));
      this.refuseUndecided();
      const entries = [this.entry('allow', this.declaration.status, ''), ...this.alsoRecorded];
      await this.kernel.audit.recordIn(tx, entries, headKey);
    });
    const result = results[0] as T;
    this.committed = { result };
    return result;
  }
}

function insideAnother({ requester, fortressVaults }: Around): ChangeHooks {
  return {
    keepAnswer: async () => {},
    approvals: { standsAlone: neverAsked, prepare: neverAsked, fortressVaults },
    acceptAgain: async (ctx, { db, epochOf }) => {
      const epoch = await epochOf(ctx.tenantId);
      return { principal: await requester(db), epoch: epoch ?? NaN, proofs: NO_PROOFS };
    },
  };
}

async function neverAsked(): Promise<never> {
  throw new Error('what is carried out needs no further approval');
}
