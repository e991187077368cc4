/** Turns of the event loop, each far below a millisecond under load. */
const TURNS_MAX = 4;

/**
 * Begins what costs the same for one as for many: not at once, but when no more have arrived in the last turn of the event loop, or after a few of
 * them. `arrived` says how many there are by now.
 */
export function afterArrivals(arrived: () => number, begin: () => void, seen = 1, turns = 1): void {
  setImmediate(() => {
    const count = arrived();
    if (count > seen && turns < TURNS_MAX) afterArrivals(arrived, begin, count, turns + 1);
    else begin();
  });
}
