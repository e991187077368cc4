import { setTimeout as sleep } from 'node:timers/promises';
import { StartError } from '../base/data-folder.ts';
import { SESSION_NAMES } from './schema-version.ts';

/** A node queries the database every second. Sessions that are idle for longer belong to a node that is gone, or to the pool of a pooler. */
const SILENT_AFTER_SECONDS = 15;
/** A node that was told to end closes its sessions at the end of its drain. */
const WAIT_MS = 10_000;
const LOOK_INTERVAL_MS = 500;

const SESSIONS = `select application_name as name, host(client_addr) as address,
  state <> 'idle' or state_change > clock_timestamp() - interval '${SILENT_AFTER_SECONDS} seconds' as is_used
  from pg_stat_activity where datname = current_database() and application_name ~ '${SESSION_NAMES}'`;
/** PostgreSQL-compatible databases may lack pg_stat_activity, and hosted ones may hide it. */
const VIEW_UNAVAILABLE = new Set(['42P01', '42501', '0A000']);

interface NodeSession {
  name: string;
  address: string | null;
  is_used: boolean;
}

export interface OlderNodes {
  connections: number;
  addresses: string[];
}

type RunQuery = (sql: string) => Promise<{ rows: NodeSession[] }>;

/** The sessions of all nodes on this database, if the server exposes them. */
export async function findNodeSessions(run: RunQuery): Promise<NodeSession[]> {
  try {
    return (await run(SESSIONS)).rows;
  } catch (error) {
    if (VIEW_UNAVAILABLE.has((error as { code?: string }).code ?? '')) return [];
    throw error;
  }
}

/** The sessions of nodes that know a smaller schema than this one, and are in use. */
export async function findOlderNodes(run: RunQuery, schema: number): Promise<OlderNodes> {
  const sessions = await findNodeSessions(run);
  const older = sessions.filter(({ name, is_used }) => is_used && Number(name.slice('coffer'.length)) < schema);
  return { connections: older.length, addresses: [...new Set(older.map(({ address }) => address ?? 'this host'))] };
}

/** Throws if older nodes still run after a short wait. Nothing was changed then. */
export async function refuseOlderNodes(run: RunQuery, schema: number): Promise<void> {
  const end = performance.now() + WAIT_MS;
  for (;;) {
    const found = await findOlderNodes(run, schema);
    if (found.connections === 0) return;
    if (performance.now() > end) throw new StartError(`${describeOlderNodes(found)} ${WHAT_TO_DO}`);
    await sleep(LOOK_INTERVAL_MS);
  }
}

export function describeOlderNodes({ connections, addresses }: OlderNodes): string {
  const count = connections === 1 ? 'One connection' : `${connections} connections`;
  return `Nodes of an earlier release are running on this database (${count}, from ${addresses.join(', ')}).`;
}

const WHAT_TO_DO =
  'This release changes the schema in a way that ends theirs. Stop them, then start this one again; or run "coffer server migrate --end-older-nodes", after which they can commit nothing more. Nothing was changed.';
