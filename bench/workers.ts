import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CASE_COLUMNS, type Case, measureCases, type Settings, USUAL_CONNECTIONS } from './cases.ts';
import { type Installation, type Installations, SERVER } from './installation.ts';
import { canPin, childrenOf, coresOf, pin, postgresPids, unpin } from './pinning.ts';
import type { Table } from './report.ts';
import { type RequestName, requestOf, SHOWN } from './requests.ts';

const NAMES: RequestName[] = ['me', 'secret', 'write', 'encrypt'];
const COUNTS = [1, 2, 4];
const POLL_MS = 50;

/** One command with so many workers, on the database that all of them share. */
interface Command {
  count: number;
  port: number;
  /** The processes that serve requests. */
  workers: number[];
  /** The same, and the one that supervises them. */
  pids: number[];
}

/** One, two and four workers on one PostgreSQL, where the system puts them and, if it can be done, each on a core that is chosen. */
export async function workers(installations: Installations, settings: Settings): Promise<Table[]> {
  const installation = await installations.shared('postgres');
  const commands: Command[] = [];
  for (const count of COUNTS) commands.push(await start(installations, installation, count));
  const cores = availableParallelism();
  const free: Table = {
    name: 'workers',
    title: `One, two and four workers on ${cores} cores`,
    columns: CASE_COLUMNS,
    rows: await measureCases(await casesOf(installation, commands), settings),
    notes: [
      'Ratios are to one worker. Client, PostgreSQL and workers share all cores: what the client and PostgreSQL use is not there for another worker.',
    ],
  };
  if (!canPin() || installation.databaseUrl === null) return [free];
  return [free, await pinned(installation, installation.databaseUrl, commands, settings)];
}

async function pinned(
  installation: Installation,
  databaseUrl: string,
  commands: Command[],
  settings: Settings,
): Promise<Table> {
  const count = availableParallelism();
  const cores = coresOf(count);
  const database = await postgresPids(databaseUrl);
  const placed = [process.pid, ...database, ...commands.flatMap(({ pids }) => pids)];
  try {
    pin(process.pid, cores.client);
    for (const pid of database) pin(pid, cores.database);
    for (const { workers } of commands) {
      for (const [index, pid] of workers.entries()) pin(pid, cores.worker(index));
    }
    return {
      name: 'pinned-workers',
      title: 'The same, each process on one core',
      columns: CASE_COLUMNS,
      rows: await measureCases(await casesOf(installation, commands), settings),
      notes: [
        `Of ${count} cores the client is on number ${cores.client}, PostgreSQL on ${cores.database}, and workers on ${[...new Set(COUNTS.map((_, index) => cores.worker(index)))].join(', ')} in turn. ` +
          'The first worker has a core without the client; a further one adds what its core has left.',
      ],
    };
  } finally {
    for (const pid of placed) unpin(pid);
  }
}

async function casesOf(installation: Installation, commands: Command[]): Promise<Case[]> {
  const cases: Case[] = [];
  for (const name of NAMES) {
    const request = await requestOf(name, installation);
    let one: Case | undefined;
    for (const { count, port, pids } of commands) {
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

async function start(installations: Installations, installation: Installation, count: number): Promise<Command> {
  const { env, dataDir, token } = installation;
  const { child, port } = await installations.process(SERVER, [], {
    ...env,
    CV_DATA_DIR: installations.newFolder(),
    CV_ROOT_KEY_FILE: join(dataDir, 'root.key'),
    CV_WORKERS: String(count),
  });
  const pid = Number(child.pid);
  if (count === 1) return { count, port, workers: [pid], pids: [pid] };
  while ((await reporting(port, token)) < count) await sleep(POLL_MS);
  const workers = childrenOf(pid);
  return { count, port, workers, pids: [pid, ...workers] };
}

/** How many workers are ready. */
async function reporting(port: number, token: string): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`, { headers: { authorization: `Bearer ${token}` } });
  return Number(/^cv_workers_reporting (\d+)$/m.exec(await answer.text())?.[1]);
}
