import { type ChildProcess, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DATABASE_FILE } from '../server/src/start/open-storage.ts';
import { newPostgresDatabase, type PostgresServer, query, startPostgres } from '../test/support/postgres.ts';
import { MORE_TENANTS, PER_VAULT, VAULTS } from './data-set.ts';
import { startOpenBao } from './openbao.ts';
import type { Peer, PeerName } from './peers.ts';
import { type Started, serverOf, startProcess, stopProcess } from './subject.ts';
import { createTenants, type Tenant, type Vault, vaultsOf } from './tenants.ts';

export const DATABASES = ['sqlite', 'postgres'] as const;
export type DatabaseKind = (typeof DATABASES)[number];
export const DATABASE_NAMES: Record<DatabaseKind, string> = { sqlite: 'SQLite', postgres: 'PostgreSQL' };
export const SERVER = 'server/main.js';
const ANY_PORTS = { CV_PORT: '0', CV_TLS_PORT: '0' };
/** Ends at once. Older releases refuse settings that they do not know. */
const ENDS_AT_ONCE = { CV_DRAIN_SECONDS: '0' };
const STARTS_OF_PEERS: Record<PeerName, (installations: Installations) => Promise<Peer>> = { openbao: startOpenBao };
/** Callers say which address they have, so that what is limited by address does not get in the way. */
const TRUSTING = { CV_TRUSTED_PROXIES: '127.0.0.1' };

/** The service, running on a data set of its own. */
export interface Installation {
  name: string;
  database: DatabaseKind;
  databaseUrl: string | null;
  port: number;
  tlsPort: number | null;
  pid: number;
  child: ChildProcess;
  /** Of the first owner of the operator's tenant. */
  token: string;
  tenants: Tenant[];
  dataDir: string;
  env: Record<string, string>;
  vaults: Vault[];
  perVault: number;
  seedSeconds: number;
  /** Of the database, before it was filled and after. */
  emptyBytes: number;
  bytes: number;
  /** From the spawn to ready, when there was nothing yet. */
  firstReadyMs: number;
}

export interface InstallationOptions {
  vaults?: number;
  perVault?: number;
  isTrusting?: boolean;
  /** Further settings of the service. */
  settings?: Record<string, string>;
  /** With a profiler inside, which listens to messages. */
  isProfiled?: boolean;
  /** The folder of another checkout, whose service is started on data that it seeds itself, since its tables may differ. */
  checkout?: string;
}

/** Makes installations, and takes away everything it made: processes, folders, the PostgreSQL they share. */
export class Installations {
  #postgres: Promise<PostgresServer> | undefined;
  readonly #shared = new Map<string, Promise<Installation>>();
  readonly #peers = new Map<PeerName, Promise<Peer>>();
  readonly #undo: (() => Promise<void> | void)[] = [];
  readonly #children = new Set<ChildProcess>();
  readonly #folders = new Set<string>();

  constructor() {
    // However this process ends, and there is no time to wait then: nothing of it goes on running, or stays on the disk.
    process.once('exit', () => {
      for (const child of this.#children) child.kill('SIGKILL');
      for (const folder of this.#folders) rmSync(folder, { recursive: true, force: true });
    });
  }

  /** Started once to make its data, filled while it stands still, started again. */
  async start(database: DatabaseKind, options: InstallationOptions = {}): Promise<Installation> {
    const { vaults = VAULTS, perVault = PER_VAULT, isTrusting = false, isProfiled = false } = options;
    const { checkout = '', settings = {} } = options;
    const server = serverOf(checkout);
    const dataDir = this.newFolder();
    const databaseUrl = database === 'postgres' ? await newPostgresDatabase(await this.#server()) : null;
    const env = {
      ...ANY_PORTS,
      ...(checkout === '' && ENDS_AT_ONCE),
      CV_DATA_DIR: dataDir,
      ...(databaseUrl !== null && { CV_DATABASE_URL: databaseUrl }),
      ...(isTrusting && TRUSTING),
      ...settings,
    };
    const first = await startProcess(server, [], env);
    const token = readFileSync(join(dataDir, 'admin.token'), 'utf8').trim();
    const tenants = await createTenants(first.port, token);
    await stopProcess(first.child);
    const emptyBytes = await databaseBytes(dataDir, databaseUrl);
    const started = performance.now();
    execFileSync(
      process.execPath,
      [join(checkout, 'bench/seed-process.ts'), String(vaults), String(perVault), ...MORE_TENANTS],
      {
        env: { PATH: process.env['PATH'] ?? '', ...env },
        stdio: ['ignore', 'ignore', 'inherit'],
      },
    );
    const seedSeconds = (performance.now() - started) / 1000;
    const bytes = await databaseBytes(dataDir, databaseUrl);
    const { child, port, tlsPort } = isProfiled
      ? await this.process('bench/profiled-process.ts', [], env, ['ipc'])
      : await this.process(server, [], env);
    const name = `Coffer, ${DATABASE_NAMES[database]}${checkout && `, ${checkout}`}`;
    const running = { port, tlsPort, pid: Number(child.pid), child };
    const data = { dataDir, databaseUrl, tenants, vaults: vaultsOf(tenants, vaults), perVault };
    const measured = { seedSeconds, emptyBytes, bytes, firstReadyMs: first.readyMs };
    return { name, database, env, token, ...running, ...data, ...measured };
  }

  /** The same for all who ask for the same. */
  shared(database: DatabaseKind, options: InstallationOptions = {}): Promise<Installation> {
    const key = JSON.stringify([database, options]);
    const installation = this.#shared.get(key) ?? this.start(database, options);
    this.#shared.set(key, installation);
    return installation;
  }

  peer(name: PeerName): Promise<Peer> {
    const peer = this.#peers.get(name) ?? STARTS_OF_PEERS[name](this);
    this.#peers.set(name, peer);
    return peer;
  }

  /** Something to do with its data while it is not running. */
  async whileStopped(installation: Installation, work: () => Promise<void>): Promise<void> {
    await stopProcess(installation.child);
    await work();
    const { child, port, tlsPort } = await this.process(SERVER, [], installation.env);
    Object.assign(installation, { child, port, tlsPort, pid: Number(child.pid) });
  }

  /** A second process on the same database. */
  async secondNode({ env, dataDir }: Installation): Promise<Started> {
    const own = { CV_DATA_DIR: this.newFolder(), CV_ROOT_KEY_FILE: join(dataDir, 'root.key') };
    return this.process(SERVER, [], { ...env, ...own });
  }

  /** A process that ends with the rest. */
  async process(...how: Parameters<typeof startProcess>): Promise<Started> {
    const started = await startProcess(...how);
    this.endsWithTheRest(started.child);
    return started;
  }

  endsWithTheRest(child: ChildProcess): void {
    this.#children.add(child);
    this.#undo.push(() => stopProcess(child));
  }

  newFolder(): string {
    const folder = mkdtempSync(join(tmpdir(), 'coffer-bench-'));
    this.#folders.add(folder);
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

export async function databaseBytes(dataDir: string, databaseUrl: string | null): Promise<number> {
  if (databaseUrl === null) return statSync(join(dataDir, DATABASE_FILE)).size;
  const rows = await query(databaseUrl, 'select pg_database_size(current_database()) as bytes');
  return Number(rows[0]?.['bytes']);
}
