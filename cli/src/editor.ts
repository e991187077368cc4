import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { CommandError } from './failure.ts';

/** Editors that keep copies beside a file or in the home folder, and how to stop them. */
const QUIET: Readonly<Record<string, readonly string[]>> = {
  vi: [],
  vim: ['-n', '-i', 'NONE', '--cmd', 'set nobackup nowritebackup noundofile'],
  nvim: ['-n', '-i', 'NONE', '--cmd', 'set nobackup nowritebackup noundofile'],
  nano: ['-I'],
};
const TMPFS = 0x01021994;

/** Lets somebody edit a text in a file that only they can read, in memory where the system has such a place. Null if they changed nothing. */
export async function edited(text: string, name: string): Promise<string | null> {
  const command = process.env['VISUAL'] || process.env['EDITOR'] || 'vi';
  const [program = 'vi', ...args] = command.split(' ').filter((part) => part !== '');
  const folder = mkdtempSync(join(memoryFolder(), 'coffer-edit-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.once('exit', remove);
  try {
    const file = join(folder, name.replaceAll(/[^A-Za-z0-9._-]/g, '_') || 'value');
    writeFileSync(file, text, { mode: 0o600 });
    await editedBy(program, [...(QUIET[basename(program)] ?? []), ...args, file]);
    const now = readFileSync(file, 'utf8');
    // Editors end the last line; whoever did not have a line break there did not mean to add one.
    const value = !text.endsWith('\n') && now.endsWith('\n') ? now.slice(0, -1) : now;
    return value === text ? null : value;
  } finally {
    remove();
    process.off('exit', remove);
  }
}

function editedBy(program: string, args: readonly string[]): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const child = spawn(program, args, { stdio: 'inherit' });
  child.once('error', () => reject(new CommandError(`The editor ${program} cannot be started. Set VISUAL or EDITOR.`)));
  child.once('exit', (code) =>
    code === 0 ? resolve() : reject(new CommandError(`The editor ${program} failed: nothing was changed.`)),
  );
  return promise;
}

function memoryFolder(): string {
  try {
    if (statfsSync('/dev/shm').type === TMPFS) return '/dev/shm';
  } catch {
    // Not every system has it.
  }
  return tmpdir();
}
