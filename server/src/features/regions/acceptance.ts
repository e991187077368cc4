import type { Clock } from '../../kernel/base/clock.ts';
import { isTooFarAhead, seqMax } from './crdt/hybrid-clock.ts';
import { malformation, type Operation } from './crdt/operation.ts';
import type { RegionIdentity } from './identity.ts';

export type SyncProblem = 'malformed' | 'unknown_origin' | 'bad_signature' | 'clock_ahead' | 'too_many_pushed';

/** What another region sent is not accepted. */
export class RefusedBatch extends Error {
  override readonly name = 'RefusedBatch';
  readonly problem: SyncProblem;

  constructor(problem: SyncProblem, message: string) {
    super(message);
    this.problem = problem;
  }
}

/** Why what another region sent is not accepted. */
export class Acceptance {
  readonly #identity: RegionIdentity;
  readonly #clock: Clock;

  constructor(identity: RegionIdentity, clock: Clock) {
    this.#identity = identity;
    this.#clock = clock;
  }

  problemOf(operation: Operation): RefusedBatch | null {
    return this.#lastingProblem(operation) ?? this.#clockProblem(operation);
  }

  /** Throws if the page cannot be from a region that works as it should. */
  problemInPage(from: string, operation: Operation): RefusedBatch | null {
    const wrong = this.#lastingProblem(operation);
    if (wrong !== null && (operation.origin === from || wrong.problem === 'malformed')) throw wrong;
    return wrong ?? this.#clockProblem(operation);
  }

  /** The problem with a number up to which somebody has the operations of an origin; with one that is too high, later ones would be missed. */
  problemOfNumber(origin: string, seq: number): RefusedBatch | null {
    return seq <= seqMax(this.#clock.now()) ? null : clockAhead(origin);
  }

  #lastingProblem(operation: Operation): RefusedBatch | null {
    const problem = malformation(operation);
    if (problem !== null) return new RefusedBatch('malformed', problem);
    if (!this.#identity.isKnownRegion(operation.origin))
      return new RefusedBatch('unknown_origin', 'an operation is from a region that is not configured');
    if (!this.#identity.isSigned(operation))
      return new RefusedBatch('bad_signature', `an operation is not signed by its origin, ${operation.origin}`);
    return null;
  }

  #clockProblem(operation: Operation): RefusedBatch | null {
    const { origin, seq } = operation;
    return isTooFarAhead(operation, this.#clock.now()) ? clockAhead(origin) : this.problemOfNumber(origin, seq);
  }
}

function clockAhead(origin: string): RefusedBatch {
  return new RefusedBatch('clock_ahead', `the clock of ${origin} is more than a minute ahead of this region's`);
}
