import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { loadConfig } from '../../server/src/assembly/settings.ts';
import { backup } from '../../server/src/operator/backup.ts';
import { restore } from '../../server/src/operator/restore.ts';
import { ok } from '../support/people.ts';
import { newMigratedDatabase, newPostgresDatabase } from '../support/postgres.ts';
import { onBothDatabases, startService } from '../support/service.ts';

/** More than two chunks of a backup, so that the rows of the first ones would be stored before a damaged last one is found. */
const VALUE = 'x'.repeat(900_000);

onBothDatabases('a restore that is refused', (database) => {
  const folder = mkdtempSync(join(tmpdir(), 'coffer-refused-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const key = join(folder, 'root.key');
  const whole = join(folder, 'whole.backup');
  let bytes: Buffer;

  before(async () => {
    const databaseUrl = database === 'postgres' ? await newMigratedDatabase() : undefined;
    const service = await startService(database, databaseUrl === undefined ? {} : { databaseUrl });
    await ok(service.call('POST', '/v1/vaults', { body: { name: 'shop', environment: 'staging' } }), 201);
    for (const path of ['first', 'second', 'third'])
      await ok(service.call('POST', '/v1/vaults/shop/secrets', { body: { path, type: 'generic', value: VALUE } }), 201);
    copyFileSync(join(service.dataDir, 'root.key'), key);
    const env = { CV_DATA_DIR: service.dataDir, ...(databaseUrl !== undefined && { CV_DATABASE_URL: databaseUrl }) };
    await backup(loadConfig(env), whole);
    await service.close();
    bytes = readFileSync(whole);
  });

  /** A folder that is not there yet, and with PostgreSQL an empty database. */
  const emptyTarget = async () => {
    const dataDir = join(mkdtempSync(join(folder, 'target-')), 'data');
    const databaseUrl = database === 'postgres' ? await newPostgresDatabase() : undefined;
    return { dataDir, databaseUrl };
  };
  type Target = Awaited<ReturnType<typeof emptyTarget>>;
  const restored = ({ dataDir, databaseUrl }: Target, file: string, keyFile = key) =>
    restore(
      loadConfig({
        CV_DATA_DIR: dataDir,
        CV_ROOT_KEY_FILE: keyFile,
        ...(databaseUrl !== undefined && { CV_DATABASE_URL: databaseUrl }),
      }),
      file,
    );

  const refusedUnchanged = async (target: Target, says: RegExp, restoring: () => Promise<string>) => {
    const stateBefore = await stateOf(target);
    await assert.rejects(restoring(), says);
    assert.deepEqual(await stateOf(target), stateBefore);
  };
  const withHeader = (change: object) => {
    const end = bytes.indexOf('\n');
    const header = { ...JSON.parse(bytes.toString('utf8', 0, end)), ...change };
    return Buffer.concat([Buffer.from(JSON.stringify(header)), bytes.subarray(end)]);
  };
  const changedAt = (at: number) => {
    const copy = Buffer.from(bytes);
    copy[at] = (copy[at] ?? 0) ^ 1;
    return copy;
  };

  for (const [what, content, says] of [
    ['is cut off', () => bytes.subarray(0, -1), /damaged, truncated or modified/],
    ['is cut off in the middle', () => bytes.subarray(0, bytes.length / 2), /damaged, truncated or modified/],
    ['is longer', () => Buffer.concat([bytes, Buffer.from([0])]), /damaged, truncated or modified/],
    ['was changed at its end', () => changedAt(bytes.length - 5), /damaged, truncated or modified/],
    ['was changed in its rows', () => changedAt(bytes.indexOf('\n') + 200), /damaged, truncated or modified/],
    ['has only a header', () => bytes.subarray(0, bytes.indexOf('\n') + 1), /damaged, truncated or modified/],
    ['is empty', () => Buffer.alloc(0), /not a backup/],
    ['is of a newer release', () => withHeader({ schema: 100_000 }), /newer release/],
    ['is from the future', () => withHeader({ made_at: '2999-01-01T00:00:00.000Z' }), /later than the clock says/],
  ] as [string, () => Buffer, RegExp][]) {
    test(`leaves nothing behind: the backup ${what}`, async () => {
      const target = await emptyTarget();
      const file = join(mkdtempSync(join(folder, 'bad-')), 'bad.backup');
      writeFileSync(file, content());
      await refusedUnchanged(target, says, () => restored(target, file));
      assert.ok(!existsSync(target.dataDir));
    });
  }

  test('leaves nothing behind: the root key is another one, or missing', async () => {
    const target = await emptyTarget();
    const other = join(folder, 'other.key');
    writeFileSync(other, `${Buffer.alloc(32, 7).toString('base64')}\n`, { mode: 0o600 });
    for (const keyFile of [other, join(folder, 'absent.key')])
      await refusedUnchanged(target, /root key/, () => restored(target, whole, keyFile));
  });

  test('leaves nothing behind: the file is missing', async () => {
    const target = await emptyTarget();
    await refusedUnchanged(target, /cannot be opened/, () => restored(target, join(folder, 'absent.backup')));
  });

  test('changes nothing of a target that is used', async () => {
    const target = await emptyTarget();
    if (target.databaseUrl === undefined) {
      mkdirSync(target.dataDir, { mode: 0o700 });
      writeFileSync(join(target.dataDir, 'coffer.db-wal'), 'left behind');
    } else await restored(target, whole);
    await refusedUnchanged(target, /already exists/, () => restored(target, whole));
  });

  test('can be repeated with a whole backup', async () => {
    const target = await emptyTarget();
    const file = join(folder, 'cut.backup');
    writeFileSync(file, bytes.subarray(0, -1));
    await assert.rejects(restored(target, file));
    assert.match(await restored(target, whole), /Everything was restored/);
    const left = globSync('**/*.restoring*', { cwd: target.dataDir });
    assert.deepEqual(left, []);
  });
});

/** Every file with its content, and every table and function of the database with the number of rows. */
async function stateOf({
  dataDir,
  databaseUrl,
}: {
  dataDir: string;
  databaseUrl: string | undefined;
}): Promise<unknown> {
  const parent = join(dataDir, '..');
  const files = globSync('**/*', { cwd: parent })
    .toSorted()
    .map((name) => {
      const path = join(parent, name);
      const { mode } = statSync(path);
      const isFile = statSync(path).isFile();
      return { name, mode, digest: isFile ? createHash('sha256').update(readFileSync(path)).digest('hex') : null };
    });
  if (databaseUrl === undefined) return { files };
  const client = new pg.Client(databaseUrl);
  await client.connect();
  try {
    const named = `select 'relation' as kind, relname as name from pg_class where relnamespace = current_schema()::regnamespace
      union all select 'function', proname from pg_proc where pronamespace = current_schema()::regnamespace order by 1, 2`;
    const { rows: objects } = await client.query(named);
    const tables = await client.query('select tablename from pg_tables where schemaname = current_schema() order by 1');
    const counts = [];
    for (const { tablename } of tables.rows) {
      const { rows } = await client.query(
        `select count(*) as n, md5(coalesce(string_agg(t::text, '' order by t::text), '')) from "${tablename}" t`,
      );
      counts.push({ tablename, ...rows[0] });
    }
    return { files, objects, counts };
  } finally {
    await client.end();
  }
}
