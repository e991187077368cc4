import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { newPostgresDatabase, query } from '../support/postgres.ts';
import {
  assertWorks,
  killService,
  newDataDir,
  type ProcessOptions,
  READY_LINE,
  runCoffer,
  runService,
  type Started,
  spawnService,
  startServiceProcess,
  stopService,
} from '../support/process.ts';
import { type DatabaseKind, onBothDatabases } from '../support/service.ts';
import { until } from '../support/until.ts';

const ADD = ['server', 'seal', 'add', 'shamir', '--needed', '2', '--parts', '3'];

interface Installation {
  options: { dataDir: string; databaseUrl: string | undefined };
  token: string;
  shares: string[];
  keyFile: string;
}

/** An installation that was started once and stopped, and whose root key is in shares, too. */
async function withShares(kind: DatabaseKind): Promise<Installation> {
  const databaseUrl = kind === 'postgres' ? await newPostgresDatabase() : undefined;
  const service = await spawnService({ databaseUrl });
  const token = service.adminToken();
  await stopService(service);
  const options = { dataDir: service.dataDir, databaseUrl };
  return { options, token, shares: await newShares(options), keyFile: join(service.dataDir, 'root.key') };
}

async function newShares(options: ProcessOptions): Promise<string[]> {
  const out = newDataDir();
  mkdirSync(out);
  await coffer([...ADD, '--out', out], options);
  const files = [1, 2, 3].map((n) => join(out, `share-${n}.txt`));
  for (const file of files) assert.equal(statSync(file).mode & 0o777, 0o600);
  return files.map((file) => readFileSync(file, 'utf8').trim());
}

async function coffer(args: readonly string[], options: ProcessOptions): Promise<string> {
  const { code, stdout, stderr } = await runCoffer(args, options);
  assert.equal(code, 0, stderr);
  assert.equal(stderr, '');
  return stdout;
}

async function refused(args: readonly string[], options: ProcessOptions, what: RegExp): Promise<void> {
  const { code, stdout, stderr } = await runCoffer(args, options);
  assert.equal(code, 1, stdout);
  assert.match(stderr, what);
}

/** Starts a node that waits, and returns where it listens. */
async function startLocked(options: ProcessOptions): Promise<{ node: Started; url: string }> {
  const node = startServiceProcess(options);
  const port = () => /"port":(\d+),"msg":"the locked node listens"/.exec(node.stdout())?.[1];
  await until(
    () => `the node does not wait: ${node.stdout()}${node.stderr()}`,
    () => port() !== undefined,
  );
  return { node, url: `http://127.0.0.1:${port()}` };
}

async function enter(url: string, share: string): Promise<{ status: number; text: string }> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${url}/unseal`, { method: 'POST', headers, body: JSON.stringify({ share }) });
  return { status: response.status, text: await response.text() };
}

async function readyUrl(node: Started): Promise<string> {
  const url = () => READY_LINE.exec(node.stdout())?.[1];
  await until(
    () => `the node does not start: ${node.stdout()}${node.stderr()}`,
    () => url() !== undefined,
  );
  return String(url());
}

async function assertServes(node: Started, token: string): Promise<void> {
  const answer = await fetch(`${await readyUrl(node)}/auth/me`, { headers: { authorization: `Bearer ${token}` } });
  assert.equal(answer.status, 200, await answer.text());
}

async function edit({ dataDir, databaseUrl }: Installation['options'], sql: string): Promise<void> {
  if (databaseUrl !== undefined) return void (await query(databaseUrl, sql));
  const database = new DatabaseSync(join(dataDir, 'coffer.db'));
  database.exec(sql);
  database.close();
}

const SHARES_ONLY = { CV_SEALS: 'shamir' };

onBothDatabases('seals of the root key', (kind) => {
  test('a node whose only seal are shares waits for them, answers nothing else, and then serves', async () => {
    const { options, token, shares, keyFile } = await withShares(kind);
    const [first = '', second = '', third = ''] = shares;
    const both = { ...options, env: { CV_SEALS: 'file,shamir' } };
    await refused(['server', 'seal', 'remove', 'file'], both, /Only shamir would be left.*--leave-one/);
    assert.match(await coffer(['server', 'seal', 'remove', 'file', '--leave-one'], both), /CV_SEALS=shamir/);
    assert.equal(existsSync(keyFile), false);

    const { node, url } = await startLocked({ ...options, env: SHARES_ONLY });
    const ready = await fetch(`${url}/health/ready`);
    assert.equal(ready.status, 503);
    const state = (await ready.json()) as { status: string; shares: object; seals: object[] };
    assert.equal(state.status, 'sealed');
    assert.deepEqual(state.seals, [{ reference: 'shamir', problem: 'shares_needed' }]);
    assert.equal((await fetch(`${url}/health/live`)).status, 200);
    for (const path of ['/auth/me', '/v1/vaults', '/', '/metrics', '/console'])
      assert.equal((await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } })).status, 503, path);

    const page = await fetch(`${url}/unseal`, { headers: { accept: 'text/html' } });
    assert.match(await page.text(), /0 of 2 shares were entered/);
    assert.match(String(page.headers.get('content-security-policy')), /default-src 'none'/);

    const other = await newShares({
      ...options,
      dataDir: (await withShares('sqlite')).options.dataDir,
      databaseUrl: undefined,
    });
    for (const [wrong, why] of [
      ['', /not a share/],
      ['x'.repeat(5000), /too long/],
      [first.slice(0, -1) + (first.endsWith('0') ? '1' : '0'), /not typed as it was printed|changed after/],
      [other[0] ?? '', /belongs to set/],
    ] as const) {
      const { status, text } = await enter(url, wrong);
      assert.equal(status, 422, text);
      assert.match(text, why);
    }
    assert.equal((await enter(url, first)).status, 200);
    assert.match((await enter(url, first)).text, /Share 1 was entered before/);
    const progress = (await (await fetch(`${url}/unseal`)).json()) as { sealed: boolean; shares: { entered: number } };
    assert.deepEqual([progress.sealed, progress.shares.entered], [true, 1]);

    // What was entered is in memory alone: a killed node asks for all of them again.
    await killService(node);
    const again = await startLocked({ ...options, env: SHARES_ONLY });
    const said = await coffer(['server', 'unseal', '--node', again.url], { input: `${third}\n\n${second}\n` });
    assert.match(said, /Enough shares were entered/);
    await assertServes(again.node, token);
    for (const share of shares)
      for (const text of [node.stdout(), node.stderr(), again.node.stdout(), again.node.stderr(), said])
        assert.equal(text.includes(share.slice(9, 30)), false, 'no share is logged');
    await stopService(again.node);
  });

  test('shares open the installation whose key file is lost, from a file too', async () => {
    const { options, token, shares, keyFile } = await withShares(kind);
    rmSync(keyFile);
    const file = join(options.dataDir, 'shares.txt');
    writeFileSync(file, `${shares[2]}\n`, { mode: 0o600 });
    const env = { CV_SEALS: 'file,shamir', CV_SHARES_FILE: file };
    const { node, url } = await startLocked({ ...options, env });
    assert.equal((await enter(url, shares[0] ?? '')).status, 200);
    assert.equal((await enter(url, shares[1] ?? '')).status, 200);
    await assertServes(node, token);
    await stopService(node);

    writeFileSync(file, shares.slice(0, 2).join('\n'), { mode: 0o600 });
    const service = await spawnService({ ...options, env });
    await assertWorks(service, token);
    assert.match(service.stdout(), /"seal":"file","problem":"misconfigured"/);
    await stopService(service);

    writeFileSync(file, `${shares[0]}\n${shares[0]}\n`, { mode: 0o600 });
    const { code, stderr } = await runService({ ...options, env });
    assert.equal(code, 1);
    assert.match(stderr, /Line 2 of the shares .* entered before/);
    assert.equal(existsSync(keyFile), false, 'no other key was made in its place');
  });

  test('after a rekey the same shares open the new key, and those of a replaced set nothing', async () => {
    const { options, token, shares } = await withShares(kind);
    const env = { CV_SEALS: 'shamir', CV_SHARES_FILE: join(options.dataDir, 'shares.txt') };
    writeFileSync(env.CV_SHARES_FILE, shares.slice(1).join('\n'), { mode: 0o600 });
    const before = await snapshotOf(options);
    assert.match(await coffer(['server', 'rekey'], { ...options, env }), /It is sealed under every seal/);
    assert.notEqual(await snapshotOf(options), before);
    assert.match(await coffer(['server', 'seal', 'check'], { ...options, env }), /shamir: opens/);
    const service = await spawnService({ ...options, env });
    await assertWorks(service, token);
    await stopService(service);
    // The file still has the former key.
    const { code, stderr } = await runService({ ...options, env: { CV_SEALS: 'file' } });
    assert.equal(code, 1);
    assert.match(stderr, /cannot decrypt this database/);

    const out = newDataDir();
    mkdirSync(out);
    assert.match(
      await coffer([...ADD, '--out', out], { ...options, env }),
      /The shares of the former set open nothing/,
    );
    const refusal = await runService({ ...options, env });
    assert.match(refusal.stderr, /Line 1 of the shares .* belongs to set/);
    writeFileSync(env.CV_SHARES_FILE, [1, 3].map((n) => readFileSync(join(out, `share-${n}.txt`), 'utf8')).join(''));
    const last = await spawnService({ ...options, env });
    await assertWorks(last, token);
    await stopService(last);
  });

  test('a backup is restored with shares alone', async () => {
    const { options, token, shares } = await withShares(kind);
    const file = join(newDataDir(), '..', 'backup.coffer');
    await coffer(['server', 'backup', file], options);
    const dataDir = newDataDir();
    const databaseUrl = kind === 'postgres' ? await newPostgresDatabase() : undefined;
    const sharesFile = `${file}.shares`;
    writeFileSync(sharesFile, shares.slice(0, 2).join('\n'), { mode: 0o600 });
    const target = { dataDir, databaseUrl, env: { CV_SEALS: 'shamir', CV_SHARES_FILE: sharesFile } };
    await refused(
      ['server', 'restore', file],
      { dataDir, databaseUrl, env: SHARES_ONLY },
      /shamir: It opens with the shares/,
    );
    await coffer(['server', 'restore', file], target);
    const service = await spawnService(target);
    await assertWorks(service, token);
    await stopService(service);
  });

  test('what somebody wrote into the database in place of a copy opens nothing', async () => {
    const { options, shares } = await withShares(kind);
    const foreign = await withShares(kind);
    const copy = await sealedCopyOf(foreign.options);
    const hex = Buffer.from(copy).toString('hex');
    await edit(options, `update seals set sealed = ${options.databaseUrl === undefined ? `x'${hex}'` : `'\\x${hex}'`}`);
    const env = { CV_SEALS: 'shamir', CV_SHARES_FILE: join(options.dataDir, 'shares.txt') };
    writeFileSync(env.CV_SHARES_FILE, foreign.shares.slice(0, 2).join('\n'), { mode: 0o600 });
    const { code, stderr } = await runService({ ...options, env });
    assert.equal(code, 1);
    assert.match(stderr, /No seal in CV_SEALS opens.*\n.*shamir: .*changed or damaged/);
    const check = await runCoffer(['server', 'seal', 'check'], { ...options, env: { CV_SEALS: 'file,shamir' } });
    assert.equal(check.code, 1);
    assert.match(check.stdout, /file: opens\nshamir: wrong\./);
    assert.equal(shares.length, 3);
  });
});

async function sealedCopyOf({ dataDir, databaseUrl }: Installation['options']): Promise<Uint8Array> {
  if (databaseUrl !== undefined) {
    const [row] = (await query(databaseUrl, 'select sealed from seals')) as unknown as { sealed: Buffer }[];
    return row?.sealed ?? Buffer.alloc(0);
  }
  const database = new DatabaseSync(join(dataDir, 'coffer.db'), { readOnly: true });
  const row = database.prepare('select sealed from seals').get() as { sealed: Uint8Array };
  database.close();
  return row.sealed;
}

async function snapshotOf(options: Installation['options']): Promise<string> {
  return Buffer.from(await sealedCopyOf(options)).toString('hex');
}
