import { compareText } from './crdt/hybrid-clock.ts';
import { epochOf } from './crdt/merge.ts';
import type { UnsignedOperation } from './crdt/operation.ts';
import { isKnown, type Vector } from './crdt/vector.ts';

interface SeenPrimary {
  epoch: number;
  origin: string;
  seq: number;
}

/**
 * The latest primary region of each tenant that this process has seen committed or signed. A row of the database that says less was put back or
 * deleted by somebody else: its MAC is authentic, so only this tells it from the current one. It has one small entry for each tenant of the
 * directory. A process that starts merges the whole directory of the other regions before it accepts changes, so it has seen what they know.
 */
export class SeenPrimaries {
  readonly #seen = new Map<string, SeenPrimary>();
  /** The highest number of each origin. */
  readonly #highest = new Map<string, number>();

  /** Returns whether this was news. */
  note(operation: UnsignedOperation): boolean {
    const { key, origin, seq } = operation;
    const next = { epoch: epochOf(operation), origin, seq };
    const known = this.#seen.get(key);
    if (known !== undefined && compare(known, next) >= 0) return false;
    this.#seen.set(key, next);
    this.#highest.set(origin, Math.max(seq, this.#highest.get(origin) ?? 0));
    return true;
  }

  /** The tenants whose primary region a region with the vector `known` may lack, and would have with `reached`; null stands for everything. */
  between(known: Vector, reached: Vector | null): string[] {
    if ([...this.#highest].every(([origin, seq]) => isKnown(known, { origin, seq }))) return [];
    return [...this.#seen]
      .filter(([, seen]) => !isKnown(known, seen) && (reached === null || isKnown(reached, seen)))
      .map(([tenantId]) => tenantId);
  }

  /** Take it before the row is read, so that what is committed meanwhile does not look like a row that was put back. */
  get(tenantId: string): SeenPrimary | null {
    return this.#seen.get(tenantId) ?? null;
  }
}

/** Whether a row, or a missing one, is older than what was seen before it was read. */
export function isPutBack(seen: SeenPrimary | null, row: UnsignedOperation | null): boolean {
  if (seen === null) return false;
  return row === null || compare({ epoch: epochOf(row), origin: row.origin }, seen) < 0;
}

function compare(a: Pick<SeenPrimary, 'epoch' | 'origin'>, b: Pick<SeenPrimary, 'epoch' | 'origin'>): number {
  return a.epoch - b.epoch || compareText(a.origin, b.origin);
}
