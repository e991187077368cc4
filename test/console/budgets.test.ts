import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { prepareConsole } from '../../server/src/features/console/console-files.ts';
import { createLogger } from '../../server/src/kernel/observability/log.ts';

/** How much a browser loads: everything for the first page, and for each page that is opened afterwards. */

const FOLDER = join(import.meta.dirname, '../../console/dist');
const ENTRY_BYTES_MAX = 40 * 1024;
/** Each takes a turn of a slow line. */
const ENTRY_FILES_MAX = 2;
const ROUTE_BYTES_MAX = 20 * 1024;
/** All that somebody who is signed in loads before a page itself: the first page, the frame, their styles, the icons. */
const FRAME_BYTES_MAX = 60 * 1024;
const FONTS_BYTES_MAX = 56 * 1024;
const STATIC_IMPORT = /(?:^|[;}])import(?:[^;'"()]*?from)?"\.\/([\w-]+\.js)"/g;

interface Manifest {
  script: string;
  style: string;
  frameStyle: string;
  icons: string;
  preload: string[];
  files: string[];
}

let manifest: Manifest;
const read = (name: string) => readFileSync(join(FOLDER, name));
const compressed = (names: Iterable<string>) =>
  [...names].reduce((sum, name) => sum + gzipSync(read(name), { level: 9 }).length, 0);
/** A script with all that it imports at once. */
const withImports = (name: string, found = new Set<string>()): Set<string> => {
  if (found.has(name)) return found;
  found.add(name);
  for (const [, other = ''] of read(name).toString('utf8').matchAll(STATIC_IMPORT)) withImports(other, found);
  return found;
};
const frameScript = () => {
  const found = manifest.files.find((name) => /^frame-\w+\.js$/.test(name));
  assert.ok(found !== undefined);
  return found;
};

before(async () => {
  await prepareConsole(createLogger({ level: 'warn', format: 'json' }));
  manifest = JSON.parse(read('manifest.json').toString('utf8'));
});

test('the first page is small, with its style, and in few files', () => {
  const entry = withImports(manifest.script);
  for (const name of manifest.preload) withImports(name, entry);
  assert.deepEqual(
    [...entry].filter((name) => name !== manifest.script && !manifest.preload.includes(name)),
    [],
  );
  assert.ok(entry.size <= ENTRY_FILES_MAX, `${entry.size} scripts`);
  const bytes = compressed([...entry, manifest.style]);
  assert.ok(bytes <= ENTRY_BYTES_MAX, `${bytes} bytes`);
});

test('no page adds much to it and to the frame, which is there once somebody is signed in', () => {
  const entry = withImports(frameScript(), withImports(manifest.script));
  const scripts = manifest.files.filter((name) => name.endsWith('.js') && !entry.has(name));
  assert.ok(scripts.length > 10);
  for (const name of scripts) {
    const added = [...withImports(name)].filter((each) => !entry.has(each));
    const bytes = compressed(added);
    assert.ok(bytes <= ROUTE_BYTES_MAX, `${name}: ${bytes} bytes`);
  }
});

test('every file is there as it is and compressed, and no other', () => {
  const isFont = (name: string) => name.endsWith('.woff2');
  const expected = [
    'manifest.json',
    ...manifest.files.flatMap((name) => (isFont(name) ? [name] : [name, `${name}.br`])),
  ];
  assert.deepEqual(readdirSync(FOLDER).toSorted(), expected.toSorted());
});

test('the frame is small, with its style and all icons, and so are the fonts', () => {
  const frame = withImports(frameScript());
  const bytes = compressed([manifest.script, ...frame, manifest.style, manifest.frameStyle, manifest.icons]);
  assert.ok(bytes <= FRAME_BYTES_MAX, `${bytes} bytes`);
  const fonts = manifest.files.filter((name) => name.endsWith('.woff2'));
  assert.equal(fonts.length, 2);
  const fontBytes = fonts.reduce((sum, name) => sum + read(name).length, 0);
  assert.ok(fontBytes <= FONTS_BYTES_MAX, `${fontBytes} bytes`);
});

test('no script has a source of code or a name of this machine', () => {
  for (const name of manifest.files.filter((each) => !each.endsWith('.woff2'))) {
    const text = read(name).toString('utf8');
    assert.doesNotMatch(text, /\beval\(|new Function\(|document\.write|\/work\/|\/home\//, name);
  }
});
