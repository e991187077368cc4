import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { query } from '../test/support/postgres.ts';

/** From so many cores on, client, database and workers each have cores of their own. */
const SEPARATE_CORES_MIN = 4;

/** Which core each process runs on. */
export interface Cores {
  client: number;
  database: number;
  /** Of the worker of this index. */
  worker(index: number): number;
}

/** Workers are spread over the cores from the first on. The client, and with it the database if there are few cores, are on the last. */
export function coresOf(count: number): Cores {
  const isSeparate = count >= SEPARATE_CORES_MIN;
  const forWorkers = isSeparate ? count - 2 : count;
  return {
    client: count - 1,
    database: isSeparate ? count - 2 : count - 1,
    worker: (index) => index % forWorkers,
  };
}

export function canPin(): boolean {
  try {
    execFileSync('taskset', ['-p', String(process.pid)], { stdio: 'ignore' });
    return true;
  } catch {
    // There is no such program on this system, and nothing is pinned.
    return false;
  }
}

export function pin(pid: number, core: number): void {
  pinTo(pid, String(core));
}

export function unpin(pid: number): void {
  pinTo(pid, `0-${availableParallelism() - 1}`);
}

/** With all its threads. Processes that it starts later are on the same cores. */
function pinTo(pid: number, cores: string): void {
  execFileSync('taskset', ['-a', '-c', '-p', cores, String(pid)], { stdio: 'ignore' });
}

/** The server processes of PostgreSQL: the one that starts the others, and one for each connection. */
export async function postgresPids(databaseUrl: string): Promise<number[]> {
  const rows = await query(databaseUrl, 'select pid from pg_stat_activity where pid <> pg_backend_pid()');
  const pids = rows.map(({ pid }) => Number(pid));
  const parent = pids.map(parentOf).find((pid) => pid > 1);
  return parent === undefined ? pids : [parent, ...pids];
}

function parentOf(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[1]);
  } catch {
    // It ended meanwhile.
    return 0;
  }
}

/** The processes that a process started, in the order of their start. */
export function childrenOf(pid: number): number[] {
  const file = `/proc/${pid}/task/${pid}/children`;
  return readFileSync(file, 'utf8').trim().split(' ').filter(Boolean).map(Number);
}
