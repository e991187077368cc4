import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type BuildOptions, build, type Plugin } from 'esbuild';
import { BUNDLED } from './support/bundled.ts';

const ROOT = join(import.meta.dirname, '..');
const SOURCES = /\.[jt]s$/;

/** Code that finds files beside itself finds them beside its source. */
const besideTheSource: Plugin = {
  name: 'beside-the-source',
  setup({ onLoad }) {
    onLoad({ filter: SOURCES }, async ({ path }) => {
      if (path.includes('/node_modules/')) return null;
      const source = await readFile(path, 'utf8');
      const contents = source
        .replaceAll('import.meta.dirname', JSON.stringify(dirname(path)))
        .replaceAll('import.meta.filename', JSON.stringify(path))
        .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href))
        .replaceAll(/import\.meta\.resolve\('(\.[^']*)'\)/g, (_, to) =>
          JSON.stringify(new URL(to, pathToFileURL(path)).href),
        );
      return { contents, loader: path.endsWith('.ts') ? 'ts' : 'js' };
    });
  },
};

const OPTIONS = {
  absWorkingDir: ROOT,
  bundle: true,
  splitting: true,
  format: 'esm',
  outExtension: { '.js': '.mjs' },
  platform: 'node',
  target: 'node26',
  legalComments: 'none',
  logLevel: 'warning',
  plugins: [besideTheSource],
} as const satisfies BuildOptions;

/** Packages of the older kind ask for Node's own modules by `require`, which a module does not have. */
const REQUIRE =
  "import { createRequire as requireFrom } from 'node:module';const require=requireFrom(import.meta.url);";

/** Puts the service and the command line into a few files, which load sooner than the thousand that they are made of. */
export async function bundlePrograms(folder: string): Promise<void> {
  await build({
    ...OPTIONS,
    entryPoints: Object.entries(BUNDLED).map(([source, name]) => ({ in: source, out: name })),
    outdir: folder,
    minifyWhitespace: true,
    banner: { js: REQUIRE },
  });
}
