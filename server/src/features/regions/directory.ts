import type { Clock } from '../../kernel/base/clock.ts';
import { unavailable } from '../../kernel/base/errors.ts';
import { yielder } from '../../kernel/fairness/yielding.ts';
import type { Database, Reader, Tx } from '../../kernel/storage/database.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { SYSTEM_TENANT } from '../../kernel/storage/tables.ts';
import { Acceptance, RefusedBatch } from './acceptance.ts';
import { isTooFarAhead, nextStamp, SEQS_PER_MS, stampAfter } from './crdt/hybrid-clock.ts';
import { cellId, expiryOfCell, isConflict, isForgotten, isLess, tenantsAffected, winner } from './crdt/merge.ts';
import {
  type CellKind,
  type CellValues,
  isExcessive,
  isSetKind,
  type Operation,
  parsedValue,
  removalText,
  tagOf,
  valueText,
} from './crdt/operation.ts';
import { byOriginAndSeq, type Delta, type Vector } from './crdt/vector.ts';
import { DirectoryPages } from './directory-pages.ts';
import * as store from './directory-store.ts';
import type { RegionIdentity } from './identity.ts';
import { lockClock, type OwnClock, putClock, putVector, readClock } from './numbers-store.ts';
import { PUSHED_AHEAD_MAX, REGION_NAME } from './schemas.ts';
import { SeenPrimaries } from './seen-primaries.ts';
import { noteTerms } from './terms-store.ts';

/** Verifying a signature takes as long as reading so many entries of a log. */
const ENTRIES_PER_SIGNATURE = 50;

export interface Write<K extends CellKind = CellKind> {
  kind: K;
  key: string;
  value: CellValues[K];
}

export interface Page {
  readonly operations: readonly Operation[];
  /** Promotions that are ahead of earlier operations of their origins. */
  readonly pushed: readonly Operation[];
  /** What this region has with the page, as the other one says. */
  readonly vector?: Vector;
}

export interface PageResult {
  /** The origins of which something was left out. It must be pulled again. */
  held: ReadonlySet<string>;
  /** Why this region cannot rely on what it knows, although it has merged the rest; null if it can. */
  problem: RefusedBatch | null;
}

interface Merging {
  accepted: readonly Operation[];
  /** Those of them that are ahead of earlier ones of their origins. */
  pushed: readonly Operation[];
  /** Up to which number of each origin everything is included. */
  reached: ReadonlyMap<string, number>;
}

export type MergeResult = 'merged' | 'known' | 'superseded';

/** The directory that the regions share, as this region has it. */
export class Directory {
  readonly region: string;
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #identity: RegionIdentity;
  readonly #onConflict: (tenantId: string, regions: readonly string[]) => void;
  readonly #acceptance: Acceptance;
  readonly #pages: DirectoryPages;
  readonly seen = new SeenPrimaries();
  /** Called after a merge with the tenants that it is about. */
  onMerged: (tenantIds: readonly string[]) => void = () => {};
  /** Called when the database lost something that this process has seen in it: what the other regions know takes its place. */
  onLost: () => void = () => {};
  /** Whether the clock of this region was made anew: what it did not number must be written again. */
  #isRenumbered = false;

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
    this.#acceptance = new Acceptance(parts.identity, parts.clock);
    this.#pages = new DirectoryPages({ ...parts, seen: this.seen, onLost: () => this.onLost() });
  }

  /** Writes cells in the transaction of the change that they tell the other regions about. */
  async write<K extends CellKind>(tx: Tx, ...writes: Write<K>[]): Promise<void> {
    await this.#append(
      tx,
      writes.map(({ kind, key, value }) => ({ kind, key, value: valueText(kind, value), removes: null })),
    );
  }

  /** Removes elements of a set, each by the tag of its addition. */
  async remove(tx: Tx, elements: readonly Operation[]): Promise<void> {
    await this.#append(
      tx,
      elements.map((element) => ({ kind: element.kind, key: element.key, ...removalOf(element) })),
    );
  }

  async #append(
    tx: Tx,
    writes: readonly { kind: CellKind; key: string; value: string; removes: string | null }[],
  ): Promise<void> {
    if (writes.length === 0) return;
    let clock = await this.#lock(tx);
    const origin = this.region;
    const cells = writes.map(({ kind, key, value, removes }) => ({
      kind,
      key,
      value,
      removes,
      tag: removes ?? '',
      origin,
    }));
    const current = new Map((await this.#rows(tx, cells)).map((row) => [cellId(store.operationOf(row)), row]));
    const operations = cells.map(({ removes, ...cell }) => {
      const now = this.#clock.now();
      const own = nextStamp(clock, now, this.region);
      const held = current.get(cellId(cell));
      const { ms, counter } = held === undefined ? own : stampAfter(own, held, now);
      clock = { ms: own.ms, counter: own.counter, seq: Math.max(clock.seq + 1, now * SEQS_PER_MS) };
      const { seq } = clock;
      const tag = removes ?? (isSetKind(cell.kind) ? tagOf({ origin, seq }) : '');
      return this.#identity.sign({ seq, ms, counter, ...cell, tag, isRemoved: removes !== null });
    });
    await this.#write(tx, operations);
    await putClock(tx, this.region, clock);
    await putVector(tx, this.region, clock.seq);
  }

  async #lock(tx: Tx): Promise<OwnClock> {
    const { isNew, ...clock } = await lockClock(tx, this.region, this.#clock.now());
    this.#isRenumbered ||= isNew;
    return clock;
  }

  /** Once for each time that the clock was made anew. */
  takeRenumbered(): boolean {
    const wasRenumbered = this.#isRenumbered;
    this.#isRenumbered = false;
    return wasRenumbered;
  }

  /**
   * Writes again what this region signed with another key than its present one, so that the others can do without the certificate of the old one,
   * and what its clock has not numbered or is too far ahead of it, which the others refuse. It looks at some cells after the number `after`, and returns where to go on; null if there are no more.
   */
  async signAgain(after: number, limit: number): Promise<number | null> {
    const rows = await store.cellsOfOrigin(this.#database.read, this.region, after, limit);
    const stale = new Set<string>();
    const yieldAfter = yielder(SYSTEM_TENANT);
    const clock = await readClock(this.#database.read, this.region, this.#clock.now());
    for (const row of rows) {
      await yieldAfter(ENTRIES_PER_SIGNATURE);
      const isCurrent = row.seq <= clock.seq && !this.#isAheadOf(clock, row);
      if (!isCurrent || !this.#identity.isSignedWithOwnKey(store.operationOf(row))) stale.add(row.signature);
    }
    if (stale.size > 0) {
      await this.#database.transaction(async (tx) => {
        const clock = await this.#lock(tx);
        const current = await store.cellsOfOrigin(tx, this.region, after, limit);
        const left = current.filter(({ signature }) => stale.has(signature));
        // Nothing is signed that somebody else wrote into the database.
        for (const row of await store.REGION_CELLS.authenticOf(tx, left)) {
          // Its time would win over that of the row that takes its place.
          if (this.#isAheadOf(clock, row)) await store.deleteCell(tx, row);
          await this.#again(tx, row);
        }
      });
    }
    return rows.at(-1)?.seq ?? null;
  }

  #isAheadOf(clock: OwnClock, row: store.CellRow): boolean {
    return isTooFarAhead(row, Math.max(clock.ms, this.#clock.now()));
  }

  async #again(tx: Tx, row: store.CellRow): Promise<void> {
    const operation = store.operationOf(row);
    const { kind, key, tag, value, isRemoved } = operation;
    // An element of a set is identified by the operation that added it, so it is added anew.
    if (!isRemoved) await this.#append(tx, [{ kind, key, value, removes: null }]);
    if (tag !== '') await this.#append(tx, [{ kind, key, ...removalOf(operation) }]);
  }

  /**
   * Merges what another region pushed ahead of earlier operations of its origin, which are still to be pulled, so the vector stays as it is. The
   * whole batch is refused if one operation is.
   */
  async merge(pushed: readonly Operation[]): Promise<MergeResult[]> {
    for (const operation of pushed) {
      const problem = this.#acceptance.problemOf(operation);
      if (problem !== null) throw problem;
    }
    const changing = await this.#apply({ accepted: pushed, pushed, reached: new Map() });
    const merged = new Set(changing.map(cellId));
    const current = await this.#current(this.#database.read, pushed);
    return pushed.map((operation) => {
      const held = current.get(cellId(operation));
      // The region that sent it counts on what is noted here.
      const isLost = held === undefined ? !isForgotten(operation, this.#clock.now()) : isLess(held, operation);
      if (isLost) throw unavailable('The database of this region did not store what it was told: try again.');
      if (held !== undefined && (held.origin !== operation.origin || held.seq !== operation.seq)) return 'superseded';
      return merged.has(cellId(operation)) ? 'merged' : 'known';
    });
  }

  /**
   * Merges a page that was pulled from the region `from`, which vouches for its own numbers up to `seq`. What it says about those of others counts
   * only as far as they signed it.
   *
   * An operation of another origin that cannot be accepted, now or at all, must not keep this region from everything else in the page. It is left
   * out, and so is what its origin wrote after it, in this page and the next ones, except for promotions, which do not depend on what came before.
   * `heldBefore` are the origins of which an earlier page of this pull left something out.
   */
  async mergePage(
    from: string,
    page: Page,
    seq: number | null,
    heldBefore: ReadonlySet<string> = new Set(),
  ): Promise<PageResult> {
    const accepted: Operation[] = [];
    const pushed: Operation[] = [];
    const held = new Set(heldBefore);
    let problem: RefusedBatch | null = null;
    const yieldAfter = yielder(SYSTEM_TENANT);
    // A region that was removed from the configuration has no say any more, also where another region passes on what it wrote.
    const hasSay = ({ origin }: Operation) => !REGION_NAME.test(origin) || this.#identity.isKnownRegion(origin);
    for (const operation of page.operations.filter(hasSay).sort(byOriginAndSeq)) {
      const { origin, kind } = operation;
      await yieldAfter(ENTRIES_PER_SIGNATURE);
      const found = this.#acceptance.problemInPage(from, operation);
      if (found === null && isExcessive(operation)) continue;
      if (found !== null) {
        held.add(origin);
        // Without that promotion this region cannot rely on what it knows, and a region whose own clock is wrong is not relied on at all.
        if (origin === from || kind === 'primary') problem ??= found;
      } else if (!held.has(origin)) accepted.push(operation);
      else if (kind === 'primary') pushed.push(operation);
    }
    for (const operation of page.pushed.filter(hasSay)) {
      if (operation.kind !== 'primary') throw new RefusedBatch('malformed', 'only promotions are pushed');
      const found = this.#acceptance.problemInPage(from, operation);
      if (found === null) pushed.push(operation);
      else problem ??= found;
    }
    const numbers = new Map(page.vector);
    if (seq !== null) numbers.set(from, seq);
    for (const [origin, number] of numbers) {
      const found = this.#acceptance.problemOfNumber(origin, number);
      if (found === null) continue;
      held.add(origin);
      if (origin === from || origin === this.region) problem ??= found;
    }
    const reached = new Map(seq === null || held.has(from) ? [] : [[from, seq]]);
    // After a restore, the others may know later numbers of this region, which must not be given out again.
    if (!held.has(this.region)) reached.set(this.region, numbers.get(this.region) ?? 0);
    for (const { origin, seq } of accepted) reached.set(origin, Math.max(seq, reached.get(origin) ?? 0));
    await this.#apply({ accepted: [...accepted, ...pushed], pushed, reached });
    return { held, problem };
  }

  /** Returns the operations that changed something. */
  async #apply({ accepted, pushed, reached }: Merging): Promise<Operation[]> {
    const now = this.#clock.now();
    const living = accepted.filter((operation) => !isForgotten(operation, now));
    // Read before the transaction: a batch that changes nothing must not touch the epochs of tenants.
    const changing = await this.#winners(this.#database.read, living);
    const known = await this.vector();
    const isAhead = [...reached].some(([origin, seq]) => seq > (known.get(origin) ?? 0));
    if (changing.length > 0 || isAhead) await this.#commit({ accepted: living, pushed, reached }, changing);
    this.#noteSeen(accepted);
    return changing;
  }

  /** Other nodes of this region may have merged them first. */
  #noteSeen(merged: readonly Operation[]): void {
    const news = merged.filter((operation) => operation.kind === 'primary' && this.seen.note(operation));
    if (news.length > 0) this.onMerged(tenantsAffected(news));
  }

  async #commit({ accepted, pushed, reached }: Merging, changing: readonly Operation[]): Promise<void> {
    await this.#database.transaction(async (tx) => {
      // Locked before the clock, as in transactions that revoke a token. Requests in progress are checked again before they commit.
      for (const tenantId of tenantsAffected(changing)) await raiseEpoch(tx, tenantId);
      const clock = await this.#lock(tx);
      await this.#write(tx, accepted);
      if (pushed.length > 0) await this.#refuseTooMany(tx);
      const known = await this.#pages.vector(tx);
      for (const [origin, seq] of reached) if (seq > (known.get(origin) ?? 0)) await putVector(tx, origin, seq);
      await putClock(tx, this.region, { ...clock, seq: Math.max(clock.seq, reached.get(this.region) ?? 0) });
    });
    this.onMerged(tenantsAffected(changing));
  }

  /** Every page has all of them, so there must not be more than fit. */
  async #refuseTooMany(tx: Tx): Promise<void> {
    if ((await this.#pages.pushedAhead(tx, await this.#pages.vector(tx), new Map())).length <= PUSHED_AHEAD_MAX) return;
    throw new RefusedBatch(
      'too_many_pushed',
      'too many promotions were pushed here that this region has not pulled yet: try again once it has',
    );
  }

  async #write(tx: Tx, operations: readonly Operation[]): Promise<void> {
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
    for (const [id, operation] of next) {
      const row = before.get(id);
      if (row !== undefined && operation.kind === 'primary') await noteTerms(tx, store.operationOf(row));
      await store.putCell(tx, operation, row);
    }
  }

  async #rows(db: Reader, operations: readonly Pick<Operation, 'kind' | 'key'>[]): Promise<store.CellRow[]> {
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
      return held === undefined || isLess(held, operation);
    });
  }

  delta(known: Vector, limit: number): Promise<Delta<Operation> & { pushed: Operation[] }> {
    return this.#pages.delta(known, limit);
  }

  vector(): Promise<Map<string, number>> {
    return this.#pages.vector(this.#database.read);
  }

  digest(asOf: number): Promise<string> {
    return this.#pages.digest(asOf);
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

/** The removal of an element of a set, or the same removal again. */
function removalOf(element: Operation): { value: string; removes: string } {
  const expiresAt = expiryOfCell(element);
  if (expiresAt === null) throw new Error('only an element of a set that expires can be removed');
  return { value: removalText(expiresAt), removes: element.tag };
}
