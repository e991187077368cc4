import type { ApprovalQueue, Proposal } from './approval.ts';
import { NO_PROOFS } from './auth/authentication.ts';
import type { Call } from './call.ts';
import { type ChangeHooks, Context } from './context.ts';
import { CofferError } from './errors.ts';
import type { Kernel } from './kernel.ts';
import { authorizeDeclared, type ReadyEndpoint, requireOwnTenant, requireTier } from './pipeline.ts';
import type { Principal } from './principal.ts';
import type { Reader, Tx } from './storage/database.ts';

/** What was granted, and by whom. */
export interface Grant {
  approvalId: string;
  /** The id of the user whose decision completed it. */
  approvedBy: string;
  /** What the operation said of itself when it was asked for. */
  proposal: Proposal;
}

/** What it takes from the request that grants. */
export interface Around extends Pick<ApprovalQueue, 'fortressVaults'> {
  /** Runs `act` inside the one transaction of that request. */
  within(act: (tx: Tx) => Promise<void>): Promise<void>;
  /** Who asked, with the rights they have now. */
  requester(db: Reader): Promise<Principal>;
}

/**
 * A request that waited for approval, on its way at last: for who asked for it, with the rights they have now, through the code that would
 * have answered it then. Its change is part of the change of the request that completed the approval, so both happen or neither.
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

  /** The steps of the pipeline that still apply. The input is checked again: a newer release may read it differently. */
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
    // Requests of 0.4 and before were stored without differences: those rely on the basis alone.
    const isAsShown = approved.differences === undefined || isSame(differences, approved.differences);
    if (isSame(basis, approved.basis ?? {}) && isAsShown) return;
    throw new CofferError('VERSION_CONFLICT', 'What it is about has changed since it was asked for: ask for it again.');
  }

  override async change<T>(fn: (tx: Tx) => Promise<T>): Promise<T> {
    if (this.committed !== null) throw new Error('one request makes one change');
    const headKey = await this.kernel.audit.headKey(this.tenantId);
    const results: T[] = [];
    await this.#within(async (tx) => {
      // The transaction may be tried again: only the last try counts.
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
