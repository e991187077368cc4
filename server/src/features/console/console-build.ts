import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { SECOND_MS } from '../../kernel/base/clock.ts';

const TIMEOUT_MS = 60 * SECOND_MS;

/** Builds the console of a checkout in a process of its own, which gets no setting and no credential. An installed package has it built. */
export async function buildConsole(folder: string, sources: string): Promise<void> {
  const { execPath } = process;
  await promisify(execFile)(execPath, [join(folder, 'build.ts'), sources], { env: {}, timeout: TIMEOUT_MS });
}
