import { writeFileSync } from 'node:fs';

/** Dumps none of the memory types that coredump_filter can select (core(5)). */
const NO_MEMORY = '0';

/** Must be called before any key or secret value is in the memory of this process, however it was started. */
export function hardenProcess(): void {
  // On this signal Node opens its inspector, which can read all memory, unless the process handles the signal itself.
  process.on('SIGUSR1', () => {});
  emptyCoreDumps();
}

/** A core limit of the process cannot be set without native code. On Linux the dump can be emptied instead; elsewhere the system decides. */
function emptyCoreDumps(): void {
  if (process.platform !== 'linux') return;
  try {
    writeFileSync('/proc/self/coredump_filter', NO_MEMORY);
  } catch (error) {
    // If /proc is not mounted or read-only, a core limit of 0 (docs/operations.md) has the same effect.
    if (!['ENOENT', 'EACCES', 'EPERM', 'EROFS'].includes(String((error as NodeJS.ErrnoException).code))) throw error;
  }
}
