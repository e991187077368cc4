import { readFileSync } from 'node:fs';

/**
 * Ends the process with one line on a Node that is too old. This file and those that import it are JavaScript of the oldest Node that may come
 * across them: one that cannot read TypeScript would fail at the first file, in words that help nobody.
 */
export function requireNode(instead) {
  const pinned = JSON.parse(
    readFileSync(new URL('./src/kernel/platform/node-binaries.json', import.meta.url), 'utf8'),
  ).version;
  const major = Number.parseInt(pinned, 10);
  if (Number.parseInt(process.versions.node, 10) >= major) return;
  const isInstalled = import.meta.url.includes('/node_modules/');
  const advice = isInstalled ? 'Install it, and try again.' : `\`npm ci\` installs it: ${instead}`;
  process.stderr.write(`Coffer needs Node ${major} or later, and this is Node ${process.versions.node}. ${advice}\n`);
  process.exit(1);
}
