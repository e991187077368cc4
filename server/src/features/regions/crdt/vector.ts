import { compareText } from './hybrid-clock.ts';
import type { UnsignedOperation } from './operation.ts';

/** For each origin, the number up to which all of its operations are included. */
export type Vector = ReadonlyMap<string, number>;

export function isKnown(vector: Vector, { origin, seq }: Pick<UnsignedOperation, 'origin' | 'seq'>): boolean {
  return seq <= (vector.get(origin) ?? 0);
}

export interface Delta<O> {
  operations: O[];
  /** What the receiver has once it has merged them. */
  vector: Map<string, number>;
  isComplete: boolean;
}

/**
 * What a region with the vector `known` lacks of a state: the cells whose last write it has not seen. Writes that were replaced since are left out,
 * because what replaced them is included. `cells` has at least one more than `limit` if there are so many, by origin and number.
 */
export function deltaOf<O extends UnsignedOperation>(
  cells: readonly O[],
  own: Vector,
  known: Vector,
  limit: number,
): Delta<O> {
  const missing = cells.filter((cell) => !isKnown(known, cell) && isKnown(own, cell)).sort(byOriginAndSeq);
  const operations = missing.slice(0, limit);
  const isComplete = operations.length === missing.length;
  const vector = new Map(known);
  const cutOrigin = isComplete ? null : (missing[limit]?.origin ?? null);
  for (const [origin, seq] of own) {
    // Origins after the one that was cut off are not included at all.
    if (cutOrigin !== null && compareText(origin, cutOrigin) > 0) continue;
    const last = origin === cutOrigin ? operations.findLast((o) => o.origin === origin)?.seq : seq;
    if (last !== undefined && last > (vector.get(origin) ?? 0)) vector.set(origin, last);
  }
  return { operations, vector, isComplete };
}

export function byOriginAndSeq(a: UnsignedOperation, b: UnsignedOperation): number {
  return compareText(a.origin, b.origin) || a.seq - b.seq;
}
