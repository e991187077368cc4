import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { billOfMaterials, type LockedPackages } from '../../scripts/bill-of-materials.ts';
import { findCommit, UNKNOWN_COMMIT } from '../../server/src/kernel/base/commit.ts';
import { builtPackages, PACKAGES } from '../support/packages.ts';

/** What is beside the packages: bills of materials, digests and provenance. */

const ROOT = join(import.meta.dirname, '../..');
const LOCK_FILE = join(ROOT, 'package-lock.json');
const { packages } = JSON.parse(readFileSync(LOCK_FILE, 'utf8')) as { packages: LockedPackages };
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
const sha256 = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex');

interface Component {
  type: string;
  name: string;
  group?: string;
  version: string;
  purl: string;
  'bom-ref': string;
  hashes?: { alg: string; content: string }[];
  licenses?: ({ license: { id: string } } | { expression: string })[];
}
interface Bill {
  bomFormat: string;
  specVersion: string;
  serialNumber: string;
  version: number;
  metadata: { timestamp: string; component: Component };
  components: Component[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

const madeAt = new Date(0);
const billOf = (name: string, of = packages) => billOfMaterials(of, name, { madeAt }) as Bill;

describe('a bill of materials', () => {
  for (const name of PACKAGES) {
    test(`of ${name} has what the schema of CycloneDX 1.6 demands`, () => {
      const bill = billOf(name);
      assert.deepEqual([bill.bomFormat, bill.specVersion, bill.version], ['CycloneDX', '1.6', 1]);
      assert.match(bill.serialNumber, /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      assert.equal(bill.metadata.timestamp, '1970-01-01T00:00:00.000Z');
      assert.equal(bill.metadata.component.purl, `pkg:npm/%40coffer/${name}@${version}`);
      const refs = [bill.metadata.component, ...bill.components].map((one) => one['bom-ref']);
      assert.equal(new Set(refs).size, refs.length, 'a reference is unique');
      assert.deepEqual(bill.dependencies.map(({ ref }) => ref).toSorted(), refs.toSorted());
      for (const { dependsOn } of bill.dependencies) for (const ref of dependsOn) assert.ok(refs.includes(ref), ref);
      for (const one of bill.components) {
        assert.match(one.purl, /^pkg:npm\/(?:%40[a-z0-9._-]+\/)?[a-z0-9._-]+@\d+\.\d+\.\d+\S*$/);
        // Our own packages have no digest in the lock file.
        if (one.group === '@coffer') continue;
        assert.match(one.hashes?.[0]?.content ?? '', /^[0-9a-f]{128}$/, one.purl);
        assert.ok(one.licenses?.length === 1, `${one.purl} has no licence`);
      }
    });
  }

  test('has every dependency of what is shipped, the console’s too, and none that only builds or tests', () => {
    const names = billOf('server').components.map(({ group, name }) =>
      group === undefined ? name : `${group}/${name}`,
    );
    for (const [of, without] of [
      ['server', []],
      ['console', ['esbuild']],
    ] as const) {
      for (const name of Object.keys(packages[of]?.dependencies ?? {})) {
        assert.equal(names.includes(name), !(without as readonly string[]).includes(name), name);
      }
    }
    for (const absent of ['typescript', '@biomejs/biome', 'stripe']) assert.ok(!names.includes(absent), absent);
    assert.deepEqual(billOf('agent').components, []);
  });

  test('takes the version that Node would load, and fails where the lock file has none', () => {
    const nested = { version: '1.0.0', dependencies: { b: '*' } };
    const lock = {
      x: { name: '@coffer/x', version: '1.0.0', dependencies: { a: '*', b: '*' } },
      'node_modules/a': nested,
      'node_modules/b': { version: '1.0.0', license: '(MIT OR CC0-1.0)' },
      'node_modules/a/node_modules/b': { version: '2.0.0' },
    };
    const bill = billOf('x', lock);
    assert.deepEqual(bill.dependencies.find(({ ref }) => ref === 'pkg:npm/a@1.0.0')?.dependsOn, ['pkg:npm/b@2.0.0']);
    assert.deepEqual(bill.components.find(({ purl }) => purl === 'pkg:npm/b@1.0.0')?.licenses, [
      { expression: '(MIT OR CC0-1.0)' },
    ]);
    assert.throws(() => billOf('x', { x: lock.x, 'node_modules/a': nested }), /has no b/);
  });
});

describe('the files of a release', () => {
  let folder = '';
  let commit = '';
  before(async () => {
    // The packages name the commit they were built from, so it must be the same before and after.
    let isSame = false;
    for (let tries = 0; tries < 3 && !isSame; tries++) {
      commit = findCommit(join(ROOT, 'server'));
      folder = await builtPackages();
      isSame = findCommit(join(ROOT, 'server')) === commit;
    }
    assert.ok(isSame, 'the commit changed during each build');
  });
  const readJson = (file: string) => JSON.parse(readFileSync(join(folder, file), 'utf8'));

  test('are an archive and a bill for each package, whose digests are right', () => {
    const expected = PACKAGES.flatMap((name) => [
      `coffer-${name}-${version}.cdx.json`,
      `coffer-${name}-${version}.tgz`,
    ]);
    const files = readdirSync(folder).filter((name) => statSync(join(folder, name)).isFile());
    assert.deepEqual(files.toSorted(), [...expected, 'SHA256SUMS', 'provenance.intoto.json'].toSorted());
    const lines = readFileSync(join(folder, 'SHA256SUMS'), 'utf8').trimEnd().split('\n');
    const listed = Object.fromEntries(lines.map((line) => line.split('  ').toReversed()));
    assert.deepEqual(Object.keys(listed).toSorted(), [...expected, 'provenance.intoto.json'].toSorted());
    for (const [name, digest] of Object.entries(listed)) assert.equal(digest, sha256(join(folder, name)), name);
    execFileSync('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], { cwd: folder });
  });

  test('are the subjects of the provenance, which names the commit and the lock file', () => {
    const statement = readJson('provenance.intoto.json');
    assert.equal(statement._type, 'https://in-toto.io/Statement/v1');
    assert.equal(statement.predicateType, 'https://slsa.dev/provenance/v1');
    assert.equal(statement.subject.length, 2 * PACKAGES.length);
    for (const { name, digest } of statement.subject) assert.equal(digest.sha256, sha256(join(folder, name)), name);
    const { buildDefinition, runDetails } = statement.predicate;
    for (const uri of [buildDefinition.buildType, runDetails.builder.id]) assert.match(uri, /^[a-z]+:\S+$/);
    assert.equal(buildDefinition.externalParameters.version, version);
    const source = commit === UNKNOWN_COMMIT ? [] : [{ name: 'source', digest: { gitCommit: commit } }];
    const lock = { name: 'package-lock.json', digest: { sha256: sha256(LOCK_FILE) } };
    assert.deepEqual(buildDefinition.resolvedDependencies, [...source, lock]);
    const { startedOn, finishedOn } = runDetails.metadata;
    assert.ok(Date.parse(startedOn) <= Date.parse(finishedOn));
    for (const name of PACKAGES) {
      const { gitHead = UNKNOWN_COMMIT } = readJson(`${name}/package.json`);
      assert.equal(gitHead, commit, name);
    }
  });
});
