/** A job that would remove more than this of what there is removes nothing, unless an operator allowed it. */
export const SHARE_MAX = 0.1;

/** How much of something a job would remove. */
export interface Share {
  /** As the log calls it. */
  of: string;
  expired: number;
  /** So many are removed whatever their share: small installations have little of everything. */
  floor: number;
  /** Of how many. Asked only beyond the floor, since counting may take a while. */
  total(): Promise<number>;
}

export interface Excess {
  of: string;
  expired: number;
  total: number;
  allowed: number;
}

export function allowedOf(total: number, floor: number): number {
  return Math.max(floor, Math.floor(total * SHARE_MAX));
}

/** Those shares that are too large. */
export async function excessOf(shares: readonly Share[]): Promise<Excess[]> {
  const found: Excess[] = [];
  for (const { of, expired, floor, total: count } of shares) {
    if (expired <= floor) continue;
    const total = await count();
    const allowed = allowedOf(total, floor);
    if (expired > allowed) found.push({ of, expired, total, allowed });
  }
  return found;
}
