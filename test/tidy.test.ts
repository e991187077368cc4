import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, test } from 'node:test';

/** House rules, as a test: which room may know which, what is never called, what nobody uses. */

const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { encoding: 'utf8' })
  .split('\n')
  .filter((file) => file !== '' && existsSync(file));
const sources = files.filter((file) => /\.(ts|tsx)$/.test(file));
const text = new Map(
  files.filter((file) => !/\.(png|bin|gz)$/.test(file)).map((file) => [file, readFileSync(file, 'utf8')]),
);
const isTest = (file: string) => file.endsWith('.test.ts') || file.startsWith('test/');
const read = (file: string) => text.get(file) ?? '';

function importsOf(file: string): string[] {
  const found = [...read(file).matchAll(/(?:from|import|module) ?\(?'(\.[^']+)'/g)].map((match) => String(match[1]));
  return found.map((path) => normalize(join(dirname(file), path)));
}

function featureOf(file: string): string | null {
  return /^server\/src\/features\/([^/]+)\//.exec(file)?.[1] ?? null;
}

describe('layers', () => {
  test('the kernel knows no feature and no wiring', () => {
    for (const file of sources.filter((f) => f.startsWith('server/src/kernel/') && !isTest(f))) {
      for (const target of importsOf(file))
        assert.ok(target.startsWith('server/src/kernel/'), `${file} imports ${target}`);
    }
  });

  test('a feature sees the kernel, itself, and others only through their index.ts', () => {
    for (const file of sources.filter((f) => featureOf(f) !== null && !isTest(f))) {
      for (const target of importsOf(file)) {
        const own = featureOf(target) === featureOf(file) || target.startsWith('server/src/kernel/');
        const isDoor = featureOf(target) !== null && target.endsWith('/index.ts');
        assert.ok(own || isDoor, `${file} imports ${target}`);
      }
    }
  });

  test('features do not need each other in a circle', () => {
    const needs = new Map<string, Set<string>>();
    for (const file of sources.filter((f) => featureOf(f) !== null && !isTest(f))) {
      const name = String(featureOf(file));
      const others = importsOf(file)
        .map(featureOf)
        .filter((other) => other !== null && other !== name) as string[];
      needs.set(name, new Set([...(needs.get(name) ?? []), ...others]));
    }
    const visit = (name: string, path: string[]): void => {
      assert.ok(!path.includes(name), `features in a circle: ${[...path, name].join(' → ')}`);
      for (const other of needs.get(name) ?? []) visit(other, [...path, name]);
    };
    for (const name of needs.keys()) visit(name, []);
  });

  test('inside a feature: schemas ← contract ← service ← index, and SQL only in stores', () => {
    for (const file of sources.filter((f) => featureOf(f) !== null && !isTest(f))) {
      const targets = importsOf(file).filter((target) => featureOf(target) === featureOf(file));
      const name = file.split('/').at(-1);
      if (name === 'schemas.ts' || name === 'store.ts') assert.deepEqual(targets, [], `${file} imports ${targets}`);
      if (name === 'contract.ts') {
        const others = targets.filter((target) => !target.endsWith('/schemas.ts'));
        assert.deepEqual(others, [], `${file} imports ${others}`);
      }
      assert.ok(
        name === 'index.ts' || !targets.some((t) => t.endsWith('/index.ts')),
        `${file} imports its own index.ts`,
      );
      if (!name?.endsWith('store.ts')) {
        assert.doesNotMatch(read(file), /\.(selectFrom|insertInto|updateTable|deleteFrom)\(/, `${file} holds SQL`);
      }
    }
  });

  test('the client library knows nothing of the service’s code', () => {
    for (const file of sources.filter((f) => f.startsWith('client/') && !isTest(f))) {
      for (const target of importsOf(file)) assert.ok(target.startsWith('client/'), `${file} imports ${target}`);
      assert.doesNotMatch(read(file), /from 'node:|Buffer\./, `${file} needs Node`);
    }
  });

  test('the command line reaches the service only through its operator verbs', () => {
    for (const file of sources.filter((f) => f.startsWith('cli/') && !isTest(f))) {
      for (const target of importsOf(file).filter((t) => t.startsWith('server/'))) {
        assert.ok(target.startsWith('server/src/operator/'), `${file} imports ${target}`);
      }
    }
  });
});

describe('habits', () => {
  const banned: [RegExp, string, RegExp?][] = [
    [/\bconsole\.(log|error|warn|info)\(/, 'log through the kernel’s logger', /server\/src\/generate\.ts$/],
    [/\bDate\.now\(\)/, 'ask the clock', /kernel\/(clock|ids)\.ts$/],
    [/\bMath\.random\(\)/, 'use node:crypto for anything that matters', /kernel\/storage\/database\.ts$/],
    [/\bnew Function\(|\beval\(/, 'no code from text'],
    [/\bchild_process\b/, 'the service starts no processes'],
    [/\bsql\.raw\(/, 'parameters, never text, in SQL'],
    [/@ts-(ignore|expect-error|nocheck)/, 'mend the type'],
    [/\b(TODO|FIXME|XXX|HACK)\b/, 'do it, or file an issue'],
    [/process\.env\b/, 'settings come through config.ts', /server\/src\/serve\.ts$/],
    [/createHash\('(md5|sha1)'/, 'use SHA-256'],
    [/\bsetPasswordCost\(/, 'passwords cost what they cost', /kernel\/crypto\/passwords\.ts$/],
    // There the handshake only proves the key; the certificate is checked with the request.
    [/rejectUnauthorized: *false/, 'verify certificates', /kernel\/http\/tls-listener\.ts$/],
  ];
  for (const [pattern, instead, except] of banned) {
    test(`${pattern.source}: ${instead}`, () => {
      const places = sources
        .filter((file) => file.startsWith('server/') && !isTest(file) && !(except?.test(file) ?? false))
        .filter((file) => pattern.test(read(file)));
      assert.deepEqual(places, []);
    });
  }

  test('what is deleted because its time is over is deleted by a Cutoff, which no clock of a node makes', () => {
    const reasons = new Map([
      [
        'server/src/kernel/limits/idempotency.ts: idempotency_keys',
        'the one that is replaced in the same transaction, by a request that was just told that it is over',
      ],
      [
        'server/src/features/app-connections/session-store.ts: connection_sessions',
        'a client that was quiet begins a new session with its next request',
      ],
    ]);
    const deletions = [
      /\.deleteFrom\('(\w+)'\)(?:(?!\.execute|\.deleteFrom)[\s\S])*?\('(?:\w+_(?:at|until|start|after))', '<=?', ([^)]+)\)/g,
      // Rows that are authenticated are deleted by what a function or the call itself says of them.
      /(\w+)\.deleteWhere\((?:(?!;\n)[\s\S])*?\('(?:\w+_(?:at|until|start|after))', '<=?', ([^)]+)\)/g,
      /Before\(\w+: Cutoff\): Which<'(\w+)'> \{\n {2}return \(eb\) => eb\('\w+', '<', ([^)]+)\)/g,
    ];
    const found = new Set<string>();
    let byCutoff = 0;
    for (const file of sources.filter((f) => f.startsWith('server/src/') && !isTest(f))) {
      for (const [, table, time] of deletions.flatMap((form) => [...read(file).matchAll(form)])) {
        if (read(file).includes(`${time}: Cutoff`)) byCutoff++;
        else found.add(`${file}: ${table}`);
      }
    }
    assert.deepEqual([...found].sort(), [...reasons.keys()].sort());
    assert.ok(byCutoff >= 10, `${byCutoff} deletions by a cutoff were found`);
  });

  test('no test is switched off or runs alone', () => {
    const marks = /\b(?:test|describe|it)\.(?:skip|only|todo)\(|\{\s*(?:skip|only|todo):/;
    assert.deepEqual(
      sources.filter((file) => isTest(file) && file !== 'test/tidy.test.ts' && marks.test(read(file))),
      [],
    );
  });

  test('names say what a thing is', () => {
    assert.deepEqual(
      files.filter((file) => /(^|\/)(utils?|helpers?|misc|common)(\.|\/)|[-_.]v2\b/.test(file)),
      [],
    );
  });

  test('a file can be read in one sitting', () => {
    const long = sources.filter((file) => !isTest(file) && read(file).split('\n').length > 450);
    assert.deepEqual(long, []);
  });

  test('no file is dead: each is imported by another, or is where something starts', () => {
    const starts = [
      /main\.ts$/,
      /-worker\.ts$/,
      /generate\.ts$/,
      /migrations\//,
      /^test\/(run|preloaded\/[a-z-]+)\.ts$/,
      /^test\/(fixtures|vectors)\/make\.ts$/,
      /^test\/clients\/use-[a-z-]+\.ts$/,
      /^scripts\/[a-z-]+\.ts$/,
      /^bench\/(run|profile|soak|.*-process)\.ts$/,
      /\.test\.ts$/,
    ];
    const imported = new Set(sources.flatMap(importsOf));
    const dead = sources.filter((file) => !imported.has(file) && !starts.some((start) => start.test(file)));
    assert.deepEqual(dead, []);
  });

  test('dependencies are pinned, and the lock file names no host and a digest of each', () => {
    for (const file of files.filter((f) => f.endsWith('package.json'))) {
      const { dependencies = {}, devDependencies = {} } = JSON.parse(read(file)) as Record<
        string,
        Record<string, string>
      >;
      for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies })) {
        assert.match(version, /^\d+\.\d+\.\d+(-[a-z0-9.]+)?$/, `${file}: ${name} ${version}`);
      }
    }
    assert.doesNotMatch(read('package-lock.json'), /"resolved": "http/);
    const { packages } = JSON.parse(read('package-lock.json')) as {
      packages: Record<string, { integrity?: string; link?: boolean }>;
    };
    const unchecked = Object.entries(packages).filter(
      ([path, { integrity, link }]) =>
        path.includes('node_modules/') && link !== true && !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? ''),
    );
    assert.deepEqual(
      unchecked.map(([path]) => path),
      [],
    );
  });

  test('nothing names the machine it was made on', () => {
    const marks = /\/(?:work|root|home)\/[a-z]/;
    assert.deepEqual(
      files.filter((file) => file !== 'test/tidy.test.ts' && file !== 'package-lock.json' && marks.test(read(file))),
      [],
    );
  });
});
