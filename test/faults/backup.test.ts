import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { newPostgresDatabase } from '../support/postgres.ts';
import {
  newDataDir,
  pause,
  runCoffer,
  type ServiceProcess,
  spawnService,
  startCoffer,
  stopService,
} from '../support/process.ts';
import { call, onBothDatabases } from '../support/service.ts';
import { until } from '../support/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'coffer-backup-'));
after(() => rmSync(folder, { recursive: true, force: true }));

onBothDatabases('backup and restore', (database) => {
  const fresh = async () => {
    const dataDir = newDataDir();
    const databaseUrl = database === 'postgres' ? await newPostgresDatabase() : undefined;
    return { dataDir, databaseUrl };
  };
  const as = (service: ServiceProcess, token: string) => (method: string, path: string, body?: unknown) =>
    call(service.url, method, path, { token, ...(body !== undefined && { body }) });

  test('what is backed up while the service works is all there afterwards, and nothing else is', async () => {
    const from = await fresh();
    const service = await spawnService(from);
    const token = service.adminToken();
    const ask = as(service, token);
    await ask('POST', '/v1/vaults', { name: 'shop', environment: 'staging' });
    await ask('POST', '/eaas/keys', { name: 'orders' });
    const { envelope } = (await ask('POST', '/eaas/keys/orders/encrypt', { plaintext: 'sealed before' })).body;
    const acknowledged = new Map<string, string>();
    let isDone = false;
    const writers = Array.from({ length: 4 }, async (_, w) => {
      for (let n = 0; !isDone || n < 20; n++) {
        const path = `w${w}/s${n % 50}`;
        const value = `value ${w} ${n}`;
        const body = n < 50 ? { path, value } : { value };
        const url = n < 50 ? '/v1/vaults/shop/secrets' : `/v1/vaults/shop/secrets/${path}`;
        const { status } = await ask(n < 50 ? 'POST' : 'PUT', url, body);
        assert.ok(status < 300, String(status));
        if (!isBegun) acknowledged.set(path, value);
        await ask('GET', `/v1/vaults/shop/secrets/${path}`);
      }
    });
    let isBegun = false;
    await pause(700);
    isBegun = true;
    const before = new Map(acknowledged);
    const file = join(folder, `${database}.backup`);
    const made = await runCoffer(['server', 'backup', file], from);
    isDone = true;
    assert.equal(made.code, 0, made.stderr);
    await Promise.all(writers);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    const bytes = readFileSync(file);
    for (const marker of ['value 0', 'shop', token]) assert.equal(bytes.indexOf(marker), -1, marker);
    const again = await runCoffer(['server', 'backup', file], from);
    assert.notEqual(again.code, 0, 'never over another one');

    const to = await fresh();
    const withoutKey = await runCoffer(['server', 'restore', file], to);
    assert.notEqual(withoutKey.code, 0);
    copyKey(from.dataDir, to.dataDir);
    const restored = await runCoffer(['server', 'restore', file], to);
    assert.equal(restored.code, 0, restored.stderr);
    const twice = await runCoffer(['server', 'restore', file], to);
    assert.match(twice.stderr, /already/);
    const second = await spawnService(to);
    const theirs = as(second, token);
    for (const [path, value] of before) {
      const read = await theirs('GET', `/v1/vaults/shop/secrets/${path}`);
      assert.equal(read.status, 200, path);
      assert.ok(
        Number(read.body.value.split(' ')[2]) >= Number(value.split(' ')[2]),
        `${path}: older than acknowledged`,
      );
      const versions = await theirs('GET', `/v1/vaults/shop/secrets/${path}/versions`);
      assert.equal(versions.body.versions.length, Math.min(read.body.version, 100));
    }
    const opened = await theirs('POST', '/eaas/keys/orders/decrypt', { envelope });
    assert.equal(opened.body.plaintext, 'sealed before');
    const verified = await theirs('GET', '/v1/audit/verify');
    assert.equal(verified.body.valid, true, JSON.stringify(verified.body));
    assert.doesNotMatch(second.stderr(), /journal is missing/);
    await stopService(second);
    await stopService(service);
  });

  test('a backup that was changed, cut off, or is of another key brings nothing in', async () => {
    const from = await fresh();
    const service = await spawnService(from);
    await stopService(service);
    const file = join(folder, `${database}-small.backup`);
    assert.equal((await runCoffer(['server', 'backup', file], from)).code, 0);
    const bytes = readFileSync(file);
    const start = bytes.indexOf('\n') + 1;
    const to = await fresh();
    copyKey(from.dataDir, to.dataDir);
    const bad: Record<string, Buffer> = {
      'cut off': bytes.subarray(0, -1),
      longer: Buffer.concat([bytes, Buffer.from([0])]),
      'a changed byte': changed(bytes, bytes.length - 5),
      'a changed header': changed(bytes, bytes.indexOf('schema') - 20),
      'only its header': bytes.subarray(0, start),
      nothing: Buffer.alloc(0),
      'something else': Buffer.from('{"magic":"zip"}\n'),
    };
    for (const [name, content] of Object.entries(bad)) {
      const damaged = join(folder, `${database}-${name.replaceAll(' ', '-')}.backup`);
      writeFileSync(damaged, content);
      const { code, stderr } = await runCoffer(['server', 'restore', damaged], to);
      assert.notEqual(code, 0, name);
      assert.doesNotMatch(stderr, /at .*\.ts:\d+/, name);
    }
    const other = await fresh();
    await stopService(await spawnService(other));
    const target = await fresh();
    copyKey(other.dataDir, target.dataDir);
    const foreign = await runCoffer(['server', 'restore', file], target);
    assert.match(foreign.stderr, /root key/);
    assert.equal((await runCoffer(['server', 'restore', file], to)).code, 0, 'after all of these it still can be');
  });
});

onBothDatabases('backups', (database) => {
  const place = async () => ({
    dataDir: newDataDir(),
    databaseUrl: database === 'postgres' ? await newPostgresDatabase() : undefined,
  });

  test('are restored on trial beside the running service, which does not notice', async () => {
    const from = await place();
    const service = await spawnService(from);
    const ask = (method: string, path: string, body?: unknown) =>
      call(service.url, method, path, { token: service.adminToken(), ...(body !== undefined && { body }) });
    await ask('POST', '/v1/vaults', { name: 'shop', environment: 'staging' });
    await ask('POST', '/v1/vaults/shop/secrets', { path: 'a', value: 'x'.repeat(1000) });
    const file = join(folder, `${database}-tried.backup`);
    assert.equal((await runCoffer(['server', 'backup', file], from)).code, 0);
    const tried = await runCoffer(['server', 'backup', '--verify', file], from);
    assert.equal(tried.code, 0, tried.stderr);
    assert.match(tried.stdout, /^The backup of \S+ can be restored: .* 1 values were decrypted\.\n$/);
    assert.deepEqual(
      readdirSync(tmpdir()).filter((name) => name.startsWith('coffer-verify-')),
      [],
    );
    assert.equal((await ask('GET', '/v1/vaults/shop/secrets/a')).status, 200);

    writeFileSync(file, changed(readFileSync(file), readFileSync(file).length - 5));
    const damaged = await runCoffer(['server', 'backup', '--verify', file], from);
    assert.deepEqual([damaged.code, damaged.stdout], [1, '']);
    assert.match(damaged.stderr, /damaged, truncated or modified/);
    await stopService(service);
  });

  test('in a folder are named by their time, and only as many as wanted stay', async () => {
    const from = await place();
    await stopService(await spawnService(from));
    const target = mkdtempSync(join(folder, `${database}-kept-`));
    const older = ['coffer-20200101T000000Z.backup', 'coffer-20200102T000000Z.backup'];
    const made = async (...more: string[]) => {
      const { code, stderr } = await runCoffer(['server', 'backup', target, ...more], from);
      assert.equal(code, 0, stderr);
    };
    await made();
    const [first = ''] = readdirSync(target);
    assert.match(first, /^coffer-\d{8}T\d{6}Z\.backup$/);
    for (const name of older) copyFileSync(join(target, first), join(target, name));
    const others = ['coffer-20200103T000000Z.backup', 'notes.txt', 'older.backup'];
    for (const name of others) writeFileSync(join(target, name), 'not a backup of ours');
    await untilNextSecond(target);
    await made('--keep', '2');
    const left = readdirSync(target);
    assert.deepEqual(
      left.filter((name) => others.includes(name)),
      others,
    );
    assert.deepEqual(
      left.filter((name) => older.includes(name)),
      [],
    );
    assert.equal(left.length, others.length + 2);
    const ahead = ['coffer-21000101T000000Z.backup', 'coffer-21000102T000000Z.backup'];
    for (const name of ahead) copyFileSync(join(target, left.find((one) => NAMED.test(one)) ?? ''), join(target, name));
    const before = new Set(readdirSync(target));
    await untilNextSecond(target);
    await made('--keep', '1');
    const afterwards = readdirSync(target);
    assert.ok(
      ahead.every((name) => afterwards.includes(name)),
      'those that a clock ahead has named are not older',
    );
    assert.equal(afterwards.filter((name) => !before.has(name)).length, 1, 'the new one stays');
    const refused = await runCoffer(['server', 'backup', join(target, 'one.file'), '--keep', '2'], from);
    assert.match(refused.stderr, /--keep removes older backups in a folder/);
    assert.equal((await runCoffer(['server', 'backup', target, '--keep', '0'], from)).code, 1);
  });

  test('are written to standard output, and nothing else is', async () => {
    const from = await place();
    await stopService(await spawnService(from));
    const file = join(folder, `${database}-piped.backup`);
    const command = `"$0" --disable-sigusr1 cli/main.js server backup - > "$1"`;
    const env = {
      ...process.env,
      CV_DATA_DIR: from.dataDir,
      ...(from.databaseUrl && { CV_DATABASE_URL: from.databaseUrl }),
    };
    const { stderr } = await promisify(execFile)('sh', ['-c', command, process.execPath, file], { env });
    assert.match(stderr, /rows of \d+ tables were written to standard output/);
    const tried = await runCoffer(['server', 'backup', '--verify', file], from);
    assert.equal(tried.code, 0, tried.stderr);
  });
});

const NAMED = /^coffer-202[6-9]\d{4}T\d{6}Z(\.incremental)?\.backup$/;

/** Names have no fractions of a second. */
function untilNextSecond(target: string): Promise<void> {
  return until('a second has passed', () => {
    const now = `coffer-${new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '')}`;
    return readdirSync(target).every((name) => !name.startsWith(now));
  });
}

test('a restore that is killed leaves nothing, and the next one does it all', async () => {
  const from = { dataDir: newDataDir() };
  const service = await spawnService(from);
  const ask = (path: string, body: unknown) => call(service.url, 'POST', path, { token: service.adminToken(), body });
  await ask('/v1/vaults', { name: 'shop', environment: 'staging' });
  const secrets = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`s${i}`, 'x'.repeat(3000)]));
  await ask('/v1/vaults/shop/import', { secrets });
  const file = join(folder, 'killed.backup');
  assert.equal((await runCoffer(['server', 'backup', file], from)).code, 0);
  await stopService(service);
  const to = { dataDir: newDataDir() };
  copyKey(from.dataDir, to.dataDir);
  for (const ms of [150, 300, 450, 600]) {
    const restoring = startCoffer(['server', 'restore', file], to);
    await pause(ms);
    restoring.kill('SIGKILL');
    if ((await restoring.exited).code === 0) break;
  }
  const last = await runCoffer(['server', 'restore', file], to);
  assert.ok(last.code === 0 || /already/.test(last.stderr), last.stderr);
  const second = await spawnService(to);
  const read = await call(second.url, 'GET', '/v1/vaults/shop/secrets/s999', { token: service.adminToken() });
  assert.equal(read.body.value.length, 3000);
  await stopService(second);
});

test('what lies beside a database that is gone is not mistaken for a part of the restored one', async () => {
  const from = { dataDir: newDataDir() };
  await stopService(await spawnService(from));
  const file = join(folder, 'beside.backup');
  assert.equal((await runCoffer(['server', 'backup', file], from)).code, 0);
  const to = { dataDir: newDataDir() };
  copyKey(from.dataDir, to.dataDir);
  for (const suffix of ['-wal', '-shm', '-commits']) {
    const beside = join(to.dataDir, `coffer.db${suffix}`);
    writeFileSync(beside, 'left behind');
    const { code, stderr } = await runCoffer(['server', 'restore', file], to);
    assert.equal(code, 1);
    assert.match(stderr, /already/);
    rmSync(beside);
  }
  // What a restore that was killed left of its own is its own to remove.
  for (const suffix of ['', '-wal', '-commits'])
    writeFileSync(join(to.dataDir, `coffer.db.restoring${suffix}`), '9999999999\n');
  const { code, stderr } = await runCoffer(['server', 'restore', file], to);
  assert.equal(code, 0, stderr);
  await stopService(await spawnService(to));
});

/** The root key is never in a backup: the operator who restores one brings it along. */
function copyKey(from: string, to: string): void {
  mkdirSync(to, { recursive: true, mode: 0o700 });
  copyFileSync(join(from, 'root.key'), join(to, 'root.key'));
}

function changed(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
}
