import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { ALL_SETTINGS } from '../../server/src/assembly/settings.ts';
import { fileNames } from '../../server/src/settings/secret-files.ts';
import { newScratch } from '../support/packages.ts';

/** The units of systemd: what they start, and how little they may do. */

const ROOT = join(import.meta.dirname, '../..');
const UNITS = ['systemd/coffer.service', 'systemd/coffer-backup.service', 'agent/coffer-agent.service'];
/** The exposure that `systemd-analyze security` may find, times ten. The agent reads the homes of others. */
const EXPOSURE_MAX: Readonly<Record<string, number>> = {
  'systemd/coffer.service': 12,
  'systemd/coffer-backup.service': 12,
  'agent/coffer-agent.service': 20,
};
const read = (unit: string) => readFileSync(join(ROOT, 'deploy', unit), 'utf8');
const valuesOf = (unit: string, key: string) =>
  [
    ...read(unit)
      .replaceAll('\\\n', ' ')
      .matchAll(new RegExp(`^${key}=(.*)$`, 'gm')),
  ].map(([, value = '']) => value);
const analyze = (...args: string[]) => spawnSync('systemd-analyze', args, { encoding: 'utf8' });
const skip = analyze('--version').error === undefined ? false : 'systemd-analyze is not installed';
const SYSTEM_UNITS = '/lib/systemd/system';

describe('units of systemd', () => {
  test('the service is started as npm start does it', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const [, flags = ''] = /exec env .*? node (.*) server\/main\.js \|\|/.exec(scripts.start) ?? [];
    assert.deepEqual(valuesOf('systemd/coffer.service', 'ExecStart'), [
      `/opt/coffer/node_modules/.bin/node ${flags} /opt/coffer/server/main.js`,
    ]);
    for (const [variable] of scripts.start.matchAll(/MALLOC_\w+=\d+/g)) {
      assert.ok(read('systemd/coffer.service').includes(variable), variable);
    }
  });

  test('what they start is in a checkout, and every setting that they name exists', () => {
    const known = new Set<string>([...ALL_SETTINGS.map(({ name }) => name), ...fileNames(ALL_SETTINGS)]);
    for (const unit of UNITS.filter((each) => each.startsWith('systemd/'))) {
      const paths = valuesOf(unit, 'ExecStart').flatMap((line) => line.match(/\/opt\/coffer\/\S+\.js/g) ?? []);
      assert.equal(paths.length, 1);
      for (const path of paths) assert.ok(existsSync(path.replace('/opt/coffer', ROOT)), path);
      for (const [name] of read(unit).matchAll(/\bCV_[A-Z_]+(?==)/g)) assert.ok(known.has(name), name);
    }
    for (const [name] of read('systemd/postgres.conf').matchAll(/\bCV_[A-Z_]+(?==)/g)) assert.ok(known.has(name), name);
  });

  test('a stop leaves time for the requests under way, and V8 may compile', () => {
    const [seconds] = valuesOf('systemd/coffer.service', 'TimeoutStopSec').map(Number);
    const drain = Number(ALL_SETTINGS.find(({ name }) => name === 'CV_DRAIN_SECONDS')?.default);
    assert.ok(seconds !== undefined && seconds >= drain + 30, `${seconds}`);
    for (const unit of UNITS) {
      assert.deepEqual(valuesOf(unit, 'MemoryDenyWriteExecute'), [], unit);
    }
  });

  test('secrets come as credentials of systemd, and none as a variable', () => {
    const secret = ALL_SETTINGS.filter((setting) => setting.secret).map(({ name }) => name);
    for (const file of globSync('deploy/systemd/*', { cwd: ROOT })) {
      const text = readFileSync(join(ROOT, file), 'utf8');
      for (const name of secret) assert.doesNotMatch(text, new RegExp(`\\b${name}=`), file);
      for (const [, name] of text.matchAll(/=%d\/(\S+)/g)) {
        assert.match(text, new RegExp(`^LoadCredential=${name}:`, 'm'), `${file}: ${name}`);
      }
    }
  });

  for (const unit of UNITS) {
    test(`${basename(unit)} is exposed no more than it must be`, { skip }, () => {
      const threshold = `--threshold=${EXPOSURE_MAX[unit]}`;
      const { status, stdout, stderr } = analyze('security', '--offline=true', threshold, join(ROOT, 'deploy', unit));
      assert.equal(status, 0, `${stdout}${stderr}`);
      assert.match(stdout, /Overall exposure level for \S+: \d/);
    });
  }

  test('a unit without its hardening would be found', { skip }, () => {
    const file = join(newScratch(), 'coffer.service');
    writeFileSync(file, '[Service]\nExecStart=/bin/true\n');
    assert.notEqual(analyze('security', '--offline=true', '--threshold=20', file).status, 0);
  });

  test('systemd understands every line', { skip }, (t) => {
    if (!existsSync(join(SYSTEM_UNITS, 'sysinit.target'))) return t.skip('the targets of systemd are not installed');
    const root = newScratch();
    const units = join(root, 'etc/systemd/system');
    mkdirSync(units, { recursive: true });
    mkdirSync(join(root, 'usr/lib/systemd/system'), { recursive: true });
    for (const target of globSync('*.target', { cwd: SYSTEM_UNITS })) {
      writeFileSync(join(root, 'usr/lib/systemd/system', target), readFileSync(join(SYSTEM_UNITS, target)));
    }
    for (const program of ['/opt/coffer/node_modules/.bin/node', '/usr/bin/node', '/bin/kill']) {
      mkdirSync(dirname(join(root, program)), { recursive: true });
      writeFileSync(join(root, program), '');
      chmodSync(join(root, program), 0o755);
    }
    const all = [...UNITS, 'systemd/coffer-backup.timer'];
    for (const unit of all) writeFileSync(join(units, basename(unit)), read(unit));
    for (const name of ['coffer', 'coffer-backup']) {
      mkdirSync(join(units, `${name}.service.d`));
      writeFileSync(join(units, `${name}.service.d/postgres.conf`), read('systemd/postgres.conf'));
    }
    const verify = () => analyze('verify', `--root=${root}`, ...all.map((unit) => basename(unit)));
    assert.equal(verify().stderr, '');
    assert.equal(verify().status, 0);
    writeFileSync(join(units, 'coffer.service'), read('systemd/coffer.service').replace('KillMode', 'KillMod'));
    assert.match(verify().stderr, /KillMod/);
  });
});
