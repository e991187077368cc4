import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { findCommit, UNKNOWN_COMMIT } from '../server/src/kernel/base/commit.ts';
import { billOfMaterials, type LockedPackages } from './bill-of-materials.ts';
import { digestLines, provenanceOf } from './provenance.ts';

/**
 * Writes each workspace as a folder that `npm pack` and `npm publish` take: `npm run build:packages -- FOLDER`, or `dist/packages`.
 *
 * Node strips no types below `node_modules`, so an installed package must be JavaScript. Types are replaced by spaces: a line of a package is the
 * same line in the sources, with its comments.
 *
 * Beside the folders are what `npm publish` would send of each (`.tgz`), what each consists of (`.cdx.json`), what was built from what
 * (`provenance.intoto.json`), and the digests of all these (`SHA256SUMS`).
 */
const startedAt = new Date();
const ROOT = join(import.meta.dirname, '..');
const TARGET = resolve(process.argv[2] ?? join(ROOT, 'dist/packages'));
const NODE_RANGE = '>=26';
const IMPORTED = /(\b(?:from|import)\s*\(?\s*)'(\.\.?\/[^']+)'/g;
/** TypeScript writes `import("./x.ts")` where it names a type that the source does not. */
const IMPORTED_TYPE = /(\b(?:from|import)\s*\(?\s*)['"](\.\.?\/[^'"]+)['"]/g;
const SCOPE = '@coffer/';
const LOCK_FILE = join(ROOT, 'package-lock.json');
const COMMIT = findCommit(join(ROOT, 'server'));

interface Package {
  /** Source files that become JavaScript of the same name. */
  readonly sources: readonly string[];
  /** What is copied as it is: from, to. */
  readonly copied: readonly (readonly [from: string, to: string])[];
  readonly hasTypes: boolean;
}

const PACKAGES: Readonly<Record<string, Package>> = {
  server: {
    sources: ['main.js', 'required-node.js', 'src/**/*.ts', 'migrations/**/*.ts'],
    copied: [
      ['server/src/features/reference/assets', 'src/features/reference/assets'],
      ['server/src/features/shares/assets', 'src/features/shares/assets'],
      ['docs/guide', 'docs/guide'],
      ['docs/operations.md', 'docs/operations.md'],
      ['docs/generated/configuration.md', 'docs/generated/configuration.md'],
      ['docs/generated/quotas.md', 'docs/generated/quotas.md'],
    ],
    hasTypes: false,
  },
  client: { sources: ['src/**/*.ts'], copied: [], hasTypes: true },
  detection: { sources: ['src/**/*.ts'], copied: [], hasTypes: false },
  cli: { sources: ['main.js', 'src/**/*.ts'], copied: [], hasTypes: false },
};
/** Only the generator of the docs, which needs a checkout. */
const LEFT_OUT = ['server/src/tools/generate.ts'];

interface PackageJson {
  name: string;
  version: string;
  description: string;
  engines: { node: string };
  bin?: Record<string, string>;
  exports?: unknown;
  dependencies?: Record<string, string>;
}

const readJson = (file: string) => JSON.parse(readFileSync(join(ROOT, file), 'utf8')) as PackageJson;
const root = readJson('package.json');
const manifests = new Map([...Object.keys(PACKAGES), 'agent'].map((name) => [name, readJson(`${name}/package.json`)]));
/** An import of a file of types alone, `x.d.ts`, names the JavaScript beside it too, as TypeScript wants it. */
const asJavaScript = (file: string) => file.replace(/(?:\.d)?\.ts$/, '.js');

function buildPackage(name: string, { sources, copied, hasTypes }: Package): void {
  const folder = join(TARGET, name);
  for (const file of sourceFiles(name, sources)) {
    const target = join(folder, asJavaScript(relative(name, file)));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, javaScriptOf(name, file));
  }
  // Data that sources import, and types that were generated.
  for (const file of globSync(`${name}/src/**/*.{json,d.ts}`, { cwd: ROOT })) {
    if (hasTypes || !file.endsWith('.d.ts')) cpSync(join(ROOT, file), join(folder, relative(name, file)));
  }
  for (const [from, to] of copied) cpSync(join(ROOT, from), join(folder, to), { recursive: true });
  if (hasTypes) writeTypes(name, folder);
  writeManifest(name, folder, {});
}

function sourceFiles(name: string, patterns: readonly string[]): string[] {
  return patterns
    .flatMap((pattern) => globSync(`${name}/${pattern}`, { cwd: ROOT }))
    .filter((file) => !/\.(test|d)\.ts$/.test(file) && !LEFT_OUT.includes(file));
}

/** Relative imports name JavaScript, and those of another workspace its package. */
function javaScriptOf(name: string, file: string): string {
  const source = readFileSync(join(ROOT, file), 'utf8');
  const script = file.endsWith('.ts') ? stripTypeScriptTypes(source) : source;
  return script.replaceAll(IMPORTED, (_, before: string, path: string) => {
    const target = join(dirname(file), path);
    return `${before}'${target.startsWith(`${name}/`) ? asJavaScript(path) : foreign(name, target)}'`;
  });
}

function foreign(name: string, target: string): string {
  const [other = '', ...rest] = target.split('/');
  const path = rest.join('/');
  const dependency = `${SCOPE}${other}`;
  const manifest = manifests.get(other);
  if (manifest === undefined) throw new Error(`${name} imports ${target}, which is in no package`);
  if (manifests.get(name)?.dependencies?.[dependency] !== manifest.version) {
    throw new Error(`${name} imports ${target}: add "${dependency}": "${manifest.version}" to ${name}/package.json`);
  }
  if (manifest.exports === undefined) return `${dependency}/${asJavaScript(path)}`;
  const entries = typeof manifest.exports === 'string' ? { '.': manifest.exports } : (manifest.exports as object);
  const entry = Object.entries(entries).find(([, value]) => JSON.stringify(value).includes(`"./${path}"`));
  if (entry === undefined) throw new Error(`${name} imports ${target}, which "exports" of ${dependency} does not list`);
  return `${dependency}${entry[0].slice(1)}`;
}

/** What a package says of itself: nothing about this repository, and files as they are called in the package. */
function writeManifest(name: string, folder: string, changes: Partial<PackageJson>): void {
  const own = { ...manifests.get(name), ...changes } as PackageJson;
  const manifest = {
    name: own.name,
    version: own.version,
    description: own.description,
    license: 'Apache-2.0',
    type: 'module',
    // The client uses what browsers have too, and so runs on every Node that the tools here run on.
    // As npm calls the commit.
    ...(COMMIT !== UNKNOWN_COMMIT && { gitHead: COMMIT }),
    engines: { node: own.exports === undefined ? NODE_RANGE : root.engines.node },
    ...(own.bin && {
      bin: Object.fromEntries(Object.entries(own.bin).map(([key, file]) => [key, asJavaScript(file)])),
    }),
    ...(own.exports !== undefined && { exports: packedExports(own.exports) }),
    ...(own.dependencies && { dependencies: own.dependencies }),
  };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  cpSync(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'));
  cpSync(join(ROOT, name, 'README.md'), join(folder, 'README.md'));
}

function packedExports(value: unknown): unknown {
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, packedExports(inner)]));
  }
  const file = String(value);
  return file.endsWith('.ts') ? { types: file.replace(/\.ts$/, '.d.ts'), default: asJavaScript(file) } : file;
}

function writeTypes(name: string, folder: string): void {
  const settings = join(folder, 'tsconfig.json');
  const options = {
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    rewriteRelativeImportExtensions: true,
    rootDir: join(ROOT, name),
    outDir: folder,
    typeRoots: [join(ROOT, 'node_modules/@types')],
  };
  const files = sourceFiles(name, ['src/**/*.ts']).map((file) => join(ROOT, file));
  const extended = { extends: join(ROOT, 'tsconfig.json'), compilerOptions: options, include: [], files };
  writeFileSync(settings, JSON.stringify(extended));
  execFileSync(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', settings], { stdio: 'inherit' });
  rmSync(settings);
  for (const file of globSync('src/**/*.d.ts', { cwd: folder })) {
    const path = join(folder, file);
    const javaScript = (_: string, before: string, imported: string) => `${before}'${asJavaScript(imported)}'`;
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll(IMPORTED_TYPE, javaScript));
  }
}

/** Repeatable builds set SOURCE_DATE_EPOCH, which takes the place of the time in what is written here. */
function timeOf(date: Date): Date {
  const seconds = process.env['SOURCE_DATE_EPOCH'];
  return seconds === undefined ? date : new Date(Number(seconds) * 1000);
}

function writeRelease(): void {
  const names = [...manifests.keys()];
  const folders = names.map((name) => join(TARGET, name));
  execFileSync('npm', ['pack', '--silent', '--pack-destination', TARGET, ...folders], {
    stdio: ['ignore', 'ignore', 2],
  });
  const { packages } = JSON.parse(readFileSync(LOCK_FILE, 'utf8')) as { packages: LockedPackages };
  const writeJson = (file: string, value: object) => {
    writeFileSync(join(TARGET, file), `${JSON.stringify(value, null, 2)}\n`);
    return join(TARGET, file);
  };
  const { version } = root;
  const tarballs = names.map((name) => join(TARGET, `coffer-${name}-${version}.tgz`));
  const bills = names.map((name) =>
    writeJson(`coffer-${name}-${version}.cdx.json`, billOfMaterials(packages, name, { madeAt: timeOf(startedAt) })),
  );
  const built = { files: [...tarballs, ...bills], commit: COMMIT === UNKNOWN_COMMIT ? null : COMMIT, version };
  const times = { startedAt: timeOf(startedAt), finishedAt: timeOf(new Date()) };
  const provenance = writeJson('provenance.intoto.json', provenanceOf({ ...built, ...times, lockFile: LOCK_FILE }));
  writeFileSync(join(TARGET, 'SHA256SUMS'), digestLines([...built.files, provenance]));
}

rmSync(TARGET, { recursive: true, force: true });
for (const [name, what] of Object.entries(PACKAGES)) buildPackage(name, what);
// An installed service has the console built, since it has none of its sources.
const consoleFolder = join(TARGET, 'server/console');
execFileSync(process.execPath, [join(ROOT, 'console/build.ts'), '', consoleFolder], { stdio: 'inherit' });
// The agent runs on hosts where nothing else is installed, so it is one file without dependencies.
const bundle = join(TARGET, 'agent/coffer-agent.mjs');
execFileSync(process.execPath, [join(ROOT, 'scripts/bundle-agent.ts'), bundle], { stdio: 'inherit' });
writeManifest('agent', join(TARGET, 'agent'), { bin: { 'coffer-agent': 'coffer-agent.mjs' } });
writeRelease();
process.stdout.write(`${[...manifests.keys()].map((name) => join(TARGET, name)).join('\n')}\n`);
