import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { appendFileSync, chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

/** What a repository that somebody else prepared must not do to the person who works in it. */

const MAIN = fileURLToPath(new URL('../../cli/main.js', import.meta.url));
const root = mkdtempSync(join(tmpdir(), 'coffer-hostile-'));
after(() => rmSync(root, { recursive: true, force: true }));
/** Put together here, so that this file has none. */
const GITHUB = ['ghp', 'a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8'].join('_');

const ENV = { PATH: process.env['PATH'] ?? '', HOME: root, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
const gitIn =
  (cwd: string) =>
  (...args: string[]): string => {
    const settings = ['-c', 'user.name=T', '-c', 'user.email=t@example.com', '-c', 'advice.addEmbeddedRepo=false'];
    return execFileSync('git', [...settings, ...args], {
      cwd,
      env: ENV,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim();
  };

interface Exit {
  code: number | null;
  stdout: string;
  stderr: string;
}

function coffer(cwd: string, args: readonly string[], env: Record<string, string> = {}): Promise<Exit> {
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd,
    env: { ...ENV, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const out = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      out[name] += text;
    });
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, ...out })));
}

describe('a scan of git runs nothing that the repository names', () => {
  const marks = join(root, 'marks');
  const repository = join(root, 'repository');
  const git = gitIn(repository);
  const program = (name: string) => join(root, 'programs', name);
  const ran = () => readdirSync(marks);

  /** A program that leaves a mark, and then does nothing. */
  function addProgram(name: string): string {
    writeFileSync(program(name), `#!/bin/sh\ntouch '${join(marks, name)}'\nexit 0\n`);
    chmodSync(program(name), 0o755);
    return program(name);
  }

  /** Every setting of git that names a program, or a place where one is looked for. */
  function hostileSettings(): string {
    const run = (name: string) => addProgram(name);
    const shell = (name: string) => `!${addProgram(name)}`;
    const hooks = join(root, 'hooks');
    mkdirSync(hooks, { recursive: true });
    for (const hook of [
      'post-index-change',
      'reference-transaction',
      'fsmonitor-watchman',
      'pre-auto-gc',
      'post-checkout',
      'pre-commit',
    ]) {
      writeFileSync(join(hooks, hook), `#!/bin/sh\ntouch '${join(marks, `hook-${hook}`)}'\n`);
      chmodSync(join(hooks, hook), 0o755);
    }
    const commands = [
      'rev-parse',
      'rev-list',
      'diff-tree',
      'diff-index',
      'cat-file',
      'ls-files',
      'remote-none',
      'remote-ext',
      'fetch',
      'submodule',
    ];
    return `
[core]
	fsmonitor = ${run('fsmonitor')}
	hooksPath = ${hooks}
	pager = ${run('pager')}
	editor = ${run('editor')}
	askPass = ${run('askpass')}
	sshCommand = ${run('ssh')}
	gitProxy = ${run('proxy')}
	alternateRefsCommand = ${run('alternate-refs')}
	attributesFile = ${join(root, 'attributes')}
	untrackedCache = true
[diff]
	external = ${run('external')}
	submodule = diff
	tool = hostile
	guitool = hostile
	relative = true
[diff "hostile"]
	command = ${run('diff-driver')}
	textconv = ${run('textconv')}
	cachetextconv = true
	xfuncname = .*
[difftool "hostile"]
	cmd = ${run('difftool')}
[merge "hostile"]
	driver = ${run('merge-driver')}
[filter "hostile"]
	clean = ${run('clean')}
	smudge = ${run('smudge')}
	process = ${run('process')}
	required = true
[pager]
${commands.map((name) => `	${name} = ${run('pager-of-command')}`).join('\n')}
[alias]
${commands.map((name) => `	${name} = ${shell(`alias-${name}`)}`).join('\n')}
[gpg]
	program = ${run('gpg')}
	format = ssh
[gpg "ssh"]
	program = ${run('gpg-ssh')}
	defaultKeyCommand = ${run('default-key')}
[log]
	showSignature = true
[credential]
	helper = ${shell('credential')}
[extensions]
	partialClone = evil
[remote "evil"]
	url = ext::${run('ext')}
	promisor = true
	partialclonefilter = blob:none
	uploadpack = ${run('upload-pack')}
	receivepack = ${run('receive-pack')}
	vcs = ext
	proxy = ext::${run('remote-proxy')}
[remote "second"]
	url = none::anything
	promisor = true
[protocol "ext"]
	allow = always
[protocol]
	allow = always
[uploadpack]
	packObjectsHook = ${run('pack-objects')}
[submodule "sub"]
	update = ${shell('submodule-update')}
	active = true
[interactive]
	diffFilter = ${run('diff-filter')}
[sequence]
	editor = ${run('sequence-editor')}
[browser "hostile"]
	cmd = ${run('browser')}
[trailer "hostile"]
	command = ${run('trailer')}
[sendemail]
	toCmd = ${run('sendemail')}
[trace2]
	eventTarget = ${join(marks, 'trace2')}
[maintenance]
	auto = true
[gc]
	auto = 1
`;
  }

  before(() => {
    for (const folder of ['marks', 'programs', 'repository', 'repository/sub']) mkdirSync(join(root, folder));
    git('init', '--quiet');
    const sub = gitIn(join(repository, 'sub'));
    sub('init', '--quiet');
    writeFileSync(join(repository, 'sub/a.txt'), 'one\n');
    sub('add', 'a.txt');
    sub('commit', '--quiet', '-m', 'one');
    writeFileSync(join(repository, 'a.txt'), 'one\n');
    git('add', 'sub', 'a.txt');
    git('commit', '--quiet', '-m', 'first');
    writeFileSync(join(repository, 'sub/a.txt'), 'two\n');
    sub('commit', '--quiet', '--all', '-m', 'two');
    writeFileSync(join(repository, 'a.txt'), `one\n${GITHUB}\n`);
    writeFileSync(join(repository, 'lost.txt'), 'not in this clone\n');
    writeFileSync(join(repository, '.gitattributes'), '* diff=hostile filter=hostile merge=hostile\n');
    git('add', 'sub', 'a.txt', 'lost.txt', '.gitattributes');
    git('commit', '--quiet', '-m', 'second');
    writeFileSync(join(repository, 'staged.txt'), `${GITHUB}\n`);
    writeFileSync(join(repository, 'sub/a.txt'), 'three\n');
    sub('commit', '--quiet', '--all', '-m', 'three');
    git('add', 'sub', 'staged.txt');
    const lost = git('rev-parse', 'HEAD:lost.txt');
    rmSync(join(repository, '.git/objects', lost.slice(0, 2), lost.slice(2)));
    const settings = hostileSettings();
    writeFileSync(join(root, 'attributes'), '* diff=hostile filter=hostile\n');
    for (const config of ['.git/config', 'sub/.git/config']) {
      const file = join(repository, config);
      appendFileSync(file, settings);
      gitIn(root)('config', '--file', file, 'core.repositoryFormatVersion', '1');
    }
  });

  test('although git itself would', () => {
    const diff = ['diff', '--cached', '--no-ext-diff', '--no-textconv'];
    const env = { ...ENV, GIT_ALLOW_PROTOCOL: 'none', GIT_NO_LAZY_FETCH: '1' };
    spawnSync('git', ['-c', 'core.fsmonitor=false', ...diff], { cwd: repository, env });
    assert.notDeepEqual(ran(), [], 'what the sub-module names');
    for (const mark of ran()) rmSync(join(marks, mark));
  });

  test('in what is staged', async () => {
    for (const cwd of [repository, join(repository, 'sub')]) {
      const { code, stdout } = await coffer(cwd, ['scan', '--staged', '--json']);
      if (cwd === repository) assert.equal(JSON.parse(stdout).findings[0].file, 'staged.txt');
      assert.ok(code === 0 || code === 1);
      assert.deepEqual(ran(), []);
    }
  });

  test('in the commits since, also where one is not in the clone', async () => {
    const { stdout } = await coffer(repository, ['scan', '--since', 'HEAD~1', '--json']);
    assert.equal(JSON.parse(stdout).findings[0].file, 'a.txt');
    assert.match(JSON.parse(stdout).skipped.join(), /lost\.txt is not in this clone/);
    for (const name of [
      'HEAD:lost.txt',
      '@{upstream}',
      'evil/main',
      ':/one',
      'HEAD^{/second}',
      '0'.repeat(39).concat('1'),
    ])
      assert.ok([0, 1].includes((await coffer(repository, ['scan', '--since', name])).code ?? -1));
    assert.deepEqual(ran(), []);
  });

  test('nor what its variables name', async () => {
    const env = {
      GIT_EXTERNAL_DIFF: addProgram('variable'),
      GIT_SSH_COMMAND: program('variable'),
      GIT_PAGER: program('variable'),
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'diff.external',
      GIT_CONFIG_VALUE_0: program('variable'),
      GIT_TRACE: join(marks, 'trace'),
      GIT_EXEC_PATH: join(root, 'programs'),
    };
    await coffer(repository, ['scan', '--staged'], env);
    assert.deepEqual(ran(), []);
  });

  test('and leaves nothing behind', async () => {
    const TMPDIR = join(root, 'temporary');
    mkdirSync(TMPDIR);
    for (const args of [['--staged'], ['--since', 'HEAD~1'], ['--since', 'HEAD'], ['--since', 'nothing']])
      await coffer(repository, ['scan', ...args], { TMPDIR });
    assert.deepEqual(
      readdirSync(TMPDIR).filter((name) => name.startsWith('coffer-')),
      [],
    );
  });
});
