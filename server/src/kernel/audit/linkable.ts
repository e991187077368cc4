import { SECOND_MS } from '../clock.ts';
import { timeOfId } from '../ids.ts';
import type { Unlinked } from './node-segments.ts';

/** A missing number may belong to a transaction that is not committed yet, but no transaction takes this long. */
const MISSING_AFTER_MS = 60 * SECOND_MS;

/** The position of a segment as its node declares it. */
export type NumberedSegment = Pick<Unlinked, 'id' | 'node_id' | 'node_no' | 'voids'>;

export interface Sorted<S> {
  /** In the order in which they are linked. */
  linkable: S[];
  /** Copies of segments that are already linked. */
  repeated: S[];
  /** The last number of each node that is linked or void. */
  linkedNo: Map<string, number>;
  /** Numbers per node whose segments were committed and are gone. */
  missing: { node: string; from: number; to: number }[];
}

/** Selects the segments that can be linked now: those of each node without a gap, except for numbers that the node declared void. */
export function sortSegments<S extends NumberedSegment>(
  segments: readonly S[],
  linkedBefore: ReadonlyMap<string, number>,
  now: number,
): Sorted<S> {
  const sorted: Sorted<S> = { linkable: [], repeated: [], linkedNo: new Map(), missing: [] };
  for (const [node, own] of Map.groupBy(segments, ({ node_id }) => node_id ?? '')) {
    const voids = new Set(own.flatMap((segment) => JSON.parse(segment.voids ?? '[]') as number[]));
    let last = linkedBefore.get(node) ?? 0;
    for (const segment of own.toSorted((a, b) => Number(a.node_no) - Number(b.node_no))) {
      const no = Number(segment.node_no);
      while (last + 1 < no && voids.has(last + 1)) last++;
      if (no <= last) {
        sorted.repeated.push(segment);
        continue;
      }
      if (no > last + 1) {
        if (now - timeOfId(segment.id) < MISSING_AFTER_MS) break;
        sorted.missing.push({ node, from: last + 1, to: no - 1 });
      }
      last = no;
      sorted.linkable.push(segment);
    }
    if (last > (linkedBefore.get(node) ?? 0)) sorted.linkedNo.set(node, last);
  }
  sorted.linkable.sort((a, b) => (a.id < b.id ? -1 : 1));
  return sorted;
}
