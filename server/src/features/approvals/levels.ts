import type { ApprovalLevel } from '../../kernel/endpoint/approval.ts';

/** How far an approval has come, and who can decide it. */
export interface ApprovalState {
  levels: readonly ApprovalLevel[];
  requesterId: string;
  /** The approvers so far, level by level. */
  approvedBy: readonly string[];
  /** Every admin of the tenant who can act, except one who would lose rights. They stand in for a vault manager if there is none. */
  admins: readonly string[];
  /** Every manager of the vault who can act and already managed it when the request was made. */
  managers: readonly string[];
  /** Those known to have the right to review the change: of all people, the one whose decision is made. */
  reviewers: readonly string[];
  /** If there are any, one of them must be among the approvers. All of them are admins too. */
  owners: readonly string[];
}

export type Refusal =
  | 'requester'
  | 'not_eligible'
  | 'manager_needed'
  | 'owner_needed'
  | 'decided_before'
  | 'other_first';

export type Verdict =
  | { refusal: Refusal }
  | {
      refusal: null;
      /** How many levels the decision counts for, from the current one on. */
      covers: number;
      isComplete: boolean;
      isSelfApproved: boolean;
      /** One person decided more than one level, since there was nobody else. */
      isSingleApprover: boolean;
    };

/**
 * Whether this person may approve now, and for how many levels that counts. Each level is decided by another person as long as there are enough
 * people, and a person who is needed for a later level may not decide now. Only where nobody else is left does one decision count for the levels that
 * follow, or may the only admin approve their own request.
 */
export function verdictOn(state: ApprovalState, person: string): Verdict {
  const { levels, requesterId, approvedBy } = state;
  const [current] = openLevels(state);
  if (current === undefined || !current.includes(person)) return { refusal: whyNotEligible(state, person) };
  const followingAfter = (id: string) => openLevels({ ...state, approvedBy: [...approvedBy, id] });
  const following = followingAfter(person);
  const others = current.filter((id) => id !== person && !approvedBy.includes(id));
  const isRepeated = approvedBy.includes(person);
  if (isRepeated && others.length > 0) return { refusal: 'decided_before' };
  const canBeOthers = canFill(following, [...approvedBy, person]);
  if (!canBeOthers && others.some((id) => canFill(followingAfter(id), [...approvedBy, id])))
    return { refusal: 'other_first' };
  const covers = canBeOthers ? 1 : 1 + leftAlone(following, person, approvedBy);
  return {
    refusal: null,
    covers,
    isComplete: approvedBy.length + covers === levels.length,
    isSelfApproved: person === requesterId,
    isSingleApprover: isRepeated || covers > 1,
  };
}

/** Who can decide each level that is open. The last one is left to the owners, if one of them is needed and none has approved. */
function openLevels(state: ApprovalState): (readonly string[])[] {
  const { levels, approvedBy, owners } = state;
  const isOwnerMissing = owners.length > 0 && !approvedBy.some((id) => owners.includes(id));
  return levels.slice(approvedBy.length).map((level, i) => {
    const isLast = approvedBy.length + i === levels.length - 1;
    return isLast && isOwnerMissing ? owners : eligibleFor(state, level);
  });
}

function whyNotEligible(state: ApprovalState, person: string): Refusal {
  if (person === state.requesterId) return 'requester';
  const level = state.levels[state.approvedBy.length];
  if (level === undefined || !state.admins.includes(person)) return 'not_eligible';
  return level === 'vault_manager' ? 'manager_needed' : 'owner_needed';
}

/** Stopping is always safe: the requester may withdraw, and an admin need not wait for the level of the managers. */
export function mayReject(state: ApprovalState, person: string): boolean {
  const level = state.levels[state.approvedBy.length];
  if (person === state.requesterId) return true;
  return level !== undefined && [...eligibleFor(state, level), ...state.admins].includes(person);
}

/**
 * An admin stands in for the managers of a vault only if none but the requester is left. The requester counts only if they are the only admin, and
 * only for a level that nobody else could decide.
 */
function eligibleFor(
  { admins, managers, reviewers, requesterId }: ApprovalState,
  level: ApprovalLevel,
): readonly string[] {
  const others = (ids: readonly string[]) => ids.filter((id) => id !== requesterId);
  if (level === 'reviewer') return others(reviewers);
  if (level === 'vault_manager' && others(managers).length > 0) return others(managers);
  const isOnlyAdmin = admins.length === 1 && admins[0] === requesterId;
  return isOnlyAdmin ? [requesterId] : others(admins);
}

/** Whether each of these levels can be decided by a person who decides no other level. */
function canFill(levels: readonly (readonly string[])[], used: readonly string[]): boolean {
  const [first, ...rest] = levels;
  if (first === undefined) return true;
  return first.some((id) => !used.includes(id) && canFill(rest, [...used, id]));
}

/** How many of the next levels only this person is left to decide. */
function leftAlone(levels: readonly (readonly string[])[], person: string, approvedBy: readonly string[]): number {
  const isTheirs = (able: readonly string[]) =>
    able.includes(person) && able.every((id) => id === person || approvedBy.includes(id));
  const end = levels.findIndex((able) => !isTheirs(able));
  return end === -1 ? levels.length : end;
}
