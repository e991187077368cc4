import { sql } from 'kysely';
import { type Clock, systemClock } from '../base/clock.ts';
import type { Database } from '../storage/database.ts';
import { uptimeReader } from './uptime.ts';

/** The sources of time. They are injected, so that tests can move all of them, or set one clock wrong. */
export interface TimeSources extends Clock {
  /** Milliseconds since some moment in this process. Nobody can set it, so it measures the time in which this machine ran. */
  elapsed(): number;
  /** Milliseconds since the machine started. It also counts time in which the machine was suspended, which `elapsed` does not. */
  uptime(): number;
  /** The clock of the database server; null if the database has none of its own. */
  ofDatabase(database: Database): Promise<number | null>;
}

export const systemTime: TimeSources = {
  ...systemClock,
  elapsed: () => performance.now(),
  uptime: uptimeReader(),
  ofDatabase: databaseNow,
};

export async function databaseNow(database: Database): Promise<number | null> {
  if (database.kind === 'sqlite') return null;
  const { rows } = await sql<{ now: string }>`select extract(epoch from clock_timestamp()) * 1000 as now`.execute(
    database.read,
  );
  return Number(rows[0]?.now);
}
