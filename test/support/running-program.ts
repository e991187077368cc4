import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { after } from 'node:test';
import { installed } from './debian.ts';

const running = new Set<RunningProgram>();
after(async () => {
  for (const program of running) await program.stop();
});

/** The program of a Debian package that has its name, or why it cannot be had. */
export function programOf(name: string): { path: string } | { missing: string } {
  const found = installed([name], { [name]: `/usr/sbin/${name}` });
  return 'missing' in found ? found : { path: String(found.paths[name]) };
}

/** A program with a folder of its own, which runs until it is stopped or the tests of the file are over. */
export class RunningProgram {
  readonly #folder: string;
  readonly #process: ChildProcess;

  constructor(folder: string, path: string, args: readonly string[], options: SpawnOptions = {}) {
    this.#folder = folder;
    this.#process = spawn(path, args, { stdio: 'ignore', ...options });
    running.add(this);
  }

  async stop(): Promise<void> {
    running.delete(this);
    if (this.#process.exitCode === null) {
      const ended = new Promise((resolve) => this.#process.once('exit', resolve));
      this.#process.kill('SIGKILL');
      await ended;
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
