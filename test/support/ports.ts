import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';

/** Below the ports that systems give to connections and to servers that ask for any port, and above those that browsers refuse. */
const FIRST = 12_000;
const COUNT = 16_000;

/** A file for each port that a test process has reserved, with the id of that process. */
const RESERVED = join(tmpdir(), `coffer-test-ports-${userInfo().uid}`);

const own = new Set<string>();
process.once('exit', () => {
  for (const file of own) rmSync(file, { force: true });
});

/** A port that nothing else is given while this process lives: for a server that starts later, or again on the same port. */
export async function freePort(): Promise<number> {
  mkdirSync(RESERVED, { recursive: true });
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    if (reserve(port) && (await isFree(port))) return port;
  }
}

function reserve(port: number): boolean {
  const file = join(RESERVED, String(port));
  if (isAbandoned(file)) rmSync(file, { force: true });
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
  own.add(file);
  return true;
}

function isAbandoned(file: string): boolean {
  try {
    process.kill(Number(readFileSync(file, 'utf8')), 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
