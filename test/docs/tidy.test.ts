import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, test } from 'node:test';
import { FEATURES } from '../../server/src/assembly/features.ts';
import { KERNEL_ID_PREFIXES } from '../../server/src/kernel/base/ids.ts';
import { KERNEL_TABLES } from '../../server/src/kernel/feature/kernel-tables.ts';
import { hasFile, isAtLanding, SUITES } from '../suites.ts';
import { importsIn, refuseCircle } from '../support/imports.ts';
import { authenticatedTables, importedNames, queriedTables } from '../support/queried-tables.ts';

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

const importsOf = (file: string) => importsIn(file, read(file));

function featureOf(file: string): string | null {
  return /^server\/src\/features\/([^/]+)\//.exec(file)?.[1] ?? null;
}

/** Folders of the service, from the ground up: each may import those before it. */
const FOLDERS = [
  ...['base', 'wire', 'fairness', 'observability', 'crypto', 'storage', 'keys', 'time', 'integrity', 'outbound'].map(
    inKernel,
  ),
  ...['seals', 'external-identity', 'authz', 'limits', 'nodes', 'jobs', 'endpoint', 'auth'].map(inKernel),
  ...['audit/entry', 'audit/chain', 'audit/log', 'audit/postgres', 'audit/journal'].map(inKernel),
  'settings',
  ...['request', 'http', 'feature'].map(inKernel),
  ...['features', 'assembly', 'upgrade', 'start', 'operator', 'tools', 'main.ts'],
];

function inKernel(name: string): string {
  return `kernel/${name}`;
}

function folderOf(file: string): string {
  return String(/^server\/src\/(kernel\/audit\/[^/]+|kernel\/[^/]+|[^/]+)/.exec(file)?.[1]);
}

describe('layers', () => {
  test('each folder of the service imports only folders below it', () => {
    const files = sources.filter((f) => f.startsWith('server/src/') && !isTest(f));
    assert.deepEqual([...new Set(files.map(folderOf))].sort(), [...FOLDERS].sort());
    const rank = (file: string) => FOLDERS.indexOf(folderOf(file));
    const upward = files.flatMap((file) =>
      importsOf(file)
        .filter((target) => target.startsWith('server/src/') && rank(target) > rank(file))
        .map((target) => `${file} imports ${target}`),
    );
    assert.deepEqual(upward, []);
  });

  test('a feature sees the kernel, itself, and others only through their index.ts', () => {
    for (const file of sources.filter((f) => featureOf(f) !== null && !isTest(f))) {
      for (const target of importsOf(file)) {
        const own = featureOf(target) === featureOf(file) || featureOf(target) === null;
        const isDoor = featureOf(target) !== null && target.endsWith('/index.ts');
        assert.ok(own || isDoor, `${file} imports ${target}`);
      }
    }
  });

  test('a door of a feature, or of a room in it, has few names', () => {
    const NAMES_MAX = 20;
    for (const file of sources.filter((f) => featureOf(f) !== null && f.endsWith('/index.ts'))) {
      const names = [...read(file).matchAll(/export (?:type )?\{([^}]*)\}/g)].flatMap(([, list = '']) =>
        list.split(',').filter((name) => name.trim() !== ''),
      );
      assert.ok(names.length > 0, `${file} lets nothing out`);
      assert.doesNotMatch(
        read(file),
        /export \*|from '\.\.|from '\.\/[^']*\//,
        `${file} lets out what is not in its own folder`,
      );
      assert.ok(names.length <= NAMES_MAX, `${file} has ${names.length} names, and may have ${NAMES_MAX}`);
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
    refuseCircle(needs);
  });

  test('files of the kernel do not import each other in a circle, not even for a type', () => {
    const kernel = sources.filter((f) => f.startsWith('server/src/kernel/') && !isTest(f));
    refuseCircle(new Map(kernel.map((file) => [file, importsOf(file)])));
  });

  test('a circle is found, and named by its members', () => {
    const needs = new Map([
      ['start', ['call', 'context']],
      ['call', []],
      ['context', ['call', 'endpoint']],
      ['endpoint', ['context']],
    ]);
    assert.throws(() => refuseCircle(needs), /a circle: context → endpoint → context$/m);
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
    for (const file of sources.filter((f) => f.startsWith('client/src/') && !isTest(f))) {
      for (const target of importsOf(file)) assert.ok(target.startsWith('client/src/'), `${file} imports ${target}`);
      // Browsers load everything but this part.
      if (file.startsWith('client/src/node/')) continue;
      for (const target of importsOf(file)) assert.ok(!target.startsWith('client/src/node/'), `${file} needs Node`);
      assert.doesNotMatch(read(file), /from 'node:|Buffer\./, `${file} needs Node`);
    }
  });

  test('detection knows nothing of the rest, and the rest only its door', () => {
    for (const file of sources.filter((f) => /^(?:server|cli|detection)\//.test(f) && !isTest(f))) {
      const isInside = file.startsWith('detection/');
      for (const target of importsOf(file)) {
        if (isInside) assert.ok(target.startsWith('detection/src/'), `${file} imports ${target}`);
        else if (target.startsWith('detection/')) assert.match(target, /^detection\/src\/index\.ts$/, file);
      }
    }
  });

  test('the console uses the public API only, through the client library', () => {
    for (const file of sources.filter((f) => f.startsWith('console/src/') && !isTest(f))) {
      for (const target of importsOf(file)) assert.ok(target.startsWith('console/src/'), `${file} imports ${target}`);
      assert.doesNotMatch(read(file), /from 'node:|innerHTML|dangerouslySet|insertAdjacentHTML|document\.write/, file);
    }
  });

  test('the command line reaches the service only through its operator verbs', () => {
    for (const file of sources.filter((f) => f.startsWith('cli/') && !isTest(f))) {
      for (const target of importsOf(file).filter((t) => t.startsWith('server/'))) {
        assert.ok(target.startsWith('server/src/operator/'), `${file} imports ${target}`);
      }
      for (const target of importsOf(file).filter((t) => t.startsWith('client/'))) {
        assert.match(target, /^client\/src\/(node\/)?index\.ts$/, `${file} imports ${target}, which is not public`);
      }
    }
  });
});

/** The names of declared tables. */
function namesOf({ authenticated, plain }: { authenticated: readonly unknown[]; plain: object }): string[] {
  return [...(authenticated as readonly { name: string }[]).map(({ name }) => name), ...Object.keys(plain)];
}

describe('tables', () => {
  /** A feature, or the kernel. Operator commands and the start work on a whole installation, so they may query every table. */
  const roomOf = (file: string) => featureOf(file) ?? (file.startsWith('server/src/kernel/') ? 'kernel' : null);
  const rooms = sources.filter((file) => roomOf(file) !== null && !isTest(file));
  const declared: [table: string, room: string][] = [
    ...namesOf(KERNEL_TABLES).map((table): [string, string] => [table, 'kernel']),
    ...FEATURES.flatMap(({ name, authenticatedTables, plainTables }) =>
      namesOf({ authenticated: authenticatedTables, plain: plainTables }).map((table): [string, string] => [
        table,
        name,
      ]),
    ),
  ];
  const owners = new Map(declared);
  const writers = rooms.flatMap((file) =>
    authenticatedTables(read(file)).map(([constant, table]) => ({ constant, table, room: roomOf(file) })),
  );

  /** Queries of tables that belong to another feature, each with why it is not a call of the owner. */
  const EXCEPTIONS = new Map([
    [
      'anomalies/scan-store.ts: tenants',
      'one query finds the active tenants that are due, and those that have no row yet',
    ],
    ['audit/store.ts: audit_heads', 'the kernel writes the log, and this feature reads, verifies and purges it'],
    ['audit/archive-store.ts: audit_archives', 'readers of the chain in the kernel step over pruned ranges'],
    ['audit/archive-store.ts: audit_segments', 'ranges that were archived are deleted, and restored'],
    ['audit/store.ts: audit_segments', 'the kernel writes the log, and this feature reads, verifies and purges it'],
    ['audit/store.ts: tenants', 'one query finds the logs of the tenants that existed at a time'],
    ['environments/store.ts: secrets', 'one query composes an environment from its bindings, their secrets and vaults'],
    ['environments/store.ts: vaults', 'one query composes an environment from its bindings, their secrets and vaults'],
    ['exporters/store.ts: audit_heads', 'one query finds the exporters that are behind the log of their tenant'],
    ['rollups/store.ts: audit_heads', 'one query finds the tenants whose log is not counted to its end'],
    ['rollups/store.ts: secrets', 'one query tells names that exist from names that callers made up'],
    ['rollups/store.ts: vaults', 'one query tells names that exist from names that callers made up'],
    ['scim/group-store.ts: group_members', 'a filter of SCIM finds the groups of a member, page by page'],
    ['scim/user-store.ts: users', 'a filter of SCIM compares the address and the state of the account, page by page'],
    [
      'secrets/expiry-store.ts: vaults',
      'the certificates that end soon are found in live vaults only, with their names',
    ],
    ['secrets/fingerprint-store.ts: vaults', 'a page of fingerprints leaves out zero-knowledge vaults'],
    ['secrets/login-store.ts: vaults', 'the logins of servers are found in live vaults only, with the names of these'],
    ['secrets/read-store.ts: secret_risks', 'reading a secret is one query, which also reads its risk'],
    ['secrets/read-store.ts: tenants', 'reading a secret is one query, which also reads the epoch of the tenant'],
    ['secrets/read-store.ts: vaults', 'reading a secret is one query, which finds the vault by its name'],
    ['secrets/retention-store.ts: vaults', 'the rows to be purged are locked together with the names of their vaults'],
    ['secrets/rotation-store.ts: vaults', 'the rotations that are due are found in live vaults only'],
    ['secrets/secret-store.ts: secret_risks', 'finding a secret to change is one query, which also reads its risk'],
    ['secrets/reference-store.ts: vaults', 'one query names the vaults of the templates that refer to a secret'],
    ['secrets/tenant-wide-store.ts: vaults', 'one query names the vaults that hold a fortress secret'],
    [
      'tenants/store.ts: tenants',
      'the kernel reads tenants for every credential, and this feature creates and changes them',
    ],
  ]);

  test('queries are found in every form in which they are written', () => {
    const source = `
      db.selectFrom('a as x').innerJoin(
        'b',
        'x.id', 'b.id').leftJoin('c as y', (join) => join.onRef('y.id', '=', 'x.id'));
      db.selectFrom(['d', 'e as z']).where((eb) => eb.exists(eb.selectFrom('f').select('f.id')));
      tx.insertInto('g').values(row); tx.updateTable('h').from('i'); tx.deleteFrom('j').using('k');
      sql\`select 1 from l join "m" on true where l.id = \${id}\`;
      sql<{ a: string }>\`insert into n select * from \${sql.table('o')}\`;
      quota('p'); list.join('q'); Buffer.from(text);
    `;
    assert.deepEqual([...queriedTables(source)].sort().join(''), 'abcdefghijklmno');
    assert.deepEqual(importedNames("import { A, type B as C } from './x.ts';"), [
      { name: 'A', from: './x.ts' },
      { name: 'B', from: './x.ts' },
    ]);
  });

  test('each table has one owner, and others query it only where a reason is given', () => {
    assert.deepEqual(declared.length, owners.size, 'a table is declared twice');
    assert.ok(owners.size >= 40, `${owners.size} tables were found`);
    const found = new Set<string>();
    for (const file of rooms) {
      const imported = importedNames(read(file)).flatMap(({ name, from }) => {
        const room = roomOf(normalize(join(dirname(file), from)));
        return writers.filter((writer) => writer.constant === name && writer.room === room);
      });
      const named = [...queriedTables(read(file)), ...imported.map(({ table }) => table)];
      const foreign = named.filter((table) => owners.has(table) && owners.get(table) !== roomOf(file));
      for (const table of foreign) found.add(`${roomOf(file)}/${file.split('/').at(-1)}: ${table}`);
    }
    assert.deepEqual([...found].sort(), [...EXCEPTIONS.keys()].sort());
  });
});

describe('identifiers', () => {
  const declared = [...KERNEL_ID_PREFIXES, ...FEATURES.flatMap(({ ids }) => ids)];
  const service = sources.filter((file) => file.startsWith('server/src/') && !isTest(file));

  test('no two nouns share a prefix', () => {
    assert.deepEqual(declared.toSorted(), [...new Set(declared)].sort());
  });

  test('prefixes are written out, so that they can be compared', () => {
    const computed = /\b(?:newId|isId|idPattern|idForm|idAtTime|idOfDigest)\((?!\s*(?:'[a-z]+'|prefix\b))/;
    assert.deepEqual(
      service.filter((file) => computed.test(read(file))),
      [],
    );
  });

  test('each prefix that is used is declared, and each that is declared is used', () => {
    const calls = service.flatMap((file) => [
      ...read(file).matchAll(/\b(?:newId|isId|idPattern|idForm|idAtTime|idOfDigest|id)\(\s*'([a-z]+)'/g),
    ]);
    const used = new Set(calls.map(([, prefix]) => String(prefix)));
    const undeclared = [...used].filter((prefix) => !declared.includes(prefix));
    assert.deepEqual(undeclared, [], 'add these to `ids` in the feature.ts of a feature that `FEATURES` lists');
    const unused = declared.filter((prefix) => !used.has(prefix));
    assert.deepEqual(unused, [], 'a feature declares these prefixes, and no id has them');
  });
});

describe('habits', () => {
  const banned: [RegExp, string, RegExp?][] = [
    [/\bconsole\.(log|error|warn|info)\(/, 'log through the kernel’s logger', /server\/src\/tools\/generate\.ts$/],
    [/\bDate\.now\(\)/, 'ask the clock', /kernel\/base\/(clock|ids)\.ts$/],
    [/\bMath\.random\(\)/, 'use node:crypto for anything that matters', /kernel\/storage\/database\.ts$/],
    [/\bnew Function\(|\beval\(/, 'no code from text'],
    // One in a checkout only, one for modules of vendors that would block or end the service.
    [
      /\bchild_process\b/,
      'the service starts no processes',
      /features\/console\/console-build\.ts$|kernel\/seals\/pkcs11-process\.ts$/,
    ],
    [/\bsql\.raw\(/, 'parameters, never text, in SQL'],
    [/@ts-(ignore|expect-error|nocheck)/, 'mend the type'],
    [/\b(TODO|FIXME|XXX|HACK)\b/, 'do it, or file an issue'],
    // Providers of seals, and modules of an HSM, read the variables of their vendors.
    [/process\.env\b/, 'settings come through config.ts', /server\/src\/start\/(serve|open-root-key)\.ts$/],
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
        'server/src/kernel/request/idempotency.ts: idempotency_keys',
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
      /Before\(\w+: Cutoff\): RowFilter<'(\w+)'> \{\n {2}return \(eb\) => eb\('\w+', '<', ([^)]+)\)/g,
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
      sources.filter((file) => isTest(file) && file !== 'test/docs/tidy.test.ts' && marks.test(read(file))),
      [],
    );
  });

  test('hooks around each test are inside a describe, because the files of a folder share a process', () => {
    const hook = /^(?:before|after)Each\(/m;
    assert.deepEqual(
      sources.filter((file) => isTest(file) && hook.test(read(file))),
      [],
    );
  });

  test('every test file runs in some suite', () => {
    const tests = files.filter((file) => file.endsWith('.test.ts'));
    const left = tests.filter((file) => !isAtLanding(file) && !SUITES.some((suite) => hasFile(suite, file)));
    assert.deepEqual(left, []);
  });

  test('every folder and file that a suite names has tests', () => {
    const paths = SUITES.flatMap((suite) => [...suite.paths, ...suite.apart]);
    const tests = files.filter((file) => file.endsWith('.test.ts'));
    const empty = paths.filter((path) => !tests.some((file) => hasFile({ paths: [path] }, file)));
    assert.deepEqual(empty, []);
  });

  test('names say what a thing is', () => {
    assert.deepEqual(
      files.filter((file) => /(^|\/)(utils?|helpers?|misc|common)(\.|\/)|[-_.]v2\b/.test(file)),
      [],
    );
  });

  test('a file can be read in one sitting', () => {
    const isWritten = (file: string) => !isTest(file) && !read(file).startsWith('// Generated from ');
    const long = sources.filter((file) => isWritten(file) && read(file).split('\n').length > 450);
    assert.deepEqual(long, []);
  });

  test('no file is dead: each is imported by another, or is where something starts', () => {
    const starts = [
      /main\.tsx?$/,
      /^console\/build\.ts$/,
      /-worker\.ts$/,
      /generate\.ts$/,
      /migrations\//,
      /^test\/(run|preloaded\/[a-z-]+)\.ts$/,
      /^test\/(fixtures|vectors)\/make\.ts$/,
      /^test\/clients\/use-[a-z-]+\.ts$/,
      /^scripts\/[a-z-]+\.ts$/,
      /^bench\/(run|profile|soak|.*-process)\.ts$/,
      /^evaluate\/[a-z-]+\/run\.ts$/,
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
      files.filter(
        (file) => file !== 'test/docs/tidy.test.ts' && file !== 'package-lock.json' && marks.test(read(file)),
      ),
      [],
    );
  });
});
