import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { describe, test } from 'node:test';

/** What `npm ci` and `npm ci --omit=dev` install, as the lock file says it. */

interface Locked {
  readonly version: string;
  readonly link?: boolean;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly hasInstallScript?: boolean;
  readonly engines?: { readonly node?: string };
}

const readJson = (file: string) => JSON.parse(readFileSync(file, 'utf8'));
const { packages } = readJson('package-lock.json') as { packages: Record<string, Locked> };
const { allowScripts, engines } = readJson('package.json');
const nameOf = (path: string) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
const installed = Object.entries(packages).filter(([path]) => path.includes('node_modules/'));

describe('what runs needs nothing that only tests need', () => {
  const isOmitted = ({ dev, devOptional }: Locked) => dev === true || devOptional === true;
  const sources = globSync('{server,client,detection,cli}/**/*.{ts,js}', {
    exclude: ['**/node_modules', '**/*.test.ts', 'client/generate.ts'],
  });
  const IMPORTS =
    /^(?:import|export) (?!type )[^;]*?from '([^'.][^']*)'|^import '([^'.][^']*)'|\bimport\('([^'.][^']*)'\)/gm;

  test('every package that the service, the command or the client imports stays with --omit=dev', () => {
    const needed = new Map<string, string>();
    for (const file of sources) {
      for (const [, from, plain, dynamic] of readFileSync(file, 'utf8').matchAll(IMPORTS)) {
        const specifier = String(from ?? plain ?? dynamic);
        if (isBuiltin(specifier)) continue;
        needed.set(specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/'), file);
      }
    }
    assert.ok(needed.has('kysely') && needed.has('commander'), 'the imports were not found');
    for (const [name, file] of needed) {
      const locked = packages[`node_modules/${name}`];
      assert.ok(locked !== undefined && !isOmitted(locked), `${file} imports ${name}, which --omit=dev leaves out`);
    }
  });

  test('the Node that runs it stays too', () => {
    const { optionalDependencies } = readJson('package.json');
    for (const name of Object.keys(optionalDependencies)) {
      const locked = packages[`node_modules/${name}`];
      assert.ok(locked !== undefined && !isOmitted(locked), name);
    }
  });
});

describe('npm ci warns of nothing', () => {
  const oldest = versionIn(engines.node);

  test('every package takes the oldest Node that package.json and the README name', () => {
    for (const [path, { engines: own }] of installed) {
      const accepted = own?.node ?? '*';
      const isAccepted = accepted.split('||').some((range) => takes(range.trim(), oldest));
      assert.ok(isAccepted, `${nameOf(path)} needs Node ${accepted}, and the oldest that is named is ${engines.node}`);
    }
    assert.match(readFileSync('README.md', 'utf8'), new RegExp(`Node\\.js ${oldest.slice(0, 2).join('\\.')} or later`));
  });

  test('of every package with an install script it is decided whether it may run', () => {
    const undecided = installed
      .filter(([path, { hasInstallScript }]) => hasInstallScript && !(nameOf(path) in allowScripts))
      .map(([path]) => nameOf(path));
    assert.deepEqual(undecided, []);
  });
});

/** Three numbers; what is left out or `x` is 0. */
function versionIn(range: string): [number, number, number] {
  const [major = 0, minor = 0, patch = 0] = range
    .replace(/^[^\d]*/, '')
    .split('.')
    .map((part) => Number.parseInt(part, 10) || 0);
  return [major, minor, patch];
}

/** The forms that packages use: at least, compatible with, a major version, any. Another form fails the test, and has to be added here. */
function takes(range: string, version: readonly number[]): boolean {
  if (range === '*') return true;
  assert.match(range, /^(?:(?:>=|\^) ?\d[\d.x]*|\d+)$/, `a form that this test does not know: ${range}`);
  const least = versionIn(range);
  const difference = version.map((part, i) => part - (least[i] ?? 0)).find((part) => part !== 0) ?? 0;
  return difference >= 0 && (range.startsWith('>=') || version[0] === least[0]);
}
