import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import { build, type Plugin } from 'esbuild';

/**
 * Builds the console: `node console/build.ts [FINGERPRINT OF ITS SOURCES] [FOLDER]`. File names contain a digest of their content, and the manifest is
 * replaced last, so a service that reads the folder meanwhile serves the old console or the new one.
 */
const [sources = '', folder = join(import.meta.dirname, 'dist')] = process.argv.slice(2);

/**
 * A browser asks for six files at a time, so the first page is one script. esbuild makes a file for each set of pages that share a module: if every
 * page imports all of the first page, there is one set. They have it anyway when they are loaded.
 */
const firstPageInOneFile: Plugin = {
  name: 'first page in one file',
  setup({ onLoad }) {
    const firstPage = JSON.stringify(join(import.meta.dirname, 'src/shell/app.tsx'));
    onLoad({ filter: /[\\/]src[\\/][\w-]+[\\/][\w-]+\.tsx$/ }, ({ path }) => {
      const isLoadedLater = !/[\\/](?:app|ui|shell)[\\/][\w-]+\.tsx$/.test(path) || path.endsWith('step-up.tsx');
      if (!isLoadedLater) return null;
      return { contents: `${readFileSync(path, 'utf8')}\nimport ${firstPage};\n`, loader: 'tsx' };
    });
  },
};

const { outputFiles, metafile } = await build({
  absWorkingDir: import.meta.dirname,
  entryPoints: ['src/shell/main.tsx', 'src/style/style.css'],
  outdir: folder,
  bundle: true,
  splitting: true,
  format: 'esm',
  target: 'es2023',
  minify: true,
  jsx: 'automatic',
  jsxImportSource: 'preact',
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  charset: 'utf8',
  legalComments: 'none',
  metafile: true,
  write: false,
  logLevel: 'error',
  plugins: [firstPageInOneFile],
});

const outputs = Object.entries(metafile.outputs).map(([path, output]) => ({ name: basename(path), ...output }));
const entry = (source: string) => {
  const found = outputs.find(({ entryPoint }) => entryPoint === source);
  if (found === undefined) throw new Error(`the build has no ${source}`);
  return found;
};
const main = entry('src/shell/main.tsx');
/** Loaded with the first script, not after it. */
const importedAtOnce = main.imports.filter(({ kind }) => kind === 'import-statement').map(({ path }) => basename(path));
const manifest = {
  sources,
  script: main.name,
  style: entry('src/style/style.css').name,
  preload: importedAtOnce,
  files: outputs.map(({ name }) => name),
};

/** Several services of a checkout may build at the same time: a file is whole whenever one of them reads it. */
function replaceFile(path: string, contents: Uint8Array | string): void {
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, contents);
  renameSync(temporary, path);
}

mkdirSync(folder, { recursive: true });
for (const { path, contents } of outputFiles) {
  replaceFile(path, contents);
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: contents.length };
  replaceFile(`${path}.br`, brotliCompressSync(contents, { params }));
}
replaceFile(join(folder, 'manifest.json'), JSON.stringify(manifest));

const current = new Set(manifest.files.flatMap((name) => [name, `${name}.br`]));
for (const name of readdirSync(folder)) {
  const isBeingWritten = /\.\d+$/.test(name);
  if (!current.has(name) && name !== 'manifest.json' && !isBeingWritten) rmSync(join(folder, name), { force: true });
}
