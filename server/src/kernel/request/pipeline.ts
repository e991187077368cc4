import type { AuditEntry } from '../audit/entry/entry.ts';
import type { Authenticated, Authentication } from '../auth/authentication.ts';
import type { Call } from '../auth/call.ts';
import type { Principal } from '../auth/principal.ts';
import { FORWARD_STATUS, ForeignCaller, ForwardedRequest } from '../auth/region-gate.ts';
import { addressGroup } from '../base/address-group.ts';
import { CofferError } from '../base/errors.ts';
import { UnsealError } from '../crypto/sealing.ts';
import { PENDING_STATUS } from '../endpoint/approval.ts';
import { type EndpointDeclaration, type Input, NONE, NOT_MODIFIED_STATUS } from '../endpoint/declaration.ts';
import type { BulkRequest } from '../fairness/bulk-requests.ts';
import type { RateState } from '../limits/rate-limiter.ts';
import { adviceFor } from '../storage/advice.ts';
import type { Tx } from '../storage/database.ts';
import { ForgedRowError } from '../storage/row-keys.ts';
import { contentTypeIn, statusIn } from '../wire/wire-format.ts';
import { recheck } from './acceptance.ts';
import { requireEnrolment, requireOwnTenant, requireTier } from './admission.ts';
import type { ApprovalQueue } from './approval-queue.ts';
import { NotModified, Preserialized, Streamed } from './binding.ts';
import { OwnTransaction, requireLease } from './change.ts';
import { Context } from './context.ts';
import { authorizeDeclared } from './declared-authorization.ts';
import type { IdempotentRequest } from './idempotency.ts';
import type { Kernel } from './kernel.ts';
import { type CursorPlace, withBoundCursor, withPlainCursor } from './list-cursor.ts';
import type { ReadyEndpoint } from './ready-endpoint.ts';
import { refuseCaller, withoutDataHere } from './refused-caller.ts';
import { errorReply, isRefusal, isStream, type Reply } from './reply.ts';
import { countByTenant, limitByAddress, limitByTenant, overLimit, rateHeaders } from './request-limits.ts';
import { answerToSave, authorizeReplay, repeatedReply } from './saved-answer.ts';
import { requireSentFor } from './session-owner.ts';

/** The tenant or address whose share of the body memory a body counts towards. */
export type BodyHolder = { tenantId: string } | { address: string };

/** The body of a request, which is read only once the caller is authenticated. */
export interface UnreadBody {
  /** Resolves to the parsed JSON, or to undefined if the body is empty. `membersMax` bounds its keys and elements, if not as usual. */
  read(holder: BodyHolder, bytesMax: number, membersMax?: number): Promise<unknown>;
  /** Resolves to the bytes as they were sent. */
  readBytes(holder: BodyHolder, bytesMax: number): Promise<Buffer>;
  /** Called when the request is handled, and its value is needed no more. */
  release(): void;
}

const RECORDED_AT_ONCE = 200;

/** One request on its way through the steps. */
interface Run {
  readonly endpoint: ReadyEndpoint;
  readonly ctx: Context;
  rate: RateState | null;
  /** The place among bulk requests, which is left in the end. */
  bulk: BulkRequest | null;
  idempotent: IdempotentRequest | null;
}

type Answered = Omit<Reply, 'headers'> & { readonly isReplay: boolean };

/** Whether nothing but the handler has to run: most requests have no place to wait for and no response to repeat. */
function isPlain({ endpoint, ctx }: Run): boolean {
  return endpoint.declaration.bulk !== true && ctx.call.headers['idempotency-key'] === undefined;
}

/**
 * The steps of a request, in the order that the API contract requires: admit, receive, authorize, act, record, reply. Parsing and the request id
 * come before, in http/.
 */
export class Pipeline {
  readonly #kernel: Kernel;
  readonly #authentication: Authentication;
  readonly #approvals: ApprovalQueue;
  /** Reads change nothing, so they share one. */
  readonly #ofReads: OwnTransaction;

  constructor(kernel: Kernel, authentication: Authentication, approvals: ApprovalQueue) {
    this.#kernel = kernel;
    this.#authentication = authentication;
    this.#approvals = approvals;
    const storeResponse = () => Promise.reject(new Error('a read stores no response'));
    this.#ofReads = new OwnTransaction({ authentication, approvals, storeResponse });
  }

  async answer(endpoint: ReadyEndpoint, call: Call, unread: UnreadBody | null): Promise<Reply> {
    const run = this.#begin(endpoint, call);
    const { trace } = call;
    try {
      trace?.step('authenticate');
      const admitting = this.#admit(run);
      if (admitting !== undefined) await admitting;
      trace?.step('parse');
      if (unread !== null) await this.#receive(run.ctx, unread);
      const validated = endpoint.validate(run.ctx.call, run.ctx.caller.tenantIdOrNull);
      const input = validated instanceof Promise ? await validated : validated;
      trace?.step('authorize');
      authorizeDeclared(run.ctx);
      trace?.step('handle');
      const answered = isPlain(run)
        ? finishedReply(endpoint, run.ctx, await answerOf(endpoint, run.ctx, input))
        : await this.#act(run, input);
      const recording = this.#record(run, answered);
      if (recording !== undefined) await recording;
      return this.#reply(run, answered);
    } catch (error) {
      return await this.#fail(run, error);
    } finally {
      run.bulk?.handled();
      unread?.release();
    }
  }

  #begin(endpoint: ReadyEndpoint, call: Call): Run {
    const isChange = endpoint.declaration.effect === 'change';
    const strategy = isChange ? this.#changeStrategy(endpoint, () => run) : this.#ofReads;
    const ctx = new Context(this.#kernel, endpoint.declaration, call, strategy);
    const run: Run = { endpoint, ctx, rate: null, bulk: null, idempotent: null };
    return run;
  }

  #changeStrategy(endpoint: ReadyEndpoint, runOf: () => Run): OwnTransaction {
    const storeResponse = async (tx: Tx, status: number, result: unknown) => {
      const { ctx, idempotent } = runOf();
      if (idempotent === null) return;
      await this.#kernel.idempotency.save(tx, idempotent, answerToSave(endpoint, status, ctx, result));
    };
    return new OwnTransaction({ authentication: this.#authentication, approvals: this.#approvals, storeResponse });
  }

  /** Decides who the caller is, and whether their requests are served here and now. Returns a promise only if there is something to wait for. */
  #admit(run: Run): Promise<void> | undefined {
    const { endpoint, ctx } = run;
    const { declaration } = endpoint;
    // What is recorded would bear the wrong time, and what has expired would be judged by it.
    if (declaration.audit !== NONE && declaration.anyClock !== true) this.#kernel.clockGuard.refuseWrongClock();
    run.rate = limitByAddress(ctx);
    if (declaration.credentials === 'public') return admitTenant(ctx);
    const authenticating = this.#authenticate(endpoint, ctx, declaration.credentials);
    return authenticating === undefined ? this.#admitCaller(run) : authenticating.then(() => this.#admitCaller(run));
  }

  #admitCaller(run: Run): Promise<void> | undefined {
    const { ctx } = run;
    const limit = () => {
      run.rate = ctx.declaration.session === 'ends' ? countByTenant(ctx) : limitByTenant(ctx);
      requireTier(ctx);
      admitTenant(ctx);
    };
    const admitting = this.#kernel.regionGate.admit(ctx.call, ctx.declaration, ctx.tenantId, ctx.caller.epoch);
    if (admitting !== undefined) return admitting.then(limit);
    limit();
  }

  async #act(run: Run, input: Input): Promise<Answered> {
    const { endpoint, ctx } = run;
    if (endpoint.declaration.bulk === true) run.bulk = await this.#kernel.bulkRequests.enter(ctx.tenantId);
    if (ctx.call.headers['idempotency-key'] !== undefined) run.idempotent = await this.#idempotentRequest(ctx);
    const done =
      run.idempotent === null
        ? { result: await answerOf(endpoint, ctx, input) }
        : await this.#kernel.idempotency.once(run.idempotent, () => answerOf(endpoint, ctx, input));
    if (!('saved' in done)) return finishedReply(endpoint, ctx, done.result);
    authorizeReplay(ctx, done.saved);
    return { ...repeatedReply(endpoint, ctx, done.saved), isReplay: true };
  }

  /** The entries of a change were written in its transaction. Returns a promise only if there is something to wait for. */
  #record(run: Run, answered: Answered): Promise<void> | undefined {
    const { declaration, record, outcome } = run.ctx;
    const isRecorded = outcome === null && declaration.audit !== NONE && !record.isUnrecorded;
    if (isRecorded) run.ctx.call.trace?.step('audit');
    const recording = isRecorded ? this.#recordRead(run.ctx, answered.status) : undefined;
    if (declaration.effect !== 'change' && record.unlistedReads === null) return recording;
    return this.#afterRecord(run, answered, recording);
  }

  async #afterRecord({ ctx }: Run, { isReplay }: Answered, recording: Promise<void> | undefined): Promise<void> {
    await recording;
    if (ctx.declaration.effect === 'change') await requireLease(ctx, isReplay || ctx.outcome !== null);
    if (ctx.record.unlistedReads !== null) this.#countUnlisted(ctx, ctx.record.unlistedReads);
  }

  #reply({ endpoint, ctx, rate, bulk }: Run, { status, body: answered, isReplay }: Answered): Reply {
    const body =
      bulk !== null && isStream(answered) ? bulk.until(this.#untilRefused(endpoint, ctx, answered)) : answered || null;
    return { status, body, headers: replyHeaders(ctx, rate, { isReplay, hasBody: body !== null }) };
  }

  async #fail({ endpoint, ctx, rate }: Run, error: unknown): Promise<Reply> {
    if (error instanceof ForwardedRequest) return this.#forward(endpoint, ctx, error);
    return this.#refuse(endpoint, ctx, rate?.isExceeded === true ? overLimit(rate) : error, rate);
  }

  /** A caller who is revoked while a response streams does not get the rest. The refusal is recorded and the response is cut off. */
  async *#untilRefused(endpoint: ReadyEndpoint, ctx: Context, pieces: AsyncIterable<string>): AsyncGenerator<string> {
    try {
      yield* pieces;
    } catch (error) {
      if (isRefusal(error)) await this.#refuse(endpoint, ctx, error, null);
      throw error;
    }
  }

  #countUnlisted({ principal }: Context, reads: ReadonlyMap<string, number>): void {
    for (const [vault, count] of reads) this.#kernel.unlistedReads.count(principal, vault, count);
  }

  #recordRead(ctx: Context, status: number): Promise<void> {
    if (this.#kernel.regionGate.isOn || ctx.record.hasAddedEntries) return this.#recordEntries(ctx, status);
    return this.#kernel.audit.record(ctx.record.entry('allow', status, ''));
  }

  /** An export has thousands of entries. Recorded all at once, they would fill the audit queue and delay the entries of every other request. */
  async #recordEntries(ctx: Context, status: number): Promise<void> {
    const { audit } = this.#kernel;
    const entries = ctx.record.takeEntries(status);
    if (this.#kernel.regionGate.isOn) await this.#toLogOfRegion(ctx, entries);
    while (entries.length > 0) {
      await Promise.all(entries.splice(0, RECORDED_AT_ONCE).map((entry) => audit.record(entry)));
    }
  }

  /** The log of a tenant grows in its primary region only; elsewhere the operator's log has what was requested. */
  async #toLogOfRegion({ caller: { tenantIdOrNull, epoch } }: Context, entries: AuditEntry[]): Promise<void> {
    const { regionGate, operatorTenantId } = this.#kernel;
    if (tenantIdOrNull === null || (await regionGate.hasLogHere(tenantIdOrNull, epoch))) return;
    for (const entry of entries) entry.tenant_id = operatorTenantId;
  }

  /** Returns a promise only if there is something to wait for. */
  #authenticate(
    { prefetch }: ReadyEndpoint,
    ctx: Context,
    accepted: Exclude<EndpointDeclaration['credentials'], 'public'>,
  ): Promise<void> | undefined {
    const gate = {
      prefetch: (known: Principal) => prefetch?.(ctx, known) ?? null,
      recognize: (principal: Principal) => {
        requireSentFor(ctx.call, principal);
        ctx.caller.recognize(principal);
      },
    };
    const become = ({ principal, epoch, proofs }: Authenticated) => {
      requireSentFor(ctx.call, principal);
      ctx.caller.become(principal, epoch, proofs);
    };
    try {
      const authenticated = this.#authentication.authenticate(ctx, accepted, gate);
      if (authenticated instanceof Promise)
        return authenticated.then(become).catch((error) => this.#refuseCaller(ctx, error));
      become(authenticated);
    } catch (error) {
      refuseCaller(ctx, error);
    }
  }

  /** A caller whom only another region knows is forwarded, unless this endpoint never is. */
  async #refuseCaller(ctx: Context, error: unknown): Promise<never> {
    if (!(error instanceof ForeignCaller)) refuseCaller(ctx, error);
    const { tenantId } = error.token;
    requireSentFor(ctx.call, { ...error.actor, tenantId });
    ctx.caller.identify(tenantId, error.actor);
    const home = await this.#kernel.regionGate.forwardForeign(ctx.call, ctx.declaration, error);
    refuseCaller(ctx, withoutDataHere(home));
  }

  async #receive(ctx: Context, unread: UnreadBody): Promise<void> {
    const { bodyBytesMax, bodyMembersMax, body, rawBody } = ctx.declaration;
    const { principalOrNull: principal } = ctx.caller;
    const holder = principal === null ? { address: addressGroup(ctx.call.address) } : { tenantId: principal.tenantId };
    const started = performance.now();
    ctx.call.deadline?.pause();
    const value = await (rawBody === true
      ? unread.readBytes(holder, bodyBytesMax)
      : unread.read(holder, bodyBytesMax, bodyMembersMax));
    ctx.call.deadline?.resume();
    ctx.receive(body === NONE && isEmptyObject(value) ? undefined : value);
    if (performance.now() - started < PROMPT_BODY_MS) return;
    await recheck(ctx).catch((error) => refuseCaller(ctx, error));
  }

  async #idempotentRequest(ctx: Context): Promise<IdempotentRequest | null> {
    const key = ctx.call.headers['idempotency-key'];
    if (key === undefined || ctx.declaration.effect !== 'change' || ctx.caller.principalOrNull === null) return null;
    const { tenantId, credentialId } = ctx.principal;
    const { params, body = null, url, headers } = ctx.call;
    const query = url.includes('?') ? url.slice(url.indexOf('?')) : '';
    const condition = headers['if-match'];
    // Added only if present, so that responses stored before these parts were included can still be replayed.
    const more = query === '' && condition === undefined ? [] : [query, condition ?? null];
    const requestInput = [ctx.declaration.name, params, body, ...more];
    return this.#kernel.idempotency.request(String(key), tenantId, credentialId, requestInput);
  }

  /** Recorded in the log of the operator, because the tenant's own log is in its primary region. */
  async #forward(endpoint: ReadyEndpoint, ctx: Context, { region, headers }: ForwardedRequest): Promise<Reply> {
    ctx.record.describe({ forwarded_to: region, tenant: ctx.caller.tenantIdOrNull });
    const entry = ctx.record.entry('allow', FORWARD_STATUS, 'forwarded to the primary region');
    try {
      await this.#kernel.audit.record({ ...entry, tenant_id: this.#kernel.operatorTenantId });
    } catch (failure) {
      return this.#refuse(endpoint, ctx, failure, null);
    }
    // The tenant of a caller without rows here has its limits elsewhere.
    const rate = ctx.caller.principalOrNull === null ? null : countByTenant(ctx);
    return { status: FORWARD_STATUS, headers: { ...headers, ...(rate && rateHeaders(rate)) }, body: null };
  }

  /** A refusal is recorded before the caller gets it. If it cannot be recorded, the response is 503 instead. */
  async #refuse(endpoint: ReadyEndpoint, ctx: Context, thrown: unknown, rate: RateState | null): Promise<Reply> {
    let error = this.#known(endpoint, ctx, thrown);
    if (endpoint.declaration.audit !== NONE && error.code !== 'UNAVAILABLE') {
      const isDenied = [401, 403, 429].includes(error.status);
      const status = statusIn(endpoint.declaration.format, error.code);
      const entry = ctx.record.entry(isDenied ? 'deny' : 'error', status, error.auditReason ?? error.code);
      try {
        await this.#toLogOfRegion(ctx, [entry]);
        await this.#kernel.refusals.record(entry, ctx.caller.principalOrNull !== null && error.status !== 429);
      } catch (failure) {
        error = this.#known(endpoint, ctx, failure);
      }
    }
    const headers = { ...(rate && rateHeaders(rate)), ...error.headers };
    if (error.retryAfterSeconds !== undefined) headers['Retry-After'] = String(error.retryAfterSeconds);
    const { accept } = ctx.call.headers;
    return errorReply(error, ctx.call.requestId, headers, { ...endpoint.declaration, accept });
  }

  /** Turns any error into one that may be shown to the caller. Unexpected errors are logged in full and reported as a 500. */
  #known({ declaration, declaredErrors }: ReadyEndpoint, ctx: Context, error: unknown): CofferError {
    const { log } = this.#kernel;
    const where = { endpoint: declaration.name, request_id: ctx.call.requestId };
    if (error instanceof UnsealError) {
      log.error({ err: error, ...where, what_to_do: NOT_OPENED }, 'a stored value cannot be decrypted');
      return new CofferError(
        'INTERNAL_ERROR',
        'A stored value was damaged or changed, and cannot be decrypted. Tell the operator of the service.',
      );
    }
    if (error instanceof ForgedRowError) {
      // The table and the row were logged where they were found.
      log.warn({ ...where }, 'a request needs a row that is refused');
      return new CofferError(
        'INTERNAL_ERROR',
        'A stored row was not written by the service, and is not trusted. Tell the operator of the service.',
      );
    }
    if (!(error instanceof CofferError)) {
      log.error({ err: error, ...where }, 'unexpected error');
      return new CofferError('INTERNAL_ERROR', 'The service failed. Give the request id to its operator.');
    }
    if (!declaredErrors.has(error.code)) log.error({ code: error.code, ...where }, 'undeclared error code');
    if (error.code === 'UNAVAILABLE') {
      log.warn({ err: error.cause, ...where, what_to_do: adviceFor(error.cause) }, 'unavailable');
    } else if (error.status >= 500) log.warn({ code: error.code, ...where }, 'a request failed');
    return error;
  }
}

/** A body that takes longer than this to arrive is a wait during which the caller's rights may have been revoked. */
const PROMPT_BODY_MS = 100;

const NOT_OPENED =
  'A stored value was damaged or changed. Keep a copy of the database, check its disk, and restore the value from a backup; other values are not affected.';

/** Some clients always send an object as the body. */
function isEmptyObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0;
}

function replyHeaders(
  ctx: Context,
  rate: RateState | null,
  { isReplay, hasBody }: { isReplay: boolean; hasBody: boolean },
): Record<string, string> {
  const headers: Record<string, string> = rate === null ? {} : rateHeaders(rate);
  if (isReplay) headers['Idempotency-Replayed'] = 'true';
  const { raw, format } = ctx.declaration;
  if (raw !== NONE) headers['Content-Type'] = raw;
  else if (format && hasBody) headers['Content-Type'] = contentTypeIn(format, ctx.call.headers.accept);
  for (const name in ctx.replyHeaders) headers[name] = ctx.replyHeaders[name] as string;
  return headers;
}

function admitTenant(ctx: Context): undefined {
  requireOwnTenant(ctx);
  requireEnrolment(ctx);
}

/** A change that waits for approval ends its handler by throwing; the stored pending approval is then the response. */
function answerOf(endpoint: ReadyEndpoint, ctx: Context, input: Input): Promise<unknown> {
  const { declaration, handler, cursorPlace } = endpoint;
  if (cursorPlace !== null) return listPage(endpoint, ctx, cursorPlace, input);
  if (declaration.approval === NONE) return handler(ctx, input);
  return handler(ctx, input).catch((error) => {
    const { pending } = ctx;
    if (pending === null) throw error;
    return pending;
  });
}

async function listPage({ handler }: ReadyEndpoint, ctx: Context, place: CursorPlace, input: Input): Promise<unknown> {
  return withBoundCursor(ctx, await handler(ctx, await withPlainCursor(ctx, place, input)));
}

function finishedReply(endpoint: ReadyEndpoint, ctx: Context, result: unknown): Answered {
  const { declaration } = endpoint;
  const { outcome } = ctx;
  if (outcome?.kind === 'pending') return answered(PENDING_STATUS, JSON.stringify(outcome.approval));
  if (outcome !== null && outcome.result !== result) {
    throw new Error(`${declaration.name} must answer with what its change returned`);
  }
  ctx.access.refuseUndecided();
  if (result instanceof NotModified) {
    if (declaration.ifNoneMatch !== true) throw new Error(`${declaration.name} declares no If-None-Match`);
    return answered(NOT_MODIFIED_STATUS, null);
  }
  if (result instanceof Preserialized) return answered(declaration.status, result.text);
  if (result instanceof Streamed) {
    if (declaration.bulk !== true) throw new Error(`${declaration.name} streams, so it must be declared as bulk`);
    return answered(declaration.status, result.pieces);
  }
  if (declaration.raw !== NONE) return answered(declaration.status, result as string | Uint8Array);
  if (declaration.output === NONE) return answered(declaration.status, null);
  return answered(declaration.status, endpoint.serialize(result));
}

function answered(status: number, body: Reply['body']): Answered {
  return { status, body, isReplay: false };
}
