import type { BrokenLink } from '../../kernel/audit/chain.ts';
import { hexOf } from '../../kernel/audit/chain.ts';
import { type Visit, walkChain } from '../../kernel/audit/chain-walk.ts';
import type { Heads } from '../../kernel/audit/heads.ts';
import { PurgedEntries } from '../../kernel/audit/purged-entries.ts';
import { RowHistory } from '../../kernel/integrity/row-verification.ts';
import { SECOND_MS } from '../../kernel/platform/clock.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import type { Tables } from '../../kernel/storage/tables.ts';
import type { PqcKeys } from '../pqc/index.ts';
import { signatureProblem } from './checkpoint.ts';
import { type VerifiedRows, verifyRows } from './row-check.ts';
import * as store from './store.ts';

const PAGE = 64;

export interface Verification {
  valid: boolean;
  entries: number;
  purged: number;
  first_broken: BrokenLink | null;
  checkpoints: number;
  signed_seq: number;
  rows: VerifiedRows;
}

export interface VerificationParts {
  kernel: Kernel;
  keys: PqcKeys;
}

/** How far the log had come, according to a record outside the database. */
export interface KeptHead {
  by: string;
  seq: number;
  /** In hexadecimal. */
  hash: string;
}

function anchored(heads: Heads, tenantId: string): KeptHead[] {
  const seen = heads.anchor.seen(tenantId);
  return seen === undefined ? [] : [{ by: 'this node', ...seen }];
}

/**
 * Recomputes the chain from its first entry to the head as it was when the check began, with each checkpoint on the way: an attacker could have put
 * back an older head together with its MAC. Then the rows that decide access are compared with their MACs and with the last change of each that the
 * log records.
 */
export async function verify(
  { kernel: { database, ...kernel }, ...others }: VerificationParts,
  tenantId: string,
  kept: readonly KeptHead[] = [],
): Promise<Verification> {
  // This reads a whole log, so it uses the bulk connections, which no request waits for.
  const parts = { ...others, kernel: { ...kernel, database: database.forTenant(tenantId, 'bulk') } };
  const { keys } = parts;
  const { heads } = kernel;
  await kernel.audit.link();
  const { read } = parts.kernel.database;
  const signed = await SignedPlaces.open(read, tenantId, keys);
  // These are collected before the head is read, because the log may advance meanwhile.
  const outside = [...kept, ...anchored(heads, tenantId)];
  const head = await heads.row(read, tenantId);
  const history = new RowHistory();
  const purged = new PurgedEntries();
  let entries = 0;
  const cutBack = outside.find(({ seq }) => seq > (head?.seq ?? 0));
  const broken =
    head === undefined
      ? { seq: 1, reason: 'the head of the chain was removed' }
      : cutBack !== undefined
        ? { seq: head.seq + 1, reason: `entries up to ${cutBack.seq}, which ${cutBack.by} knows, were removed` }
        : await walkWithPurged(parts, head, purged, (seq, hash, text) => {
            entries++;
            history.add(text);
            const other = outside.find((one) => one.seq === seq && one.hash !== hash);
            if (other !== undefined) return `the log is not the one that ${other.by} knows`;
            return signed.nextSeq <= seq ? signed.problemAt(seq, hash) : null;
          });
  const beyond = broken === null ? signed.problemBeyond() : null;
  const firstBroken = beyond === null ? broken : { seq: (head?.seq ?? 0) + 1, reason: beyond };
  // A broken log proves nothing, so the rows are then checked against their own MACs alone.
  const rows = await verifyRows(parts, tenantId, head, firstBroken === null ? history : null);
  const valid = firstBroken === null && rows.problems_count === 0;
  kernel.metrics.verifications.labels(valid ? 'valid' : 'invalid').inc();
  kernel.metrics.lastVerification.set(kernel.clock.now() / SECOND_MS);
  return {
    valid,
    // A restored chain skips sequence numbers, so the entries are counted.
    entries: broken === null ? entries : (head?.seq ?? 0),
    purged: purged.count,
    first_broken: firstBroken,
    checkpoints: signed.checked,
    signed_seq: signed.lastSeq,
    rows,
  };
}

/** The audit entry for a purge that happens during the walk comes after the head that was read, so the walk goes on to the newest head. */
async function walkWithPurged(
  { kernel }: VerificationParts,
  head: Tables['audit_heads'],
  purged: PurgedEntries,
  visit: Visit,
): Promise<BrokenLink | null> {
  const { read } = kernel.database;
  const broken = await walkChain(read, kernel.heads, head, visit, { purged });
  if (broken !== null || purged.missing() === null) return broken;
  await kernel.audit.link();
  const newest = (await kernel.heads.row(read, head.tenant_id)) ?? head;
  return (await walkChain(read, kernel.heads, newest, () => null, { from: head, purged })) ?? purged.missing();
}

/** Steps through the checkpoints while the chain is recomputed. */
class SignedPlaces {
  readonly #db: Reader;
  readonly #tenantId: string;
  readonly #keys: PqcKeys;
  /** A checkpoint that is signed during the check may cover entries that the check does not read. */
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

  /** Must be opened before the head is read, so that no checkpoint it loads covers more than the head does. */
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

  /** Call this whenever the walk reaches `nextSeq`. */
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

  /** Reports a missing checkpoint, or one that covers more than the whole chain. */
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
