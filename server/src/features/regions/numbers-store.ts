import { AuthenticatedTable } from '../../kernel/integrity/authenticated-table.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import { type Authenticated, SYSTEM_TENANT } from '../../kernel/storage/tables.ts';
import { seqMax } from './crdt/hybrid-clock.ts';
import { REGION_CELLS } from './directory-store.ts';

export interface RegionsNumbersTables {
  region_vectors: Authenticated<VectorRow>;
  region_clocks: Authenticated<ClockRow>;
}

/** Up to which number this region has all operations of an origin. */
interface VectorRow {
  tenant_id: string;
  origin: string;
  seq: number;
}

/** The latest time that this region wrote, and the number of its last operation. */
interface ClockRow {
  tenant_id: string;
  region: string;
  ms: number;
  counter: number;
  seq: number;
}
export type OwnClock = Pick<ClockRow, 'ms' | 'counter' | 'seq'>;

/** A number that is too high would hide what its origin writes from every region that asks this one. */
export const REGION_VECTORS = new AuthenticatedTable<'region_vectors', VectorRow>('region_vectors', {
  key: ['origin'],
  covered: ['seq'],
  isListedAtUpgrade: false,
});

export const REGION_CLOCKS = new AuthenticatedTable<'region_clocks', ClockRow>('region_clocks', {
  key: ['region'],
  covered: ['ms', 'counter', 'seq'],
  isListedAtUpgrade: false,
});

const OWN_AT_ONCE = 100;
/** The MAC of a row that was made to be locked, and has no content yet. */
const NOT_WRITTEN = new Uint8Array();

/**
 * Up to which number this region has everything, by origin. A row that was forged counts as missing: then too much is passed on, and the next pull
 * writes it anew. The own number does not depend on its row.
 */
export async function readVector(db: Reader, region: string, now: number): Promise<Map<string, number>> {
  const { seq: own } = await readClock(db, region, now);
  const rows = await db.selectFrom('region_vectors').selectAll().where('tenant_id', '=', SYSTEM_TENANT).execute();
  const vector = new Map((await REGION_VECTORS.authenticOf(db, rows)).map(({ origin, seq }) => [origin, seq]));
  return own === 0 ? vector : vector.set(region, Math.max(own, vector.get(region) ?? 0));
}

export async function putVector(tx: Tx, origin: string, seq: number): Promise<void> {
  const { row_mac } = await REGION_VECTORS.signed(tx, { tenant_id: SYSTEM_TENANT, origin, seq });
  await tx
    .insertInto('region_vectors')
    .values({ tenant_id: SYSTEM_TENANT, origin, seq, row_mac })
    .onConflict((c) => c.columns(['tenant_id', 'origin']).doUpdateSet({ seq, row_mac }))
    .execute();
}

/**
 * Everything that changes the directory locks this row, so that numbers are committed in their order and readers miss none. A row that is missing or
 * forged is made anew from what this region has signed, and `isNew` says so.
 */
export async function lockClock(tx: Tx, region: string, now: number): Promise<OwnClock & { isNew: boolean }> {
  const empty = { tenant_id: SYSTEM_TENANT, region, ms: 0, counter: 0, seq: 0, row_mac: NOT_WRITTEN };
  await tx
    .insertInto('region_clocks')
    .values(empty)
    .onConflict((c) => c.columns(['tenant_id', 'region']).doNothing())
    .execute();
  const found = await tx
    .selectFrom('region_clocks')
    .selectAll()
    .where('tenant_id', '=', SYSTEM_TENANT)
    .where('region', '=', region)
    .forUpdate()
    .executeTakeFirstOrThrow();
  if (await isTrusted(tx, found)) return { ms: found.ms, counter: found.counter, seq: found.seq, isNew: false };
  return { ms: 0, counter: 0, seq: await lastOwnSeq(tx, region, now), isNew: true };
}

export async function putClock(tx: Tx, region: string, clock: OwnClock): Promise<void> {
  const { ms, counter, seq } = clock;
  await REGION_CLOCKS.update(tx, { tenant_id: SYSTEM_TENANT, region, ms, counter, seq }, { ms, counter, seq });
}

/** The clock as it is, without a lock. */
export async function readClock(db: Reader, region: string, now: number): Promise<OwnClock> {
  return (await findClock(db, region)) ?? { ms: 0, counter: 0, seq: await lastOwnSeq(db, region, now) };
}

async function findClock(db: Reader, region: string): Promise<ClockRow | undefined> {
  const row = await db
    .selectFrom('region_clocks')
    .selectAll()
    .where('tenant_id', '=', SYSTEM_TENANT)
    .where('region', '=', region)
    .executeTakeFirst();
  return row !== undefined && (await isTrusted(db, row)) ? row : undefined;
}

async function isTrusted(db: Reader, row: ClockRow & { row_mac: Uint8Array | null }): Promise<boolean> {
  if (row.row_mac?.length === NOT_WRITTEN.length) return false;
  return (await REGION_CLOCKS.authenticOf(db, [row])).length > 0;
}

/** The highest number that this region has signed. What no clock can have given out was written when numbers were not checked. */
async function lastOwnSeq(db: Reader, region: string, now: number): Promise<number> {
  for (let before = seqMax(now) + 1; ; ) {
    const rows = await db
      .selectFrom('region_cells')
      .selectAll()
      .where('tenant_id', '=', SYSTEM_TENANT)
      .where('origin', '=', region)
      .where('seq', '<', before)
      .orderBy('seq', 'desc')
      .limit(OWN_AT_ONCE)
      .execute();
    const [last] = await REGION_CELLS.authenticOf(db, rows);
    const lowest = rows.at(-1)?.seq;
    if (last !== undefined || lowest === undefined) return last?.seq ?? 0;
    before = lowest;
  }
}
