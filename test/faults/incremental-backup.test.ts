import assert from 'node:assert/strict';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { newPostgresDatabase, query } from '../support/postgres.ts';
import {
  newDataDir,
  runCoffer,
  type ServiceProcess,
  spawnService,
  startCoffer,
  stopService,
} from '../support/process.ts';
import { call, onBothDatabases } from '../support/service.ts';
import { until } from '../support/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'coffer-incremental-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** More than one block of rows, so that an incremental backup has something to leave out. */
const FIRST_SECRETS = 300;

onBothDatabases('incremental backups', (database) => {
  interface Place {
    dataDir: string;
    databaseUrl: string | undefined;
  }
  const fresh = async (): Promise<Place> => ({
    dataDir: newDataDir(),
    databaseUrl: database === 'postgres' ? await newPostgresDatabase() : undefined,
  });
  /** An empty place with the root key of another. */
  const targetFor = async (from: Place): Promise<Place> => {
    const to = await fresh();
    mkdirSync(to.dataDir, { recursive: true, mode: 0o700 });
    copyFileSync(join(from.dataDir, 'root.key'), join(to.dataDir, 'root.key'));
    return to;
  };
  const importInto = async (service: ServiceProcess, token: string, prefix: string, count: number) => {
    const secrets = Object.fromEntries(
      Array.from({ length: count }, (_, n) => [`${prefix}/s${n}`, `value of ${prefix} ${n} ${'x'.repeat(1500)}`]),
    );
    const { status } = await call(service.url, 'POST', '/v1/vaults/shop/import', { token, body: { secrets } });
    assert.equal(status, 200);
  };
  const newShop = async () => {
    const from = await fresh();
    const service = await spawnService(from);
    const token = service.adminToken();
    await call(service.url, 'POST', '/v1/vaults', { token, body: { name: 'shop', environment: 'staging' } });
    await importInto(service, token, 'first', FIRST_SECRETS);
    return { from, service, token, target: mkdtempSync(join(folder, `${database}-`)) };
  };
  const backUp = async (from: Place, target: string, ...more: string[]): Promise<{ said: string; file: string }> => {
    await untilNextSecond(target);
    const before = new Set(readdirSync(target));
    const { code, stdout, stderr } = await runCoffer(['server', 'backup', target, ...more], from);
    assert.equal(code, 0, stderr);
    const [name, ...others] = readdirSync(target).filter((one) => !before.has(one));
    assert.ok(name !== undefined && others.length === 0, 'one new file, and nothing unfinished');
    return { said: stdout, file: join(target, name) };
  };
  const readsIn = async (to: Place, token: string, expected: Record<string, number>) => {
    const service = await spawnService(to);
    for (const [path, status] of Object.entries(expected)) {
      const read = await call(service.url, 'GET', `/v1/vaults/shop/secrets/${path}`, { token });
      assert.equal(read.status, status, path);
      if (status === 200) assert.match(read.body.value, new RegExp(`^value of ${path.replace('/s', ' ')} `));
    }
    const verified = await call(service.url, 'GET', '/v1/audit/verify', { token });
    assert.equal(verified.body.valid, true, JSON.stringify(verified.body));
    await stopService(service);
  };

  test('have only what the last full one lacks, and are restored with it, to each of their moments', async () => {
    const { from, service, token, target } = await newShop();
    const full = await backUp(from, target);
    assert.match(full.said, /It is a full backup, because the folder has no other/);
    const wholeAt = new Date().toISOString();
    await importInto(service, token, 'second', 20);
    const incremental = await backUp(from, target);
    assert.match(incremental.said, /It is incremental: \d+ rows are in it, and \d+ in the full backup of/);
    assert.match(basename(incremental.file), /^coffer-\d{8}T\d{6}Z\.incremental\.backup$/);
    assert.ok(statSync(incremental.file).size < statSync(full.file).size / 2);
    assert.equal(statSync(incremental.file).mode & 0o777, 0o600);
    const bytes = readFileSync(incremental.file);
    for (const marker of ['value of', 'shop', token]) assert.equal(bytes.indexOf(marker), -1, marker);

    await importInto(service, token, 'third', 20);
    const last = await backUp(from, target);
    const deleted = await call(service.url, 'DELETE', '/v1/vaults/shop/secrets/third/s1', { token });
    assert.ok(deleted.status < 300);
    await stopService(service);

    const tried = await runCoffer(['server', 'backup', '--verify', target], from);
    assert.equal(tried.code, 0, tried.stderr);
    assert.match(tried.stdout, /can be restored: .* values were decrypted/);

    const newest = await targetFor(from);
    const restored = await runCoffer(['server', 'restore', target], newest);
    assert.equal(restored.code, 0, restored.stderr);
    await readsIn(newest, token, { 'first/s1': 200, 'second/s1': 200, 'third/s1': 200 });

    const middle = await targetFor(from);
    const byFile = await runCoffer(['server', 'restore', incremental.file], middle);
    assert.equal(byFile.code, 0, byFile.stderr);
    await readsIn(middle, token, { 'first/s1': 200, 'second/s1': 200, 'third/s1': 404 });

    const early = await targetFor(from);
    const at = await runCoffer(['server', 'restore', target, '--at', wholeAt], early);
    assert.equal(at.code, 0, at.stderr);
    assert.match(at.stdout, /restored to its state at 20/);
    await readsIn(early, token, { 'first/s1': 200, 'second/s1': 404 });

    const none = await runCoffer(['server', 'restore', target, '--at', '2020-01-01T00:00:00Z'], await targetFor(from));
    assert.match(none.stderr, /there is none before/);
    const onFile = await runCoffer(['server', 'restore', last.file, '--at', wholeAt], await targetFor(from));
    assert.match(onFile.stderr, /--at chooses from a folder/);
    for (const time of ['yesterday', '2026-11-17', '2026-11-17T14:00:00', '2026-13-40T00:00:00Z'])
      assert.equal((await runCoffer(['server', 'restore', target, '--at', time], from)).code, 1, time);
  });

  test('leave out nothing that was changed in place, such as old entries of the audit log', async () => {
    const { from, service, token, target } = await newShop();
    await backUp(from, target);
    await stopService(service);
    await mergeTwoSegments(from);
    const old = await segmentsOf(from);
    const { said } = await backUp(from, target);
    assert.match(said, /It is incremental/);
    const to = await targetFor(from);
    const restored = await runCoffer(['server', 'restore', target], to);
    assert.equal(restored.code, 0, restored.stderr);
    const brought = new Map((await segmentsOf(to)).map((row) => [row.id, row]));
    for (const row of old) assert.deepEqual(brought.get(row.id), row);
    await readsIn(to, token, { 'first/s1': 200 });

    // The number of rows and their lengths stay, and nothing of it may come from the base.
    await run(from, `update audit_segments set entries = replace(entries, '"vault_created"', '"vault_CREATED"')`);
    const tampered = await backUp(from, target);
    assert.match(tampered.said, /It is incremental/);
    const tried = await runCoffer(['server', 'backup', '--verify', tampered.file], from);
    assert.match(tried.stderr, /failed verification; the source may have the same problem/);
  });

  test('are restored only with the full one that they build on', async () => {
    const { from, service, token, target } = await newShop();
    const full = await backUp(from, target);
    await importInto(service, token, 'second', 5);
    const incremental = await backUp(from, target);
    const other = await backUp(from, target, '--full');
    await stopService(service);
    assert.doesNotMatch(other.said, /It is incremental/);

    const to = await targetFor(from);
    const refused = async (expected: RegExp, ...args: string[]) => {
      const { code, stderr } = await runCoffer(['server', 'restore', ...args], to);
      assert.equal(code, 1);
      assert.match(stderr, expected);
    };
    await refused(/is not the backup that .* needs/, incremental.file, '--base', other.file);
    await refused(/is not the backup that .* needs/, incremental.file, '--base', incremental.file);
    await refused(/is a full backup: restore it without --base/, full.file, '--base', full.file);
    const elsewhere = join(mkdtempSync(join(folder, 'elsewhere-')), 'base');
    renameSync(full.file, elsewhere);
    await refused(/is incremental and needs the full backup of 20\S+, which is not in/, incremental.file);
    const missing = await runCoffer(['server', 'backup', '--verify', incremental.file], from);
    assert.equal(missing.code, 1);

    const whole = readFileSync(elsewhere);
    const bad: Record<string, Buffer> = {
      'cut off': whole.subarray(0, -1),
      'cut off in the middle': whole.subarray(0, whole.length / 2),
      'a changed row': changedAt(whole, 3000),
      'a changed index': changedAt(whole, whole.length - 300),
    };
    for (const [name, content] of Object.entries(bad)) {
      writeFileSync(full.file, content);
      await refused(/is damaged, truncated or modified/, incremental.file);
      rmSync(full.file);
      assert.ok(name);
    }
    const mine = readFileSync(incremental.file);
    for (const content of [
      mine.subarray(0, -1),
      changedAt(mine, mine.length - 5),
      changedAt(mine, mine.indexOf('"base"') + 20),
    ]) {
      writeFileSync(`${incremental.file}.bad`, content);
      const { code } = await runCoffer(['server', 'restore', `${incremental.file}.bad`, '--base', elsewhere], to);
      assert.equal(code, 1);
    }
    const stranger = await fresh();
    await stopService(await spawnService(stranger));
    const withOtherKey = await runCoffer(
      ['server', 'restore', incremental.file, '--base', elsewhere],
      await targetFor(stranger),
    );
    assert.match(withOtherKey.stderr, /root key/);

    // By its digest it is found under any name in the folder.
    copyFileSync(elsewhere, join(target, 'renamed'));
    const restored = await runCoffer(['server', 'restore', incremental.file], to);
    assert.equal(restored.code, 0, restored.stderr);
    const again = await targetFor(from);
    assert.equal((await runCoffer(['server', 'restore', incremental.file, '--base', elsewhere], again)).code, 0);
    await readsIn(again, token, { 'first/s1': 200, 'second/s1': 200 });
  });

  test('build on another full one when the last is old, damaged, from the future or of another key', async () => {
    const { from, service, target } = await newShop();
    const first = await backUp(from, target);
    assert.match((await backUp(from, target)).said, /It is incremental/);
    // Only the time in its name and header is another, so it cannot be opened: a clock that was ahead has made it.
    const ahead = join(target, 'coffer-21000101T000000Z.backup');
    writeFileSync(
      ahead,
      Buffer.from(readFileSync(first.file, 'latin1').replace('"made_at":"20', '"made_at":"21'), 'latin1'),
    );
    assert.match((await backUp(from, target)).said, /It is incremental/);
    const old = readFileSync(first.file, 'latin1').replace(/"made_at":"\d{4}/, '"made_at":"2020');
    rmSync(ahead);
    const apart = mkdtempSync(join(folder, 'old-'));
    writeFileSync(join(apart, 'coffer-20200101T000000Z.backup'), Buffer.from(old, 'latin1'));
    assert.match((await backUp(from, apart)).said, /It is a full backup, because the last one is of 2020-/);
    const damaged = mkdtempSync(join(folder, 'damaged-'));
    writeFileSync(join(damaged, basename(first.file)), readFileSync(first.file).subarray(0, -1));
    assert.match(
      (await backUp(from, damaged)).said,
      /It is a full backup, because the last one, coffer-\S+, is damaged/,
    );
    const { code, stderr } = await runCoffer(['server', 'backup', join(target, 'one.file'), '--full'], from);
    assert.equal(code, 1);
    assert.match(stderr, /Only backups in a folder build on others/);

    await stopService(service);
    assert.equal((await runCoffer(['server', 'rekey'], from)).code, 0);
    assert.match((await backUp(from, target)).said, /It is a full backup, because the last one has another/);
  });

  test('stay with the full one that they need', async () => {
    const { from, service, token, target } = await newShop();
    const full = await backUp(from, target);
    await backUp(from, target);
    await backUp(from, target);
    const last = await backUp(from, target, '--keep', '1');
    assert.deepEqual(readdirSync(target).toSorted(), [basename(full.file), basename(last.file)].toSorted());
    // One that is being written, or was killed a moment ago, has its base to the end.
    const unfinished = join(target, `${basename(last.file)}.0badc0de.unfinished`);
    renameSync(last.file, unfinished);
    await backUp(from, target, '--full', '--keep', '1');
    assert.ok(readdirSync(target).includes(basename(full.file)), 'it is needed by the unfinished one');
    rmSync(unfinished);
    const next = await backUp(from, target, '--full', '--keep', '1');
    assert.deepEqual(readdirSync(target), [basename(next.file)]);
    await stopService(service);
    const to = await targetFor(from);
    assert.equal((await runCoffer(['server', 'restore', target], to)).code, 0);
    await readsIn(to, token, { 'first/s1': 200 });
  });

  test('at the same time, or killed, leave whole files under their names', async () => {
    const { from, service, token, target } = await newShop();
    await backUp(from, target);
    await importInto(service, token, 'second', 50);
    const together = await Promise.all(
      Array.from({ length: 3 }, () => runCoffer(['server', 'backup', target, '--keep', '3'], from)),
    );
    for (const { code, stderr } of together) if (code !== 0) assert.match(stderr, /already exists/);
    assert.ok(together.some(({ code }) => code === 0));
    for (let n = 0; n < 3; n++) {
      await untilNextSecond(target);
      const killed = startCoffer(['server', 'backup', target], from);
      let hasEnded = false;
      void killed.exited.then(() => (hasEnded = true));
      await until('it writes', () => hasEnded || readdirSync(target).some((name) => name.endsWith('.unfinished')));
      killed.kill('SIGKILL');
      await killed.exited;
      for (const name of readdirSync(target)) if (name.endsWith('.unfinished')) rmSync(join(target, name));
    }
    await stopService(service);
    for (const name of readdirSync(target).filter((one) => one.endsWith('.backup'))) {
      const tried = await runCoffer(['server', 'backup', '--verify', join(target, name)], from);
      assert.equal(tried.code, 0, `${name}: ${tried.stderr}`);
    }
  });

  test('of two installations in one folder do not mix', async () => {
    const [one, other] = [await newShop(), await newShop()];
    await backUp(one.from, one.target);
    assert.match((await backUp(other.from, one.target)).said, /It is a full backup, because the folder has no other/);
    assert.match((await backUp(one.from, one.target)).said, /It is incremental/);
    const { stderr } = await runCoffer(['server', 'restore', one.target], await targetFor(one.from));
    assert.match(stderr, /several installations: give the file/);
    await stopService(one.service);
    await stopService(other.service);
  });
});

interface Segment {
  id: string;
  entries: string;
  first_seq: number;
  hashes: Uint8Array;
}

async function segmentsOf(place: { dataDir: string; databaseUrl: string | undefined }): Promise<Segment[]> {
  const rows = await run(
    place,
    'select id, entries, first_seq, hashes from audit_segments where first_seq is not null order by first_seq',
  );
  return rows.map(({ id, entries, first_seq, hashes }) => ({
    id: String(id),
    entries: String(entries),
    first_seq: Number(first_seq),
    hashes: new Uint8Array(hashes as Uint8Array),
  }));
}

/** Makes one segment of the two oldest, in place, without changing an entry or a hash. */
async function mergeTwoSegments(place: { dataDir: string; databaseUrl: string | undefined }): Promise<void> {
  const [first, second] = await segmentsOf(place);
  assert.ok(first !== undefined && second !== undefined);
  const entries = JSON.stringify([...JSON.parse(first.entries), ...JSON.parse(second.entries)]).replaceAll("'", "''");
  const hashes = Buffer.concat([first.hashes, second.hashes]).toString('hex');
  const bytes = place.databaseUrl === undefined ? `x'${hashes}'` : `decode('${hashes}', 'hex')`;
  await run(place, `delete from audit_segments where id = '${first.id}'`);
  await run(
    place,
    `update audit_segments set entries = '${entries}', hashes = ${bytes}, first_seq = ${first.first_seq} where id = '${second.id}'`,
  );
}

async function run(
  { dataDir, databaseUrl }: { dataDir: string; databaseUrl: string | undefined },
  sql: string,
): Promise<Record<string, unknown>[]> {
  if (databaseUrl !== undefined) return (await query(databaseUrl, sql)) as Record<string, unknown>[];
  const opened = new DatabaseSync(join(dataDir, 'coffer.db'));
  try {
    return opened.prepare(sql).all();
  } finally {
    opened.close();
  }
}

function changedAt(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
}

/** Names have no fractions of a second. */
function untilNextSecond(target: string): Promise<void> {
  return until('a second has passed', () => {
    const now = `coffer-${new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '')}`;
    return readdirSync(target).every((name) => !name.startsWith(now));
  });
}
