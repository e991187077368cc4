import { type ChildProcess, spawn } from 'node:child_process';
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { installed, serverUser } from './debian.ts';
import { isListening } from './listening.ts';
import { freePort } from './postgres.ts';
import { until } from './until.ts';

export type PoolMode = 'session' | 'transaction';

const poolers = new Set<PgBouncer>();
after(async () => {
  for (const pooler of poolers) await pooler.stop();
});

export function pgbouncerProgram(): { path: string } | { missing: string } {
  const found = installed(['pgbouncer'], { pgbouncer: '/usr/sbin/pgbouncer' });
  return 'missing' in found ? found : { path: String(found.paths['pgbouncer']) };
}

/** PgBouncer on loopback before a database, which authenticates clients by SCRAM-SHA-256. */
export class PgBouncer {
  readonly url: string;
  readonly #folder: string;
  readonly #process: ChildProcess;

  private constructor(url: string, folder: string, process: ChildProcess) {
    this.url = url;
    this.#folder = folder;
    this.#process = process;
    poolers.add(this);
  }

  static async start(program: string, databaseUrl: string, mode: PoolMode): Promise<PgBouncer> {
    const { hostname, port, username, password, pathname } = new URL(databaseUrl);
    const own = await freePort();
    const folder = mkdtempSync(join(tmpdir(), 'coffer-pgbouncer-'));
    const [users, settings] = [join(folder, 'users.txt'), join(folder, 'pgbouncer.ini')];
    writeFileSync(users, `"${username}" "${password}"\n`);
    writeFileSync(
      settings,
      [
        '[databases]',
        `* = host=${hostname} port=${port}`,
        '[pgbouncer]',
        'listen_addr = 127.0.0.1',
        `listen_port = ${own}`,
        `unix_socket_dir =`,
        'auth_type = scram-sha-256',
        `auth_file = ${users}`,
        `pool_mode = ${mode}`,
        'default_pool_size = 50',
        'max_client_conn = 200',
      ].join('\n'),
    );
    const { uid, gid } = serverUser();
    if (uid !== undefined && gid !== undefined) for (const path of [folder, users, settings]) chownSync(path, uid, gid);
    const child = spawn(program, ['-q', settings], { stdio: 'ignore', ...serverUser() });
    const pooler = new PgBouncer(`postgres://${username}:${password}@127.0.0.1:${own}${pathname}`, folder, child);
    await until('PgBouncer listens', () => isListening(own));
    return pooler;
  }

  async stop(): Promise<void> {
    poolers.delete(this);
    if (this.#process.exitCode === null) {
      const ended = new Promise((resolve) => this.#process.once('exit', resolve));
      this.#process.kill('SIGKILL');
      await ended;
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
