import { SECOND_MS } from '../platform/clock.ts';
import { timeOfId } from '../platform/ids.ts';
import type { Unlinked } from './node-segments.ts';

/** A missing number may belong to a transaction that is not committed yet, but no transaction takes this long. */
const MISSING_AFTER_MS = 60 * SECOND_MS;
/** A running node judges its own gaps first, so a gap that is left to other nodes this long belongs to a node that has ended. */
const NODE_ENDED_AFTER_MS = 150 * SECOND_MS;
/** A number is taken just before its commit. One that a crash took was taken at most this long before the last commit of its node. */
const COMMIT_MS_MAX = 30 * SECOND_MS;
/** More than the transactions of one tenant that a node runs at once. */
const LOST_MAX = 64;

/** The position of a segment as its node declares it. */
export type NumberedSegment = Pick<Unlinked, 'id' | 'node_id' | 'node_no' | 'voids'>;

export interface Sorted<S> {
  /** In the order in which they are linked. */
  linkable: S[];
  /** Copies of segments that are already linked. */
  repeated: S[];
  /** The last number of each node that is linked or void. */
  linkedNo: Map<string, number>;
  /** Numbers whose segments were committed and are gone. */
  missing: Gap[];
  /** Numbers whose transactions ended with their node: it crashed before it could commit them or list them as void. */
  lost: Gap[];
}

export interface Gap {
  node: string;
  from: number;
  to: number;
}

/** Selects the segments that can be linked now: those of each node without a gap, except for numbers that the node declared void. */
export function sortSegments<S extends NumberedSegment>(
  segments: readonly S[],
  linkedBefore: ReadonlyMap<string, number>,
  { now, ownNode }: { now: number; ownNode: string },
): Sorted<S> {
  const sorted: Sorted<S> = { linkable: [], repeated: [], linkedNo: new Map(), missing: [], lost: [] };
  for (const [node, ofNode] of Map.groupBy(segments, ({ node_id }) => node_id ?? '')) {
    const voids = new Set(ofNode.flatMap((segment) => JSON.parse(segment.voids ?? '[]') as number[]));
    const endedAt = Math.max(...ofNode.map(({ id }) => timeOfId(id)));
    let lost = 0;
    let last = linkedBefore.get(node) ?? 0;
    for (const segment of ofNode.toSorted((a, b) => Number(a.node_no) - Number(b.node_no))) {
      const no = Number(segment.node_no);
      while (last + 1 < no && voids.has(last + 1)) last++;
      if (no <= last) {
        sorted.repeated.push(segment);
        continue;
      }
      if (no > last + 1) {
        const age = now - timeOfId(segment.id);
        if (age < (node === ownNode ? MISSING_AFTER_MS : NODE_ENDED_AFTER_MS)) break;
        lost += no - last - 1;
        const isLost = node !== ownNode && endedAt - timeOfId(segment.id) <= COMMIT_MS_MAX && lost <= LOST_MAX;
        sorted[isLost ? 'lost' : 'missing'].push({ node, from: last + 1, to: no - 1 });
      }
      last = no;
      sorted.linkable.push(segment);
    }
    if (last > (linkedBefore.get(node) ?? 0)) sorted.linkedNo.set(node, last);
  }
  sorted.linkable.sort((a, b) => (a.id < b.id ? -1 : 1));
  return sorted;
}
