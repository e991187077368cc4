import { type Authenticated, NO_PROOFS, type View } from '../auth/authentication.ts';
import type { Call, RoutedCall } from '../auth/call.ts';
import type { Actor, Principal } from '../auth/principal.ts';
import { CofferError } from '../base/errors.ts';
import type { ApprovalKind, Proposal } from '../endpoint/approval.ts';
import type { Reader, Tx } from '../storage/database.ts';
import { requireOwnTenant, requireTier } from './admission.ts';
import { recorded } from './change.ts';
import { type ChangeStrategy, Context, type Outcome } from './context.ts';
import { authorizeDeclared } from './declared-authorization.ts';
import type { Kernel } from './kernel.ts';
import type { ReadyEndpoint } from './ready-endpoint.ts';

export interface Grant {
  approvalId: string;
  /** The id of the user whose approval was the last one needed. */
  approvedBy: string;
  /** The proposal that was stored when the operation was requested. */
  proposal: Proposal;
}

/** What an approved request takes from the request that completes the approval. */
export interface Around {
  tenantId: string;
  fortressVaults: ChangeStrategy['fortressVaults'];
  within(act: (tx: Tx) => Promise<void>): Promise<void>;
  /** The original requester, with the rights they have now. */
  requester(db: Reader): Promise<Principal>;
}

interface Approved {
  endpoint: ReadyEndpoint;
  call: Call;
  /** The original requester as the audit log names them. */
  requester: Actor;
  grant: Grant;
  around: Around;
}

/**
 * A request that was approved and is now carried out: for its original requester, with their current rights, through the same handler that would
 * have answered it at once.
 */
export class ApprovedRequest {
  readonly #ctx: Context;
  readonly #endpoint: ReadyEndpoint;
  readonly #around: Around;

  constructor(kernel: Kernel, { endpoint, call, requester, grant, around }: Approved) {
    this.#ctx = new Context(kernel, endpoint.declaration, call, new TransactionOfApproval(grant.proposal, around));
    this.#endpoint = endpoint;
    this.#around = around;
    this.#ctx.caller.identify(around.tenantId, requester);
    this.#ctx.record.describe({ approval_id: grant.approvalId, approved_by: grant.approvedBy });
  }

  get access(): Context['access'] {
    return this.#ctx.access;
  }

  get record(): Context['record'] {
    return this.#ctx.record;
  }

  /** Gives the request the rights that its requester has in `db`, where the tenant's epoch is `epoch`. */
  async authenticate(db: Reader, epoch: number): Promise<void> {
    this.#ctx.caller.become(await this.#around.requester(db), epoch);
  }

  /** Runs the steps of the pipeline that still apply. The input is validated again, because a newer release may read it differently. */
  async run(): Promise<void> {
    const ctx = this.#ctx;
    requireTier(ctx);
    requireOwnTenant(ctx);
    const input = await this.#endpoint.validate(ctx.call, ctx.tenantId);
    authorizeDeclared(ctx);
    await this.#endpoint.handler(ctx, input);
    if (ctx.outcome === null) throw new Error(`${ctx.declaration.name} was approved but changed nothing`);
  }
}

/** The change of an approved request is part of the change of the request that completed the approval, so both commit or neither does. */
class TransactionOfApproval implements ChangeStrategy {
  readonly isApproved = true;
  readonly #approved: Proposal;
  readonly #around: Around;

  constructor(approved: Proposal, around: Around) {
    this.#approved = approved;
    this.#around = around;
  }

  async commit<T>(ctx: Context, act: (tx: Tx) => Promise<T>): Promise<Outcome<T>> {
    const recording = { headKey: await ctx.kernel.audit.headKey(ctx.tenantId), status: ctx.declaration.status };
    const results: T[] = [];
    await this.#around.within(async (tx) => {
      // The transaction may be retried, and only the last attempt counts.
      results.length = 0;
      results.push(await recorded(ctx, tx, recording, () => act(tx)));
    });
    return { kind: 'committed', result: results[0] as T };
  }

  /** The approval covers the change only as it was shown to the approvers. */
  async requireApproval(_: Context, __: ApprovalKind, { basis = {}, differences = [] }: Proposal): Promise<void> {
    const approved = this.#approved;
    const isSame = (now: unknown, then: unknown) => JSON.stringify(now) === JSON.stringify(then);
    // Requests stored by release 0.4 and earlier have no differences, so only their basis is compared.
    const isAsShown = approved.differences === undefined || isSame(differences, approved.differences);
    if (isSame(basis, approved.basis ?? {}) && isAsShown) return;
    throw new CofferError(
      'VERSION_CONFLICT',
      'The resource changed after the request was made, so the approval no longer applies: send the request again.',
      { details: { differences: { shown: approved.differences ?? [], now: differences } } },
    );
  }

  async authenticateAgain(_: RoutedCall, { db, epochOf }: View): Promise<Authenticated> {
    const epoch = await epochOf(this.#around.tenantId);
    return { principal: await this.#around.requester(db), epoch: epoch ?? NaN, proofs: NO_PROOFS };
  }

  fortressVaults(tenantId: string): Promise<readonly string[]> {
    return this.#around.fortressVaults(tenantId);
  }
}
