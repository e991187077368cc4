const SHARES = 4;

/**
 * How many slots one tenant may hold while so many are free: a quarter of these, and always one. The more slots are held, the fewer each tenant may
 * hold, so that a few tenants whose work hangs never hold all of them.
 */
export function fairShare(free: number): number {
  return Math.max(1, Math.floor(free / SHARES));
}
