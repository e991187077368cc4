import type { OutgoingAnswer } from '../../../kernel/outbound/http-client.ts';
import type { ExportedEntry } from '../exported-entry.ts';

/** One entry of a batch, as the receiver gets it. */
export interface Encoded {
  entry: ExportedEntry;
  /** JSON, or one line of text. */
  text: string;
}

export interface BatchLimits {
  entriesMax: number;
  /** Of all texts together, without what the transport adds to each. */
  bytesMax: number;
  /** Of one text. A longer entry is shortened and marked. */
  entryBytesMax: number;
}

/** What became of a batch that the receiver has. Entries that are not named were delivered. */
export interface Receipt {
  /** The receiver refused them for good, so sending them again is of no use. */
  rejected: { index: number; reason: string }[];
  /** The receiver drops them without saying so. */
  skipped: { index: number; reason: string }[];
}

export const ALL_DELIVERED: Receipt = { rejected: [], skipped: [] };

/** Brings batches to one receiver. */
export interface Transport {
  readonly limits: BatchLimits;
  /** The field in which the receiver demands the time of each document, whatever the format. */
  readonly timeField?: string;
  /**
   * How many entries before a failure may be lost although `send` resolved, because the protocol has no acknowledgement. They are sent again after a
   * failure and after a start.
   */
  readonly unconfirmedMax: number;
  /** Resolves when the receiver has the batch. Throws `NotDelivered` if it must be sent again. */
  send(batch: readonly Encoded[], signal: AbortSignal): Promise<Receipt>;
  /** Ends what is open. Resolves when the receiver has everything; throws `NotDelivered` if that is not known. */
  finish(): Promise<void>;
}

/** The batch was not taken. The message is our own and contains nothing of a credential or of the receiver's response but its status. */
export class NotDelivered extends Error {
  override readonly name = 'NotDelivered';
  /** The receiver's own wish. */
  readonly retryAfterMs: number | null;

  constructor(message: string, retryAfterMs: number | null = null) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

/** Everything but success is tried again: a wrong token or a missing index is corrected by a person, and meanwhile nothing may be lost. */
export function refuseUnless(expected: readonly number[], answer: OutgoingAnswer): void {
  if (expected.includes(answer.status)) return;
  throw new NotDelivered(`the receiver responded with status ${answer.status}`, answer.retryAfterMs);
}

/** The response as JSON; null if it is none. */
export function jsonOf(answer: OutgoingAnswer): unknown {
  try {
    return JSON.parse(answer.body.toString('utf8'));
  } catch {
    return null;
  }
}
