import fs, { type NoParamCallback } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { mock } from 'node:test';

/** Makes every asynchronous write to a file of this process fail: the audit journal is what writes that way. */
export function failWrites(code: 'ENOSPC' | 'EIO', options: { written?: boolean } = {}): { end(): void } {
  const real = fs.write;
  const failing = mock.method(fs, 'write', (...given: Parameters<typeof fs.write>) => {
    const done = given.at(-1) as unknown as NoParamCallback;
    const error = Object.assign(new Error(`${code}: made by a test, write`), { code, syscall: 'write' });
    if (options.written !== true) return process.nextTick(done, error);
    // What may happen as well: it is on the disk, and nobody can know.
    (real as (...args: unknown[]) => void)(...given.slice(0, -1), () => done(error));
  });
  syncBuiltinESMExports();
  return {
    end() {
      failing.mock.restore();
      syncBuiltinESMExports();
    },
  };
}
