import { spawn } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PINNED = JSON.parse(readFileSync(new URL('./src/start/node-binaries.json', import.meta.url), 'utf8')).version;
const MAJOR = Number.parseInt(PINNED, 10);
const PASSED_ON = ['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGQUIT'];

function isTooOld() {
  return Number.parseInt(process.versions.node, 10) < MAJOR;
}

/**
 * Ends the process with one line on a Node that is too old. This file and those that import it are JavaScript of the oldest Node that may come
 * across them: one that cannot read TypeScript would fail at the first file, with a message that helps nobody.
 */
export function requireNode(instead) {
  if (!isTooOld()) return;
  const isInstalled = import.meta.url.includes('/node_modules/');
  const advice = isInstalled ? 'Install it, and try again.' : `\`npm ci\` installs it: ${instead}`;
  process.stderr.write(`Coffer needs Node ${MAJOR} or later, and this is Node ${process.versions.node}. ${advice}\n`);
  process.exit(1);
}

/**
 * On a Node that is too old, runs the program with the Node that npm has installed beside it, and ends as it ends. Returns if there is no need, or no
 * such Node.
 */
export async function startWithInstalledNode(program) {
  const node = isTooOld() ? installedNode() : null;
  if (node === null) return;
  const child = spawn(node, ['--disable-sigusr1', program, ...process.argv.slice(2)], { stdio: 'inherit' });
  // A terminal sends its signals to both; the program decides what they mean.
  for (const signal of PASSED_ON) process.on(signal, () => child.kill(signal));
  const [code, signal] = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (...ended) => resolve(ended));
  });
  process.exit(code ?? 128 + constants.signals[signal]);
}

/** Null also if it is the one that runs: it would start itself for ever. */
function installedNode() {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    const node = join(folder, 'node_modules/.bin/node');
    if (existsSync(node)) return realpathSync(node) === realpathSync(process.execPath) ? null : node;
    if (folder === dirname(folder)) return null;
  }
}
