import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installed } from './debian.ts';

const found = installed(['libfaketime'], { libfaketime: '/usr/lib/*/faketime/libfaketimeMT.so.1' });

/** Why the clock of a process cannot be set; false if it can. */
export const noFakedTime = 'missing' in found ? found.missing : false;

/** The clock of a process, as the kernel would tell it: what the process asks its C library for is off by as much as is set. Elapsed time is right. */
export class FakedTime {
  readonly #file = join(mkdtempSync(join(tmpdir(), 'coffer-faketime-')), 'offset');

  constructor() {
    this.set('+0');
  }

  /** As libfaketime writes it: `+3d`, `-5h`, `+0`. A running process sees it within a second. */
  set(offset: string): void {
    writeFileSync(this.#file, `${offset}\n`);
  }

  get env(): Record<string, string> {
    return {
      LD_PRELOAD: 'paths' in found ? String(found.paths['libfaketime']) : '',
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    };
  }
}
