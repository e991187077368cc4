import type { Clock } from '../../kernel/platform/clock.ts';
import type { Database, Reader, Tx } from '../../kernel/storage/database.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { SYSTEM_TENANT } from '../../kernel/storage/tables.ts';
import { DirectoryDigest } from './crdt/digest.ts';
import { isTooFarAhead, laterOf, nextStamp } from './crdt/hybrid-clock.ts';
import { cellId, isConflict, winner } from './crdt/merge.ts';
import {
  type CellKind,
  type CellValues,
  isSetKind,
  malformation,
  type Operation,
  parsedValue,
  tagOf,
  valueText,
} from './crdt/operation.ts';
import { byOriginAndSeq, type Delta, deltaOf, type Vector } from './crdt/vector.ts';
import * as store from './directory-store.ts';
import type { RegionIdentity } from './identity.ts';
import { PUSHED_AHEAD_MAX } from './schemas.ts';
import { SeenPrimaries } from './seen-primaries.ts';

/** Numbers follow the time, so that a region whose database was restored does not repeat those of operations that it lost. */
const SEQS_PER_MS = 1000;

export type SyncProblem = 'malformed' | 'unknown_origin' | 'bad_signature' | 'clock_ahead' | 'too_many_pushed';

/** What another region sent is not accepted. */
export class RefusedBatch extends Error {
  override readonly name = 'RefusedBatch';
  readonly problem: SyncProblem;

  constructor(problem: SyncProblem, message: string) {
    super(message);
    this.problem = problem;
  }
}

export interface Write<K extends CellKind = CellKind> {
  kind: K;
  key: string;
  value: CellValues[K];
}

export type MergeResult = 'merged' | 'known' | 'superseded';

/** The directory that the regions share, as this region has it. */
export class Directory {
  readonly region: string;
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #identity: RegionIdentity;
  readonly #onConflict: (tenantId: string, regions: readonly string[]) => void;
  readonly seen = new SeenPrimaries();
  /** Called after a merge with the tenants that it is about. */
  onMerged: (tenantIds: readonly string[]) => void = () => {};

  constructor(parts: {
    region: string;
    database: Database;
    clock: Clock;
    identity: RegionIdentity;
    onConflict: (tenantId: string, regions: readonly string[]) => void;
  }) {
    this.region = parts.region;
    this.#database = parts.database;
    this.#clock = parts.clock;
    this.#identity = parts.identity;
    this.#onConflict = parts.onConflict;
  }

  /** Writes cells in the transaction of the change that they tell the other regions about. */
  async write<K extends CellKind>(tx: Tx, ...writes: Write<K>[]): Promise<void> {
    await this.#append(
      tx,
      writes.map(({ kind, key, value }) => ({ kind, key, value: valueText(kind, value), removes: null })),
    );
  }

  /** Removes elements of a set, each by the tag of its addition. */
  async remove(tx: Tx, kind: CellKind, elements: readonly { key: string; tag: string }[]): Promise<void> {
    await this.#append(
      tx,
      elements.map(({ key, tag }) => ({ kind, key, value: '', removes: tag })),
    );
  }

  async #append(
    tx: Tx,
    writes: readonly { kind: CellKind; key: string; value: string; removes: string | null }[],
  ): Promise<void> {
    if (writes.length === 0) return;
    let clock = await store.lockClock(tx, this.region);
    const operations = writes.map(({ kind, key, value, removes }) => {
      const now = this.#clock.now();
      const { ms, counter } = nextStamp(clock, now, this.region);
      const seq = Math.max(clock.seq + 1, now * SEQS_PER_MS);
      clock = { ms, counter, seq };
      const own = { origin: this.region, seq };
      const tag = removes ?? (isSetKind(kind) ? tagOf(own) : '');
      return this.#identity.sign({ ...own, ms, counter, kind, key, tag, isRemoved: removes !== null, value });
    });
    await this.#apply(tx, operations);
    await store.putClock(tx, this.region, clock);
    await store.putVector(tx, this.region, clock.seq);
  }

  /**
   * Merges what another region sent. The whole batch is refused if one operation is malformed or not signed by its origin. An operation from a clock
   * that is ahead ends what is accepted of its origin, and is accepted once the time has come.
   *
   * `pulled` is what the sender of a pull vouches for. Without it the operations were pushed ahead of earlier ones of their origin, which are still to be
   * pulled, so the vector stays as it is.
   */
  async merge(received: readonly Operation[], pulled: Vector | null = null): Promise<MergeResult[]> {
    for (const operation of received) this.#refuseInvalid(operation);
    const now = this.#clock.now();
    const late = new Set<string>();
    const accepted = [...received].sort(byOriginAndSeq).filter((operation) => {
      if (isTooFarAhead(operation, now)) late.add(operation.origin);
      return !late.has(operation.origin);
    });
    // Read before the transaction: a batch that changes nothing must not touch the epochs of tenants.
    const changing = await this.#winners(this.#database.read, accepted);
    const known = await store.readVector(this.#database.read);
    const reached = pulled === null ? new Map<string, number>() : reachedBy(accepted, pulled, late);
    const isAhead = [...reached].some(([origin, seq]) => seq > (known.get(origin) ?? 0));
    if (changing.length > 0 || isAhead) await this.#commit(accepted, changing, reached, pulled === null);
    this.#noteSeen(accepted);
    if (late.size > 0) {
      const names = [...late].join(', ');
      throw new RefusedBatch('clock_ahead', `the clock of ${names} is more than a minute ahead of this region's`);
    }
    const merged = new Set(changing.map(cellId));
    const current = await this.#current(this.#database.read, accepted);
    return received.map((operation) => {
      const { origin, seq } = current.get(cellId(operation)) ?? operation;
      if (origin !== operation.origin || seq !== operation.seq) return 'superseded';
      return merged.has(cellId(operation)) ? 'merged' : 'known';
    });
  }

  /** Other nodes of this region may have merged them first. */
  #noteSeen(merged: readonly Operation[]): void {
    const news = merged.filter((operation) => operation.kind === 'primary' && this.seen.note(operation));
    if (news.length > 0) this.onMerged(tenantsAffected(news));
  }

  #refuseInvalid(operation: Operation): void {
    const problem = malformation(operation);
    if (problem !== null) throw new RefusedBatch('malformed', problem);
    if (!this.#identity.isKnownRegion(operation.origin))
      throw new RefusedBatch('unknown_origin', 'an operation is from a region that is not configured');
    if (!this.#identity.isSigned(operation))
      throw new RefusedBatch('bad_signature', `an operation is not signed by its origin, ${operation.origin}`);
  }

  async #commit(
    accepted: readonly Operation[],
    changing: readonly Operation[],
    reached: ReadonlyMap<string, number>,
    isPushed: boolean,
  ): Promise<void> {
    await this.#database.transaction(async (tx) => {
      // Locked before the clock, as in transactions that revoke a token. Requests in progress are checked again before they commit.
      for (const tenantId of tenantsAffected(changing)) await raiseEpoch(tx, tenantId);
      let clock = await store.lockClock(tx, this.region);
      await this.#apply(tx, accepted);
      if (isPushed) await this.#refuseTooMany(tx);
      for (const { ms, counter } of accepted) clock = { ...laterOf({ ...clock, ms, counter }, clock) };
      const known = await store.readVector(tx);
      for (const [origin, seq] of reached) if (seq > (known.get(origin) ?? 0)) await store.putVector(tx, origin, seq);
      const ownSeq = Math.max(clock.seq, reached.get(this.region) ?? 0);
      await store.putClock(tx, this.region, { ms: clock.ms, counter: clock.counter, seq: ownSeq });
    });
    this.onMerged(tenantsAffected(changing));
  }

  /** Every page has all of them, so there must not be more than fit. */
  async #refuseTooMany(tx: Tx): Promise<void> {
    if ((await this.#pushedAhead(tx, await store.readVector(tx), new Map())).length <= PUSHED_AHEAD_MAX) return;
    throw new RefusedBatch(
      'too_many_pushed',
      'too many promotions were pushed here that this region has not pulled yet: try again once it has',
    );
  }

  /** The primary regions that were pushed here ahead of what this region has pulled, and that a region with the vector `known` may lack. */
  async #pushedAhead(db: Reader, own: Vector, known: Vector): Promise<Operation[]> {
    const cells: Operation[] = [];
    for (const origin of this.#identity.names) {
      const after = Math.max(own.get(origin) ?? 0, known.get(origin) ?? 0);
      const rows = await store.primariesAfter(db, origin, after, PUSHED_AHEAD_MAX + 1);
      cells.push(...rows.map(store.operationOf));
    }
    return cells;
  }

  async #apply(tx: Tx, operations: readonly Operation[]): Promise<void> {
    const rows = await this.#rows(tx, operations);
    const before = new Map(rows.map((row) => [cellId(store.operationOf(row)), row]));
    const next = new Map<string, Operation>();
    for (const operation of operations) {
      const id = cellId(operation);
      const row = before.get(id);
      const current = next.get(id) ?? (row && store.operationOf(row));
      if (current !== undefined && isConflict(current, operation))
        this.#onConflict(operation.key, [current.origin, operation.origin]);
      if (current === undefined || winner(current, operation) === operation) next.set(id, operation);
    }
    for (const [id, operation] of next) await store.putCell(tx, operation, before.get(id));
  }

  async #rows(db: Reader, operations: readonly Operation[]): Promise<store.CellRow[]> {
    const byKind = Map.groupBy(operations, ({ kind }) => kind);
    const rows: store.CellRow[] = [];
    for (const [kind, some] of byKind) {
      rows.push(...(await store.findCells(db, kind, [...new Set(some.map(({ key }) => key))])));
    }
    return rows;
  }

  async #current(db: Reader, operations: readonly Operation[]): Promise<Map<string, Operation>> {
    const rows = (await this.#rows(db, operations)).map(store.operationOf);
    return new Map(rows.map((row) => [cellId(row), row]));
  }

  async #winners(db: Reader, operations: readonly Operation[]): Promise<Operation[]> {
    const current = await this.#current(db, operations);
    return operations.filter((operation) => {
      const held = current.get(cellId(operation));
      return held === undefined || (winner(held, operation) === operation && held.signature !== operation.signature);
    });
  }

  /**
   * What a region with this vector lacks. `pushed`, with the last page, are the promotions that this region noted although it has not pulled
   * everything that their origins wrote before. A region that has noted a promotion must pass it on at once: the regions that a former primary
   * region relies on may have nothing but this one in common with those that noted it.
   */
  async delta(known: Vector, limit: number): Promise<Delta<Operation> & { pushed: Operation[] }> {
    const { read } = this.#database;
    const own = await store.readVector(read);
    const cells: Operation[] = [];
    for (const origin of [...own.keys()].sort()) {
      if (cells.length > limit) break;
      const after = known.get(origin) ?? 0;
      if ((own.get(origin) ?? 0) <= after) continue;
      cells.push(...(await store.cellsOfOrigin(read, origin, after, limit + 1 - cells.length)).map(store.operationOf));
    }
    const delta = deltaOf(cells, own, known, limit);
    return { ...delta, pushed: delta.isComplete ? await this.#pushedAhead(read, own, known) : [] };
  }

  vector(): Promise<Map<string, number>> {
    return store.readVector(this.#database.read);
  }

  async digest(asOf: number): Promise<string> {
    const digest = new DirectoryDigest(asOf);
    for await (const rows of store.REGION_CELLS.walk(this.#database.read, SYSTEM_TENANT)) {
      for (const row of rows) digest.add(store.operationOf(row));
    }
    return digest.toString();
  }

  async cell<K extends CellKind>(
    db: Reader,
    kind: K,
    key: string,
  ): Promise<{ origin: string; ms: number; value: CellValues[K] } | null> {
    const [row] = await store.findCells(db, kind, [key]);
    if (row === undefined || row.is_removed === 1) return null;
    const operation = store.operationOf(row) as Operation & { kind: K };
    return { origin: row.origin, ms: row.ms, value: parsedValue(operation) };
  }
}

/** Up to which number of each origin everything was included. */
function reachedBy(accepted: readonly Operation[], pulled: Vector, late: ReadonlySet<string>): Map<string, number> {
  const reached = new Map([...pulled].filter(([origin]) => !late.has(origin)));
  for (const { origin, seq } of accepted) reached.set(origin, Math.max(seq, reached.get(origin) ?? 0));
  return reached;
}

/** The tenants whose requests must be checked again: their primary region changed, or one of their tokens was revoked. */
function tenantsAffected(operations: readonly Operation[]): string[] {
  const tenants = new Set<string>();
  for (const operation of operations) {
    if (operation.kind === 'primary') tenants.add(operation.key);
    if (operation.kind === 'revoked_token')
      tenants.add(parsedValue(operation as Operation & { kind: 'revoked_token' }).tenant_id);
  }
  return [...tenants].sort();
}
