import { GENESIS_HASH, HASH_BYTES, hexOf, linkHash } from '../../kernel/audit/chain.ts';
import type { Heads } from '../../kernel/audit/heads.ts';
import { textsOf } from '../../kernel/audit/segment.ts';
import type { Context } from '../../kernel/context.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import type { PqcKeys } from '../pqc/index.ts';
import { signatureProblem } from './checkpoint.ts';
import * as store from './store.ts';
import { turnTaker } from './turns.ts';

const PAGE = 64;

export interface Verification {
  valid: boolean;
  entries: number;
  first_broken: { seq: number; reason: string } | null;
  checkpoints: number;
  signed_seq: number;
}

/**
 * Recomputes the chain from its first entry to the head as it was when the check began. The head's own seal is checked too: without
 * it, a log with its end cut off would be a shorter, valid log. So is each checkpoint on the way: the head could be an older one, with its seal.
 */
export async function verify(ctx: Context, heads: Heads, keys: PqcKeys): Promise<Verification> {
  await ctx.kernel.audit.seal();
  const { read } = ctx.database;
  const signed = await SignedPlaces.open(read, ctx.tenantId, keys);
  const head = await store.findHead(read, ctx.tenantId);
  const broken = (seq: number, reason: string): Verification => ({
    valid: false,
    entries: head?.seq ?? 0,
    first_broken: { seq, reason },
    checkpoints: signed.checked,
    signed_seq: signed.lastSeq,
  });
  if (head === undefined) return broken(1, 'the head of the chain was removed');

  const takeTurns = turnTaker();
  let seq = 0;
  let hash = hexOf(GENESIS_HASH);
  while (seq < head.seq) {
    const segments = await store.segmentsOnward(read, ctx.tenantId, seq + 1, PAGE);
    for (const segment of segments) {
      if (seq >= head.seq) break;
      if (segment.first_seq !== seq + 1) return broken(seq + 1, 'the entry is missing');
      const texts = readable(segment);
      for (const [i, text] of texts.entries()) {
        const expected = linkHash(hash, ctx.tenantId, seq + 1, text);
        const stored = segment.hashes?.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES);
        if (stored === undefined || hexOf(stored) !== expected) return broken(seq + 1, 'the entry was changed');
        seq++;
        hash = expected;
        if (signed.nextSeq <= seq) {
          const problem = await signed.problemAt(seq, hash);
          if (problem !== null) return broken(seq, problem);
        }
      }
      await takeTurns(texts.length);
    }
    if (segments.length === 0 && seq < head.seq) return broken(seq + 1, 'the entry is missing');
  }
  if (hash !== hexOf(head.hash)) return broken(head.seq, 'the chain was rewritten');
  if (!(await heads.isAuthentic(head))) return broken(head.seq, 'the head of the chain was rewritten');
  const beyond = signed.problemBeyond();
  if (beyond !== null) return broken(head.seq + 1, beyond);
  return {
    valid: true,
    entries: head.seq,
    first_broken: null,
    checkpoints: signed.checked,
    signed_seq: signed.lastSeq,
  };
}

/** The checkpoints, one after the other, beside the chain as it is recomputed. */
class SignedPlaces {
  readonly #db: Reader;
  readonly #tenantId: string;
  readonly #keys: PqcKeys;
  /** One that is signed while the check runs may cover entries that the check does not look at. */
  readonly #lastNumber: number;
  #rows: store.CheckpointRow[] = [];
  checked = 0;
  lastSeq = 0;

  private constructor(db: Reader, tenantId: string, keys: PqcKeys, lastNumber: number) {
    this.#db = db;
    this.#tenantId = tenantId;
    this.#keys = keys;
    this.#lastNumber = lastNumber;
  }

  /** Opened before the head is read: then every checkpoint it knows covers no more than the head does. */
  static async open(db: Reader, tenantId: string, keys: PqcKeys): Promise<SignedPlaces> {
    const newest = await store.newestCheckpoint(db, tenantId);
    const places = new SignedPlaces(db, tenantId, keys, newest?.checkpoint_no ?? 0);
    await places.#fetch();
    return places;
  }

  get nextSeq(): number {
    return this.#rows[0]?.seq ?? Number.POSITIVE_INFINITY;
  }

  async #fetch(): Promise<void> {
    if (this.#rows.length > 0 || this.checked === this.#lastNumber) return;
    this.#rows = await store.checkpointsOnward(this.#db, this.#tenantId, this.checked, PAGE);
    if (this.#rows.length === 0) return;
    this.#rows = this.#rows.filter((row) => row.checkpoint_no <= this.#lastNumber);
  }

  /** Call it at each place that a checkpoint is of. */
  async problemAt(seq: number, hash: string): Promise<string | null> {
    for (let row = this.#rows[0]; row !== undefined && row.seq <= seq; row = this.#rows[0]) {
      const problem = this.#missing(row) ?? (await signatureProblem(this.#keys, row));
      if (problem !== null) return problem;
      const name = `checkpoint ${row.checkpoint_no}`;
      if (row.seq !== seq) return `${name} is out of order`;
      if (hexOf(row.hash) !== hash) return `the log is not the one that ${name} was signed for`;
      this.checked = row.checkpoint_no;
      this.lastSeq = seq;
      this.#rows.shift();
      await this.#fetch();
    }
    return null;
  }

  /** Whether there is a checkpoint of more than the whole chain. */
  problemBeyond(): string | null {
    const [row] = this.#rows;
    if (row !== undefined) {
      return (
        this.#missing(row) ?? `entries up to ${row.seq}, which checkpoint ${row.checkpoint_no} covers, were removed`
      );
    }
    return this.checked < this.#lastNumber ? `checkpoint ${this.checked + 1} was removed` : null;
  }

  #missing(row: store.CheckpointRow): string | null {
    const expected = this.checked + 1;
    return row.checkpoint_no === expected ? null : `checkpoint ${expected} was removed`;
  }
}

/** What cannot even be read was changed too; as one text without a right hash it is found by the check. */
function readable(segment: { entries: string }): string[] {
  try {
    const texts = textsOf(segment);
    return texts.length > 0 ? texts : [''];
  } catch {
    return [''];
  }
}
