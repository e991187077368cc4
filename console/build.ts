import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, extname, join } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import { build, type Plugin } from 'esbuild';
import { ICONS } from './src/ui/icon-names.ts';

/**
 * Builds the console: `node console/build.ts [FINGERPRINT OF ITS SOURCES] [FOLDER]`. File names contain a digest of their content, and the manifest is
 * replaced last, so a service that reads the folder meanwhile serves the old console or the new one.
 */
const [sources = '', folder = join(import.meta.dirname, 'dist')] = process.argv.slice(2);
const { resolve } = createRequire(import.meta.url);

/** What esbuild does not make, by its name. */
const others = new Map<string, Uint8Array>();

/** As esbuild names its files: `icons.svg` becomes `icons-5XK2M7QP.svg`. */
function addFile(name: string, contents: Uint8Array): string {
  const digest = createHash('sha256').update(contents).digest('hex').slice(0, 8).toUpperCase();
  const named = `${basename(name, extname(name))}-${digest}${extname(name)}`;
  others.set(named, contents);
  return named;
}

/**
 * A browser asks for six files at a time, so the first page is one script, and the frame of somebody who is signed in is another. esbuild makes a file
 * for each set of pages that share a module: if every page imports all of the frame, and the frame all of the first page, there is one set for each.
 * They have it anyway when they are loaded.
 */
const firstPageInOneFile: Plugin = {
  name: 'first page in one file',
  setup({ onLoad }) {
    const [firstPage, frame] = ['app', 'frame'].map((name) => join(import.meta.dirname, `src/shell/${name}.tsx`));
    onLoad({ filter: /[\\/]src[\\/][\w-]+[\\/][\w-]+\.tsx$/ }, ({ path }) => {
      const isOfFirstPage =
        /[\\/](?:app|ui|shell|sign-in)[\\/][\w-]+\.tsx$/.test(path) && !path.endsWith('step-up.tsx');
      const imported = path === frame ? [firstPage] : isOfFirstPage ? [] : [firstPage, frame];
      if (imported.length === 0) return null;
      const lines = imported.map((each) => `import ${JSON.stringify(each)};`);
      return { contents: [readFileSync(path, 'utf8'), ...lines].join('\n'), loader: 'tsx' };
    });
  },
};

/** Fonts have an address of their own beside that of the style sheets. */
const fonts: Plugin = {
  name: 'fonts',
  setup({ onResolve }) {
    onResolve({ filter: /\.woff2$/ }, ({ path }) => {
      const name = addFile(basename(path), readFileSync(resolve(path)));
      return { path: `../font/${name}`, external: true };
    });
  },
};

type IconNode = readonly (readonly [tag: string, attributes: Readonly<Record<string, string>>])[];

/** One file with all icons, each a symbol that a page uses by its name. */
async function makeSprite(): Promise<string> {
  const symbols = await Promise.all(
    Object.entries(ICONS).map(async ([name, original]) => {
      const { default: shapes } = (await import(`lucide/dist/esm/icons/${original}.mjs`)) as { default: IconNode };
      const drawn = shapes.map(([tag, attributes]) => {
        const text = Object.entries(attributes).map(([key, value]) => ` ${key}="${value}"`);
        return `<${tag}${text.join('')}/>`;
      });
      return `<symbol id="${name}" viewBox="0 0 24 24">${drawn.join('')}</symbol>`;
    }),
  );
  return `<svg xmlns="http://www.w3.org/2000/svg">${symbols.join('')}</svg>`;
}

const { outputFiles, metafile } = await build({
  absWorkingDir: import.meta.dirname,
  entryPoints: ['src/shell/main.tsx', 'src/style/style.css', 'src/style/frame.css'],
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
  plugins: [firstPageInOneFile, fonts],
});

const outputs = Object.entries(metafile.outputs).map(([path, output]) => ({ name: basename(path), ...output }));
const entry = (source: string) => {
  const found = outputs.find(({ entryPoint }) => entryPoint === source);
  if (found === undefined) throw new Error(`the build has no ${source}`);
  return found;
};
const main = entry('src/shell/main.tsx');
/** Loaded with a script, not after it. */
const importedBy = ({ imports }: Pick<typeof main, 'imports'>) =>
  imports.filter(({ kind }) => kind === 'import-statement').map(({ path }) => basename(path));
const preload = importedBy(main);
const icons = addFile('icons.svg', Buffer.from(await makeSprite()));
const manifest = {
  sources,
  script: main.name,
  style: entry('src/style/style.css').name,
  frameStyle: entry('src/style/frame.css').name,
  icons,
  preload,
  framePreload: importedBy(entry('src/shell/frame.tsx')).filter((name) => !preload.includes(name)),
  files: [...outputs.map(({ name }) => name), ...others.keys()],
};

/** Several services of a checkout may build at the same time: a file is whole whenever one of them reads it. */
function replaceFile(path: string, contents: Uint8Array | string): void {
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, contents);
  renameSync(temporary, path);
}

/** Fonts are compressed already. */
const isCompressed = (name: string) => !name.endsWith('.woff2');

mkdirSync(folder, { recursive: true });
const written = [...outputFiles.map(({ path, contents }) => [basename(path), contents] as const), ...others];
for (const [name, contents] of written) {
  const path = join(folder, name);
  replaceFile(path, contents);
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: contents.length };
  if (isCompressed(name)) replaceFile(`${path}.br`, brotliCompressSync(contents, { params }));
}
replaceFile(join(folder, 'manifest.json'), JSON.stringify(manifest));

const current = new Set(manifest.files.flatMap((name) => (isCompressed(name) ? [name, `${name}.br`] : [name])));
for (const name of readdirSync(folder)) {
  const isBeingWritten = /\.\d+$/.test(name);
  if (!current.has(name) && name !== 'manifest.json' && !isBeingWritten) rmSync(join(folder, name), { force: true });
}
