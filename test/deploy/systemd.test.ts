import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { installed } from '../support/debian.ts';
import { newScratch } from '../support/packages.ts';
import { READY_LINE } from '../support/process.ts';
import { until } from '../support/until.ts';

/** The filter of system calls of the units, enforced by strace: what the filter forbids fails with EPERM, as under systemd. */

const ROOT = join(import.meta.dirname, '../..');
const NOBODY = 65_534;
const found = installed(['strace', 'systemd'], { strace: '/usr/bin/strace', analyze: '/usr/bin/systemd-analyze' });
const skip = 'missing' in found ? found.missing : process.getuid?.() === 0 ? false : 'only root can become nobody';

/** The system calls of a group such as @system-service, with those of the groups in it. */
function callsOf(group: string): Set<string> {
  const text = execFileSync('systemd-analyze', ['syscall-filter', group], { encoding: 'utf8' });
  const names = text
    .split('\n')
    .slice(1)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  return new Set(names.flatMap((name) => (name.startsWith('@') ? [...callsOf(name)] : [name])));
}

function forbiddenBy(unit: string): string[] {
  const filters = [...readFileSync(join(ROOT, 'deploy/systemd', unit), 'utf8').matchAll(/^SystemCallFilter=(.*)$/gm)];
  const allowed = new Set<string>();
  for (const [, filter = ''] of filters) {
    const isDenied = filter.startsWith('~');
    for (const group of filter.replace('~', '').split(' ')) {
      for (const name of callsOf(group)) isDenied ? allowed.delete(name) : allowed.add(name);
    }
  }
  assert.ok(allowed.size > 100, `${allowed.size}`);
  return [...callsOf('@known')].filter((name) => !allowed.has(name));
}

const running = new Set<ChildProcess>();
after(() => {
  for (const child of running) child.kill('SIGKILL');
});

describe('under the system calls that the units allow', { skip }, () => {
  const folder = skip === false ? newScratch() : '';
  const data = join(folder, 'data');
  const env = {
    PATH: process.env['PATH'] ?? '',
    CV_DATA_DIR: data,
    CV_PORT: '0',
    CV_TLS_PORT: '0',
    CV_DRAIN_SECONDS: '0',
  };

  /** setpriv becomes nobody before the rules begin to hold, as systemd does. */
  function command(unit: string, program: readonly string[]): string[] {
    const calls = forbiddenBy(unit).map((name) => `?${name}`);
    const user = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', '--no-new-privs'];
    const rules = ['-e', `trace=${calls.join(',')}`, '-e', `inject=${calls.join(',')}:error=EPERM`];
    return [...user, 'strace', '-f', '-qq', '-o', '/dev/null', '--seccomp-bpf', ...rules, process.execPath, ...program];
  }

  test('the filter holds: a forbidden call fails', () => {
    const [program = '', ...args] = command('coffer.service', ['-e', "require('os').setPriority(5)"]);
    const { status, stderr } = spawnSync(program, args, { encoding: 'utf8', env });
    assert.notEqual(status, 0);
    assert.match(stderr, /EPERM/);
  });

  test('the service starts, keeps a secret, is backed up and stops', async () => {
    chmodSync(folder, 0o755);
    for (const each of [data, join(folder, 'backups')]) {
      mkdirSync(each, { mode: 0o700 });
      chownSync(each, NOBODY, NOBODY);
    }
    const [program = '', ...args] = command('coffer.service', ['--disable-sigusr1', join(ROOT, 'server/main.js')]);
    const child = spawn(program, args, { env, cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
    running.add(child);
    let output = '';
    let isOver = false;
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output += text;
      });
    }
    const ended = new Promise<number | null>((resolve) => {
      child.once('close', (code) => {
        running.delete(child);
        isOver = true;
        resolve(code);
      });
    });
    await until('the service is ready', () => READY_LINE.test(output) || isOver);
    const url = READY_LINE.exec(output)?.[1] ?? assert.fail(output);
    const headers = {
      authorization: `Bearer ${readFileSync(join(data, 'admin.token'), 'utf8').trim()}`,
      'content-type': 'application/json',
    };
    for (const [path, body] of [
      ['/v1/vaults', { name: 'shop', environment: 'staging' }],
      ['/v1/vaults/shop/secrets', { path: 'db/main', value: 'x'.repeat(200_000) }],
    ] as const) {
      const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
      assert.equal(response.status, 201, await response.text());
    }
    const backup = ['--disable-sigusr1', join(ROOT, 'cli/main.js'), 'server', 'backup', join(folder, 'backups')];
    const [backupProgram = '', ...backupArgs] = command('coffer-backup.service', [...backup, '--keep', '2']);
    const done = spawnSync(backupProgram, backupArgs, { encoding: 'utf8', env, cwd: folder });
    assert.equal(done.status, 0, done.stderr);
    // strace passes on no signal, so the service itself gets it: the only child of strace.
    const [pid] = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim().split(' ').map(Number);
    process.kill(pid ?? assert.fail('strace has no child'), 'SIGTERM');
    assert.equal(await ended, 0, output);
  });
});
