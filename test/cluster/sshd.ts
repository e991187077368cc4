import { type ChildProcess, type ChildProcessByStdio, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, cpSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text as readText } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type HostRoot, IS_ROOT, newFolder } from '../support/host-root.ts';
import { freePort } from '../support/ports.ts';
import { unpackedPackages } from './debian-packages.ts';

/** nss_wrapper gives a process other accounts than those of this machine. */
const PACKAGES = ['openssh-server', 'libwrap0', 'libnss-wrapper'];
/** sshd runs as the account that it lets in, so that it needs no root. */
export const UID = IS_ROOT ? 20_001 : (process.getuid?.() ?? 0);
export const USERNAME = 'anna';
/** The account's own group, one without members, and one with another member. */
export const GROUPS = `${USERNAME}:x:${UID}:\nempty:x:${UID + 1}:\nteam:x:${UID + 2}:${USERNAME},bob\n`;
const SSH_OPTIONS = [
  ...['IdentitiesOnly=yes', 'StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null', 'BatchMode=yes'],
  ...['LogLevel=ERROR', 'PreferredAuthentications=publickey'],
].flatMap((option) => ['-o', option]);

const run = promisify(execFile);

interface Package {
  program: string;
  libraries: string;
}

/** A copy that every account can read, which the cache of a user need not be. */
async function unpacked(): Promise<Package> {
  const folder = newFolder();
  cpSync(await unpackedPackages(PACKAGES), folder, { recursive: true, verbatimSymlinks: true });
  chmodSync(folder, 0o755);
  const [architecture = ''] = readdirSync(join(folder, 'usr/lib')).filter((name) => name.includes('-linux-'));
  return { program: join(folder, 'usr/sbin/sshd'), libraries: join(folder, 'usr/lib', architecture) };
}

export async function newKey(name: string): Promise<{ file: string; publicLine: string }> {
  const file = join(newFolder(), name);
  await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', file]);
  const { stdout } = await run('ssh-keygen', ['-y', '-f', file]);
  return { file, publicLine: stdout.trim() };
}

/** OpenSSH's sshd, with the files of a host that is a folder. It knows one account, whose home is in that folder. */
export class Sshd {
  readonly #package: Package;
  readonly #folder = newFolder();
  readonly #port: number;
  #process: ChildProcess | null = null;

  private constructor(programs: Package, port: number) {
    this.#package = programs;
    this.#port = port;
    chmodSync(this.#folder, 0o755);
  }

  /** Throws Unavailable where the package cannot be had. */
  static async start(): Promise<Sshd> {
    const sshd = new Sshd(await unpacked(), await freePort());
    const hostKey = join(sshd.#folder, 'host_key');
    await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', hostKey]);
    if (IS_ROOT) chownSync(hostKey, UID, UID);
    return sshd;
  }

  /** Serves a host from now on, with these settings. */
  async serve(host: HostRoot, home: string, config: string): Promise<void> {
    await this.stop();
    chmodSync(host.path, 0o755);
    this.#write('passwd', `${USERNAME}:x:${UID}:${UID}::${join(host.path, home)}:/bin/sh\n`);
    this.#write('group', GROUPS);
    const own = `Port ${this.#port}\nListenAddress 127.0.0.1\nPidFile none\nHostKey ${join(this.#folder, 'host_key')}\n`;
    const child = this.#spawn(['-D', '-e', '-f', this.#write('sshd_config', `${own}${config}\n`)]);
    this.#process = child;
    let log = '';
    child.stderr.on('data', (chunk: Buffer) => {
      log += chunk;
    });
    for (let tries = 0; !log.includes('listening'); tries++) {
      if (child.exitCode !== null || tries > 400) throw new Error(`sshd does not start: ${log}`);
      await sleep(25);
    }
  }

  /** Whether the holder of the key gets in. */
  async letsIn(keyFile: string): Promise<boolean> {
    const args = ['-F', 'none', '-p', String(this.#port), '-i', keyFile, ...SSH_OPTIONS];
    try {
      const { stdout } = await run('ssh', [...args, `${USERNAME}@127.0.0.1`, 'echo in'], { timeout: 20_000 });
      return stdout === 'in\n';
    } catch (error) {
      const { stderr = '' } = error as { stderr?: string };
      if (!stderr.includes('Permission denied')) throw error;
      return false;
    }
  }

  /** The settings as sshd reads them for a user, by their names in lower case; null if it refuses the file. */
  async settingsFor(username: string, config: string): Promise<Map<string, string> | null> {
    const file = this.#write('tested_config', `HostKey ${join(this.#folder, 'host_key')}\n${config}`);
    const child = this.#spawn(['-T', '-f', file, '-C', `user=${username},host=localhost,addr=127.0.0.1`]);
    const ended = once(child, 'close');
    const [text] = await Promise.all([readText(child.stdout), readText(child.stderr)]);
    const [code] = await ended;
    if (code !== 0) return null;
    return new Map(
      text.split('\n').map((line) => [line.split(' ', 1)[0] ?? '', line.slice(line.indexOf(' ') + 1)] as const),
    );
  }

  async stop(): Promise<void> {
    const child = this.#process;
    this.#process = null;
    if (child === null || child.exitCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  #spawn(args: string[]): ChildProcessByStdio<null, Readable, Readable> {
    const { program, libraries } = this.#package;
    return spawn(program, args, {
      ...(IS_ROOT && { uid: UID, gid: UID }),
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        LD_LIBRARY_PATH: libraries,
        LD_PRELOAD: join(libraries, 'libnss_wrapper.so'),
        NSS_WRAPPER_PASSWD: join(this.#folder, 'passwd'),
        NSS_WRAPPER_GROUP: join(this.#folder, 'group'),
      },
    });
  }

  #write(name: string, content: string): string {
    const file = join(this.#folder, name);
    writeFileSync(file, content, { mode: 0o644 });
    return file;
  }
}
