/** In iterations of the event loop, each of which takes far less than a millisecond under load. */
const TURNS_MAX = 4;

/**
 * Delays work that costs the same for one item as for many. `begin` runs as soon as one iteration of the event loop brings no new arrival, and
 * after a few iterations at the latest. `arrived` returns the number of items so far.
 */
export function afterArrivals(arrived: () => number, begin: () => void, seen = 1, turns = 1): void {
  setImmediate(() => {
    const count = arrived();
    if (count > seen && turns < TURNS_MAX) afterArrivals(arrived, begin, count, turns + 1);
    else begin();
  });
}
