/** The cost parameters of argon2id; memory is in KiB. */
export interface Argon2Cost {
  memory: number;
  passes: number;
  parallelism: number;
}

/**
 * The second recommended option of RFC 9106: 64 MiB, three passes, four lanes. It is stored with every hash and salt, so that it can be raised
 * later.
 */
export const COST_DEFAULT: Argon2Cost = { memory: 65_536, passes: 3, parallelism: 4 };

/** The cost is read from the database, and anyone who can write there must not be able to make one login use up all memory. */
const COST_MAX: Argon2Cost = { memory: 262_144, passes: 16, parallelism: 16 };
/** RFC 9106, section 3.1: at least 8 KiB for each lane. */
const MEMORY_PER_LANE_MIN = 8;

export function isWithinBounds({ memory, passes, parallelism }: Argon2Cost): boolean {
  if (![memory, passes, parallelism].every((value) => Number.isSafeInteger(value) && value >= 1)) return false;
  if (memory > COST_MAX.memory || passes > COST_MAX.passes || parallelism > COST_MAX.parallelism) return false;
  return memory >= MEMORY_PER_LANE_MIN * parallelism;
}

/** Lanes are not compared: they only say how many cores may work in parallel and do not change the total work. */
export function isLower(cost: Argon2Cost, than: Argon2Cost): boolean {
  return cost.memory < than.memory || cost.passes < than.passes;
}
