import { ruleOf } from '../../kernel/approval.ts';
import { cleanText } from '../../kernel/audit/entry.ts';
import { CarryOut } from '../../kernel/carry-out.ts';
import { timestamp, timestampOrNull } from '../../kernel/clock.ts';
import type { Context } from '../../kernel/context.ts';
import { RightsChanged } from '../../kernel/decisions.ts';
import type { Query } from '../../kernel/endpoint.ts';
import { CofferError, notFound } from '../../kernel/errors.ts';
import { idForm } from '../../kernel/ids.ts';
import { cursorAt, openedCursor, type SearchedList, sealedCursor } from '../../kernel/sealed-cursor.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import { LIST_LIMIT_DEFAULT } from '../../kernel/wire.ts';
import { callerAs, sightOf, standingOf } from './approvers.ts';
import { type Approval, type listApprovals, readApproval } from './contract.ts';
import { mayReject, type Refusal, verdictOn } from './levels.ts';
import { callOf, openOrder, requesterNow } from './order.ts';
import type { ApprovalPorts } from './ports.ts';
import * as store from './store.ts';

/** Approvals one request may look at to find those the caller may see. */
const SCAN_MAX = 2000;
const BATCH = 200;
const APPROVALS: SearchedList = { name: 'approvals', form: idForm('approval') };

/** A decision that may be made: for which levels it counts, and what follows from it. */
interface Accepted {
  approval: store.ApprovalFacts;
  decided: number;
  covers: number;
  isComplete: boolean;
  isSelfApproved: boolean;
}

export class Approvals {
  readonly #ports: ApprovalPorts;

  constructor(ports: ApprovalPorts) {
    this.#ports = ports;
  }

  async list(ctx: Context, query: Query<typeof listApprovals>) {
    const limit = query.limit ?? LIST_LIMIT_DEFAULT;
    const indexed = query.status === 'pending' ? 'pending' : null;
    let before = await openedCursor(ctx, APPROVALS, query.cursor);
    if (!ctx.may(readApproval.permission, readApproval.resource)) return { approvals: [], next_cursor: null };
    const isVisible = await sightOf(ctx, this.#ports);
    const found: store.ApprovalFacts[] = [];
    for (let looked = 0; ; ) {
      const rows = await store.approvalsBack(ctx.database.read, ctx.tenantId, indexed, before, BATCH);
      for (const row of rows) {
        if (before !== null && found.length === limit) return this.#page(ctx, found, cursorAt(before));
        if (before !== null && looked === SCAN_MAX) {
          return this.#page(ctx, found, await sealedCursor(ctx, APPROVALS, before));
        }
        looked++;
        before = row.approval_id;
        const isWanted = query.status === undefined || query.status === statusNow(row, ctx.now);
        if (isWanted && isVisible(row)) found.push(row);
      }
      if (rows.length < BATCH) return this.#page(ctx, found, null);
    }
  }

  async #page(ctx: Context, rows: store.ApprovalFacts[], next_cursor: string | null) {
    const ids = rows.map((row) => row.approval_id);
    const decisions = await store.decisionsOn(ctx.database.read, ctx.tenantId, ids);
    const byApproval = Map.groupBy(decisions, (row) => row.approval_id);
    return {
      approvals: rows.map((row) => toWire(row, byApproval.get(row.approval_id) ?? [], ctx.now)),
      next_cursor,
    };
  }

  async read(ctx: Context, approvalId: string): Promise<Approval> {
    const row = await this.#visible(ctx, approvalId);
    return toWire(row, await store.decisionsOn(ctx.database.read, ctx.tenantId, [approvalId]), ctx.now);
  }

  async approve(ctx: Context, approvalId: string, reason: string): Promise<Approval> {
    ctx.requireUnrestricted();
    const row = await this.#visible(ctx, approvalId);
    describeReason(ctx, reason);
    const { isComplete } = await this.#accept(ctx, ctx.database.read, row);
    if (isComplete) return this.#complete(ctx, approvalId, reason);
    return ctx.change(async (tx) => {
      const accepted = await this.#acceptLocked(ctx, tx, approvalId);
      if (accepted.isComplete) throw changedMeanwhile();
      await this.#record(ctx, tx, accepted, reason);
      return this.#wire(ctx, tx, approvalId);
    });
  }

  async reject(ctx: Context, approvalId: string, reason: string): Promise<Approval> {
    ctx.requireUnrestricted();
    await this.#visible(ctx, approvalId);
    describeReason(ctx, reason);
    return ctx.change(async (tx) => {
      const approval = await this.#lockPending(ctx, tx, approvalId);
      const decisions = await store.decisionsOn(tx, ctx.tenantId, [approvalId]);
      const standing = await standingOf(tx, approval, decisions);
      if (!mayReject(standing, await callerAs(ctx, tx, approval, this.#ports))) throw refusal('not_eligible');
      await store.insertDecisions(tx, [decisionRow(ctx, approval, decisions.length, 'rejected', reason)]);
      await store.settle(tx, approval, { status: 'rejected', decided_at: ctx.now });
      await this.#ports.hooks[approval.kind]?.released?.(tx, ctx.tenantId, approval);
      return this.#wire(ctx, tx, approvalId);
    });
  }

  /**
   * Carries out what was asked, inside the one change of this request: the approval is locked and asked about again, the operation done,
   * the decision recorded, with an audit entry for each of the two. A kill at any instant leaves all of it or nothing.
   */
  async #complete(ctx: Context, approvalId: string, reason: string): Promise<Approval> {
    const { kernel, tenantId } = ctx;
    const row = await store.findWhole(ctx.database.read, tenantId, approvalId);
    if (row === undefined) throw notFound('approval');
    if (row.sealed_input === null) throw changedMeanwhile();
    const order = await openOrder(kernel, row);
    const endpoint = this.#ports.endpoint(row.operation);
    if (endpoint === undefined) throw new Error(`no endpoint is called ${row.operation}`);

    let answer: Approval | undefined;
    let ownRefusal: unknown;
    const grant = { approvalId, approvedBy: ctx.principal.id, basis: order.basis };
    const requester = (db: Reader) => requesterNow(kernel, row, order, db);
    const within = async (act: (tx: Tx) => Promise<void>) => {
      answer = await ctx.change(async (tx) => {
        const accepted = await this.#acceptLocked(ctx, tx, approvalId).catch((error) => {
          ownRefusal = error;
          throw error;
        });
        await act(tx);
        await this.#record(ctx, tx, accepted, reason);
        await store.settle(tx, accepted.approval, { ...settled(ctx, accepted), status: 'completed' });
        ctx.describe({ outcome: 'completed' });
        return this.#wire(ctx, tx, approvalId);
      });
    };
    const call = callOf(order, ctx.call.requestId);
    const operation = new CarryOut(kernel, endpoint, call, grant, { within, requester });
    const { requester_id: id, requester_name: name, requester_credential_id: key } = row;
    operation.identify(tenantId, { kind: 'user', id, name, key });
    try {
      operation.become(await requester(ctx.database.read), ctx.epoch);
      ctx.alongside.push(operation);
      await operation.run();
    } catch (error) {
      ctx.alongside.length = 0;
      if (error === ownRefusal || !isFinal(error)) throw error;
      return this.#fail(ctx, operation, approvalId, reason, error);
    }
    if (answer === undefined) throw new Error(`${row.operation} was carried out outside its approval`);
    return answer;
  }

  /** It was approved, and cannot be: nothing of it remains but that. */
  async #fail(ctx: Context, operation: CarryOut, approvalId: string, reason: string, error: CofferError) {
    const headKey = await ctx.kernel.audit.headKey(ctx.tenantId);
    return ctx.change(async (tx) => {
      const accepted = await this.#acceptLocked(ctx, tx, approvalId);
      const { approval } = accepted;
      await this.#record(ctx, tx, accepted, reason);
      await store.settle(tx, approval, {
        ...settled(ctx, accepted),
        status: 'failed',
        failure_code: error.code,
        failure_message: cleanText(error.message),
      });
      await this.#ports.hooks[approval.kind]?.released?.(tx, ctx.tenantId, approval);
      const decision = error.status === 403 ? 'deny' : 'error';
      const entry = operation.entry(decision, error.status, error.auditReason ?? error.code);
      await ctx.kernel.audit.recordIn(tx, [entry], headKey);
      ctx.describe({ outcome: 'failed', failure: error.code });
      return this.#wire(ctx, tx, approvalId);
    });
  }

  /** What the caller may not see does not exist. */
  async #visible(ctx: Context, approvalId: string): Promise<store.ApprovalFacts> {
    ctx.resource = `approval/${approvalId}`;
    const isVisible = await sightOf(ctx, this.#ports);
    const row = await store.findApproval(ctx.database.read, ctx.tenantId, approvalId);
    if (row === undefined || !isVisible(row)) throw notFound('approval');
    ctx.describe({ kind: row.kind, operation: row.operation, resource: row.resource, requested_by: row.requester_id });
    return row;
  }

  async #lockPending(ctx: Context, tx: Tx, approvalId: string): Promise<store.ApprovalFacts> {
    const row = await store.lockApproval(tx, ctx.tenantId, approvalId);
    if (row === undefined) throw notFound('approval');
    refuseDecided(row, ctx.now);
    return row;
  }

  async #acceptLocked(ctx: Context, tx: Tx, approvalId: string): Promise<Accepted> {
    return this.#accept(ctx, tx, await this.#lockPending(ctx, tx, approvalId));
  }

  async #accept(ctx: Context, db: Reader, approval: store.ApprovalFacts): Promise<Accepted> {
    refuseDecided(approval, ctx.now);
    const decisions = await store.decisionsOn(db, ctx.tenantId, [approval.approval_id]);
    const standing = await standingOf(db, approval, decisions);
    const verdict = verdictOn(standing, await callerAs(ctx, db, approval, this.#ports));
    if (verdict.refusal !== null) throw refusal(verdict.refusal);
    return { approval, decided: decisions.length, ...verdict };
  }

  async #record(ctx: Context, tx: Tx, { approval, decided, covers, isSelfApproved }: Accepted, reason: string) {
    const indexes = Array.from({ length: covers }, (_, i) => decided + i);
    const rows = indexes.map((index) => decisionRow(ctx, approval, index, 'approved', reason));
    await store.insertDecisions(tx, rows);
    ctx.describe({ levels: rows.map((row) => row.level), ...(isSelfApproved && { self_approved: true }) });
  }

  async #wire(ctx: Context, tx: Tx, approvalId: string): Promise<Approval> {
    const row = await store.findApproval(tx, ctx.tenantId, approvalId);
    if (row === undefined) throw notFound('approval');
    return toWire(row, await store.decisionsOn(tx, ctx.tenantId, [approvalId]), ctx.now);
  }
}

function describeReason(ctx: Context, reason: string): void {
  if (reason !== '') ctx.describe({ reason });
}

function decisionRow(
  ctx: Context,
  { tenant_id, approval_id, kind }: store.ApprovalFacts,
  level_index: number,
  decision: store.DecisionRow['decision'],
  reason: string,
): store.DecisionRow {
  const level = ruleOf(kind).levels[level_index];
  if (level === undefined) throw new Error('an approval has no such level');
  const { id: approver_id, name: approver_name } = ctx.principal;
  return {
    tenant_id,
    approval_id,
    level_index,
    level,
    approver_id,
    approver_name,
    decision,
    reason,
    decided_at: ctx.now,
  };
}

function settled(ctx: Context, { isSelfApproved }: Accepted) {
  return { decided_at: ctx.now, self_approved: isSelfApproved ? 1 : 0 };
}

/** What will be no better when it is tried again. */
function isFinal(error: unknown): error is CofferError {
  if (!(error instanceof CofferError) || error instanceof RightsChanged) return false;
  return error.code !== 'UNAVAILABLE' && error.code !== 'RATE_LIMIT_EXCEEDED';
}

function statusNow(row: store.ApprovalFacts, now: number): Approval['status'] {
  return row.status === 'pending' && row.expires_at <= now ? 'expired' : row.status;
}

const OUTCOMES: Record<Exclude<Approval['status'], 'pending'>, string> = {
  completed: 'It was approved and carried out already.',
  rejected: 'It was rejected or withdrawn.',
  expired: 'It expired: ask for it again.',
  failed: 'It was approved and could not be carried out: ask for it again.',
};

function refuseDecided(row: store.ApprovalFacts, now: number): void {
  const status = statusNow(row, now);
  if (status !== 'pending') throw new CofferError('VERSION_CONFLICT', OUTCOMES[status]);
}

function changedMeanwhile(): CofferError {
  return new CofferError('VERSION_CONFLICT', 'Somebody else decided meanwhile: read the approval again.');
}

const REFUSALS: Record<Refusal, string> = {
  requester: 'You asked for this: somebody else has to approve it.',
  not_eligible: 'You cannot decide this: it takes an owner or an admin, or a manager of the vault.',
  decided_before: 'You approved one level already: the next one is for somebody else.',
};

function refusal(why: Refusal): CofferError {
  return new CofferError('INSUFFICIENT_PRIVILEGE', REFUSALS[why], { auditReason: `approvals:decide: ${why}` });
}

function toWire(row: store.ApprovalFacts, decisions: readonly store.DecisionRow[], now: number): Approval {
  return {
    id: row.approval_id,
    kind: row.kind,
    operation: row.operation,
    resource: row.resource,
    details: JSON.parse(row.details) as Record<string, unknown>,
    status: statusNow(row, now),
    requested_by: { id: row.requester_id, name: row.requester_name },
    created_at: timestamp(row.created_at),
    expires_at: timestamp(row.expires_at),
    decided_at: timestampOrNull(row.decided_at),
    levels: ruleOf(row.kind).levels.map((level, i) => levelToWire(level, decisions[i])),
    self_approved: row.self_approved === 1,
    failure: row.failure_code === '' ? null : { code: row.failure_code, message: row.failure_message },
  };
}

function levelToWire(
  level: Approval['levels'][number]['level'],
  row: store.DecisionRow | undefined,
): Approval['levels'][number] {
  if (row === undefined) return { level, decided_by: null, decision: null, reason: null, at: null };
  const decided_by = { id: row.approver_id, name: row.approver_name };
  return { level, decided_by, decision: row.decision, reason: row.reason || null, at: timestamp(row.decided_at) };
}
