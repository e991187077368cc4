import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { basename, delimiter, join } from 'node:path';
import { CommandError } from './failure.ts';

/** Editors that keep copies beside a file or in the home folder, by the name of the program, and how to stop them. */
const QUIET: readonly [program: RegExp, options: readonly string[]][] = [
  [/^n?vim/, ['-n', '-i', 'NONE', '--cmd', 'set nobackup nowritebackup noundofile']],
  [/^nano/, ['-I']],
];
const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const TMPFS = 0x01021994;

/** Lets somebody edit a text in a file that only they can read, in memory where the system has such a place. Null if they changed nothing. */
export async function edited(text: string, name: string): Promise<string | null> {
  const command = process.env['VISUAL'] || process.env['EDITOR'] || 'vi';
  const [program = 'vi', ...args] = command.split(' ').filter((part) => part !== '');
  const folder = mkdtempSync(join(memoryFolder(), 'coffer-edit-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  // A signal ends this process without its last message.
  const end = (signal: NodeJS.Signals) => {
    remove();
    process.exit(128 + (constants.signals[signal] ?? 0));
  };
  for (const signal of ENDING) process.once(signal, end);
  try {
    const file = join(folder, name.replaceAll(/[^A-Za-z0-9._-]/g, '_') || 'value');
    writeFileSync(file, text, { mode: 0o600 });
    await editedBy(program, [...quietOptions(program), ...args, file]);
    const now = readFileSync(file, 'utf8');
    // Editors end the last line; a value without a line break there must not get one.
    const value = !text.endsWith('\n') && now.endsWith('\n') ? now.slice(0, -1) : now;
    return value === text ? null : value;
  } finally {
    remove();
    for (const signal of ENDING) process.off(signal, end);
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

/** `vi` is often another name of Vim. */
function quietOptions(program: string): readonly string[] {
  const folders = program.includes('/') ? [''] : (process.env['PATH'] ?? '').split(delimiter);
  const file = folders.map((folder) => join(folder, program)).find((one) => existsSync(one));
  const name = basename(file === undefined ? program : realpathSync(file));
  return QUIET.find(([form]) => form.test(name))?.[1] ?? [];
}

function memoryFolder(): string {
  try {
    if (statfsSync('/dev/shm').type === TMPFS) return '/dev/shm';
  } catch {
    // Not every system has it.
  }
  return tmpdir();
}
