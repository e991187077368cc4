import type { Authenticated, Authentication, View } from '../auth/authentication.ts';
import type { RoutedCall } from '../auth/call.ts';
import { CofferError } from '../base/errors.ts';
import { type ApprovalKind, ApprovalRequired, PENDING_STATUS, type Proposal, ruleOf } from '../endpoint/approval.ts';
import type { MacKey } from '../keys/keyring.ts';
import type { Tx } from '../storage/database.ts';
import { whileAccepted } from './acceptance.ts';
import type { ApprovalQueue, ReportBreakGlass } from './approval-queue.ts';
import type { ChangeStrategy, Context, Outcome } from './context.ts';

/** What a change needs from the pipeline. */
export interface ChangeParts {
  authentication: Pick<Authentication, 'again'>;
  approvals: ApprovalQueue;
  /** Stores the response for a repeated Idempotency-Key, in the transaction of the change. */
  storeResponse(tx: Tx, status: number, result: unknown): Promise<void>;
}

/** An ordinary request makes its change in a transaction of its own, or stores itself there until it is approved. */
export class OwnTransaction implements ChangeStrategy {
  readonly isApproved = false;
  readonly #parts: ChangeParts;
  /** Set while the change of an owner runs again who need not wait for approval. */
  #isGlassBroken = false;

  constructor(parts: ChangeParts) {
    this.#parts = parts;
  }

  async commit<T>(ctx: Context, act: (tx: Tx) => Promise<T>): Promise<Outcome<T>> {
    const { approvals } = this.#parts;
    const headKey = await ctx.kernel.audit.headKey(ctx.tenantId);
    const recording = { headKey, status: ctx.declaration.status };
    try {
      await requireLease(ctx, false);
      return { kind: 'committed', result: await this.#transaction(ctx, recording, act) };
    } catch (error) {
      if (!(error instanceof ApprovalRequired)) throw error;
      const report = await approvals.breakGlass(ctx, error.proposal);
      if (report !== null) return { kind: 'committed', result: await this.#breakGlass(ctx, recording, act, report) };
      const store = await approvals.prepare(ctx, error.proposal);
      const approval = await this.#transaction(ctx, { headKey, status: PENDING_STATUS }, store);
      return { kind: 'pending', approval };
    }
  }

  #breakGlass<T>(
    ctx: Context,
    recording: Recording,
    act: (tx: Tx) => Promise<T>,
    report: ReportBreakGlass,
  ): Promise<T> {
    this.#isGlassBroken = true;
    return this.#transaction(ctx, recording, async (tx) => {
      const result = await act(tx);
      await report(tx);
      return result;
    });
  }

  #transaction<T>(ctx: Context, recording: Recording, act: (tx: Tx) => Promise<T>): Promise<T> {
    const { deadline } = ctx.call;
    return ctx.database.transaction(async (tx) => {
      deadline?.beforeTransaction();
      const committed = await recorded(ctx, tx, recording, async () => {
        const result = await whileAccepted(ctx, tx, () => act(tx));
        await this.#parts.storeResponse(tx, recording.status, result);
        return result;
      });
      deadline?.beforeCommit();
      return committed;
    });
  }

  async requireApproval(ctx: Context, kind: ApprovalKind, proposal: Proposal): Promise<void> {
    if (this.#isGlassBroken) {
      if (proposal.ownerMayAct === true) return;
      throw new CofferError('VERSION_CONFLICT', 'What you change was changed concurrently: read it again and retry.');
    }
    if (ruleOf(kind).alwaysWaits || !(await this.#parts.approvals.isOnlyApprover(ctx, proposal))) {
      throw new ApprovalRequired(proposal);
    }
    ctx.record.describe({ self_approved: true });
  }

  async authenticateAgain(request: RoutedCall, view: View): Promise<Authenticated> {
    const { credentials } = request.declaration;
    if (credentials === 'public') throw new Error('a public endpoint accepts nobody');
    return this.#parts.authentication.again(request, credentials, view);
  }

  fortressVaults(tenantId: string): Promise<readonly string[]> {
    return this.#parts.approvals.fortressVaults(tenantId);
  }
}

/**
 * Called before a change, and again by the pipeline before any response to one is sent, a repeated or pending one included. A change that commits
 * after the lease of this region has ended is not acknowledged: another region may serve the tenant by then.
 */
export async function requireLease({ kernel: { regionGate }, caller }: Context, isCommitted: boolean): Promise<void> {
  if (regionGate.isOn && caller.tenantIdOrNull !== null)
    await regionGate.requireLease(caller.tenantIdOrNull, caller.epoch, isCommitted);
}

/** How a change is recorded. `headKey` is loaded before the transaction, because loading it may take a query of its own. */
interface Recording {
  headKey: MacKey;
  status: number;
}

/** Runs `act` and adds the audit entries of the request to the same transaction. */
export async function recorded<T>(
  ctx: Context,
  tx: Tx,
  { headKey, status }: Recording,
  act: () => Promise<T>,
): Promise<T> {
  ctx.record.dropAddedEntries();
  const result = await act();
  ctx.access.refuseUndecided();
  await ctx.kernel.audit.recordIn(tx, ctx.record.takeEntries(status), headKey);
  return result;
}
