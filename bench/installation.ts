import { type ChildProcess, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newPostgresDatabase, type PostgresServer, startPostgres } from '../test/support/postgres.ts';
import { type Started, startProcess, stopProcess } from './subject.ts';

export const DATABASES = ['sqlite', 'postgres'] as const;
export type DatabaseKind = (typeof DATABASES)[number];
export const DATABASE_NAMES: Record<DatabaseKind, string> = { sqlite: 'SQLite', postgres: 'PostgreSQL' };
export const PER_VAULT = 1000;
const SERVER = 'server/src/main.ts';
const ANY_PORTS = { CV_PORT: '0', CV_TLS_PORT: '0' };

/** The service, running on a data set of its own. */
export interface Installation {
  name: string;
  database: DatabaseKind;
  databaseUrl: string | null;
  port: number;
  tlsPort: number | null;
  pid: number;
  child: ChildProcess;
  token: string;
  dataDir: string;
  env: Record<string, string>;
  vaults: number;
  perVault: number;
  seedSeconds: number;
}

export interface InstallationOptions {
  vaults?: number;
  perVault?: number;
  /** With a profiler inside, which listens to messages. */
  isProfiled?: boolean;
}

/** Makes installations, and takes away everything it made: processes, folders, the PostgreSQL they share. */
export class Installations {
  #postgres: Promise<PostgresServer> | undefined;
  #undo: (() => Promise<void> | void)[] = [];

  /** Started once to make its data, filled while it stands still, started again. */
  async start(database: DatabaseKind, options: InstallationOptions = {}): Promise<Installation> {
    const { vaults = 1, perVault = PER_VAULT, isProfiled = false } = options;
    const dataDir = this.newFolder();
    const databaseUrl = database === 'postgres' ? await newPostgresDatabase(await this.#server()) : null;
    const env = { ...ANY_PORTS, CV_DATA_DIR: dataDir, ...(databaseUrl !== null && { CV_DATABASE_URL: databaseUrl }) };
    await stopProcess((await startProcess(SERVER, [], env)).child);
    const started = performance.now();
    execFileSync(process.execPath, ['bench/seed-process.ts', String(vaults), String(perVault)], {
      env: { PATH: process.env['PATH'] ?? '', ...env },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const seedSeconds = (performance.now() - started) / 1000;
    const { child, port, tlsPort } = isProfiled
      ? await this.process('bench/profiled-process.ts', [], env, ['ipc'])
      : await this.process(SERVER, [], env);
    const token = readFileSync(join(dataDir, 'admin.token'), 'utf8').trim();
    const name = `Coffer, ${DATABASE_NAMES[database]}`;
    const where = { name, database, databaseUrl, dataDir, env };
    return { ...where, port, tlsPort, pid: Number(child.pid), child, token, vaults, perVault, seedSeconds };
  }

  /** A process that ends with the rest. */
  async process(...how: Parameters<typeof startProcess>): Promise<Started> {
    const started = await startProcess(...how);
    this.#undo.push(() => stopProcess(started.child));
    return started;
  }

  newFolder(): string {
    const folder = mkdtempSync(join(tmpdir(), 'coffer-bench-'));
    this.#undo.push(() => rmSync(folder, { recursive: true, force: true }));
    return folder;
  }

  async remove(): Promise<void> {
    for (const step of this.#undo.splice(0).reverse()) await step();
    await (await this.#postgres)?.remove();
  }

  #server(): Promise<PostgresServer> {
    this.#postgres ??= startPostgres();
    return this.#postgres;
  }
}
