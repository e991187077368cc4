import { segmentsFrom, windowEnd } from '../../kernel/audit/chain/chain-walk.ts';
import type { DamagedSegments } from '../../kernel/audit/chain/damaged-segments.ts';
import { yielder } from '../../kernel/fairness/yielding.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { type AuditFilter, auditRecordOf, isWanted, segmentHolding } from '../audit/index.ts';
import type { ExportedEntry } from './exported-entry.ts';
import type { BatchLimits, Encoded } from './transports/transport.ts';

/** Entries read for one batch at most, so that a filter that matches little still makes progress that is stored. */
const SCANNED_MAX = 4096;

export interface Batch {
  entries: Encoded[];
  /** The last entry that was read. All up to it are in the batch, or do not match the filter, were purged, or are damaged. */
  lastSeq: number;
}

/** Reads the linked entries of a log in order, as many as fit into one batch of a receiver. */
export class BatchReader {
  readonly #tenantId: string;
  readonly #filter: AuditFilter;
  readonly #limits: BatchLimits;
  readonly #damaged: DamagedSegments;
  readonly #encode: (entry: ExportedEntry) => Encoded & { bytes: number };

  constructor(
    { tenantId, filter }: { tenantId: string; filter: AuditFilter },
    limits: BatchLimits,
    encode: (entry: ExportedEntry) => Encoded & { bytes: number },
    damaged: DamagedSegments,
  ) {
    this.#tenantId = tenantId;
    this.#filter = filter;
    this.#limits = limits;
    this.#encode = encode;
    this.#damaged = damaged;
  }

  /** The batch after `afterSeq`, up to the head of the log; null at its end. What is stored beyond the head is not part of the log. */
  async next(db: Reader, afterSeq: number, headSeq: number): Promise<Batch | null> {
    const start = await segmentHolding(db, this.#tenantId, afterSeq + 1);
    let seq = Math.min(Number(start?.first_seq ?? afterSeq + 1), afterSeq + 1);
    const yieldNow = yielder(this.#tenantId);
    const batch: Batch = { entries: [], lastSeq: afterSeq };
    let bytes = 0;
    while (batch.lastSeq - afterSeq < SCANNED_MAX) {
      const segments = await segmentsFrom(db, this.#tenantId, Math.max(seq, 1));
      const last = segments.at(-1);
      if (last === undefined) break;
      for (const segment of segments) {
        const entries = this.#damaged.entriesIn(segment);
        for (const [i, stored] of entries.entries()) {
          const at = Number(segment.first_seq) + i;
          if (at <= batch.lastSeq) continue;
          if (at > headSeq) return batch.lastSeq === afterSeq ? null : batch;
          if (stored !== null && isWanted(stored, this.#filter)) {
            const encoded = this.#encode({ ...auditRecordOf(stored), tenant_id: this.#tenantId });
            const isFull =
              batch.entries.length === this.#limits.entriesMax || bytes + encoded.bytes > this.#limits.bytesMax;
            if (isFull && batch.entries.length > 0) return batch;
            batch.entries.push(encoded);
            bytes += encoded.bytes;
          }
          batch.lastSeq = at;
        }
        await yieldNow(entries.length);
      }
      seq = windowEnd(Number(last.first_seq));
    }
    return batch.lastSeq === afterSeq ? null : batch;
  }
}
