/** A job that would remove more than this share removes nothing, unless an operator allowed it. */
export const SHARE_MAX = 0.1;

/** How much of one kind of object a job would remove. */
export interface Share {
  /** The name in the log. */
  of: string;
  expired: number;
  /** This many may be removed whatever their share, because small installations have few objects of any kind. */
  floor: number;
  /** The total number. It is queried only above the floor, because counting may take a while. */
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

/** The shares that are too large. */
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
