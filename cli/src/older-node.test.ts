import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFileSync, linkSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, test } from 'node:test';

/** `node_modules/.bin/coffer` under a Node that is too old: this one, under another path and with an older number. */

const ROOT = resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'coffer-older-'));
after(() => rmSync(folder, { recursive: true }));
const OLDER = `data:text/javascript,Object.defineProperty(process.versions, 'node', { value: '20.1.0' })`;

function olderNode(): string {
  const node = join(folder, 'node');
  try {
    linkSync(process.execPath, node);
  } catch {
    // On another file system.
    copyFileSync(process.execPath, node);
  }
  return node;
}
const node = olderNode();

const run = (main: string, ...args: string[]) =>
  new Promise<{ code: unknown; stdout: string; stderr: string }>((resolveWith) => {
    execFile(node, ['--import', OLDER, main, ...args], { cwd: folder }, (error, stdout, stderr) =>
      resolveWith({ code: error === null ? 0 : error.code, stdout, stderr }),
    );
  });

test('the command starts itself with the Node that npm has installed, and ends as it ends', async () => {
  const main = join(ROOT, 'node_modules/.bin/coffer');
  const version = await run(main, '--version');
  assert.deepEqual([version.code, version.stderr], [0, '']);
  assert.match(version.stdout, /^(?:coffer )?\d+\.\d+\.\d+/);
  const wrong = await run(main, 'no-such-verb');
  assert.equal(wrong.code, 1);
  assert.doesNotMatch(wrong.stderr, /needs Node/);
});

test('without one, and in the service, an older Node says what to do in one line', async () => {
  const lone = join(folder, 'lone');
  for (const file of ['cli/main.js', 'server/required-node.js', 'server/src/start/node-binaries.json']) {
    mkdirSync(join(lone, dirname(file)), { recursive: true });
    copyFileSync(join(ROOT, file), join(lone, file));
  }
  for (const [main, instead] of [
    [join(ROOT, 'server/main.js'), /use `npm start`/],
    [join(lone, 'cli/main.js'), /use `npm run coffer/],
  ] as const) {
    const { code, stdout, stderr } = await run(main);
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(
      stderr,
      /^Coffer needs Node \d+ or later, and this is Node 20\.1\.0\. `npm ci` installs it: [^\n]+\n$/,
    );
    assert.match(stderr, instead);
  }
});
