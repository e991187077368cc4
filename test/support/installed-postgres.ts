import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after } from 'node:test';
import { promisify } from 'node:util';
import { installed, serverUser } from './debian.ts';
import { freePort } from './ports.ts';
import { query } from './postgres.ts';
import { until } from './until.ts';

const run = promisify(execFile);
const PASSWORD = 'coffer';

const servers = new Set<InstalledPostgres>();
after(async () => {
  for (const server of servers) await server.remove();
});

/** Debian's PostgreSQL, which unlike the embedded one can copy a running server (pg_basebackup). */
export function postgresPrograms(): { bin: string } | { missing: string } {
  const found = installed(['postgresql-15', 'postgresql-client-15'], {
    pg_basebackup: '/usr/lib/postgresql/*/bin/pg_basebackup',
    initdb: '/usr/lib/postgresql/*/bin/initdb',
  });
  return 'missing' in found ? found : { bin: dirname(String(found.paths['initdb'])) };
}

/** A server in a folder of its own, on loopback, whose processes are children of the test. */
export class InstalledPostgres {
  readonly folder: string;
  readonly port: number;
  readonly #bin: string;
  readonly #user = serverUser();
  #process: ChildProcess | null = null;

  private constructor(bin: string, folder: string, port: number) {
    this.#bin = bin;
    this.folder = folder;
    this.port = port;
    servers.add(this);
  }

  static async #new(bin: string): Promise<InstalledPostgres> {
    const folder = mkdtempSync(join(tmpdir(), 'coffer-installed-'));
    const server = new InstalledPostgres(bin, folder, await freePort());
    server.#own(folder);
    chmodSync(folder, 0o700);
    return server;
  }

  static async create(bin: string): Promise<InstalledPostgres> {
    const server = await InstalledPostgres.#new(bin);
    const file = join(server.folder, 'password');
    writeFileSync(file, PASSWORD);
    await server.#run('initdb', '-U', 'coffer', '--auth=scram-sha-256', '--locale=C', '-E', 'UTF8', `--pwfile=${file}`);
    return server;
  }

  /** A copy of a running server that follows it, by way of a port. `name`: what the other knows it by. */
  static follow(bin: string, name: string, port: number): Promise<InstalledPostgres> {
    return InstalledPostgres.#copy(bin, name, port, ['--write-recovery-conf']);
  }

  /** A base backup of a running server, in a folder from which it can be started. */
  static baseBackup(bin: string, port: number): Promise<InstalledPostgres> {
    return InstalledPostgres.#copy(bin, 'base-backup', port, []);
  }

  static async #copy(bin: string, name: string, port: number, more: readonly string[]): Promise<InstalledPostgres> {
    const server = await InstalledPostgres.#new(bin);
    const from = `host=127.0.0.1 port=${port} user=coffer password=${PASSWORD} application_name=${name}`;
    await server.#run('pg_basebackup', '-d', from, '--checkpoint=fast', ...more);
    return server;
  }

  /** A folder beside the data to which the server can write. */
  newFolder(name: string): string {
    const folder = join(this.folder, name);
    mkdirSync(folder);
    this.#own(folder);
    return folder;
  }

  /** Starts a base backup as the state of a moment, from an archive of the log, and waits until it takes writes. */
  async recover(archive: string, moment: string): Promise<void> {
    const signal = join(this.#data, 'recovery.signal');
    writeFileSync(signal, '');
    this.#own(signal);
    await this.start({
      restore_command: `cp ${archive}/%f %p`,
      recovery_target_time: moment,
      recovery_target_action: 'promote',
    });
    await until('the server has recovered', async () => {
      const [row] = await query(this.url, 'select pg_is_in_recovery() as is_recovering');
      return row?.['is_recovering'] === false;
    });
  }

  #own(path: string): void {
    const { uid, gid } = this.#user;
    if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid);
  }

  get url(): string {
    return `postgres://coffer:${PASSWORD}@127.0.0.1:${this.port}/postgres`;
  }

  get #data(): string {
    return join(this.folder, 'data');
  }

  #run(program: string, ...args: string[]): Promise<unknown> {
    const options = { ...this.#user, cwd: this.folder, env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' } };
    return run(join(this.#bin, program), [...args, '-D', this.#data], options);
  }

  async start(settings: Record<string, string> = {}): Promise<void> {
    const flags = Object.entries({ max_connections: '200', ...settings }).flatMap(([k, v]) => ['-c', `${k}=${v}`]);
    const place = ['-D', this.#data, '-p', String(this.port), '-h', '127.0.0.1', '-k', this.folder];
    const options = { ...this.#user, cwd: this.folder, stdio: 'ignore', env: { LC_ALL: 'C' } } as const;
    // Processes that a killed server left must end first; until then a new one refuses to start.
    await until('PostgreSQL starts', async () => {
      if (this.#process === null || this.#process.exitCode !== null)
        this.#process = spawn(join(this.#bin, 'postgres'), [...place, ...flags], options);
      return query(this.url, 'select 1').then(
        () => true,
        () => false,
      );
    });
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#process;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await ended;
    this.#process = null;
  }

  async promote(): Promise<void> {
    await this.#run('pg_ctl', 'promote', '--wait');
  }

  async remove(): Promise<void> {
    servers.delete(this);
    await this.kill('SIGQUIT');
    rmSync(this.folder, { recursive: true, force: true });
  }
}
