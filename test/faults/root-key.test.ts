import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { assertUnharmed } from '../support/faults.ts';
import { Load } from '../support/load.ts';
import { newPostgresDatabase, query } from '../support/postgres.ts';
import { killService, pause, runCoffer, runService, spawnService, stopService } from '../support/process.ts';
import { onBothDatabases } from '../support/service.ts';

const OTHER_KEY = randomBytes(32).toString('base64');

const TABLES = ['installation', 'keys', 'secrets', 'secret_versions', 'audit_segments', 'audit_heads', 'tokens'];

/** What is stored, whichever way: a refused start leaves it as it is. What SQLite has in its log may move into its file. */
async function digestOf(dataDir: string, databaseUrl: string | undefined): Promise<string> {
  const digest = createHash('sha256');
  for (const name of readdirSync(dataDir).sort()) {
    if (!/^lock|^coffer\.db/.test(name)) digest.update(name).update(readFileSync(join(dataDir, name)));
  }
  for (const table of TABLES) digest.update(JSON.stringify(await rowsOf(dataDir, databaseUrl, table)));
  return digest.digest('hex');
}

async function rowsOf(dataDir: string, databaseUrl: string | undefined, table: string): Promise<unknown[]> {
  if (databaseUrl !== undefined) return query(databaseUrl, `select md5(t::text) as row from ${table} t order by 1`);
  const database = new DatabaseSync(join(dataDir, 'coffer.db'), { readOnly: true });
  try {
    return database.prepare(`select * from ${table}`).all();
  } finally {
    database.close();
  }
}

onBothDatabases('a root key that is lost or wrong', (kind) => {
  test('lets what runs go on, refuses every start and changes nothing; put back, nothing is missing', async () => {
    const databaseUrl = kind === 'postgres' ? await newPostgresDatabase() : undefined;
    const service = await spawnService({ databaseUrl });
    const { dataDir } = service;
    const token = service.adminToken();
    const file = join(dataDir, 'root.key');
    const key = readFileSync(file);
    const load = new Load();
    load.start(service.url, token);
    await pause(500);
    rmSync(file);
    await pause(700);
    await killService(service);
    await load.stop();
    assert.deepEqual(load.refused, [], 'it had read the key when it started');

    const refused = async (expected: RegExp, env: Record<string, string> = {}) => {
      const before = await digestOf(dataDir, databaseUrl);
      const starts = [runService, (options: object) => runCoffer(['server', 'new-admin-token'], options)];
      for (const start of starts) {
        const { code, stdout, stderr } = await start({ dataDir, databaseUrl, env });
        assert.deepEqual([code, stdout], [1, '']);
        assert.match(stderr, expected);
        assert.match(stderr, /^[^\n]+\n$/);
        for (const secret of [String(key).trim(), OTHER_KEY]) assert.equal(stderr.includes(secret), false);
      }
      assert.equal(await digestOf(dataDir, databaseUrl), before);
    };
    await refused(/root key file \S+ is missing.*Restore it from your backup/);
    const wrong =
      /cannot decrypt this database.*Provide the key that the database was created or last rekeyed with; nothing was changed/;
    await refused(wrong, { CV_ROOT_KEY_PROVIDER: 'env', CV_ROOT_KEY: OTHER_KEY });
    await refused(wrong, { CV_ROOT_KEY_PROVIDER: 'passphrase', CV_ROOT_PASSPHRASE: 'not what it was made with' });
    writeFileSync(file, `${OTHER_KEY}\n`, { mode: 0o600 });
    await refused(wrong);
    writeFileSync(file, key);
    const again = await spawnService({ dataDir, databaseUrl });
    await assertUnharmed(again.url, token, load.acknowledged);
    await stopService(again);
  });
});
