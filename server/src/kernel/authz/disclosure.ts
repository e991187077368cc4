import { type AccessContext, conditionHolds, requestTests, resourceTests } from './condition.ts';
import type { CompiledPolicy, CompiledStatement } from './policy.ts';

/** A resource with the attributes that policies test. */
export interface Described {
  readonly resource: string;
  readonly attributes: Pick<AccessContext, 'environment' | 'tags'>;
}

/** The address and time conditions of a statement. */
type Asked = ReadonlySet<string>;
interface Bearing {
  readonly allow: readonly Asked[];
  readonly deny: readonly Asked[];
}

/**
 * Whether the resource could be shown as described in `after`, by one of these actions, to some request for which none of them would show it as
 * described in `before`. The caller chooses from where and when to make that later request, so it does not matter whether a condition on addresses
 * or times holds now. Each condition may hold or not, independently of the others, but it has the same value for `before` and `after`.
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

/** Whether one of these actions on the resource could be allowed to some request, whatever its address, its time and its second factor. */
export function couldShow(
  policies: readonly CompiledPolicy[],
  actions: readonly string[],
  described: Described,
): boolean {
  return [true, false].some((mfa) =>
    actions.some((action) => {
      const { allow, deny } = bearingOn(policies, action, described, mfa);
      return allow.some((granted) => !anyHolds(deny, granted));
    }),
  );
}

/** Whether a refusal is possible while `held` holds and none of `notHeld` does. */
function mayRefuse({ allow, deny }: Bearing, held: Asked, notHeld: readonly Asked[]): boolean {
  return !anyHolds(allow, held) || deny.some((one) => !anyHolds(notHeld, one.union(held)));
}

/** Whether one of them necessarily holds if all of `held` does. */
function anyHolds(some: readonly Asked[], held: Asked): boolean {
  return some.some((one) => one.isSubsetOf(held));
}

/** The statements that apply, as far as can be decided without address and time. */
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
