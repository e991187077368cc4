import type { Logger } from 'pino';
import type { Metrics } from '../../observability/metrics.ts';
import type { AuditSegmentsTable } from '../../storage/tables.ts';
import { HASH_BYTES } from './chain.ts';
import { readEntries, type StoredEntry } from './segment.ts';

/** Each segment is reported once. After so many, the earliest are reported again if they are read again. */
const REPORTED_MAX = 10_000;
const WHAT_TO_DO =
  'Somebody changed this row of audit_segments in the database, or its disk is damaged. Its entries are left out of lists, counts and exports to a SIEM until the row is restored from a backup. Run "coffer server verify".';

export interface ReadSegment {
  entries: readonly (StoredEntry | null)[];
  isDamaged: boolean;
}

/** Reads segments for lists, counts and exporters. A damaged segment must not keep them from the rest of the log. */
export class DamagedSegments {
  readonly #log: Logger;
  readonly #metrics: Metrics;
  readonly #reported = new Set<string>();

  constructor(parts: { log: Logger; metrics: Metrics }) {
    this.#log = parts.log;
    this.#metrics = parts.metrics;
  }

  /** The entries by position; null for one that was purged, and for all of a damaged segment. */
  entriesIn(row: AuditSegmentsTable): readonly (StoredEntry | null)[] {
    return this.read(row).entries;
  }

  /** The same entries, and whether the segment is damaged. */
  read(row: AuditSegmentsTable): ReadSegment {
    const entries = readEntries(row);
    if (entries !== null) return { entries, isDamaged: false };
    this.#report(row);
    return { entries: Array.from({ length: countOf(row) }, () => null), isDamaged: true };
  }

  #report({ tenant_id, id, first_seq }: AuditSegmentsTable): void {
    const name = `${tenant_id} ${id}`;
    if (this.#reported.has(name)) return;
    const [earliest] = this.#reported;
    if (earliest !== undefined && this.#reported.size >= REPORTED_MAX) this.#reported.delete(earliest);
    this.#reported.add(name);
    this.#metrics.damagedSegments.inc();
    const facts = { tenant: tenant_id, segment: id, first_seq, what_to_do: WHAT_TO_DO };
    this.#log.error(facts, 'a segment of the audit log is damaged, and its entries are left out');
  }
}

/** How many entries a linked segment has, by their hashes. */
export function countOf({ hashes }: AuditSegmentsTable): number {
  return Math.floor((hashes?.length ?? 0) / HASH_BYTES);
}
