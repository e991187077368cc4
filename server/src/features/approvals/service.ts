import { cleanText } from '../../kernel/audit/entry/entry.ts';
import { isAdminRole } from '../../kernel/authz/roles.ts';
import { CofferError, notFound } from '../../kernel/base/errors.ts';
import { idForm } from '../../kernel/base/ids.ts';
import { ruleOf } from '../../kernel/endpoint/approval.ts';
import type { Query } from '../../kernel/endpoint/declaration.ts';
import { mapInSlices, TimeSlice } from '../../kernel/fairness/time-slice.ts';
import type { Acceptance } from '../../kernel/request/access.ts';
import { ApprovedRequest } from '../../kernel/request/approved-request.ts';
import type { Context } from '../../kernel/request/context.ts';
import { RightsChanged } from '../../kernel/request/decisions.ts';
import type { ReadyEndpoint } from '../../kernel/request/ready-endpoint.ts';
import { cursorAt, openedCursor, type SearchedList, sealedCursor } from '../../kernel/request/sealed-cursor.ts';
import { proofRequired } from '../../kernel/request/second-factor.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import { LIST_LIMIT_DEFAULT } from '../../kernel/wire/wire.ts';
import { emitDecided } from './approval-events.ts';
import { approvalStateOf, approvalStatesOf, type DecidedSoFar, reviewFilter, visibilityFilter } from './approvers.ts';
import { type ApprovalDetail, approveApproval, type listApprovals, readApproval } from './contract.ts';
import { endedRequests } from './ended-requests.ts';
import { mayReject, verdictOn } from './levels.ts';
import type { ApprovalPorts } from './ports.ts';
import { changedMeanwhile, notReviewing, notWhatWasSeen, refusal, refuseDecided } from './refusals.ts';
import { visibleNames } from './request-names.ts';
import { digestOf, type ShownRequest, shownRequest } from './shown-request.ts';
import * as store from './store.ts';
import { callOf, openRequest, requesterNow, requesterOf } from './stored-request.ts';
import { revealed } from './waiting-change.ts';
import { type Current, conflictDetails, statusOf, toDetail, toWire, withoutFindings } from './wire.ts';

/** Maximum approvals that one request may scan for those the caller may see. */
const SCAN_MAX = 2000;
const BATCH = 200;
const APPROVALS: SearchedList = { name: 'approvals', form: idForm('approval') };

/** A permitted decision: the levels it counts for, and what follows from it. */
interface Accepted {
  approval: store.ApprovalFacts;
  decided: number;
  covers: number;
  isComplete: boolean;
  isSelfApproved: boolean;
  isSingleApprover: boolean;
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
    if (!ctx.access.may(readApproval.permission, readApproval.resource)) return { approvals: [], next_cursor: null };
    const isVisible = await visibilityFilter(ctx, this.#ports);
    const found: Current[] = [];
    const slice = TimeSlice.of(ctx.tenantId);
    for (let looked = 0; ; ) {
      const rows = await store.approvalsBack(ctx.database.read, ctx.tenantId, indexed, { before, limit: BATCH });
      const ended = await endedRequests(ctx.database.read, ctx.tenantId, rows);
      for (const row of rows) {
        if (before !== null && found.length === limit) return this.#page(ctx, found, cursorAt(before));
        if (before !== null && looked === SCAN_MAX) {
          return this.#page(ctx, found, await sealedCursor(ctx, APPROVALS, before));
        }
        looked++;
        before = row.approval_id;
        const current = { row, decisions: [], endedBy: ended.get(row.approval_id), now: ctx.now };
        const pause = slice.pause();
        if (pause !== undefined) await pause;
        const isRequested = query.requester !== 'self' || row.requester_id === ctx.principal.id;
        const isWanted = isRequested && (query.status === undefined || query.status === statusOf(current));
        if (isWanted && isVisible(row)) found.push(current);
      }
      if (rows.length < BATCH) return this.#page(ctx, found, null);
    }
  }

  async #page(ctx: Context, found: Current[], next_cursor: string | null) {
    const ids = found.map(({ row }) => row.approval_id);
    const { read } = ctx.database;
    const decisions = await store.decisionsOn(read, ctx.tenantId, ids);
    const byApproval = Map.groupBy(decisions, (row) => row.approval_id);
    const page = found.map((one) => ({ ...one, decisions: byApproval.get(one.row.approval_id) ?? [] }));
    const approvable = await this.#approvable(ctx, read, page);
    return { approvals: page.map((one) => toWire(one, approvable.has(one.row.approval_id))), next_cursor };
  }

  async read(ctx: Context, approvalId: string): Promise<ApprovalDetail> {
    const row = await this.#visible(ctx, approvalId);
    const shown = await this.#shown(ctx, await this.#whole(ctx, approvalId));
    return this.#detail(ctx, ctx.database.read, row, shown);
  }

  /** Only for reviewers of the change, while it waits: the request is deleted once it is decided. */
  async reveal(ctx: Context, approvalId: string, path: string | undefined) {
    ctx.access.authorizeAlso(readApproval.permission, readApproval.resource);
    const row = await this.#visible(ctx, approvalId);
    const isReviewer = await reviewFilter(ctx, this.#ports);
    if (!isReviewer(row)) throw notReviewing();
    refuseDecided(await this.#current(ctx, ctx.database.read, row));
    const whole = await this.#whole(ctx, approvalId);
    if (whole.sealed_input === null) throw changedMeanwhile();
    ctx.record.describe({ approval_id: approvalId });
    return revealed(ctx, row, await openRequest(ctx.kernel, whole), path);
  }

  async approve(ctx: Context, approvalId: string, digest: string, reason: string): Promise<ApprovalDetail> {
    ctx.access.requireUnrestricted();
    await this.#visible(ctx, approvalId);
    describeReason(ctx, reason);
    const whole = await this.#whole(ctx, approvalId);
    const { isComplete } = await this.#acceptUnlocked(ctx, whole);
    const shown = await this.#shown(ctx, whole);
    // The shown request never changes while it is pending, so its digest is compared once, before any lock is taken.
    if (shown === null || digestOf(whole, shown) !== digest) throw notWhatWasSeen();
    ctx.record.describe({ digest });
    ctx.access.alsoAccept(this.#acceptance(ctx, approvalId));
    if (isComplete) return this.#complete(ctx, whole, shown, reason);
    return ctx.change(async (tx) => {
      const accepted = await this.#acceptLocked(ctx, tx, approvalId);
      if (accepted.isComplete) throw changedMeanwhile();
      await this.#record(ctx, tx, accepted, reason);
      return this.#wire(ctx, tx, approvalId, shown);
    });
  }

  async reject(ctx: Context, approvalId: string, reason: string): Promise<ApprovalDetail> {
    ctx.access.requireUnrestricted();
    await this.#visible(ctx, approvalId);
    const shown = await this.#shown(ctx, await this.#whole(ctx, approvalId));
    describeReason(ctx, reason);
    return ctx.change(async (tx) => {
      const approval = await this.#lockPending(ctx, tx, approvalId);
      const decisions = await store.decisionsOn(tx, ctx.tenantId, [approvalId]);
      const decided = withReviewer(ctx, await reviewFilter(ctx, this.#ports), { row: approval, decisions });
      const state = await approvalStateOf(tx, decided, this.#ports);
      if (!mayReject(state, ctx.principal.id)) throw refusal('not_eligible');
      await store.insertDecisions(tx, [
        decisionRow(ctx, approval, { level_index: decisions.length, decision: 'rejected', reason }),
      ]);
      await store.settle(tx, approval, { status: 'rejected', decided_at: ctx.now });
      await emitDecided(tx, approval, 'rejected', ctx.now);
      await this.#ports.hooks[approval.kind]?.released?.(tx, ctx.tenantId, approval);
      return this.#wire(ctx, tx, approvalId, shown);
    });
  }

  /**
   * Executes the stored request inside this request's one transaction: the approval is locked and checked again, the operation executed and the
   * decision stored, with an audit entry for each of the two. A kill at any instant leaves all of it or nothing.
   */
  async #complete(ctx: Context, row: store.ApprovalRow, shown: string, reason: string): Promise<ApprovalDetail> {
    const { kernel, tenantId } = ctx;
    const { approval_id: approvalId } = row;
    if (row.sealed_input === null) throw changedMeanwhile();
    const stored = await openRequest(kernel, row);
    const endpoint = this.#endpoint(row);

    let answer: ApprovalDetail | undefined;
    let ownRefusal: unknown;
    const grant = { approvalId, approvedBy: ctx.principal.id, proposal: stored };
    const requester = (db: Reader) => requesterNow(kernel, row, stored, db);
    const within = async (act: (tx: Tx) => Promise<void>) => {
      answer = await ctx.change(async (tx) => {
        const accepted = await this.#acceptLocked(ctx, tx, approvalId).catch((error) => {
          ownRefusal = error;
          throw error;
        });
        await act(tx);
        await this.#record(ctx, tx, accepted, reason);
        await store.settle(tx, accepted.approval, { ...settled(ctx, accepted), status: 'completed' });
        await emitDecided(tx, accepted.approval, 'completed', ctx.now);
        ctx.record.describe({ outcome: 'completed' });
        return this.#wire(ctx, tx, approvalId, shown);
      });
    };
    const call = callOf(stored, endpoint.declaration.method, ctx.call.requestId);
    const around = { tenantId, fortressVaults: this.#ports.fortressVaults, within, requester };
    const operation = new ApprovedRequest(kernel, { endpoint, call, requester: requesterOf(row), grant, around });
    try {
      await operation.authenticate(ctx.database.read, ctx.caller.epoch);
      ctx.access.alsoAccept(operation.access);
      await operation.run();
    } catch (error) {
      ctx.access.noLongerAccept(operation.access);
      if (error === ownRefusal || !isFinal(error)) throw error;
      return this.#fail(ctx, operation, row, { shown, reason, error });
    }
    if (answer === undefined) throw new Error(`${row.operation} was carried out outside its approval`);
    return answer;
  }

  /** Stores that the request was approved and could not be executed. Nothing else of it remains. */
  async #fail(
    ctx: Context,
    operation: ApprovedRequest,
    { approval_id: approvalId }: store.ApprovalRow,
    { shown, reason, error }: { shown: string; reason: string; error: CofferError },
  ): Promise<ApprovalDetail> {
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
        failure_details: conflictDetails(error),
      });
      await emitDecided(tx, approval, 'failed', ctx.now);
      await this.#ports.hooks[approval.kind]?.released?.(tx, ctx.tenantId, approval);
      const decision = error.status === 403 ? 'deny' : 'error';
      const entry = operation.record.entry(decision, error.status, error.auditReason ?? error.code);
      await ctx.kernel.audit.recordIn(tx, [entry], headKey);
      ctx.record.describe({ outcome: 'failed', failure: error.code });
      return this.#wire(ctx, tx, approvalId, shown);
    });
  }

  /** An approval that the caller may not see is reported as not found. */
  async #visible(ctx: Context, approvalId: string): Promise<store.ApprovalFacts> {
    ctx.record.setResource(`approval/${approvalId}`);
    const isVisible = await visibilityFilter(ctx, this.#ports);
    const row = await store.findWhole(ctx.database.read, ctx.tenantId, approvalId);
    if (row === undefined || !isVisible(row)) throw notFound('approval');
    ctx.record.describe({
      kind: row.kind,
      operation: row.operation,
      resource: row.resource,
      requested_by: row.requester_id,
    });
    return row;
  }

  #endpoint({ operation }: Pick<store.ApprovalRow, 'operation'>): ReadyEndpoint {
    const endpoint = this.#ports.endpoint(operation);
    if (endpoint === undefined) throw new Error(`no endpoint is called ${operation}`);
    return endpoint;
  }

  async #whole(ctx: Context, approvalId: string, db: Reader = ctx.database.read): Promise<store.ApprovalRow> {
    const row = await store.findWhole(db, ctx.tenantId, approvalId);
    if (row === undefined) throw notFound('approval');
    return row;
  }

  /** Requests of release 0.4 and before were stored without `shown`. It is derived from the sealed request while that exists. */
  async #shown(ctx: Context, row: store.ApprovalRow): Promise<string | null> {
    if (row.shown !== null || row.sealed_input === null) return row.shown;
    const request = shownRequest(this.#endpoint(row).declaration, await openRequest(ctx.kernel, row));
    return JSON.stringify({ ...request, names: {} });
  }

  async #current(ctx: Context, db: Reader, row: store.ApprovalFacts): Promise<Current> {
    const decisions = await store.decisionsOn(db, ctx.tenantId, [row.approval_id]);
    const ended = await endedRequests(db, ctx.tenantId, [row]);
    return { row, decisions, endedBy: ended.get(row.approval_id), now: ctx.now };
  }

  async #lockPending(ctx: Context, tx: Tx, approvalId: string): Promise<store.ApprovalFacts> {
    const row = await store.lockApproval(tx, ctx.tenantId, approvalId);
    if (row === undefined) throw notFound('approval');
    refuseDecided(await this.#current(ctx, tx, row));
    return row;
  }

  /** Without a lock the row may be older than its decisions. A caller who seems ineligible may only be late, and then gets the outcome instead. */
  async #acceptUnlocked(ctx: Context, row: store.ApprovalRow): Promise<Accepted> {
    const { read } = ctx.database;
    try {
      return await this.#accept(ctx, read, row);
    } catch (error) {
      refuseDecided(await this.#current(ctx, read, await this.#whole(ctx, row.approval_id)));
      throw error;
    }
  }

  async #acceptLocked(ctx: Context, tx: Tx, approvalId: string): Promise<Accepted> {
    return this.#accept(ctx, tx, await this.#lockPending(ctx, tx, approvalId));
  }

  /**
   * Checks again before the commit if anybody's rights changed since the row was locked. Once a revocation has returned, the revoked person's request
   * is no longer executed and their decision no longer counts.
   */
  #acceptance(ctx: Context, approvalId: string): Acceptance {
    return {
      acceptAgain: async ({ db }) => {
        await this.#accept(ctx, db, await this.#whole(ctx, approvalId, db));
      },
    };
  }

  async #accept(ctx: Context, db: Reader, approval: store.ApprovalFacts): Promise<Accepted> {
    const current = await this.#current(ctx, db, approval);
    refuseDecided(current);
    const decided = withReviewer(ctx, await reviewFilter(ctx, this.#ports), current);
    const verdict = verdictOn(await approvalStateOf(db, decided, this.#ports), ctx.principal.id);
    if (verdict.refusal !== null) throw refusal(verdict.refusal);
    if (ruleOf(approval.kind).needsProof === true && !ctx.access.isFactorProven) throw proofRequired('Approving this');
    return { approval, decided: current.decisions.length, ...verdict };
  }

  async #record(ctx: Context, tx: Tx, { approval, decided, covers, ...how }: Accepted, reason: string) {
    const indexes = Array.from({ length: covers }, (_, i) => decided + i);
    const rows = indexes.map((index) =>
      decisionRow(ctx, approval, { level_index: index, decision: 'approved', reason }),
    );
    await store.insertDecisions(tx, rows);
    ctx.record.describe({
      levels: rows.map((row) => row.level),
      ...(how.isSelfApproved && { self_approved: true }),
      ...(how.isSingleApprover && { single_approver: true }),
    });
  }

  async #wire(ctx: Context, tx: Tx, approvalId: string, shown: string | null): Promise<ApprovalDetail> {
    const row = await store.findWhole(tx, ctx.tenantId, approvalId);
    if (row === undefined) throw notFound('approval');
    return this.#detail(ctx, tx, row, shown);
  }

  /** The digest covers the stored request, whichever of its names this caller may see. */
  async #detail(ctx: Context, db: Reader, row: store.ApprovalFacts, shown: string | null): Promise<ApprovalDetail> {
    const current = await this.#current(ctx, db, row);
    const canApprove = (await this.#approvable(ctx, db, [current])).has(row.approval_id);
    if (shown === null) return toDetail(current, canApprove, null, null);
    const request = JSON.parse(shown) as ShownRequest;
    const names = await visibleNames(ctx, db, request.names);
    if (!isAskerAlone(ctx, row)) return toDetail(current, canApprove, shown, { ...request, names });
    return withoutFindings(toDetail(current, canApprove, shown, { ...request, names }));
  }

  /** The ids of those that the caller could approve now, by the same rules as `approve`; a second factor is not required yet. */
  async #approvable(ctx: Context, db: Reader, page: readonly Current[]): Promise<ReadonlySet<string>> {
    const { permission, resource } = approveApproval;
    if (ctx.access.isRestricted || !ctx.access.may(permission, resource)) return new Set();
    const pending = page.filter((one) => statusOf(one) === 'pending');
    const isReviewer = await reviewFilter(ctx, this.#ports);
    const decided = await mapInSlices(ctx.tenantId, pending, (one) => withReviewer(ctx, isReviewer, one));
    const states = await approvalStatesOf(db, ctx.tenantId, decided, this.#ports);
    const accepted = [...states].filter(([, state]) => verdictOn(state, ctx.principal.id).refusal === null);
    return new Set(accepted.map(([id]) => id));
  }
}

/**
 * A requester who cannot read everything is shown their request, but not what the service looked up for it, such as group members or policy
 * documents.
 */
function isAskerAlone({ principal }: Context, { requester_id }: store.ApprovalFacts): boolean {
  return requester_id === principal.id && !isAdminRole(principal.role) && principal.role !== 'auditor';
}

function withReviewer(
  { principal }: Context,
  isReviewer: (approval: store.ApprovalFacts) => boolean,
  approval: DecidedSoFar,
): DecidedSoFar {
  return isReviewer(approval.row) ? { ...approval, reviewers: [principal.id] } : approval;
}

function describeReason(ctx: Context, reason: string): void {
  if (reason !== '') ctx.record.describe({ reason });
}

function decisionRow(
  ctx: Context,
  { tenant_id, approval_id, kind }: store.ApprovalFacts,
  { level_index, decision, reason }: { level_index: number; decision: store.DecisionRow['decision']; reason: string },
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

function settled(ctx: Context, { isSelfApproved, isSingleApprover }: Accepted) {
  return {
    decided_at: ctx.now,
    self_approved: isSelfApproved ? 1 : 0,
    ...(isSingleApprover && { single_approver: 1 }),
  };
}

/** Whether a retry would fail in the same way. */
function isFinal(error: unknown): error is CofferError {
  if (!(error instanceof CofferError) || error instanceof RightsChanged) return false;
  return error.code !== 'UNAVAILABLE' && error.code !== 'RATE_LIMIT_EXCEEDED';
}
