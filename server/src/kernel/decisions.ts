import { isDeepStrictEqual } from 'node:util';
import { CofferError } from './errors.ts';
import type { Principal } from './principal.ts';

/** One thing that was asked about the caller's rights, and what came of it. */
interface Decision {
  decide(principal: Principal): unknown;
  outcome: unknown;
}

/** What a change decided about its caller. If their rights may have changed before it commits, all of it is decided again. */
export class Decisions {
  readonly #made: Decision[] = [];

  add(decide: (principal: Principal) => unknown, outcome: unknown): void {
    this.#made.push({ decide, outcome });
  }

  /** Whether the change would take the same way for the caller as they are now. */
  standFor(now: Principal, before: Principal): boolean {
    if (FACTS.some((fact) => now[fact] !== before[fact])) return false;
    return this.#made.every(({ decide, outcome }) => isDeepStrictEqual(decide(now), outcome));
  }
}

/** What rules read off the principal itself. */
const FACTS = [
  'kind',
  'tenantId',
  'isOperator',
  'plan',
  'id',
  'role',
  'credential',
  'credentialId',
  'mfaAt',
] as const satisfies readonly (keyof Principal)[];

/** Some of what a change rests on is decided otherwise now. Sent again, it is decided from its beginning. */
export class RightsChanged extends CofferError {
  constructor() {
    super('IN_USE', 'Your rights changed while this was under way, and nothing was done: send it again.', {
      auditReason: 'the rights of the caller changed meanwhile',
      retryAfterSeconds: 1,
    });
  }
}
