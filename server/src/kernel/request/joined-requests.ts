import type { Authenticated } from '../auth/authentication.ts';
import type { Call } from '../auth/call.ts';
import type { ApprovalKind, Proposal } from '../endpoint/approval.ts';
import { nextTurn } from '../fairness/event-loop-turns.ts';
import { nextIteration } from '../fairness/time-slice.ts';
import type { Tx } from '../storage/database.ts';
import { requireTier } from './admission.ts';
import type { BoundEndpoint } from './binding.ts';
import { type ChangeStrategy, Context, type Outcome } from './context.ts';
import { authorizeDeclared } from './declared-authorization.ts';

import { limitByTenant } from './request-limits.ts';
import { type InputValidator, inputValidator } from './validation.ts';

/** An endpoint whose requests can be part of another request. */
export interface JoinedEndpoint extends BoundEndpoint {
  validate: InputValidator;
}

export function joinable(bound: BoundEndpoint): JoinedEndpoint {
  return { ...bound, validate: inputValidator(bound.declaration) };
}

export interface JoinedRequest {
  endpoint: JoinedEndpoint;
  call: Pick<Call, 'params' | 'body' | 'headers'>;
}

/** What one of the requests did, before the transaction commits. */
export interface JoinedResult {
  ctx: Context;
  result: unknown;
  /** Set if the request by itself would wait for approval. */
  proposal: Proposal | null;
}

type Act = (tx: Tx) => Promise<unknown>;

/** How several requests are made as one. */
interface Together<T> {
  requests: readonly JoinedRequest[];
  /** Runs in the transaction before the requests, to lock in order what they change. */
  before(tx: Tx): Promise<void>;
  /** Ends the transaction; what it returns is the response. */
  after(tx: Tx, results: readonly JoinedResult[]): Promise<T>;
  /** Names the request in an error that it throws. */
  failed(error: unknown, index: number): unknown;
}

/**
 * Makes several changes of the caller in one transaction. Each is a request to an endpoint of its own, with everything that its handler checks and with
 * its own audit entry; nothing but the transaction is shared.
 */
export async function changeTogether<T>(ctx: Context, { requests, before, after, failed }: Together<T>): Promise<T> {
  const parts: Part[] = [];
  try {
    for (const [index, request] of requests.entries()) {
      const part = new Part(ctx, request);
      parts.push(part);
      await part.upToChange(request).catch((error) => Promise.reject(failed(error, index)));
      await nextTurn(ctx.tenantId);
    }
    const answer = await ctx.change(async (tx) => {
      await before(tx);
      const results: JoinedResult[] = [];
      for (const [index, part] of parts.entries()) {
        results.push(await part.run(tx).catch((error) => Promise.reject(failed(error, index))));
        await nextIteration();
      }
      for (const { own } of parts) ctx.record.addEntriesOf(own.record, own.declaration.status);
      return after(tx, results);
    });
    await Promise.all(parts.map((part) => part.end(null)));
    return answer;
  } catch (error) {
    await Promise.all(parts.map((part) => part.end(error)));
    throw error;
  }
}

/** A request whose handler has come to its change, and waits for the transaction that makes it. */
class Part implements ChangeStrategy {
  readonly own: Context;
  readonly #outer: Context;
  readonly #reached = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<Outcome<unknown>>();
  #handled: Promise<unknown> = Promise.resolve();
  #act: Act | null = null;
  #proposal: Proposal | null = null;
  #result: unknown;

  constructor(outer: Context, { endpoint, call }: JoinedRequest) {
    const { declaration } = endpoint;
    this.#outer = outer;
    const { 'user-agent': agent } = outer.call.headers;
    const headers = { ...(agent !== undefined && { 'user-agent': agent }), ...call.headers };
    this.own = new Context(
      outer.kernel,
      declaration,
      { ...outer.call, ...call, headers, method: declaration.method },
      this,
    );
    this.own.caller.become(outer.principal, outer.caller.epoch, outer.caller.proofs);
    const approved = outer.isApproved ? outer.record.details : undefined;
    if (approved !== undefined) this.own.record.describe(approved);
    // A failed preparation leaves them unawaited.
    this.#ended.promise.catch(() => {});
  }

  async upToChange({ endpoint }: JoinedRequest): Promise<void> {
    const { own } = this;
    try {
      // A request that was approved was counted when it was made.
      if (!this.#outer.isApproved) limitByTenant(own);
      requireTier(own);
      const input = await endpoint.validate(own.call, own.tenantId);
      authorizeDeclared(own);
      this.#handled = endpoint.handler(own, input);
      this.#handled.catch(() => {});
      const unchanged = this.#handled.then(() => {
        throw new Error(`${own.declaration.name} changed nothing`);
      });
      await Promise.race([this.#reached.promise, unchanged]);
    } catch (error) {
      this.#recordRefusal();
      throw error;
    }
    this.#outer.access.alsoAccept(own.access);
  }

  /** A refusal is recorded at what was refused, as if the request had come alone. */
  #recordRefusal(): void {
    this.#outer.record.setResource(this.own.record.resource);
  }

  get isApproved(): boolean {
    return this.#outer.isApproved;
  }

  async run(tx: Tx): Promise<JoinedResult> {
    if (this.#act === null) throw new Error('a joined request has a change');
    this.#proposal = null;
    this.own.record.dropAddedEntries();
    try {
      this.#result = await this.#act(tx);
    } catch (error) {
      this.#recordRefusal();
      throw error;
    }
    this.own.access.refuseUndecided();
    return { ctx: this.own, result: this.#result, proposal: this.#proposal };
  }

  /** Lets the handler go on with what became of the change, since it may have to begin something once it is committed. */
  async end(error: unknown): Promise<void> {
    const { pending } = this.#outer;
    if (error === null) this.#ended.resolve({ kind: 'committed', result: this.#result });
    else if (pending !== null) this.#ended.resolve({ kind: 'pending', approval: pending });
    else this.#ended.reject(error);
    const handled = await Promise.allSettled([this.#handled]);
    if (error === null && handled[0].status === 'rejected') throw handled[0].reason;
  }

  commit<T>(_: Context, act: (tx: Tx) => Promise<T>): Promise<Outcome<T>> {
    this.#act = act;
    this.#reached.resolve();
    return this.#ended.promise as Promise<Outcome<T>>;
  }

  async requireApproval(_: Context, __: ApprovalKind, proposal: Proposal): Promise<void> {
    this.#proposal = proposal;
  }

  /** The outer request has authenticated the caller again just before. */
  async authenticateAgain(): Promise<Authenticated> {
    const { principal, epoch, proofs } = this.#outer.caller;
    return { principal, epoch, proofs };
  }

  async fortressVaults(): Promise<readonly string[]> {
    throw new Error('a change of secrets grants nothing');
  }
}
