import { hash } from 'node:crypto';
import type { Checkpoint, Report } from './checkpoints.ts';
import { Purges } from './purges.ts';

export const GENESIS_HASH = '0'.repeat(64);

/** One entry with its position, as hashed. If the API response does not determine how it was hashed, `texts` holds each possible form. */
export interface Link {
  seq: number;
  hash: string;
  texts: string[];
  /** The entry that records its purge, if it was purged. */
  purgedBy: string | null;
}

/** The first line of `GET /v1/audit/export`. */
export interface ExportHeader {
  format: 'coffer-audit-export';
  version: number;
  tenant_id: string;
  first_seq: number;
  previous_hash: string;
  last_seq: number;
  last_hash: string;
}

/** Returns null for another kind of log; throws if it claims to be an export but is malformed. */
export function headerOf(value: unknown): ExportHeader | null {
  const header = value as ExportHeader | null;
  if (header?.format !== 'coffer-audit-export') return null;
  if (header.version !== 1)
    throw new UnreadableInputError(
      'the log was written by a newer version than this program: use a newer coffer-verify',
    );
  const { first_seq, last_seq, tenant_id, previous_hash, last_hash } = header;
  const isOfForm =
    Object.keys(header).sort().join() === HEADER_FIELDS &&
    Number.isSafeInteger(first_seq) &&
    Number.isSafeInteger(last_seq) &&
    [tenant_id, previous_hash, last_hash].every((text) => typeof text === 'string') &&
    (first_seq !== 1 || previous_hash === GENESIS_HASH);
  if (!isOfForm) throw new UnreadableInputError('the first line of the log is malformed');
  return header;
}

const HEADER_FIELDS = 'first_seq,format,last_hash,last_seq,previous_hash,tenant_id,version';

/** A file that cannot be parsed as what it should be. */
export class UnreadableInputError extends Error {}

/** Parses an entry of the export or of `GET /v1/audit`; null if it is neither. */
export function linkOf(value: unknown): Link | null {
  const { seq, hash, entry, timestamp, purged_by } = (value ?? {}) as Record<string, unknown>;
  if (!Number.isSafeInteger(seq) || typeof hash !== 'string') return null;
  const place = { seq: Number(seq), hash, purgedBy: null };
  if (timestamp !== undefined) return { ...place, texts: shownTexts(value as Record<string, unknown>) };
  if (entry === undefined && typeof purged_by === 'string') return { ...place, texts: [], purgedBy: purged_by };
  return { ...place, texts: [JSON.stringify(entry) ?? ''] };
}

/** An entry without details may have been hashed with an empty text or with an empty object. */
function shownTexts(shown: Record<string, unknown>): string[] {
  const actor = (shown['actor'] ?? {}) as Record<string, unknown>;
  const details = JSON.stringify(shown['details']);
  return (details === '{}' ? ['', '{}'] : [details]).map((text) =>
    JSON.stringify([
      shown['id'],
      Date.parse(String(shown['timestamp'])),
      ...['kind', 'id', 'name', 'key'].map((name) => actor[name]),
      ...['action', 'resource'].map((name) => shown[name]),
      shown['vault'] ?? '',
      ...['decision', 'status', 'ip', 'user_agent', 'request_id'].map((name) => shown[name]),
      shown['reason'] ?? '',
      text,
      ...rowsOf(shown['rows']),
    ]),
  );
}

/** The digests of changed rows are the last field, if there are any. */
function rowsOf(rows: unknown): unknown[] {
  if (!Array.isArray(rows)) return [];
  return [rows.map(({ table, row, digest, before }: Record<string, unknown>) => [table, row, digest, before])];
}

export interface Start {
  tenantId: string;
  firstSeq: number;
  previousHash: string;
}

/**
 * Recomputes the chain entry by entry and compares it with each checkpoint. After a problem it continues from the stored hash, so that all problems
 * are reported, not only the first.
 */
export class ChainCheck {
  readonly #report: Report;
  readonly #start: Start;
  readonly #signed: Map<number, Checkpoint[]>;
  #seq: number;
  #hash: string;
  /** Whether the chain has been intact so far. */
  #isWhole = true;
  readonly #purges: Purges;
  entries = 0;
  /** The number of checkpoints that match the log, and the last entry one of them covers. */
  matched = 0;
  signedSeq = 0;

  constructor(start: Start, proven: readonly Checkpoint[], report: Report) {
    this.#report = report;
    this.#start = start;
    this.#seq = start.firstSeq - 1;
    this.#hash = start.previousHash;
    this.#signed = Map.groupBy(proven, ({ seq }) => seq);
    this.#purges = new Purges(start.firstSeq, (seq, what) => this.#wrong(seq, what));
    if (this.#seq > 0) this.#compare();
  }

  get lastSeq(): number {
    return this.#seq;
  }

  get lastHash(): string {
    return this.#hash;
  }

  /** The number of entries the service purged. */
  get purged(): number {
    return this.#purges.count;
  }

  add({ seq, hash: stored, texts, purgedBy }: Link): void {
    const expectedSeq = this.#seq + 1;
    if (seq > expectedSeq && resumedAfter(texts) === this.#seq) this.#skipTo(seq);
    if (seq !== this.#seq + 1) {
      this.#wrong(expectedSeq, seq > expectedSeq ? missing(expectedSeq, seq - 1) : `is followed by entry ${seq} again`);
      if (seq < expectedSeq) return;
      this.#seq = seq - 1;
    } else if (purgedBy !== null) {
      this.#purges.add(purgedBy, seq, this.#hash, stored);
    } else {
      const fits = texts.find((text) => linkHash(this.#hash, this.#start.tenantId, seq, text) === stored);
      if (fits !== undefined) this.#purges.settle(seq, fits);
      else this.#wrong(seq, 'was changed: its hash does not match the entry and those before it');
    }
    this.#seq = seq;
    this.#hash = stored;
    this.entries++;
    this.#compare();
  }

  /** Sequence numbers lost by a restore are never reused. A checkpoint over one of them proves that an entry was lost. */
  #skipTo(seq: number): void {
    for (const [signed, [checkpoint]] of this.#signed) {
      if (signed <= this.#seq || signed >= seq) continue;
      this.#wrong(signed, `is missing, although checkpoint ${checkpoint?.id} covers it: an older backup was restored`);
    }
    this.#seq = seq - 1;
  }

  #compare(): void {
    for (const { id, hash } of this.#signed.get(this.#seq) ?? []) {
      if (hash === this.#hash) {
        this.matched++;
        if (this.#isWhole) this.signedSeq = this.#seq;
      } else {
        this.#wrong(this.#seq, `does not match signed checkpoint ${id}: the log was rewritten up to here`);
      }
    }
  }

  #wrong(seq: number, what: string): void {
    this.#isWhole = false;
    this.#report(`entry ${seq}`, what);
  }

  /** Call this after the last entry, with the header, which names the expected last entry. */
  end(header: ExportHeader | null): void {
    if (header !== null && header.last_seq > this.#seq) {
      this.#wrong(this.#seq + 1, `${missing(this.#seq + 1, header.last_seq)}: the file is truncated`);
    } else if (header !== null && header.last_seq === this.#seq && header.last_hash !== this.#hash) {
      this.#wrong(this.#seq, 'is not the last entry named in the first line of the file');
    }
    this.#purges.end(this.#signed.size === 0 ? null : this.signedSeq);
    for (const [seq, [checkpoint]] of this.#signed) {
      if (seq <= this.#seq) continue;
      const what = `${missing(this.#seq + 1, seq)}, which checkpoint ${checkpoint?.id} covers (or it was signed after the export)`;
      this.#wrong(this.#seq + 1, what);
    }
  }
}

const ACTOR_KIND = 2;
const ACTION = 6;
const DETAILS = 15;

/** The position of the chain before a restore. Gaps are accepted only if the restore's own entry states it. */
function resumedAfter(texts: readonly string[]): number | null {
  for (const text of texts) {
    const fields = parsedOrNull(text);
    if (!Array.isArray(fields) || fields[ACTION] !== 'server:restore' || fields[ACTOR_KIND] !== 'system') continue;
    const { resumes_after } = (parsedOrNull(String(fields[DETAILS])) ?? {}) as { resumes_after?: unknown };
    if (Number.isSafeInteger(resumes_after)) return Number(resumes_after);
  }
  return null;
}

/** Text that is not JSON yields null; if it was changed, its hash does not match. */
function parsedOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function missing(from: number, to: number): string {
  return from === to ? 'is missing' : `and all up to ${to} are missing`;
}

function linkHash(previous: string, tenantId: string, seq: number, text: string): string {
  return hash('sha256', `${previous}\n${tenantId}\n${seq}\n${text}`, 'hex');
}
