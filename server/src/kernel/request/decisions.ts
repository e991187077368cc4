import { isDeepStrictEqual } from 'node:util';
import { CofferError } from '../platform/errors.ts';
import type { Principal } from './principal.ts';

/** One question about the caller's rights, with its outcome. */
interface Decision {
  decide(principal: Principal): unknown;
  outcome: unknown;
}

/** The decisions a change made about its caller. If the caller's rights may have changed before the commit, all of them are repeated. */
export class Decisions {
  readonly #made: Decision[] = [];

  add(decide: (principal: Principal) => unknown, outcome: unknown): void {
    this.#made.push({ decide, outcome });
  }

  /** Whether every decision comes out the same for the caller as they are now. */
  standFor(now: Principal, before: Principal): boolean {
    if (FACTS.some((fact) => now[fact] !== before[fact])) return false;
    return this.#made.every(({ decide, outcome }) => isDeepStrictEqual(decide(now), outcome));
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
