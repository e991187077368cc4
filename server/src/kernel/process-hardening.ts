import { writeFileSync } from 'node:fs';

/** None of the kinds of memory that a core dump can hold (proc(5), coredump_filter). */
const NO_MEMORY = '0';

/** Keys and values are in the memory of this process: called before any is, however it was started. */
export function hardenProcess(): void {
  // Node opens its inspector, which can read all memory, to whoever sends this signal, unless something else listens for it.
  process.on('SIGUSR1', () => {});
  emptyCoreDumps();
}

/** A limit of the process cannot be set without native code. On Linux a dump can be left without memory; elsewhere the system decides. */
function emptyCoreDumps(): void {
  if (process.platform !== 'linux') return;
  try {
    writeFileSync('/proc/self/coredump_filter', NO_MEMORY);
  } catch (error) {
    // Where /proc is not mounted, or read-only, a core limit of 0 (docs/operations.md) does it.
    if (!['ENOENT', 'EACCES', 'EPERM', 'EROFS'].includes(String((error as NodeJS.ErrnoException).code))) throw error;
  }
}
