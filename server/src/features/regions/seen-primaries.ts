import { compareText } from './crdt/hybrid-clock.ts';
import { epochOf } from './crdt/merge.ts';
import type { UnsignedOperation } from './crdt/operation.ts';

interface SeenPrimary {
  epoch: number;
  origin: string;
}

/**
 * The latest primary region of each tenant that this process has seen committed or signed. A row of the database that says less was put back or
 * deleted by somebody else: its MAC is authentic, so only this tells it from the current one. It has one small entry for each tenant of the
 * directory. A process that starts merges the whole directory of the other regions before it accepts changes, so it has seen what they know.
 */
export class SeenPrimaries {
  readonly #seen = new Map<string, SeenPrimary>();

  /** Returns whether this was news. */
  note(operation: UnsignedOperation): boolean {
    const { key, origin } = operation;
    const epoch = epochOf(operation);
    const known = this.#seen.get(key);
    if (known !== undefined && compare(known, { epoch, origin }) >= 0) return false;
    this.#seen.set(key, { epoch, origin });
    return true;
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

function compare(a: SeenPrimary, b: SeenPrimary): number {
  return a.epoch - b.epoch || compareText(a.origin, b.origin);
}
