import { type AccessContext, conditionHolds, requestTests, resourceTests } from './condition.ts';
import { isTooCostly } from './matching-cost.ts';
import type { CompiledPolicy, CompiledStatement } from './policy.ts';

/** A resource with the attributes that policies test. */
export interface Described {
  readonly resource: string;
  readonly attributes: Pick<AccessContext, 'environment' | 'tags'>;
}

/** The address and time conditions of a statement. */
type Conditions = ReadonlySet<string>;
interface ApplicableConditions {
  readonly allow: ConditionSets;
  readonly deny: ConditionSets;
}

/**
 * Whether a change of the resource from `before` to `after` could show it to a request that saw nothing before, by one of these actions. The caller chooses from where and when to make that later request, so it does not matter whether a condition on addresses
 * or times holds now. Each condition may hold or not, independently of the others, but it has the same value for `before` and `after`.
 */
export function couldDisclose(
  policies: readonly CompiledPolicy[],
  actions: readonly string[],
  before: Described,
  after: Described,
): boolean {
  if (isTooCostly(policies, before.resource) || isTooCostly(policies, after.resource)) return true;
  return [true, false].some((mfa) => {
    const earlier = actions.map((action) => applicableConditions(policies, action, before, mfa));
    return actions.some((action) => {
      const { allow, deny } = applicableConditions(policies, action, after, mfa);
      return [...allow].some(
        (granted) => !deny.anyHolds(granted) && earlier.every((conditions) => mayRefuse(conditions, granted, deny)),
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
  if (isTooCostly(policies, described.resource)) return false;
  return [true, false].some((mfa) =>
    actions.some((action) => {
      const { allow, deny } = applicableConditions(policies, action, described, mfa);
      return [...allow].some((granted) => !deny.anyHolds(granted));
    }),
  );
}

/** Whether a refusal is possible while `held` holds and none of `notHeld` does. */
function mayRefuse({ allow, deny }: ApplicableConditions, held: Conditions, notHeld: ConditionSets): boolean {
  if (!allow.anyHolds(held)) return true;
  for (const one of deny) if (!notHeld.anyHolds(one.union(held))) return true;
  return false;
}

/** The statements that apply, as far as can be decided without address and time. */
function applicableConditions(
  policies: readonly CompiledPolicy[],
  action: string,
  described: Described,
  mfa: boolean,
): ApplicableConditions {
  const applicable = { allow: new ConditionSets(), deny: new ConditionSets() };
  for (const policy of policies) {
    const { allow, deny } = policy.statementsFor(action);
    for (const statement of [...allow, ...deny]) {
      const conditions = conditionsToHold(statement, described, mfa);
      if (conditions !== null) applicable[statement.effect].add(conditions);
    }
  }
  return applicable;
}

/** Sets of conditions, each once. A statement has at most one on the address and one on the time, so whether one is in another needs few look-ups. */
class ConditionSets {
  readonly #byName = new Map<string, Conditions>();

  add(conditions: Conditions): void {
    this.#byName.set(nameOf([...conditions]), conditions);
  }

  /** Whether one of them necessarily holds if all of `held` does. */
  anyHolds(held: Conditions): boolean {
    if (this.#byName.has(NO_CONDITION)) return true;
    const texts = [...held];
    return texts.some(
      (one, index) =>
        this.#byName.has(nameOf([one])) ||
        texts.slice(index + 1).some((other) => this.#byName.has(nameOf([one, other]))),
    );
  }

  [Symbol.iterator](): Iterator<Conditions> {
    return this.#byName.values();
  }
}

const nameOf = (texts: readonly string[]) => texts.toSorted().join('\n');
const NO_CONDITION = nameOf([]);

function conditionsToHold(
  { resources, condition, effect }: CompiledStatement,
  { resource, attributes }: Described,
  mfa: boolean,
): Conditions | null {
  if (!resources.some((pattern) => pattern.matchesResource(resource))) return null;
  const ofRequest = requestTests(condition);
  const known = [...resourceTests(condition), ...ofRequest.filter(({ kind }) => kind === 'mfa')];
  if (!conditionHolds(known, { ...attributes, mfa, time: NaN }, effect)) return null;
  return new Set(ofRequest.filter(({ kind }) => kind !== 'mfa').map(({ text }) => text));
}
