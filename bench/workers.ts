import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CASE_COLUMNS, type Case, measureCases, type Settings, USUAL_CONNECTIONS } from './cases.ts';
import { DATABASE_NAMES, type DatabaseKind, type Installation, type Installations, SERVER } from './installation.ts';
import { canPin, childrenOf, coresOf, pin, postgresPids, unpin } from './pinning.ts';
import type { Table } from './report.ts';
import { type RequestName, requestOf, SHOWN } from './requests.ts';

const NAMES: RequestName[] = ['me', 'secret', 'write', 'encrypt'];
const COUNTS = [1, 2, 4];
const POLL_MS = 50;

/** One command with so many workers: on PostgreSQL all commands share the database, on SQLite each has its own. */
interface Command {
  installation: Installation;
  count: number;
  port: number;
  /** The processes that serve requests. */
  workers: number[];
  /** The same, and the one that supervises them. */
  pids: number[];
}

/** One, two and four workers on each database, where the system puts them and, if it can be done, each on a core that is chosen. */
export async function workers(installations: Installations, settings: Settings): Promise<Table[]> {
  const tables: Table[] = [];
  for (const database of settings.databases) tables.push(...(await workersOn(database, installations, settings)));
  return tables;
}

async function workersOn(database: DatabaseKind, installations: Installations, settings: Settings): Promise<Table[]> {
  const commands: Command[] = [];
  for (const count of COUNTS)
    commands.push(
      database === 'sqlite' ? await ownCommand(installations, count) : await sharingCommand(installations, count),
    );
  const cores = availableParallelism();
  const free: Table = {
    name: `workers-${database}`,
    title: `One, two and four workers on ${DATABASE_NAMES[database]} and ${cores} cores`,
    columns: CASE_COLUMNS,
    rows: await measureCases(await casesOf(commands), settings),
    notes: [
      'Ratios are to one worker. Client, database and workers share all cores: what the client and PostgreSQL use is not there for another worker.',
    ],
  };
  return canPin() ? [free, await pinned(database, commands, settings)] : [free];
}

async function pinned(database: DatabaseKind, commands: Command[], settings: Settings): Promise<Table> {
  const count = availableParallelism();
  const cores = coresOf(count);
  const url = commands[0]?.installation.databaseUrl ?? null;
  const databasePids = url === null ? [] : await postgresPids(url);
  const placed = [process.pid, ...databasePids, ...commands.flatMap(({ pids }) => pids)];
  try {
    pin(process.pid, cores.client);
    for (const pid of databasePids) pin(pid, cores.database);
    for (const { workers } of commands) {
      for (const [index, pid] of workers.entries()) pin(pid, cores.worker(index));
    }
    return {
      name: `pinned-workers-${database}`,
      title: `The same on ${DATABASE_NAMES[database]}, each process on one core`,
      columns: CASE_COLUMNS,
      rows: await measureCases(await casesOf(commands), settings),
      notes: [
        `Of ${count} cores the client is on number ${cores.client}, PostgreSQL on ${cores.database}, and workers on ${[...new Set(COUNTS.map((_, index) => cores.worker(index)))].join(', ')} in turn. ` +
          'The first worker has a core without the client; a further one adds what its core has left.',
      ],
    };
  } finally {
    for (const pid of placed) unpin(pid);
  }
}

async function casesOf(commands: Command[]): Promise<Case[]> {
  const cases: Case[] = [];
  for (const name of NAMES) {
    let one: Case | undefined;
    for (const { installation, count, port, pids } of commands) {
      const request = await requestOf(name, installation);
      const subject = count === 1 ? 'one worker' : `${count} workers`;
      const next: Case = {
        request: SHOWN[name],
        subject,
        connections: USUAL_CONNECTIONS,
        pids,
        load: { port, request },
        ...(one !== undefined && { yardstick: one }),
      };
      one ??= next;
      cases.push(next);
    }
  }
  return cases;
}

/** A further command on the database that all of them share. */
async function sharingCommand(installations: Installations, count: number): Promise<Command> {
  const installation = await installations.shared('postgres');
  const { env, dataDir } = installation;
  const { child, port } = await installations.process(SERVER, [], {
    ...env,
    CV_DATA_DIR: installations.newFolder(),
    CV_ROOT_KEY_FILE: join(dataDir, 'root.key'),
    CV_WORKERS: String(count),
  });
  return commandOf({ ...installation, port, pid: Number(child.pid) }, count);
}

async function ownCommand(installations: Installations, count: number): Promise<Command> {
  return commandOf(await installations.shared('sqlite', { settings: { CV_WORKERS: String(count) } }), count);
}

/** Once all workers are ready. */
async function commandOf(installation: Installation, count: number): Promise<Command> {
  const { port, pid, token } = installation;
  if (count === 1) return { installation, count, port, workers: [pid], pids: [pid] };
  while ((await reporting(port, token)) < count) await sleep(POLL_MS);
  const workers = childrenOf(pid);
  return { installation, count, port, workers, pids: [pid, ...workers] };
}

/** How many workers are ready. */
async function reporting(port: number, token: string): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`, { headers: { authorization: `Bearer ${token}` } });
  return Number(/^cv_workers_reporting (\d+)$/m.exec(await answer.text())?.[1]);
}
