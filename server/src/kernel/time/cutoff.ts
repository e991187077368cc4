declare const trusted: unique symbol;

/**
 * The time up to which data has expired, from a clock that was compared with others. Only `ClockChecks` creates one, so that code that deletes rows
 * cannot use another clock.
 */
export type Cutoff = number & { readonly [trusted]: true };

/** An earlier cutoff, for rows that are stored for some time after they have expired. */
export function earlier(cutoff: Cutoff, ms: number): Cutoff {
  if (ms < 0) throw new Error('a cutoff is never moved forwards');
  return (cutoff - ms) as Cutoff;
}
