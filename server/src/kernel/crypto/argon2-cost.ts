/** What argon2id is made to cost; memory in KiB. */
export interface Argon2Cost {
  memory: number;
  passes: number;
  parallelism: number;
}

/** RFC 9106's second recommended option: 64 MiB, three passes, four lanes. Stored with everything it makes, so that it can be raised. */
export const COST_TODAY: Argon2Cost = { memory: 65_536, passes: 3, parallelism: 4 };

/** The cost is read from the database: who can write there must not make one login take all the memory. */
const COST_MAX: Argon2Cost = { memory: 262_144, passes: 16, parallelism: 16 };
/** RFC 9106, section 3.1: at least 8 KiB for each lane. */
const MEMORY_PER_LANE_MIN = 8;

export function isWithinBounds({ memory, passes, parallelism }: Argon2Cost): boolean {
  if (![memory, passes, parallelism].every((value) => Number.isSafeInteger(value) && value >= 1)) return false;
  if (memory > COST_MAX.memory || passes > COST_MAX.passes || parallelism > COST_MAX.parallelism) return false;
  return memory >= MEMORY_PER_LANE_MIN * parallelism;
}

/** Lanes cost whoever computes it nothing: they say how many cores may help. */
export function isLower(cost: Argon2Cost, than: Argon2Cost): boolean {
  return cost.memory < than.memory || cost.passes < than.passes;
}
