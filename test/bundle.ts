import { mkdir, readFile, symlink } from 'node:fs/promises';
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

/** An entry that imports each file of a process. */
const filesOfProcess = (processes: readonly (readonly string[])[]): Plugin => ({
  name: 'files-of-process',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^process:/ }, ({ path }) => ({ path: path.slice('process:'.length), namespace: 'process' }));
    onLoad({ filter: /./, namespace: 'process' }, ({ path }) => ({
      contents: processes[Number(path)]?.map((file) => `import ${JSON.stringify(join(ROOT, file))};`).join('\n') ?? '',
      resolveDir: ROOT,
    }));
  },
});

/** Puts the test files of each process, and the service that they start, into a few files, for the same reason. Returns what each process runs. */
export async function bundleTests(folder: string, processes: readonly (readonly string[])[]): Promise<string[]> {
  await mkdir(folder);
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const { devDependencies } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
  const names = processes.map((files, i) => (files.length === 1 ? files.join().slice(0, -'.ts'.length) : `group-${i}`));
  await build({
    ...OPTIONS,
    entryPoints: names.map((name, i) => ({ in: `process:${i}`, out: name })),
    plugins: [filesOfProcess(processes), ...OPTIONS.plugins],
    outdir: folder,
    // Tools of tests are large, load files of their own, and are in no program.
    external: Object.keys(devDependencies),
    sourcemap: 'linked',
    sourcesContent: false,
    banner: { js: REQUIRE },
  });
  return names.map((name) => join(folder, `${name}.mjs`));
}
