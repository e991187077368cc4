import type pg from 'pg';
import { StartError } from '../base/data-folder.ts';
import { connectTo } from './database-servers.ts';
import { SESSION_NAME } from './schema-version.ts';

const CONNECT_TIMEOUT_MS = 5000;
const ROUNDS = 3;
const SESSIONS = 2;

/**
 * A pooler that lends a connection for each transaction breaks what Coffer sets for a session: time limits, prepared statements, read-only
 * connections. Two sessions that are open at the same time then share a process of the server, or one session moves between processes.
 */
export async function refuseTransactionPooling(url: string): Promise<void> {
  const settings = { application_name: SESSION_NAME, connectionTimeoutMillis: CONNECT_TIMEOUT_MS };
  const clients: pg.Client[] = [];
  const processes: number[][] = [];
  try {
    while (clients.length < SESSIONS) clients.push(await connectTo(url, settings));
    for (let round = 0; round < ROUNDS; round++) {
      const pids: number[] = [];
      for (const client of clients) pids.push(Number((await client.query(PROCESS)).rows[0]?.pid));
      processes.push(pids);
    }
  } finally {
    for (const client of clients) await client.end();
  }
  if (!isPooled(processes)) return;
  throw new StartError(
    'The database is behind a pooler that changes the connection with every transaction. Set pool_mode = session for this database in PgBouncer, or connect to PostgreSQL directly. Nothing was changed.',
  );
}

const PROCESS = 'select pg_backend_pid() as pid';

/** `processes`: in each round the server process of each session. */
export function isPooled(processes: readonly (readonly number[])[]): boolean {
  const [first = []] = processes;
  const hasMoved = processes.some((pids) => pids.some((pid, i) => pid !== first[i]));
  return hasMoved || new Set(first).size < first.length;
}
