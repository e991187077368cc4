import { isDeepStrictEqual } from 'node:util';
import type { Principal } from '../auth/principal.ts';
import { CofferError } from '../base/errors.ts';
import { inSlices, nextIteration } from '../fairness/time-slice.ts';

/** One question about the caller's rights, with its outcome. */
interface Decision {
  decide(principal: Principal): Generator<void, unknown>;
  outcome: unknown;
}

/** The decisions a change made about its caller. If the caller's rights may have changed before the commit, all of them are repeated. */
export class Decisions {
  readonly #made: Decision[] = [];

  add(decide: (principal: Principal) => unknown, outcome: unknown): void {
    this.addSteps((principal) => inOneStep(() => decide(principal)), outcome);
  }

  addSteps(decide: (principal: Principal) => Generator<void, unknown>, outcome: unknown): void {
    this.#made.push({ decide, outcome });
  }

  /** Whether every decision comes out the same for the caller as they are now. */
  async standFor(now: Principal, before: Principal): Promise<boolean> {
    if (FACTS.some((fact) => now[fact] !== before[fact])) return false;
    // This happens in a transaction, whose locks would be held longer if other tenants took their turns.
    return inSlices(this.#repeated(now), nextIteration);
  }

  *#repeated(now: Principal): Generator<void, boolean> {
    for (const { decide, outcome } of this.#made) {
      if (!isDeepStrictEqual(yield* decide(now), outcome)) return false;
      yield;
    }
    return true;
  }
}

/** Properties of the principal that handlers read directly. */
const FACTS = [
  'kind',
  'tenantId',
  'isOperator',
  'plan',
  'id',
  'role',
  'credential',
  'credentialId',
  'signedInAt',
  'mfaAt',
] as const satisfies readonly (keyof Principal)[];

/** A decision that the change relies on would be different now. If the client sends the request again, it is decided from the start. */
export class RightsChanged extends CofferError {
  constructor() {
    super('IN_USE', 'Your permissions changed during the request, and nothing was done: send it again.', {
      auditReason: 'the rights of the caller changed meanwhile',
      retryAfterSeconds: 1,
    });
  }
}

// biome-ignore lint/correctness/useYield: there is nothing to interrupt
function* inOneStep<T>(act: () => T): Generator<void, T> {
  return act();
}
