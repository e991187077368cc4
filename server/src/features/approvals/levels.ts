import type { ApprovalLevel } from '../../kernel/approval.ts';

/** How far an approval is, and who there is to decide. */
export interface Standing {
  levels: readonly ApprovalLevel[];
  requesterId: string;
  /** Who approved, level by level, so far. */
  approvedBy: readonly string[];
  /** Every admin of the tenant who can act. An admin can stand in for a vault manager. */
  admins: readonly string[];
  /** Every manager of the vault who can act, and managed it when it was asked for. */
  managers: readonly string[];
}

export type Refusal = 'requester' | 'not_eligible' | 'decided_before' | 'other_first';

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
 * Whether this person may approve now, and how far that goes. Each level is decided by another person as long as there are people enough,
 * and nobody decides now who is needed for a later level. Only where there is nobody else does one decision count for the levels that
 * follow, or the only admin approve what they asked for.
 */
export function verdictOn(standing: Standing, person: string): Verdict {
  const { levels, requesterId, approvedBy } = standing;
  const [current, ...following] = levels.slice(approvedBy.length).map((level) => eligibleFor(standing, level));
  if (current === undefined || !current.includes(person)) {
    return { refusal: person === requesterId ? 'requester' : 'not_eligible' };
  }
  const others = current.filter((id) => id !== person && !approvedBy.includes(id));
  const isRepeated = approvedBy.includes(person);
  if (isRepeated && others.length > 0) return { refusal: 'decided_before' };
  const canBeOthers = canFill(following, [...approvedBy, person]);
  if (!canBeOthers && others.some((id) => canFill(following, [...approvedBy, id]))) return { refusal: 'other_first' };
  const covers = canBeOthers ? 1 : 1 + leftAlone(following, person, approvedBy);
  return {
    refusal: null,
    covers,
    isComplete: approvedBy.length + covers === levels.length,
    isSelfApproved: person === requesterId,
    isSingleApprover: isRepeated || covers > 1,
  };
}

/** To stop is always safe: who asked may withdraw, and who approved a level may think again. */
export function mayReject(standing: Standing, person: string): boolean {
  const level = standing.levels[standing.approvedBy.length];
  if (person === standing.requesterId) return true;
  return level !== undefined && eligibleFor(standing, level).includes(person);
}

/** Who asked counts only as the one admin there is, and only for a level that nobody else could decide. */
function eligibleFor({ admins, managers, requesterId }: Standing, level: ApprovalLevel): string[] {
  const able = new Set(level === 'vault_manager' ? [...managers, ...admins] : admins);
  const isOnlyAdmin = admins.length === 1 && admins[0] === requesterId;
  able.delete(requesterId);
  return able.size === 0 && isOnlyAdmin ? [requesterId] : [...able];
}

/** Whether each of these levels can be decided by somebody who has decided no other. */
function canFill(levels: readonly (readonly string[])[], used: readonly string[]): boolean {
  const [first, ...rest] = levels;
  if (first === undefined) return true;
  return first.some((id) => !used.includes(id) && canFill(rest, [...used, id]));
}

/** How many of the next levels are this person's or nobody's. */
function leftAlone(levels: readonly (readonly string[])[], person: string, approvedBy: readonly string[]): number {
  const isTheirs = (able: readonly string[]) =>
    able.includes(person) && able.every((id) => id === person || approvedBy.includes(id));
  const end = levels.findIndex((able) => !isTheirs(able));
  return end === -1 ? levels.length : end;
}
