import type { ArchiveRow } from '../../../kernel/audit/chain/archived-ranges.ts';
import { type BrokenLink, GENESIS_HASH, hexOf } from '../../../kernel/audit/chain/chain.ts';
import { type Visit, type WalkOptions, walkChain } from '../../../kernel/audit/chain/chain-walk.ts';
import type { Heads } from '../../../kernel/audit/chain/heads.ts';
import { PurgedEntries } from '../../../kernel/audit/chain/purged-entries.ts';
import { SECOND_MS } from '../../../kernel/base/clock.ts';
import { RowHistory } from '../../../kernel/integrity/row-verification.ts';
import type { Reader } from '../../../kernel/storage/database.ts';
import type { Tables } from '../../../kernel/storage/tables.ts';
import type { PqcKeys } from '../../pqc/index.ts';
import { signatureProblem } from '../checkpoints/checkpoint.ts';
import type { AuditKernel } from '../links.ts';
import * as store from '../store.ts';
import { type RecordedRows, type VerifiedRows, verifyRecordedRows, verifyRows } from './row-check.ts';

const PAGE = 64;

export interface Verification {
  valid: boolean;
  entries: number;
  purged: number;
  archived: number;
  first_broken: BrokenLink | null;
  checkpoints: number;
  signed_seq: number;
  rows: VerifiedRows;
}

export interface VerificationParts {
  kernel: AuditKernel;
  keys: PqcKeys;
}

/** How far the log had come, according to a record outside the database. */
export interface ExpectedHead {
  by: string;
  seq: number;
  /** In hexadecimal. */
  hash: string;
}

function anchored(heads: Heads, tenantId: string): ExpectedHead[] {
  const seen = heads.anchor.seen(tenantId);
  return seen === undefined ? [] : [{ by: 'this node', ...seen }];
}

export interface VerifyOptions {
  /** How far the log had come, according to records outside the database. */
  expected?: readonly ExpectedHead[];
  signal?: AbortSignal;
  /** Called now and then with the number of the entry that was reached. */
  onSeq?(seq: number): void;
}

/**
 * Recomputes the chain from its first entry to the head as it was when the check began, with each checkpoint on the way: an attacker could have put
 * back an older head together with its MAC. Then the rows that decide access are compared with their MACs and with the last change of each that the
 * log records.
 */
export async function verify(
  given: VerificationParts,
  tenantId: string,
  options: VerifyOptions = {},
): Promise<Verification> {
  return (await verifyFully(given, tenantId, options)).verification;
}

/** A verification, with the last position from which a later one can go on. */
export async function verifyFully(
  given: VerificationParts,
  tenantId: string,
  options: VerifyOptions = {},
): Promise<{ verification: Verification; reached: Position }> {
  const parts = onBulkConnections(given, tenantId);
  const { kernel } = parts;
  const { head, signed, broken, purged, entries, archived, history, reached } = await walk(
    parts,
    tenantId,
    GENESIS,
    options,
  );
  // A broken log proves nothing, so the rows are then checked against their own MACs alone.
  const rows = await verifyRows(parts, tenantId, head, broken === null ? history : null);
  const valid = broken === null && rows.problems_count === 0;
  kernel.metrics.verifications.labels(valid ? 'valid' : 'invalid').inc();
  kernel.metrics.lastVerification.set(kernel.clock.now() / SECOND_MS);
  const verification = {
    valid,
    // A restored chain skips sequence numbers, so the entries are counted.
    entries: broken === null ? entries : (head?.seq ?? 0),
    purged: purged.count,
    archived,
    first_broken: broken,
    checkpoints: signed.checked,
    signed_seq: signed.lastSeq,
    rows,
  };
  return { verification, reached };
}

/**
 * Verifies what came since an earlier verification: the chain from there to the head, the checkpoints, and the rows whose changes were recorded
 * since. It returns the position from which the next one can go on; null if something is wrong, which a full verification then describes. What an
 * attacker changed before the position, or in rows that did not change since, is left to the next full verification.
 */
export async function verifySince(
  given: VerificationParts,
  tenantId: string,
  since: Position,
  options: VerifyOptions = {},
): Promise<Position | null> {
  const parts = onBulkConnections(given, tenantId);
  const { head, broken, history, recorded, reached } = await walk(parts, tenantId, since, options);
  if (broken !== null || head === undefined) return null;
  const rows = await verifyRecordedRows(parts, { tenantId, head }, history, recorded);
  if (rows.problems_count > 0) return null;
  const { metrics, clock } = parts.kernel;
  metrics.verifications.labels('valid').inc();
  metrics.lastVerification.set(clock.now() / SECOND_MS);
  return reached;
}

/** A place in a chain up to which it was verified, with the number of the last checkpoint before it. */
export interface Position {
  seq: number;
  hash: Uint8Array;
  checkpoint_no: number;
}

const GENESIS: Position = { seq: 0, hash: GENESIS_HASH, checkpoint_no: 0 };

/** A verification reads a whole log, so it uses the bulk connections, which no request waits for. */
function onBulkConnections({ kernel, keys }: VerificationParts, tenantId: string): VerificationParts {
  return { keys, kernel: { ...kernel, database: kernel.database.forTenant(tenantId, 'bulk') } };
}

/** Recomputes the chain from a position to the head as it was when the walk began, with each checkpoint on the way. */
async function walk(
  parts: VerificationParts,
  tenantId: string,
  from: Position,
  { expected = [], signal, onSeq }: VerifyOptions,
) {
  const { heads, audit, database } = parts.kernel;
  await audit.link();
  const { read } = database;
  const signed = await SignedPlaces.open(read, tenantId, parts.keys, from.checkpoint_no);
  // These are collected before the head is read, because the log may advance meanwhile.
  const outside = [...expected, ...anchored(heads, tenantId)];
  const head = await heads.row(read, tenantId);
  const history = new RowHistory();
  const purged = new PurgedEntries();
  const recorded: RecordedRows = new Map();
  let entries = 0;
  let archived = 0;
  let reached = from;
  const visit: Visit = (seq, hash, text) => {
    entries++;
    const records = history.add(text);
    if (from !== GENESIS) for (const [table, key] of records) recorded.set(`${table} ${key}`, [table, key]);
    const other = outside.find((one) => one.seq === seq && one.hash !== hash);
    if (other !== undefined) return `the log is not the one that ${other.by} knows`;
    return signed.nextSeq <= seq ? signed.problemAt(seq, hash) : null;
  };
  const onWindow = ({ seq, hash }: { seq: number; hash: string }) => {
    reached = { seq, hash: Buffer.from(hash, 'hex'), checkpoint_no: signed.checked };
    onSeq?.(seq);
  };
  const onPruned = (range: ArchiveRow, expected: number) => {
    archived += range.entries;
    entries += range.entries - expected;
  };
  const cutBack = [...outside, { by: 'the last verification', seq: from.seq }].find(
    ({ seq }) => seq > (head?.seq ?? 0),
  );
  const broken =
    head === undefined
      ? { seq: 1, reason: 'the head of the chain was removed' }
      : cutBack !== undefined
        ? { seq: head.seq + 1, reason: `entries up to ${cutBack.seq}, which ${cutBack.by} knows, were removed` }
        : await walkWithPurged(parts, head, visit, { from, purged, onWindow, onPruned, signal });
  const beyond = broken === null ? signed.problemBeyond() : null;
  const firstBroken = beyond === null ? broken : { seq: (head?.seq ?? 0) + 1, reason: beyond };
  return { head, signed, broken: firstBroken, purged, entries, archived, history, recorded, reached };
}

/** The audit entry for a purge that happens during the walk comes after the head that was read, so the walk goes on to the newest head. */
async function walkWithPurged(
  { kernel }: VerificationParts,
  head: Tables['audit_heads'],
  visit: Visit,
  options: WalkOptions & { purged: PurgedEntries },
): Promise<BrokenLink | null> {
  const { read } = kernel.database;
  const { purged, signal } = options;
  const broken = await walkChain(read, { heads: kernel.heads, head }, visit, options);
  if (broken !== null || purged.missing() === null) return broken;
  await kernel.audit.link();
  const newest = (await kernel.heads.row(read, head.tenant_id)) ?? head;
  return (
    (await walkChain(read, { heads: kernel.heads, head: newest }, () => null, { from: head, purged, signal })) ??
    purged.missing()
  );
}

/** Steps through the checkpoints while the chain is recomputed. */
class SignedPlaces {
  readonly #db: Reader;
  readonly #tenantId: string;
  readonly #keys: PqcKeys;
  /** A checkpoint that is signed during the check may cover entries that the check does not read. */
  readonly #lastNumber: number;
  #rows: store.CheckpointRow[] = [];
  /** The number of the last checkpoint that was found in its place. */
  checked: number;
  lastSeq = 0;

  private constructor(
    db: Reader,
    tenantId: string,
    keys: PqcKeys,
    { checked, lastNumber }: { checked: number; lastNumber: number },
  ) {
    this.checked = checked;
    this.#db = db;
    this.#tenantId = tenantId;
    this.#keys = keys;
    this.#lastNumber = lastNumber;
  }

  /** Must be opened before the head is read, so that no checkpoint it loads covers more than the head does. */
  static async open(db: Reader, tenantId: string, keys: PqcKeys, checked: number): Promise<SignedPlaces> {
    const newest = await store.newestCheckpoint(db, tenantId);
    const places = new SignedPlaces(db, tenantId, keys, { checked, lastNumber: newest?.checkpoint_no ?? 0 });
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
