import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const BYTES_MAX = 15 * 1024;

/** The part of the library that a page loads at once; zero knowledge comes when it is used. */
test('the bundle for browsers needs nothing of Node and is at most 15 KB', async () => {
  const { outputFiles, metafile } = await build({
    entryPoints: ['client/src/coffer.ts'],
    bundle: true,
    minify: true,
    format: 'esm',
    splitting: true,
    outdir: 'unused',
    write: false,
    platform: 'browser',
    metafile: true,
    logLevel: 'silent',
  });
  const entry = outputFiles.find(({ path }) => path.endsWith('/coffer.js'));
  const bytes = gzipSync(entry?.contents ?? new Uint8Array(BYTES_MAX * 100)).length;
  assert.ok(bytes <= BYTES_MAX, `${bytes} bytes`);
  assert.ok(!Object.keys(metafile.inputs).some((file) => file.includes('src/node/')));
});
