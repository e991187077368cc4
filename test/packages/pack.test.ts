import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { SCHEMA_VERSION } from '../../server/src/kernel/storage/schema-version.ts';
import { builtPackages, npm, PACKAGES, type PackageName, pack, unpacked } from '../support/packages.ts';
import { runCoffer, spawnService, startProcess, stopService } from '../support/process.ts';

/** What `npm pack` puts into each package, and that it works where nothing else of this repository is. */

const ROOT = join(import.meta.dirname, '../..');
const run = promisify(execFile);
const LARGE_BODY_BYTES = 200_000;

/** Every file of a package is of one of these kinds, besides its description, licence and introduction. */
const KINDS: Readonly<Record<PackageName, readonly RegExp[]>> = {
  server: [
    /^(main|required-node)\.js$/,
    /^src\/([a-z0-9-]+\/)*[a-z0-9-]+\.js$/,
    /^src\/features\/(reference|shares)\/assets\/style\.css$/,
    /^console\/(manifest\.json|[a-z-]+-[A-Z0-9]{8}\.((js|css|svg)(\.br)?|woff2))$/,
    /^migrations\/(?:\d{4}-|release-0-4\/)[a-z0-9-]+\.js$/,
    /^docs\/(guide\/[A-Za-z-]+|operations|generated\/(configuration|quotas))\.md$/,
  ],
  client: [/^src\/([a-z0-9-]+\/)*[a-z0-9-]+\.(js|d\.ts)$/],
  detection: [/^src\/([a-z0-9-]+\/)*[a-z0-9-]+\.js$/],
  cli: [/^main\.js$/, /^src\/([a-z0-9-]+\/)*[a-z0-9-]+\.js$/],
  agent: [/^coffer-agent\.mjs$/],
};
/** Data that sources import. */
const DATA = /^src\/([a-z0-9-]+\/)*[a-z0-9-]+\.json$/;
const OF_EACH = ['LICENSE', 'README.md', 'package.json'];
const NAMES_A_MACHINE = /\/(?:work|root|home)\/[a-z]/;
const IMPORTS =
  /^(?:import|export) [^;'"]*?from ['"]([^'"]+)['"]|^import ['"]([^'"]+)['"]|\bimport\(['"]([^'"]+)['"]\)|^\} from ['"]([^'"]+)['"]/gm;

let packages = '';
before(async () => {
  packages = await builtPackages();
});

const contentOf = (name: string, file: string) => readFileSync(join(packages, name, file), 'utf8');

for (const name of PACKAGES) {
  describe(`@coffer/${name}`, () => {
    let files: string[] = [];
    before(async () => {
      const packed = await pack(join(packages, name), ['--dry-run']);
      const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
      assert.equal(`${packed.name}@${packed.version}`, `@coffer/${name}@${version}`);
      files = packed.files.map(({ path }) => path);
    });

    test('has what it must and no more', () => {
      for (const file of OF_EACH) assert.ok(files.includes(file), `${file} is missing`);
      const others = files.filter((file) => !OF_EACH.includes(file));
      assert.deepEqual(
        others.filter((file) => ![...KINDS[name], DATA].some((kind) => kind.test(file)) || file.includes('.test.')),
        [],
      );
      for (const kind of KINDS[name])
        assert.ok(
          others.some((file) => kind.test(file)),
          `nothing matches ${kind}`,
        );
    });

    // The agent is one bundle of its sources.
    const isBundle = name === 'agent';
    test(isBundle ? 'is one file' : 'has every source file that is no test', () => {
      if (isBundle) return assert.equal(files.length, OF_EACH.length + 1);
      const expected = globSync(`${name}/{src,migrations}/**/*.ts`, { cwd: ROOT })
        .filter((file) => !/\.(test|d)\.ts$/.test(file) && file !== 'server/src/tools/generate.ts')
        .map((file) => relative(name, file).replace(/\.ts$/, '.js'));
      assert.ok(expected.length > 5);
      assert.deepEqual(
        expected.filter((file) => !files.includes(file)),
        [],
      );
    });

    test('names no machine and nothing private, and starts what it says', () => {
      for (const file of files) assert.doesNotMatch(contentOf(name, file), NAMES_A_MACHINE, file);
      const description = JSON.parse(contentOf(name, 'package.json'));
      assert.equal(description.license, 'Apache-2.0');
      for (const absent of ['private', 'scripts', 'devDependencies', 'workspaces']) {
        assert.ok(!(absent in description), absent);
      }
      for (const bin of Object.values(description.bin ?? {}) as string[]) {
        assert.ok(files.includes(bin), bin);
        assert.match(contentOf(name, bin), /^#!\/usr\/bin\/env node\n/);
      }
    });

    test('imports only what it contains or declares', () => {
      const { dependencies = {} } = JSON.parse(contentOf(name, 'package.json'));
      let imports = 0;
      // The console is bundled, and has examples in its texts that import the client library.
      const scripts = files.filter((each) => /\.(m?js|d\.ts)$/.test(each) && !each.startsWith('console/'));
      for (const file of scripts) {
        for (const match of contentOf(name, file).matchAll(IMPORTS)) {
          const specifier = match.slice(1).find((group) => group !== undefined) ?? '';
          imports++;
          if (isBuiltin(specifier)) continue;
          if (specifier.startsWith('.')) {
            const target = join(packages, name, dirname(file), specifier);
            assert.ok(existsSync(target), `${file} imports ${specifier}`);
          } else {
            const dependency = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
            assert.ok(dependency in dependencies, `${file} imports ${specifier}, which is not declared`);
          }
        }
      }
      assert.ok(imports > 5, `${imports} imports were found`);
    });

    test('is not packed from its sources, which Node would not load', async () => {
      await assert.rejects(npm(['pack', '--dry-run', '-w', name], ROOT), /npm run build:packages/);
    });
  });
}

describe('installed', () => {
  let folder = '';
  const installed = (...path: string[]) => join(folder, 'node_modules/@coffer', ...path);
  before(async () => {
    folder = await unpacked(packages, PACKAGES);
  });

  test('the service starts, keeps a secret, serves its guide and is backed up by the command', async () => {
    const service = await spawnService({ program: installed('server/main.js') });
    const headers = { authorization: `Bearer ${service.adminToken()}`, 'content-type': 'application/json' };
    const send = async (path: string, body: unknown) => {
      const response = await fetch(`${service.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
      assert.equal(response.status, 201, await response.text());
    };
    await send('/v1/vaults', { name: 'shop', environment: 'staging' });
    // A body of this size is parsed by the worker thread, which is a file of its own.
    await send('/v1/vaults/shop/secrets', { path: 'db/main', value: 'x'.repeat(LARGE_BODY_BYTES) });
    const read = await fetch(`${service.url}/v1/vaults/shop/secrets/db/main`, { headers });
    assert.equal(((await read.json()) as { value: string }).value.length, LARGE_BODY_BYTES);
    const guide = await fetch(`${service.url}/docs/guide`);
    assert.match(await guide.text(), /<h1/);
    const health = (await (await fetch(`${service.url}/health`)).json()) as { commit: string };
    const page = await fetch(service.url);
    assert.equal(page.status, 200);
    const [script = ''] = /\/console\/script\/main-[A-Z0-9]+\.js/.exec(await page.text()) ?? [];
    assert.equal((await fetch(`${service.url}${script}`)).status, 200);
    await stopService(service);

    const command = (...args: string[]) =>
      startProcess(installed('cli/main.js'), args, { dataDir: service.dataDir, env: {} }).exited;
    const version = await command('--version');
    const described = JSON.parse(contentOf('cli', 'package.json'));
    // A package names the commit itself, because it has no files of git.
    const commit = described.gitHead ?? 'unknown';
    assert.equal(version.stdout.trim(), `${described.version} (commit ${commit}, schema ${SCHEMA_VERSION})`);
    assert.equal(health.commit, commit);
    const file = join(folder, 'backup.coffer');
    const backup = await command('server', 'backup', file);
    assert.equal(backup.code, 0, backup.stderr);
    // The command of this checkout opens what the package wrote.
    const verified = await runCoffer(['server', 'backup', '--verify', file], { dataDir: service.dataDir });
    assert.equal(verified.code, 0, verified.stderr);
    const plan = await command('server', 'migrate', '--plan');
    assert.equal(plan.code, 0, plan.stderr);
  });

  test('the agent says what it needs', async () => {
    const { code, stderr } = await startProcess(installed('agent/coffer-agent.mjs'), [], { env: { CV_DATA_DIR: '' } })
      .exited;
    assert.notEqual(code, 0);
    assert.match(stderr, /CV_URL|CV_GUARDIAN_MODE|CV_CLUSTER_ID/);
  });

  test('a program uses the client library, with its types', async () => {
    writeFileSync(
      join(folder, 'use.ts'),
      `import { InProcessVersionStore, type VersionStore } from '@coffer/client/zero-knowledge';
import { Coffer, CofferError, type Schemas } from '@coffer/client';
import { nodeTransport } from '@coffer/client/node';
const coffer = new Coffer({ url: 'http://127.0.0.1:1', auth: { token: 'x' }, transport: nodeTransport(), attempts: 1 });
const vault: Schemas['VaultDetail'] | string = await coffer.vaults.get('v').catch((error: CofferError) => error.code);
if (vault !== 'NO_ANSWER') throw new Error('nobody is there');
const store: VersionStore = new InProcessVersionStore();
// @ts-expect-error: a store is no number, so this line shows that the types were found.
const wrong: number = new InProcessVersionStore();
process.stdout.write(typeof store + typeof wrong);
`,
    );
    const typeRoots = [join(ROOT, 'node_modules/@types')];
    const options = { strict: true, module: 'nodenext', target: 'esnext', noEmit: true, types: ['node'], typeRoots };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, include: ['use.ts'] }));
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    await run(process.execPath, [tsc, '-p', folder]).catch((error) => assert.fail(String(error.stdout)));
    const { stdout } = await run(process.execPath, ['use.ts'], { cwd: folder });
    assert.equal(stdout, 'objectobject');
  });
});
