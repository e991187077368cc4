import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';

const MIB = 1024 * 1024;
const disks = new Set<SmallDisk>();
after(() => {
  for (const disk of disks) disk.remove();
});

/** A file system of its own, which a test may fill, take away and break. */
export class SmallDisk {
  readonly #parent = mkdtempSync(join(tmpdir(), 'coffer-disk-'));
  readonly folder = join(this.#parent, 'disk');
  readonly #image = join(this.#parent, 'image');
  readonly #filler = join(this.folder, 'filler');
  readonly #kind: 'tmpfs' | 'ext4';
  #isMounted = false;

  private constructor(kind: 'tmpfs' | 'ext4') {
    this.#kind = kind;
    disks.add(this);
  }

  /** In memory: it can be filled and, while nothing is open, made read-only. `ext4` can be made so while files are open. */
  static make(kind: 'tmpfs' | 'ext4', mebibytes: number): SmallDisk | { whyNot: string } {
    if (process.platform !== 'linux') return { whyNot: 'file systems are mounted as Linux does it' };
    if (process.getuid?.() !== 0) return { whyNot: 'only root may mount a file system' };
    const disk = new SmallDisk(kind);
    // PostgreSQL, which runs as another user, must reach it.
    chmodSync(disk.#parent, 0o755);
    mkdirSync(disk.folder);
    try {
      if (kind === 'ext4') disk.#makeImage(mebibytes);
      disk.mount(mebibytes);
      return disk;
    } catch (error) {
      disk.remove();
      return { whyNot: `a file system cannot be mounted here: ${String(error).split('\n')[0]}` };
    }
  }

  #makeImage(mebibytes: number): void {
    writeFileSync(this.#image, '');
    truncateSync(this.#image, mebibytes * MIB);
    run('mkfs.ext4', '-q', '-F', '-m', '0', this.#image);
  }

  mount(mebibytes = 0): void {
    if (this.#kind === 'tmpfs') run('mount', '-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', this.folder);
    else run('mount', '-o', 'loop', this.#image, this.folder);
    this.#isMounted = true;
  }

  unmount(): void {
    run('umount', this.folder);
    this.#isMounted = false;
  }

  /** Takes what room there is, to the last byte. */
  fill(): void {
    const fd = openSync(this.#filler, 'a');
    try {
      for (let size = MIB; size >= 1; ) {
        try {
          writeSync(fd, Buffer.alloc(size, 0x66));
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
          size = Math.floor(size / 16);
        }
      }
    } finally {
      closeSync(fd);
    }
  }

  free(): void {
    rmSync(this.#filler, { force: true });
  }

  /** Only while no file on it is open for writing. */
  setReadOnly(isReadOnly: boolean): void {
    run('mount', '-o', `remount,${isReadOnly ? 'ro' : 'rw'}`, this.folder);
  }

  /** What the system does by itself when the device fails: from one moment to the next nothing can be written. */
  abort(): void {
    run('mount', '-o', 'remount,abort', this.folder);
  }

  remove(): void {
    disks.delete(this);
    // Lazily, so that a test that failed leaves no mount behind.
    if (this.#isMounted) run('umount', '-l', this.folder);
    rmSync(this.#parent, { recursive: true, force: true });
  }
}

function run(command: string, ...args: string[]): void {
  execFileSync(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
}
