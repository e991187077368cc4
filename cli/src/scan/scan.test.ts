import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { detect } from '../../../detection/src/index.ts';
import { addPerson } from '../../../test/support/people.ts';
import { onBothDatabases, type Service, startService } from '../../../test/support/service.ts';
import { addPolicy } from '../../../test/support/vaults.ts';
import { filePieces, piecesOfText, textIn } from './files.ts';
import { type Finding, findingsIn, sampleOf } from './findings.ts';
import { parseChanges } from './git-raw.ts';
import { Ignored } from './ignore.ts';

const MAIN = join(import.meta.dirname, '../../main.js');
const root = mkdtempSync(join(tmpdir(), 'coffer-scan-'));
after(() => rmSync(root, { recursive: true, force: true }));

/** Put together here, so that this file has none. */
const GITHUB = ['ghp', 'a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8'].join('_');
const PASSWORD = ['Tr0ub4', 'dor&9'].join('');
const AWS = ['AKIA', 'Z7Q2M4X6P5N3L7K2'].join('');
const KEY = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
}).privateKey;

interface Exit {
  code: number | null;
  stdout: string;
  stderr: string;
}

function scan(cwd: string, args: readonly string[], input = '', env: Record<string, string> = {}): Promise<Exit> {
  const child = spawn(process.execPath, [MAIN, 'scan', ...args], {
    cwd,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: root,
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_NOSYSTEM: '1',
      ...env,
    },
  });
  const out = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      out[name] += text;
    });
  // A command that is refused does not read its input.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  return new Promise((resolve) => {
    child.once('close', (code) => {
      for (const value of [GITHUB, PASSWORD, AWS])
        assert.ok(!(out.stdout + out.stderr).includes(value), 'no value is printed');
      resolve({ code, ...out });
    });
  });
}

let folders = 0;
function folderWith(files: Readonly<Record<string, string | Buffer>>): string {
  const folder = join(root, `folder-${++folders}`);
  mkdirSync(folder);
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  return folder;
}

/** Git in a folder, with no settings but those of the repository. */
function gitIn(cwd: string): (...args: string[]) => string {
  const settings = ['-c', 'user.name=T', '-c', 'user.email=t@example.com', '-c', 'commit.gpgsign=false'];
  const env = { PATH: process.env['PATH'] ?? '', HOME: root, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
  return (...args) =>
    execFileSync('git', [...settings, ...args], {
      cwd,
      encoding: 'utf8',
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim();
}

const places = ({ stdout }: Exit) =>
  (JSON.parse(stdout).findings as { file: string; line: number; kind: string }[]).map(
    ({ file, line, kind }) => `${file}:${line} ${kind}`,
  );

describe('scan of files', () => {
  test('findings have their place, kind and a masked sample, and make it exit with 1', async () => {
    const folder = folderWith({
      'src/a.ts': `// one\nconst t = '${GITHUB}';\n`,
      '.env': `DB_PASSWORD=${PASSWORD}\n`,
      'ok.md': 'Nothing.\n',
    });
    const text = await scan(folder, []);
    assert.equal(text.code, 1);
    assert.match(text.stdout, /^src\/a\.ts:2:12 +github-token +ghp_…$/m);
    assert.match(text.stdout, /^\.env:1:13 +password +Tr…$/m);
    assert.match(text.stderr, /2 found in 3 files/);
    const json = await scan(folder, ['--json', 'src']);
    assert.equal(json.code, 1);
    assert.deepEqual(JSON.parse(json.stdout).findings, [
      { file: 'src/a.ts', line: 2, column: 12, kind: 'github-token', confidence: 'high', sample: 'ghp_…' },
    ]);
    const clean = await scan(folder, ['ok.md']);
    assert.equal(clean.code, 0);
    assert.equal(clean.stdout, '');
  });

  test('what is ignored, allowed, binary, too large or behind a link is left out', async () => {
    const outside = folderWith({ 'secret.txt': GITHUB });
    const folder = folderWith({
      '.cofferignore': '# tests\nfixtures/\n*.snap\n!kept.snap\n/top.txt\n',
      'fixtures/a.txt': GITHUB,
      'deep/fixtures/b.txt': GITHUB,
      'x.snap': GITHUB,
      'kept.snap': GITHUB,
      'top.txt': GITHUB,
      'deep/top.txt': GITHUB,
      'allowed.ts': `const a = '${GITHUB}'; // coffer:allow, of a test\n`,
      'node_modules/p/index.js': GITHUB,
      'binary.bin': Buffer.concat([Buffer.from([0, 1]), Buffer.from(GITHUB)]),
      'large.txt': `${'x '.repeat(600_000)}${GITHUB}`,
      'utf16.txt': Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(`key ${GITHUB}\n`, 'utf16le')]),
    });
    symlinkSync(outside, join(folder, 'link'));
    symlinkSync(join(outside, 'secret.txt'), join(folder, 'link.txt'));
    symlinkSync(folder, join(folder, 'circle'));
    const exit = await scan(folder, ['--json', '--max-file-size', '1']);
    assert.deepEqual(places(exit).toSorted(), [
      'deep/top.txt:1 github-token',
      'kept.snap:1 github-token',
      'utf16.txt:1 github-token',
    ]);
    assert.deepEqual(JSON.parse(exit.stdout).skipped, ['large.txt is larger than 1 MiB']);
    assert.equal((await scan(folder, ['top.txt'])).code, 0, 'a file that is named is ignored too');
    assert.deepEqual(places(await scan(folder, ['--json', 'link'])), ['link/secret.txt:1 github-token']);
  });

  test('a named pipe does not hold it', async () => {
    const folder = folderWith({ 'a.txt': 'nothing' });
    execFileSync('mkfifo', [join(folder, 'pipe')]);
    assert.equal((await scan(folder, [])).code, 0);
    assert.equal((await scan(folder, ['pipe'])).code, 0);
  });

  test('standard input, of several pieces, has the right lines', async () => {
    const exit = await scan(root, ['-', '--json'], `${'an ordinary line of text\n'.repeat(200_000)}${GITHUB}\nend`);
    assert.equal(exit.code, 1, exit.stderr);
    assert.deepEqual(places(exit), ['stdin:200001 github-token']);
  });

  test('wrong uses say what to do', async () => {
    const uses: [string[], RegExp][] = [
      [['--staged', 'a'], /one of them/],
      [['-', 'a'], /Give - alone/],
      [['--update-baseline'], /--baseline FILE/],
      [['--vault', 'x'], /--vault is for --known/],
      [['--parts'], /--parts is for --known/],
      [['--sarif', '--json'], /--json or --sarif, one of them/],
      [['--max-file-size', 'much'], /number of MiB/],
      [['no-such-file'], /no such file/],
      [['--baseline', 'none.json'], /no baseline none\.json/],
      [['--known', '-'], /not logged in/],
    ];
    const folder = folderWith({});
    for (const [args, said] of uses) {
      const { code, stderr } = await scan(folder, args);
      assert.ok(code === 1 || code === 3, `${args}: ${code}`);
      assert.match(stderr, said);
    }
  });

  test('as SARIF, findings have their rule, level and region, and no value', async () => {
    const folder = folderWith({ 'src/a b.ts': `// one\nconst t = '${GITHUB}';\n`, 'key.pem': KEY });
    const { code, stdout } = await scan(folder, ['--sarif']);
    assert.equal(code, 1);
    const { version, runs } = JSON.parse(stdout);
    assert.equal(version, '2.1.0');
    const [{ tool, results }] = runs;
    const found = results.map(
      ({ ruleId, ruleIndex, level, locations: [{ physicalLocation }] }: ReturnType<typeof JSON.parse>) => {
        assert.equal(tool.driver.rules[ruleIndex].id, ruleId);
        return [ruleId, level, physicalLocation.artifactLocation.uri, physicalLocation.region];
      },
    );
    assert.deepEqual(found.toSorted(), [
      ['github-token', 'error', 'src/a%20b.ts', { startLine: 2, startColumn: 12 }],
      ['private-key', 'error', 'key.pem', { startLine: 1, startColumn: 1, endLine: KEY.trimEnd().split('\n').length }],
    ]);
    assert.ok(!stdout.includes(KEY.split('\n')[1] ?? ''));
    const clean = await scan(folderWith({ 'ok.md': 'Nothing.\n' }), ['--sarif']);
    assert.deepEqual([clean.code, JSON.parse(clean.stdout).runs[0].results], [0, []]);
  });

  test('a level of confidence reports more or less', async () => {
    const folder = folderWith({
      'a.env': `TOKEN=${GITHUB}\nDB_PASSWORD=${PASSWORD}\nSESSION_KEY=${'0f3a9c1e'}${'77b25d48'}\n`,
    });
    const kinds = async (level: string) =>
      (await scan(folder, ['--json', '--confidence', level])).stdout.match(/"kind": "[a-z-]+"/g)?.length ?? 0;
    assert.deepEqual([await kinds('high'), await kinds('medium'), await kinds('low')], [1, 2, 3]);
    assert.match((await scan(folder, ['--confidence', 'some'])).stderr, /low, medium, high/);
  });

  test('a key is found whole wherever a piece of a long input ends', async () => {
    const line = 'an ordinary line of text\n';
    const lines = Math.floor((4 * 1024 * 1024 - 600) / line.length);
    const { stdout, code, stderr } = await scan(root, ['-', '--json'], `${line.repeat(lines)}${KEY}${line.repeat(50)}`);
    assert.equal(code, 1, stderr);
    assert.deepEqual(places({ code, stdout, stderr }), [`stdin:${lines + 1} private-key`]);
  });

  test('a baseline accepts what it lists, wherever it is, and has nothing of the values', async () => {
    const folder = folderWith({ 'a.env': `PASSWORD=${PASSWORD}\n` });
    const written = await scan(folder, ['--baseline', 'accepted.json', '--update-baseline']);
    assert.equal(written.code, 0, written.stderr);
    const { salt, fingerprints } = JSON.parse(readFileSync(join(folder, 'accepted.json'), 'utf8'));
    assert.match(salt, /^[0-9a-f]{32}$/);
    assert.equal(fingerprints.length, 1);
    writeFileSync(join(folder, 'b.env'), `\nPASSWORD=${PASSWORD}\nTOKEN=${GITHUB}\n`);
    const later = await scan(folder, ['--baseline', 'accepted.json', '--json']);
    assert.equal(later.code, 1);
    assert.deepEqual(places(later), ['b.env:3 github-token']);
    assert.equal(JSON.parse(later.stdout).accepted, 2);
    writeFileSync(join(folder, 'accepted.json'), '{"version":2}');
    assert.match((await scan(folder, ['--baseline', 'accepted.json'])).stderr, /not a baseline/);
  });
});

describe('scan of git', () => {
  const repository = folderWith({});
  const git = gitIn(repository);
  const put = (name: string, content: string) => {
    writeFileSync(join(repository, name), content);
    git('add', '--', name);
  };
  before(() => {
    git('init', '--quiet');
    put('old.txt', `was there: ${AWS}\n`);
    git('commit', '--quiet', '-m', 'first');
  });

  test('only what is staged counts, with its line', async () => {
    put('old.txt', `was there: ${AWS}\nline\nline\nnew ${GITHUB}\n`);
    put('naïve "name".txt', `-- ${GITHUB}\n`);
    writeFileSync(join(repository, 'unstaged.txt'), GITHUB);
    assert.deepEqual(places(await scan(repository, ['--staged', '--json'])).toSorted(), [
      'naïve "name".txt:1 github-token',
      'old.txt:4 github-token',
    ]);
    // Paths are those of the repository, and so is the file that leaves some out.
    mkdirSync(join(repository, 'below'), { recursive: true });
    writeFileSync(join(repository, '.cofferignore'), '/old.txt\n');
    const below = await scan(join(repository, 'below'), ['--staged', '--json']);
    assert.deepEqual(places(below), ['naïve "name".txt:1 github-token']);
    rmSync(join(repository, '.cofferignore'));
    git('reset', '--quiet', '--hard');
  });

  test('what a commit brought is found although a later one removed it', async () => {
    const first = git('rev-parse', 'HEAD');
    put('key.txt', `a\n${GITHUB}\n`);
    git('commit', '--quiet', '-m', `commit ${GITHUB.slice(0, 6)}`);
    const second = git('rev-parse', 'HEAD');
    git('rm', '--quiet', 'key.txt');
    git('commit', '--quiet', '-m', 'remove');
    const exit = await scan(repository, ['--since', first, '--json']);
    assert.deepEqual(places(exit), ['key.txt:2 github-token']);
    assert.equal(JSON.parse(exit.stdout).findings[0].commit, second);
    assert.equal((await scan(repository, ['--since', 'HEAD'])).code, 0);
  });

  test('a reference that is none, or looks like an option, is refused, and so is a folder without a repository', async () => {
    for (const ref of ['no-such-ref', '--output=/tmp/x', '-O/etc/passwd']) {
      const { code, stderr } = await scan(repository, [`--since=${ref}`]);
      assert.equal(code, 1);
      assert.match(stderr, /git failed/);
    }
    assert.match((await scan(folderWith({}), ['--staged'])).stderr, /Run it inside a repository/);
    assert.match(
      (await scan(folderWith({}), ['--staged'], '', { PATH: '/nowhere' })).stderr,
      /git could not be started/,
    );
  });

  describe('finds what a scan of files finds', () => {
    const utf16 = (text: string) => Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, 'utf16le')]);
    const files: Readonly<Record<string, string | Buffer>> = {
      'lone-cr.txt': `one\rtwo ${GITHUB}\nthree\n`,
      'cr-only.txt': `one\rtwo ${GITHUB}\rthree\r`,
      'separator.txt': `one\u2028two ${GITHUB}\u0085\n`,
      'utf16.txt': utf16(`one\r\nkey ${GITHUB}\r\n`),
      'no-diff.txt': `a\n${GITHUB}\n`,
      'binary.txt': `a\n${GITHUB}\n`,
      'new\nline "quoted"\t.txt': `${GITHUB}`,
      'sub/deep/nested.txt': `\n\n${GITHUB}\n`,
      'key.pem': KEY,
      'long.txt': `${'an ordinary line\n'.repeat(300_000)}${GITHUB}\n`,
      '.gitattributes': 'no-diff.txt -diff\nbinary.txt binary\n*.pem -text diff=hidden\n*.env filter=none\n',
    };
    const repository = folderWith(files);
    const git = gitIn(repository);
    let inFiles: string[];
    before(async () => {
      git('init', '--quiet');
      git('config', 'diff.relative', 'true');
      git('config', 'diff.noprefix', 'true');
      git('config', 'core.quotePath', 'true');
      git('config', 'diff.ignoreSubmodules', 'all');
      git('config', 'core.autocrlf', 'false');
      git('commit', '--quiet', '--allow-empty', '-m', 'empty');
      git('add', '--all');
      inFiles = places(await scan(repository, ['--json'])).toSorted();
      assert.equal(inFiles.length, 10, inFiles.join('\n'));
    });

    test('in what is staged, from any folder', async () => {
      for (const cwd of [repository, join(repository, 'sub'), join(repository, 'sub/deep')])
        assert.deepEqual(places(await scan(cwd, ['--staged', '--json'])).toSorted(), inFiles);
    });

    test('before there is a commit, with a split index, and in the index that a hook is given', async () => {
      const fresh = folderWith(files);
      const inFresh = gitIn(fresh);
      inFresh('init', '--quiet');
      inFresh('config', 'core.splitIndex', 'true');
      inFresh('add', '--all');
      inFresh('update-index', '--split-index');
      assert.deepEqual(places(await scan(fresh, ['--staged', '--json'])).toSorted(), inFiles);
      inFresh('rm', '--quiet', '-r', '--cached', '.');
      assert.equal((await scan(fresh, ['--staged'])).code, 0);
      const GIT_INDEX_FILE = join(repository, '.git/index');
      const GIT_OBJECT_DIRECTORY = join(repository, '.git/objects');
      const ofHook = await scan(fresh, ['--staged', '--json'], '', { GIT_INDEX_FILE, GIT_OBJECT_DIRECTORY });
      assert.deepEqual(places(ofHook).toSorted(), inFiles);
    });

    test('in commits, also of a repository with long ids', async () => {
      git('commit', '--quiet', '-m', 'all');
      assert.deepEqual(places(await scan(repository, ['--since', 'HEAD~1', '--json'])).toSorted(), inFiles);
      const long = folderWith(files);
      const inLong = gitIn(long);
      inLong('init', '--quiet', '--object-format=sha256');
      inLong('commit', '--quiet', '--allow-empty', '-m', 'empty');
      inLong('add', '--all');
      assert.deepEqual(places(await scan(long, ['--staged', '--json'])).toSorted(), inFiles);
      inLong('commit', '--quiet', '-m', 'all');
      assert.deepEqual(places(await scan(long, ['--since', 'HEAD~1', '--json'])).toSorted(), inFiles);
    });
  });

  describe('reports only what was added', () => {
    const rest = 'a line that stays\n'.repeat(20);
    const repository = folderWith({ 'old.txt': `first ${AWS}\nsecond\n${rest}`, 'key.pem': KEY });
    const git = gitIn(repository);
    const write = (name: string, content: string) => {
      writeFileSync(join(repository, name), content);
      git('add', '--', name);
    };
    const staged = async () => places(await scan(repository, ['--staged', '--json'])).toSorted();
    before(() => {
      git('init', '--quiet', '--initial-branch=main');
      git('add', '--all');
      git('commit', '--quiet', '-m', 'first');
    });
    afterEach(() => git('reset', '--quiet', '--hard'));

    test('not a line that was there, wherever it is now', async () => {
      write('old.txt', `new\nsecond\nfirst ${AWS}\n`);
      assert.deepEqual(await staged(), []);
      write('old.txt', `second\nfirst: ${AWS}\n`);
      assert.deepEqual(await staged(), ['old.txt:2 aws-access-key-id'], 'the line has changed');
    });

    test('a key one of whose lines has changed', async () => {
      write('key.pem', KEY.replace(/\n[A-Za-z0-9+/=]{8}/, '\nAAAAAAAA'));
      assert.deepEqual(await staged(), ['key.pem:1 private-key']);
    });

    test('not what was only moved to another file name, but what was added to it', async () => {
      git('mv', 'old.txt', 'moved.txt');
      assert.deepEqual(await staged(), []);
      write('moved.txt', `first ${AWS}\nsecond\nthird ${GITHUB}\n${rest}`);
      assert.deepEqual(await staged(), ['moved.txt:3 github-token']);
    });

    test('nothing of files that were deleted, or of changes of the mode', async () => {
      git('rm', '--quiet', 'key.pem');
      git('update-index', '--chmod=+x', 'old.txt');
      assert.deepEqual(await staged(), []);
    });

    test('of a merge what neither side had', async () => {
      git('checkout', '--quiet', '-b', 'side');
      write('side.txt', `from the side ${AWS}\n`);
      git('commit', '--quiet', '-m', 'side');
      git('checkout', '--quiet', 'main');
      write('main.txt', `from main ${AWS}\n`);
      git('commit', '--quiet', '-m', 'main');
      const base = git('rev-parse', 'HEAD');
      git('merge', '--quiet', '--no-commit', '--no-ff', 'side');
      write('side.txt', `from the side ${AWS}\nand in the merge ${GITHUB}\n`);
      git('commit', '--quiet', '-m', 'merge');
      const found = JSON.parse((await scan(repository, ['--since', base, '--json'])).stdout).findings;
      assert.deepEqual(
        found.map(({ file, line, commit }: { file: string; line: number; commit: string }) => [file, line, commit]),
        [
          ['side.txt', 1, git('rev-parse', 'side')],
          ['side.txt', 2, git('rev-parse', 'HEAD')],
        ],
      );
      assert.equal((await scan(repository, ['--since', 'side'])).code, 1, 'main.txt is not in side');
    });

    test('and says what it left out because it is too large or not in the clone', async () => {
      write('large.txt', `${'x '.repeat(600_000)}${GITHUB}`);
      const exit = await scan(repository, ['--staged', '--json', '--max-file-size', '1']);
      assert.deepEqual(JSON.parse(exit.stdout).skipped, ['large.txt is larger than 1 MiB']);
      write('lost.txt', `${GITHUB} lost\n`);
      const id = git('rev-parse', ':lost.txt');
      rmSync(join(repository, '.git/objects', id.slice(0, 2), id.slice(2)));
      const lost = await scan(repository, ['--staged', '--json', '--max-file-size', '1']);
      assert.deepEqual(JSON.parse(lost.stdout).skipped.toSorted(), [
        'large.txt is larger than 1 MiB',
        `lost.txt is not in this clone (${id.slice(0, 10)})`,
      ]);
    });

    test('also in a shallow clone', async () => {
      write('later.txt', `later ${GITHUB}\n`);
      git('commit', '--quiet', '-m', 'later');
      const shallow = join(root, 'shallow');
      gitIn(root)('clone', '--quiet', '--depth', '2', `file://${repository}`, shallow);
      assert.deepEqual(places(await scan(shallow, ['--since', 'HEAD~1', '--json'])), ['later.txt:1 github-token']);
    });
  });

  test('any bytes are read as changes, or refused', async () => {
    const marks = [
      ':100644 100644 aa bb M\0',
      '::100644 100644 100644 aa bb cc MM\0',
      ':0 0 a b R100\0',
      'f\0',
      'abc\0',
    ];
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(fc.constantFrom(...marks), fc.string())), async (parts) => {
        async function* output() {
          for (const part of parts) yield Buffer.from(part);
        }
        try {
          for await (const { blob, before } of parseChanges(output())) assert.ok(!before.includes(blob));
        } catch (error) {
          assert.match(String(error), /git ended in the middle of a change/);
        }
      }),
    );
  });
});

describe('rules of scans', () => {
  test('a sample is never more than four characters or a fifth', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (value) => {
        const shown = [...sampleOf(value)].length - 1;
        assert.ok(shown <= 4 && shown * 5 <= [...value].length);
      }),
    );
  });

  test('paths are ignored as git does', () => {
    const ignored = new Ignored('*.log\n!keep.log\n/build\ndocs/**/draft.md\ndir/\n\\#x\na?c\n**/gen/**\n');
    const cases: [string, boolean, boolean][] = [
      ['x.log', false, true],
      ['deep/x.log', false, true],
      ['keep.log', false, false],
      ['build', true, true],
      ['deep/build', true, false],
      ['docs/draft.md', false, true],
      ['docs/a/b/draft.md', false, true],
      ['dir', true, true],
      ['dir', false, false],
      ['#x', false, true],
      ['abc', false, true],
      ['a/c', false, false],
      ['p/gen/q/r', false, true],
    ];
    for (const [path, isFolder, expected] of cases) assert.equal(ignored.has(path, isFolder), expected, path);
    assert.equal(ignored.covers('dir/below/file.txt'), true);
  });

  test('paths to ignore that are made to be slow are not, and stars match as before', () => {
    const before = process.cpuUsage();
    const long = 'a'.repeat(255);
    const deep = `${'a/'.repeat(500)}b`;
    for (const rule of [
      '*a'.repeat(500),
      '**/a/'.repeat(200).slice(0, -1),
      `${'?*'.repeat(500)}z`,
      `x${' '.repeat(1000)}y`,
    ]) {
      const ignored = new Ignored(`${rule}\n`.repeat(20));
      for (const path of [long, deep, `${long}/${long}`]) ignored.covers(path);
    }
    assert.ok(process.cpuUsage(before).user < 20e6);
    assert.throws(() => new Ignored('a'.repeat(2000)), /more than 1024 characters/);
    const cases: [rule: string, path: string, isIgnored: boolean][] = [
      ['*a*b*', 'xaxbx', true],
      ['*a*b*', 'xbxax', false],
      ['a*', 'a', true],
      ['**', 'x/y', true],
      ['a/**', 'a', false],
      ['a/**', 'a/b/c', true],
      ['a/**/b', 'a/b', true],
      ['a/**/b', 'a/x/y/b', true],
      ['a/**/b', 'ab', false],
      ['a\\*', 'a*', true],
      ['a\\*', 'ab', false],
      ['x\\ ', 'x ', true],
      ['[a]', '[a]', true],
      ['a.c', 'abc', false],
    ];
    for (const [rule, path, isIgnored] of cases) assert.equal(new Ignored(rule).has(path, false), isIgnored, rule);
  });

  test('any bytes are scanned, in their order and without overlaps', () => {
    const fragments = [
      'password=',
      '"',
      "'",
      GITHUB,
      AWS,
      '://u:',
      '@h',
      '-----BEGIN PRIVATE KEY-----\n',
      'A'.repeat(20),
      '\n',
      'Bearer ',
    ];
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.constantFrom(...fragments), fc.string())), (parts) => {
        const found = detect(parts.join(''), { file: 'any.txt', isThorough: false });
        for (const [i, one] of found.entries()) assert.ok(one.start < one.end && one.start >= (found[i - 1]?.end ?? 0));
      }),
    );
  });

  test('text made to be slow is not', () => {
    const size = 300_000;
    const texts = [
      '-----BEGIN RSA PRIVATE KEY-----\nAAAAAAAAAAAAAAAAAAAA',
      '-----BEGIN CERTIFICATE-----\nAAAA',
      'password=',
      'eyJ',
      'a://:',
      'Bearer a',
      'sk-',
      'a.',
      'SG.',
      '?sig=',
    ];
    const before = process.cpuUsage();
    for (const text of texts) detect(text.repeat(size / text.length), { file: 'x.txt', isThorough: false });
    const { user } = process.cpuUsage(before);
    assert.ok(user < 60e6, `${user / 1e6} s`);
  });

  test('a large text is the same in pieces, wherever a file of it ends a piece', () => {
    const odd = `"${GITHUB}", password: "${PASSWORD}", `;
    for (const filler of ['ordinary words on a line\n', 'ordinary words on a line, ', 'word-without-any-sign']) {
      for (const shift of [7, 41]) {
        const start = 4 * 1024 * 1024 - 60 + shift;
        const text = `${filler.repeat(Math.ceil(start / filler.length)).slice(0, start)}${odd}${filler.repeat(3000)}`;
        const pieces = [...piecesOfText('a.txt', Buffer.from(text))];
        assert.ok(pieces.length > 1);
        assert.equal(Buffer.concat(pieces.map(({ bytes }) => bytes)).toString(), text);
        const whole = findingsIn({ file: 'a.txt', bytes: Buffer.from(text), line: 1, column: 0 });
        const found = pieces.flatMap(findingsIn);
        const place = ({ kind, line, column, value }: Finding) => `${kind} ${line}:${column} ${value}`;
        assert.deepEqual(found.map(place), whole.map(place), `${filler} ${shift}`);
      }
    }
  });

  test('a file is read in pieces, however large it is', () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    const size = 96 * 1024 * 1024;
    const folder = folderWith({ 'large.log': 'ordinary words on a line of a log\n'.repeat(size / 34) });
    const tally = { files: 0, bytes: 0, skipped: [] };
    let [most, bytes] = [0, 0];
    collectGarbage();
    const before = process.memoryUsage().arrayBuffers;
    for (const piece of filePieces([folder], 2 * size, tally)) {
      bytes += piece.bytes.length;
      collectGarbage();
      most = Math.max(most, process.memoryUsage().arrayBuffers - before);
    }
    assert.equal(bytes, tally.bytes);
    assert.ok(bytes > size - 64 && most < size / 3, `${most} bytes at most`);
  });

  test('ten thousand findings on one line take no longer than on as many lines', () => {
    const one = `"${GITHUB}", `;
    const time = (text: string) => {
      const piece = { file: 'a.json', bytes: Buffer.from(text), line: 1, column: 0 };
      const before = process.cpuUsage();
      assert.equal(findingsIn(piece).length, 10_000);
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    const lines = time(`${one}\n`.repeat(10_000));
    assert.ok(time(one.repeat(10_000)) < 5 * lines + 1_000_000);
  });

  test('UTF-16, a mark of UTF-8 and ends of lines of Windows are read', async () => {
    const text = `A=1\r\nTOKEN=${GITHUB}\r\nPASSWORD=${PASSWORD}\r\n`;
    const little = Buffer.from(`\uFEFF${text}`, 'utf16le');
    const folder = folderWith({});
    writeFileSync(join(folder, 'little.env'), little);
    writeFileSync(join(folder, 'big.env'), Buffer.from(little).swap16());
    writeFileSync(join(folder, 'mark.env'), `\uFEFFTOKEN=${GITHUB}\r\nPASSWORD=${PASSWORD}\r\n`);
    const expected = [
      'big.env:2 github-token',
      'big.env:3 password',
      'little.env:2 github-token',
      'little.env:3 password',
    ];
    const found = places(await scan(folder, ['--json']));
    assert.deepEqual(found, [...expected, 'mark.env:1 github-token', 'mark.env:2 password']);
  });

  test('UTF-16 is read in both orders', () => {
    const little = Buffer.from('\uFEFFab', 'utf16le');
    assert.equal(textIn(little)?.toString(), 'ab');
    assert.equal(textIn(Buffer.from(little).swap16())?.toString(), 'ab');
    assert.equal(textIn(Buffer.from('a\0b')), null);
  });
});

onBothDatabases('scan --known', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
    for (const name of ['shop', 'web'])
      await service.call('POST', '/v1/vaults', { body: { name, environment: 'development' } });
    await service.call('POST', '/v1/vaults', {
      body: { name: 'sealed', environment: 'development', is_zero_knowledge: true },
    });
    const put = (vault: string, path: string, value: string) =>
      service.call('POST', `/v1/vaults/${vault}/secrets`, { body: { path, value } });
    assert.equal((await put('shop', 'github', GITHUB)).status, 201);
    assert.equal((await put('web', 'db/password', 'swordfish')).status, 201);
  });
  after(() => service.close());

  test('it names the secrets that have a value, and what is too ordinary counts only then', async () => {
    const folder = folderWith({ 'a.env': `TOKEN=${GITHUB}\nPASSWORD=swordfish\nDB_PASSWORD=barracuda\n` });
    const env = { COFFER_URL: service.url, COFFER_TOKEN: service.adminToken };
    const exit = await scan(folder, ['--known', '--json'], '', env);
    assert.equal(exit.code, 1, exit.stderr);
    const { findings, compared, guessable, vaults_searched } = JSON.parse(exit.stdout);
    assert.deepEqual(
      findings.map(({ line, stored }: { line: number; stored: string[] }) => [line, stored]),
      [
        [1, ['shop/github']],
        [2, ['web/db/password']],
      ],
    );
    assert.deepEqual([compared, guessable, vaults_searched], [3, 2, undefined]);
    assert.deepEqual(places(await scan(folder, ['--json'])), ['a.env:1 github-token']);
    const { stderr } = await scan(folder, ['--known'], '', env);
    assert.match(stderr, /^Rotate it: coffer secrets rotate db\/password --vault web$/m);
    const log = (await service.call('GET', '/v1/audit?limit=200')).text + service.logs.join('');
    for (const value of [GITHUB, 'swordfish', 'barracuda']) assert.ok(!log.includes(value), 'neither log has a value');
  });

  test('nothing that is sent has a value in it, also not one that no secret has', async () => {
    const sent: string[] = [];
    const proxy = createServer(async (request, response) => {
      const body = Buffer.concat(await request.toArray());
      sent.push(request.url ?? '', JSON.stringify(request.headers), body.toString('utf8'));
      const answer = await fetch(`${service.url}${request.url}`, {
        method: request.method ?? 'GET',
        headers: { authorization: request.headers.authorization ?? '', 'content-type': 'application/json' },
        ...(body.length > 0 && { body }),
      });
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = proxy.address() as AddressInfo;
      const folder = folderWith({ 'a.env': `TOKEN=${GITHUB}\nPASSWORD=swordfish\nDB_PASSWORD=Winter-Garden#27\n` });
      const env = { COFFER_URL: `http://127.0.0.1:${port}`, COFFER_TOKEN: service.adminToken };
      const exit = await scan(folder, ['--known', '--json'], '', env);
      assert.deepEqual(JSON.parse(exit.stdout).findings[0].stored, ['shop/github'], exit.stderr);
    } finally {
      proxy.close();
    }
    const text = sent.join('\n');
    assert.match(text, /"digests":/);
    for (const value of [GITHUB, 'swordfish', 'Winter-Garden#27'])
      for (const form of [value, Buffer.from(value).toString('base64'), encodeURIComponent(value)])
        assert.ok(!text.includes(form));
  });

  test('a key is found as it is stored, and a part of a longer value with --parts', async () => {
    const { privateKey } = generateKeyPairSync('ed25519');
    const key = String(privateKey.export({ type: 'pkcs8', format: 'pem' }));
    const inCode = `const KEY = ${JSON.stringify(key)};\n`;
    const folder = folderWith({ 'id.pem': key, 'key.js': inCode, 'db.env': 'DB_PASSWORD=Winter-Garden#27x\n' });
    const put = (path: string, value: string) =>
      service.call('POST', '/v1/vaults/shop/secrets', { body: { path, value } });
    assert.equal((await put('deploy/key', key)).status, 201);
    assert.equal((await put('db/url', 'postgres://shop:Winter-Garden#27x@db/shop')).status, 201);
    const stored = async (...more: string[]) => {
      const env = { COFFER_URL: service.url, COFFER_TOKEN: service.adminToken };
      const exit = await scan(folder, ['--known', '--json', ...more], '', env);
      const { findings, vaults_searched } = JSON.parse(exit.stdout);
      const found = findings.map(({ file, stored: names }: { file: string; stored: string[] }) => [file, ...names]);
      return { found: found.toSorted(), vaults_searched };
    };
    const keys = ['id.pem', 'key.js'].map((file) => [file, 'shop/deploy/key']);
    assert.deepEqual((await stored()).found, [['db.env'], ...keys]);
    const parts = await stored('--parts');
    assert.deepEqual(parts.found, [['db.env', 'shop/db/url'], ...keys]);
    assert.deepEqual(parts.vaults_searched.toSorted(), ['shop', 'web']);
    assert.deepEqual((await stored('--vault', 'web')).found, [['db.env'], ['id.pem'], ['key.js']]);
  });

  test('who may only list a secret is told that it leaked, unless its value could be guessed', async () => {
    const folder = folderWith({ 'a.env': `TOKEN=${GITHUB}\nPASSWORD=swordfish\n` });
    const { id, token } = await addPerson(service);
    const rights = [{ action: ['secrets:list'], resource: ['vault/shop/**', 'vault/web/**'] }];
    await addPolicy(service, { user: id }, rights);
    const exit = await scan(folder, ['--known', '--json'], '', { COFFER_URL: service.url, COFFER_TOKEN: token });
    const { findings, guessable } = JSON.parse(exit.stdout);
    assert.deepEqual([findings.length, findings[0].stored, guessable], [1, ['shop/github'], 1]);
  });

  test('a caller without permission to list a secret does not learn that it has a value', async () => {
    const folder = folderWith({ 'a.env': `TOKEN=${GITHUB}\n` });
    const { token } = await addPerson(service);
    const exit = await scan(folder, ['--known', '--json'], '', { COFFER_URL: service.url, COFFER_TOKEN: token });
    assert.deepEqual(JSON.parse(exit.stdout).findings[0].stored, []);
    const named = await scan(folder, ['--known', '--vault', 'shop'], '', {
      COFFER_URL: service.url,
      COFFER_TOKEN: token,
    });
    assert.equal(named.code, 3);
    assert.equal(named.stdout, '');
  });
});
