import type { Reader, Tx } from '../../kernel/storage/database.ts';
import type { Cutoff } from '../../kernel/time/cutoff.ts';

export interface HourlyActivityTables {
  hourly_activity: HourlyActivityRow;
  hourly_actors: HourlyActorRow;
}

/** Without a MAC: statistics of the audit log, which decide about nobody's access. */
export interface HourlyActivityRow {
  tenant_id: string;
  hour_start: number;
  reads: number;
  changes: number;
  other: number;
  denied: number;
  failed: number;
}

export interface HourlyActorRow {
  tenant_id: string;
  hour_start: number;
  actor_kind: string;
  actor_id: string;
  /** The last name that the log had; empty where it had none. */
  actor_name: string;
  reads: number;
  changes: number;
  denied: number;
}

const ROWS_AT_ONCE = 500;
/** Actors of one tenant and hour; more are counted in the totals only. Adding up those of a week takes half a turn of the event loop. */
export const ACTORS_PER_HOUR_MAX = 100;
const HOURS_DELETED_AT_ONCE = 4;

export async function addActivity(tx: Tx, rows: readonly HourlyActivityRow[]): Promise<void> {
  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
    await tx
      .insertInto('hourly_activity')
      .values(rows.slice(at, at + ROWS_AT_ONCE))
      .onConflict((c) =>
        c.columns(['tenant_id', 'hour_start']).doUpdateSet((eb) => ({
          reads: eb('hourly_activity.reads', '+', eb.ref('excluded.reads')),
          changes: eb('hourly_activity.changes', '+', eb.ref('excluded.changes')),
          other: eb('hourly_activity.other', '+', eb.ref('excluded.other')),
          denied: eb('hourly_activity.denied', '+', eb.ref('excluded.denied')),
          failed: eb('hourly_activity.failed', '+', eb.ref('excluded.failed')),
        })),
      )
      .execute();
  }
}

/** Adds what actors did. An hour that has its full number of actors gets no new ones. */
export async function addActors(tx: Tx, tenantId: string, rows: readonly HourlyActorRow[]): Promise<void> {
  for (const [hour, ofHour] of Map.groupBy(rows, ({ hour_start }) => hour_start)) {
    const stored = await actorsIn(tx, tenantId, hour);
    let room = ACTORS_PER_HOUR_MAX - stored.size;
    const within = ofHour.filter((row) => stored.has(keyText(row)) || room-- > 0);
    if (within.length === 0) continue;
    await tx
      .insertInto('hourly_actors')
      .values(within)
      .onConflict((c) =>
        c.columns(['tenant_id', 'hour_start', 'actor_kind', 'actor_id']).doUpdateSet((eb) => ({
          actor_name: eb
            .case()
            .when('excluded.actor_name', '=', '')
            .then(eb.ref('hourly_actors.actor_name'))
            .else(eb.ref('excluded.actor_name'))
            .end(),
          reads: eb('hourly_actors.reads', '+', eb.ref('excluded.reads')),
          changes: eb('hourly_actors.changes', '+', eb.ref('excluded.changes')),
          denied: eb('hourly_actors.denied', '+', eb.ref('excluded.denied')),
        })),
      )
      .execute();
  }
}

async function actorsIn(tx: Tx, tenantId: string, hour: number): Promise<Set<string>> {
  const rows = await tx
    .selectFrom('hourly_actors')
    .select(['actor_kind', 'actor_id'])
    .where('tenant_id', '=', tenantId)
    .where('hour_start', '=', hour)
    .execute();
  return new Set(rows.map(keyText));
}

function keyText({ actor_kind, actor_id }: Pick<HourlyActorRow, 'actor_kind' | 'actor_id'>): string {
  return JSON.stringify([actor_kind, actor_id]);
}

interface Hours {
  from: number;
  to: number;
}

/** In order. A tenant has one row for each hour, so the period bounds how many there are. */
export function listActivity(db: Reader, tenantId: string, { from, to }: Hours): Promise<HourlyActivityRow[]> {
  return db
    .selectFrom('hourly_activity')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('hour_start', '>=', from)
    .where('hour_start', '<', to)
    .orderBy('hour_start')
    .execute();
}

/** The oldest hour that has counts. */
export async function oldestHour(db: Reader, tenantId: string): Promise<number | null> {
  const row = await db
    .selectFrom('hourly_activity')
    .select('hour_start')
    .where('tenant_id', '=', tenantId)
    .orderBy('hour_start')
    .limit(1)
    .executeTakeFirst();
  return row === undefined ? null : Number(row.hour_start);
}

/** All hours of an actor in one row, the most active first. */
export async function mostActive(
  db: Reader,
  tenantId: string,
  { from, to }: Hours,
  limit: number,
): Promise<Omit<HourlyActorRow, 'tenant_id' | 'hour_start'>[]> {
  const rows = await db
    .selectFrom('hourly_actors')
    .select((eb) => [
      'actor_kind',
      'actor_id',
      eb.fn.max('actor_name').as('actor_name'),
      eb.fn.sum('reads').as('reads'),
      eb.fn.sum('changes').as('changes'),
      eb.fn.sum('denied').as('denied'),
    ])
    .where('tenant_id', '=', tenantId)
    .where('hour_start', '>=', from)
    .where('hour_start', '<', to)
    .groupBy(['actor_kind', 'actor_id'])
    .orderBy((eb) => eb.fn.sum(eb('reads', '+', eb('changes', '+', eb.ref('denied')))), 'desc')
    .orderBy('actor_id')
    .limit(limit)
    .execute();
  return rows.map((row) => ({
    ...row,
    reads: Number(row.reads),
    changes: Number(row.changes),
    denied: Number(row.denied),
  }));
}

/** Deletes some of the oldest hours that are over; false if none is. */
export async function deleteOldActivity(tx: Tx, tenantId: string, cutoff: Cutoff): Promise<boolean> {
  const rows = await tx
    .selectFrom('hourly_activity')
    .select('hour_start')
    .where('tenant_id', '=', tenantId)
    .where('hour_start', '<', cutoff)
    .orderBy('hour_start')
    .limit(HOURS_DELETED_AT_ONCE)
    .execute();
  const last = rows.at(-1)?.hour_start;
  if (last === undefined) return false;
  for (const table of ['hourly_activity', 'hourly_actors'] as const)
    await tx.deleteFrom(table).where('tenant_id', '=', tenantId).where('hour_start', '<=', last).execute();
  return true;
}
