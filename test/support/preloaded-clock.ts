import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';

const SOURCES = join(import.meta.dirname, '../preloaded');
const NS_PER_MS = 1_000_000;
const VARIABLES = {
  'suspended-clock': 'COFFER_TEST_SUSPENDED_FILE',
  'wall-clock': 'COFFER_TEST_WALL_CLOCK_FILE',
} as const;
type Library = keyof typeof VARIABLES;

let folder: string | undefined;
const compiled = new Map<Library, string | null>();

function libraryOf(name: Library): string | null {
  if (process.platform !== 'linux') return null;
  let file = compiled.get(name);
  if (file === undefined) {
    const library = join(newFolder(), `${name}.so`);
    spawnSync('cc', ['-shared', '-fPIC', '-o', library, join(SOURCES, `${name}.c`), '-ldl']);
    file = existsSync(library) ? library : null;
    compiled.set(name, file);
  }
  return file;
}

function newFolder(): string {
  if (folder === undefined) {
    const made = mkdtempSync(join(tmpdir(), 'coffer-clock-'));
    after(() => rmSync(made, { recursive: true, force: true }));
    folder = made;
  }
  return folder;
}

/** Why clocks of processes cannot be set; false if they can. */
export const noPreloadedClock = libraryOf('wall-clock') === null ? 'it needs Linux and a C compiler (cc)' : false;

let files = 0;

/** Of several clocks of one process. */
export function envOfClocks(...clocks: readonly PreloadedClock[]): Record<string, string> {
  const all = clocks.map(({ env }) => env);
  return Object.assign({}, ...all, { LD_PRELOAD: all.map((env) => env['LD_PRELOAD']).join(':') });
}

/** A clock that a library sets in the processes which load it, with all their workers. The process sees a change at once. */
export class PreloadedClock {
  readonly #library: Library;
  readonly #file: string;

  constructor(library: Library) {
    this.#library = library;
    this.#file = join(newFolder(), `${library}-${++files}`);
    writeFileSync(this.#file, Buffer.alloc(8));
  }

  get env(): Record<string, string> {
    return { LD_PRELOAD: libraryOf(this.#library) ?? '', [VARIABLES[this.#library]]: this.#file };
  }

  /** In place, because processes have mapped the file. */
  set(ms: number): void {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(Math.round(ms * NS_PER_MS)));
    const descriptor = openSync(this.#file, 'r+');
    writeSync(descriptor, bytes, 0, bytes.length, 0);
    closeSync(descriptor);
  }
}
