import type { Clock } from '../../kernel/base/clock.ts';
import { unavailable } from '../../kernel/base/errors.ts';
import type { Database, Reader } from '../../kernel/storage/database.ts';
import { SYSTEM_TENANT } from '../../kernel/storage/tables.ts';
import { DirectoryDigest } from './crdt/digest.ts';
import type { Operation } from './crdt/operation.ts';
import { type Delta, deltaOf, type Vector } from './crdt/vector.ts';
import * as store from './directory-store.ts';
import type { RegionIdentity } from './identity.ts';
import { readVector } from './numbers-store.ts';
import { PUSHED_AHEAD_MAX } from './schemas.ts';
import { isPutBack, type SeenPrimaries } from './seen-primaries.ts';

const PRIMARIES_AT_ONCE = 500;

interface Parts {
  region: string;
  database: Database;
  clock: Clock;
  identity: RegionIdentity;
  seen: SeenPrimaries;
  onLost: () => void;
}

/** What this region passes on to the others. */
export class DirectoryPages {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * What a region with this vector lacks. `pushed`, with the last page, are the promotions that this region noted although it has not pulled
   * everything that their origins wrote before. A region that has noted a promotion must pass it on at once: the regions that a former primary
   * region relies on may have nothing but this one in common with those that noted it.
   */
  async delta(known: Vector, limit: number): Promise<Delta<Operation> & { pushed: Operation[] }> {
    const { identity } = this.#parts;
    const { read } = this.#parts.database;
    const own = await this.vector(read);
    const cells: Operation[] = [];
    for (const origin of [...own.keys()].filter((name) => identity.isKnownRegion(name)).sort()) {
      if (cells.length > limit) break;
      const after = known.get(origin) ?? 0;
      if ((own.get(origin) ?? 0) <= after) continue;
      cells.push(...(await store.cellsOfOrigin(read, origin, after, limit + 1 - cells.length)).map(store.operationOf));
    }
    const delta = deltaOf(cells, own, known, limit);
    const pushed = delta.isComplete ? await this.pushedAhead(read, own, known) : [];
    await this.#refuseIfLost(known, delta.isComplete ? null : delta.vector);
    // They can be so many only if what this region had of their origins was lost. The next pulls from them end that.
    if (pushed.length > PUSHED_AHEAD_MAX)
      throw unavailable('This region has to pull from the others before it can pass on what they wrote: try again.');
    return { ...delta, pushed };
  }

  /**
   * A region that noted a promotion, and whose database has lost it since, must not look as if it knew of none: the former primary region relies on
   * what is passed on here.
   */
  async #refuseIfLost(known: Vector, reached: Vector | null): Promise<void> {
    const { database, seen, onLost } = this.#parts;
    const tenants = seen.between(known, reached);
    for (let at = 0; at < tenants.length; at += PRIMARIES_AT_ONCE) {
      const some = tenants.slice(at, at + PRIMARIES_AT_ONCE);
      const before = some.map((tenantId) => [tenantId, seen.get(tenantId)] as const);
      const rows = await store.findCells(database.read, 'primary', some);
      const found = new Map(rows.map((row) => [row.cell_key, store.operationOf(row)]));
      const lost = before.find(([tenantId, one]) => isPutBack(one, found.get(tenantId) ?? null));
      if (lost === undefined) continue;
      onLost();
      database.read.rowKeys.refuse('region_cells', `primary ${lost[0]}`);
      throw unavailable('Somebody deleted or put back a part of the directory of this region: try again.');
    }
  }

  /** The primary regions that were pushed here ahead of what this region has pulled, and that a region with the vector `known` may lack. */
  async pushedAhead(db: Reader, own: Vector, known: Vector): Promise<Operation[]> {
    const cells: Operation[] = [];
    for (const origin of this.#parts.identity.names) {
      const after = Math.max(own.get(origin) ?? 0, known.get(origin) ?? 0);
      const rows = await store.primariesAfter(db, origin, after, PUSHED_AHEAD_MAX + 1);
      cells.push(...rows.map(store.operationOf));
    }
    return cells;
  }

  vector(db: Reader): Promise<Map<string, number>> {
    return readVector(db, this.#parts.region, this.#parts.clock.now());
  }

  async digest(asOf: number): Promise<string> {
    const { database, identity } = this.#parts;
    const digest = new DirectoryDigest(asOf);
    for await (const rows of store.REGION_CELLS.walk(database.read, SYSTEM_TENANT)) {
      for (const row of rows) if (identity.isKnownRegion(row.origin)) digest.add(store.operationOf(row));
    }
    return digest.toString();
  }
}
