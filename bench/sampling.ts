import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { JOURNAL_FILE } from '../server/src/start/open-audit.ts';
import { DATABASE_FILE } from '../server/src/start/open-storage.ts';
import { query } from '../test/support/postgres.ts';
import { databaseBytes, type Installation } from './installation.ts';
import { quantile } from './statistics.ts';
import { memoryMiB } from './subject.ts';

/** What is measured while the service is under load. Null where there is no such thing. */
export const QUANTITIES = {
  rssMiB: 'resident memory, MiB',
  heapMiB: 'heap in use, MiB',
  handles: 'open handles',
  loopDelayMs: 'event-loop delay p99, ms',
  p50Ms: 'latency p50, ms',
  p99Ms: 'latency p99, ms',
  perSecond: 'requests/s',
  walMiB: 'write-ahead log, MiB',
  journalMiB: 'audit journal on disk, MiB',
  databaseMiB: 'database, MiB',
} as const;
export type Quantity = keyof typeof QUANTITIES;

export type Sample = { seconds: number } & Record<Quantity, number | null>;

const MIB = 1024 * 1024;
const BLOCK_BYTES = 512;

/** Times of answers since it was last emptied. */
export class Window {
  #latencies: number[] = [];
  #since = performance.now();

  add(ms: number): void {
    this.#latencies.push(ms);
  }

  take(): { p50Ms: number; p99Ms: number; perSecond: number } {
    const sorted = Float64Array.from(this.#latencies).sort();
    const now = performance.now();
    const perSecond = sorted.length / ((now - this.#since) / 1000);
    this.#latencies = [];
    this.#since = now;
    return { p50Ms: quantile(sorted, 0.5), p99Ms: quantile(sorted, 0.99), perSecond };
  }
}

export async function sample(installation: Installation, window: Window, seconds: number): Promise<Sample> {
  const { pid, dataDir, databaseUrl } = installation;
  const seen = window.take();
  const metrics = await readMetrics(installation);
  const bytes = await databaseBytes(dataDir, databaseUrl);
  return {
    seconds,
    ...seen,
    rssMiB: memoryMiB(pid),
    heapMiB: (metrics.get('cv_nodejs_heap_size_used_bytes') ?? Number.NaN) / MIB,
    loopDelayMs: (metrics.get('cv_nodejs_eventloop_lag_p99_seconds') ?? Number.NaN) * 1000,
    handles: handlesOf(pid),
    walMiB: (await walBytes(installation)) / MIB,
    journalMiB: databaseUrl === null ? (statSync(join(dataDir, JOURNAL_FILE)).blocks * BLOCK_BYTES) / MIB : null,
    databaseMiB: bytes / MIB,
  };
}

async function readMetrics({ port, token }: Installation): Promise<Map<string, number>> {
  const url = `http://127.0.0.1:${port}/metrics`;
  const answer = await fetch(url, { headers: { authorization: `Bearer ${token}`, connection: 'close' } });
  if (!answer.ok) throw new Error(`no metrics: ${answer.status}`);
  const lines = (await answer.text()).split('\n').filter((line) => !line.startsWith('#'));
  return new Map(lines.map((line) => [line.split(' ')[0] ?? '', Number(line.split(' ')[1])]));
}

/** Null where the system does not tell. */
function handlesOf(pid: number): number | null {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return null;
  }
}

async function walBytes({ dataDir, databaseUrl }: Installation): Promise<number> {
  if (databaseUrl === null) return statSync(join(dataDir, `${DATABASE_FILE}-wal`)).size;
  const rows = await query(databaseUrl, 'select sum(size)::bigint as bytes from pg_ls_waldir()');
  return Number(rows[0]?.['bytes']);
}
