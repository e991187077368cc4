import { type AccessContext, conditionHolds, requestTests, resourceTests } from './condition.ts';
import type { CompiledPolicy, CompiledStatement } from './policy.ts';

/** Where a thing is, and what of it policies ask about. */
export interface Described {
  readonly resource: string;
  readonly attributes: Pick<AccessContext, 'environment' | 'tags'>;
}

/** What a statement asks about addresses and times. */
type Asked = ReadonlySet<string>;
interface Bearing {
  readonly allow: readonly Asked[];
  readonly deny: readonly Asked[];
}

/**
 * Whether the thing could be shown as it is described after, by one of these actions, to some request to which none of them would show it as it
 * is described before. Who makes the change chooses from where and when they ask afterwards, so whether a condition on addresses or times holds
 * now is no matter; each is taken to hold or not, whatever the others do, but the same one holds on both sides or on neither.
 */
export function couldDisclose(
  policies: readonly CompiledPolicy[],
  actions: readonly string[],
  before: Described,
  after: Described,
): boolean {
  return [true, false].some((mfa) => {
    const hidden = actions.map((action) => bearingOn(policies, action, before, mfa));
    return actions.some((action) => {
      const { allow, deny } = bearingOn(policies, action, after, mfa);
      return allow.some(
        (granted) => !anyHolds(deny, granted) && hidden.every((bearing) => mayRefuse(bearing, granted, deny)),
      );
    });
  });
}

/** Whether it can be refused while `held` holds and none of `notHeld` does. */
function mayRefuse({ allow, deny }: Bearing, held: Asked, notHeld: readonly Asked[]): boolean {
  return !anyHolds(allow, held) || deny.some((one) => !anyHolds(notHeld, one.union(held)));
}

/** Whether one of them must hold where all of `held` does. */
function anyHolds(some: readonly Asked[], held: Asked): boolean {
  return some.some((one) => one.isSubsetOf(held));
}

/** The statements that apply, as far as is known without address and time. */
function bearingOn(policies: readonly CompiledPolicy[], action: string, described: Described, mfa: boolean): Bearing {
  const bearing = { allow: [] as Asked[], deny: [] as Asked[] };
  for (const policy of policies) {
    const { allow, deny } = policy.statementsFor(action);
    for (const statement of [...allow, ...deny]) {
      const asked = askedBy(statement, described, mfa);
      if (asked !== null) bearing[statement.effect].push(asked);
    }
  }
  return bearing;
}

function askedBy(
  { resources, condition, effect }: CompiledStatement,
  { resource, attributes }: Described,
  mfa: boolean,
): Asked | null {
  if (!resources.some((pattern) => pattern.matchesResource(resource))) return null;
  const ofRequest = requestTests(condition);
  const known = [...resourceTests(condition), ...ofRequest.filter(({ kind }) => kind === 'mfa')];
  if (!conditionHolds(known, { ...attributes, mfa, time: NaN }, effect)) return null;
  return new Set(ofRequest.filter(({ kind }) => kind !== 'mfa').map(({ text }) => text));
}
