import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after } from 'node:test';

const folders = new Set<string>();
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'coffer-agent-'));
  folders.add(folder);
  return folder;
}

export const MACHINE_ID = '3f9c2a7d41b8e6053f9c2a7d41b8e605';
/** Tests that are not run by root cannot give files away, so every account is then the one that runs them. */
export const IS_ROOT = process.getuid?.() === 0;

/** The root of a host, made of files in a folder. */
export class HostRoot {
  readonly path = newFolder();
  readonly #lines: string[] = [];

  constructor() {
    this.write('/etc/machine-id', `${MACHINE_ID}\n`);
    this.write('/etc/hostname', 'web-1\n');
    this.write('/etc/passwd', '');
  }

  write(path: string, content: string | Buffer, options: { uid?: number; mode?: number } = {}): string {
    const file = join(this.path, path);
    mkdirSync(dirname(file), { recursive: true, mode: 0o755 });
    writeFileSync(file, content);
    chmodSync(file, options.mode ?? 0o644);
    if (options.uid !== undefined && IS_ROOT) chownSync(file, options.uid, options.uid);
    return file;
  }

  passwdLine(line: string): void {
    this.#lines.push(line);
    this.write('/etc/passwd', `${this.#lines.join('\n')}\n`);
  }

  /** An account with a home, and with these lines as its keys. */
  account(
    username: string,
    keys: readonly string[] | null,
    facts: { uid?: number; home?: string; shell?: string } = {},
  ) {
    const uid = facts.uid ?? (IS_ROOT ? 1000 + this.#lines.length : (process.getuid?.() ?? 0));
    const home = facts.home ?? `/users/${username}`;
    this.passwdLine(`${username}:x:${uid}:${uid}::${home}:${facts.shell ?? '/bin/bash'}`);
    if (keys === null) return { uid, home };
    this.write(`${home}/.ssh/authorized_keys`, keys.map((key) => `${key}\n`).join(''), { uid, mode: 0o600 });
    for (const folder of [home, `${home}/.ssh`]) {
      chmodSync(join(this.path, folder), 0o700);
      if (IS_ROOT) chownSync(join(this.path, folder), uid, uid);
    }
    return { uid, home };
  }
}

/** A field of an SSH key, after its length. */
function field(content: string | Buffer): Buffer {
  const bytes = Buffer.from(content as string);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** A public key that is another for each number. Any 32 bytes are a key of this type for OpenSSH. */
export function ed25519Line(number: number, comment = ''): string {
  const key = Buffer.alloc(32, 7);
  key.writeUInt32BE(number);
  const blob = Buffer.concat([field('ssh-ed25519'), field(key)]).toString('base64');
  return `ssh-ed25519 ${blob}${comment === '' ? '' : ` ${comment}`}`;
}
