declare const trusted: unique symbol;

/** A time before which something is over, from a clock that was compared. Only `Looks` makes one, so that what removes rows cannot use another clock. */
export type Cutoff = number & { readonly [trusted]: true };

/** An earlier cutoff, for rows that stay for some time after they have expired. */
export function earlier(cutoff: Cutoff, ms: number): Cutoff {
  if (ms < 0) throw new Error('a cutoff is never moved forwards');
  return (cutoff - ms) as Cutoff;
}
