import type { ApprovalLevel } from '../../kernel/approval.ts';

/** How far an approval is, and who there is to decide. */
export interface Standing {
  levels: readonly ApprovalLevel[];
  requesterId: string;
  /** Who approved, level by level, so far. */
  approvedBy: readonly string[];
  /** Every admin of the tenant who can act. An admin can decide every level. */
  admins: readonly string[];
}

export interface Person {
  id: string;
  isAdmin: boolean;
  isVaultManager: boolean;
}

export type Refusal = 'requester' | 'not_eligible' | 'decided_before';

export type Verdict =
  | { refusal: Refusal }
  | {
      refusal: null;
      /** How many levels the decision counts for, from the current one on. */
      covers: number;
      isComplete: boolean;
      isSelfApproved: boolean;
    };

/**
 * Whether this person may approve now, and how far that goes. Nobody approves their own request, and nobody two levels, while there is
 * somebody else who could; a decision also counts for every following level for which there is nobody else. So in a tenant with one
 * admin nothing waits for a person who does not exist.
 */
export function verdictOn(standing: Standing, person: Person): Verdict {
  const { levels, requesterId, approvedBy } = standing;
  const current = approvedBy.length;
  const level = levels[current];
  const isRequester = person.id === requesterId;
  if (isRequester && !isOnlyAdmin(standing, person)) return { refusal: 'requester' };
  if (level === undefined || !isEligible(person, level)) return { refusal: 'not_eligible' };
  const isAnybodyElse = hasOtherThan(standing, person);
  if (approvedBy.includes(person.id) && isAnybodyElse) return { refusal: 'decided_before' };
  const covers = isAnybodyElse ? 1 : levels.length - current;
  return { refusal: null, covers, isComplete: current + covers === levels.length, isSelfApproved: isRequester };
}

/** To stop is always safe: who asked may withdraw, and who approved a level may think again. */
export function mayReject(standing: Standing, person: Person): boolean {
  const level = standing.levels[standing.approvedBy.length];
  return person.id === standing.requesterId || (level !== undefined && isEligible(person, level));
}

function isEligible(person: Person, level: ApprovalLevel): boolean {
  return person.isAdmin || (level === 'vault_manager' && person.isVaultManager);
}

function isOnlyAdmin({ admins }: Pick<Standing, 'admins'>, person: Person): boolean {
  return person.isAdmin && admins.every((id) => id === person.id);
}

/** Somebody who is neither the requester nor has had a say: an admin, who can decide any level that is left. */
function hasOtherThan({ admins, requesterId, approvedBy }: Standing, person: Person): boolean {
  return admins.some((id) => id !== person.id && id !== requesterId && !approvedBy.includes(id));
}
