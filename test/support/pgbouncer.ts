import { chownSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serverUser } from './debian.ts';
import { isListening } from './listening.ts';
import { freePort } from './ports.ts';
import { RunningProgram } from './running-program.ts';
import { until } from './until.ts';

/** PgBouncer on loopback before a database. It authenticates clients by SCRAM-SHA-256, and refuses to run as root. */
export async function startPgBouncer(
  program: string,
  databaseUrl: string,
  mode: 'session' | 'transaction',
): Promise<{ url: string; stop(): Promise<void> }> {
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
      'unix_socket_dir =',
      'auth_type = scram-sha-256',
      `auth_file = ${users}`,
      `pool_mode = ${mode}`,
      'default_pool_size = 50',
      'max_client_conn = 200',
    ].join('\n'),
  );
  const user = serverUser();
  const { uid, gid } = user;
  if (uid !== undefined && gid !== undefined) for (const path of [folder, users, settings]) chownSync(path, uid, gid);
  const running = new RunningProgram(folder, program, ['-q', settings], user);
  await until('PgBouncer listens', () => isListening(own));
  return { url: `postgres://${username}:${password}@127.0.0.1:${own}${pathname}`, stop: () => running.stop() };
}
