import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, test } from 'node:test';
import pg from 'pg';
import { newPostgresDatabase, query } from '../support/postgres.ts';
import {
  killService,
  newDataDir,
  pause,
  runCoffer,
  type ServiceProcess,
  spawnService,
  startCoffer,
  stopService,
} from '../support/process.ts';
import { call } from '../support/service.ts';

const folder = mkdtempSync(join(tmpdir(), 'coffer-moving-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const READS = 40;

/** Ready to be filled: the root key is never in a backup. */
function withKeyOf(from: string): string {
  const dataDir = newDataDir();
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  copyFileSync(join(from, 'root.key'), join(dataDir, 'root.key'));
  return dataDir;
}

const sender =
  (service: ServiceProcess, token = service.adminToken()) =>
  (method: string, path: string, body?: unknown) =>
    call(service.url, method, path, { token, ...(body !== undefined && { body }) });

/** One of each kind of column: numbers, flags, JSON, bytes, text of every script, nothing. */
async function furnish(service: ServiceProcess): Promise<{ envelope: string }> {
  const send = sender(service);
  const made = [
    await send('POST', '/v1/vaults', { name: 'shop', environment: 'staging' }),
    await send('POST', '/v1/vaults/shop/secrets', {
      path: 'db/password',
      value: 'ünïcødé \u{1f512} "quoted" \\ line\nbreak',
      metadata: { description: 'données', tags: ['a', 'b'] },
    }),
    await send('POST', '/v1/vaults/shop/secrets', { path: 'json', type: 'json', value: '{"n":1}' }),
    await send('POST', '/v1/users', { email: 'ann@example.com', role: 'auditor', password: 'correct horse battery' }),
    await send('POST', '/eaas/keys', { name: 'orders' }),
    await send('POST', '/v1/app-connections', {
      name: 'web',
      vault: 'shop',
      allowed_paths: ['*'],
      mtls_required: false,
    }),
    await send('POST', '/environments', { name: 'base' }),
  ];
  for (const { status, text } of made) assert.ok(status < 300, text);
  return (await send('POST', '/eaas/keys/orders/encrypt', { plaintext: 'sealed before' })).body;
}

async function assertFurnished(service: ServiceProcess, token: string, envelope: string): Promise<void> {
  const send = sender(service, token);
  const secret = await send('GET', '/v1/vaults/shop/secrets/db/password');
  assert.equal(secret.body.value, 'ünïcødé \u{1f512} "quoted" \\ line\nbreak');
  assert.deepEqual(secret.body.metadata.tags, ['a', 'b']);
  const opened = await send('POST', '/eaas/keys/orders/decrypt', { envelope });
  assert.equal(opened.body.plaintext, 'sealed before');
  const login = { email: 'ann@example.com', password: 'correct horse battery' };
  assert.equal((await call(service.url, 'POST', '/auth/login', { body: login })).status, 200);
  assert.equal((await send('GET', '/v1/app-connections')).body.app_connections.length, 1);
  const written = await send('PUT', '/v1/vaults/shop/secrets/db/password', { value: 'after the move' });
  assert.equal(written.body.version, 2);
  const verified = await send('GET', '/v1/audit/verify');
  assert.equal(verified.body.valid, true, verified.text);
}

async function readsRecorded(service: ServiceProcess, token: string): Promise<number> {
  const { body } = await sender(service, token)('GET', '/v1/audit?action=secrets:read&limit=200');
  return body.entries.length;
}

const PLACES = ['sqlite', 'postgres'] as const;
const fresh = async (kind: (typeof PLACES)[number]) => (kind === 'postgres' ? await newPostgresDatabase() : undefined);

for (const [from, to] of [PLACES, PLACES.toReversed()] as const) {
  test(`a backup of ${from}, made while it works and before a kill, is restored into ${to}`, async () => {
    const source = { dataDir: newDataDir(), databaseUrl: await fresh(from) };
    const service = await spawnService(source);
    const { envelope } = await furnish(service);
    const token = service.adminToken();
    const read = () => sender(service)('GET', '/v1/vaults/shop/secrets/db/password');
    const file = join(folder, `${from}.backup`);
    const unlinked = await holdLinking(source.databaseUrl);
    await Promise.all(Array.from({ length: READS }, read));
    // Some of these are in the journal of SQLite when the backup is made, and none of all is linked on PostgreSQL.
    const more = runReads(read);
    const made = await runCoffer(['server', 'backup', file], source);
    assert.equal(made.code, 0, made.stderr);
    await more;
    await unlinked?.();
    await killService(service);

    const target = { dataDir: withKeyOf(source.dataDir), databaseUrl: await fresh(to) };
    const restored = await runCoffer(['server', 'restore', file], target);
    assert.equal(restored.code, 0, restored.stderr);
    const moved = await spawnService(target);
    assert.ok((await readsRecorded(moved, token)) >= READS, 'entries of reads before the backup are in the log');
    await assertFurnished(moved, token, envelope);
    await stopService(moved);
    const verified = await runCoffer(['server', 'verify'], target);
    assert.equal(verified.code, 0, verified.stdout + verified.stderr);
  });
}

/** Nodes link nothing while somebody holds the heads; without PostgreSQL there is nothing to hold. */
async function holdLinking(url: string | undefined): Promise<(() => Promise<void>) | null> {
  if (url === undefined) return null;
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('begin; select * from audit_heads for update');
  return async () => {
    const { rows } = await client.query('select count(*)::integer as n from audit_segments where first_seq is null');
    assert.ok(rows[0].n > 0, 'nothing waited to be linked');
    await client.end();
  };
}

async function runReads(read: () => Promise<unknown>): Promise<void> {
  for (let n = 0; n < 20; n++) await read();
}

describe('coffer server copy', () => {
  let source: { dataDir: string };
  let service: ServiceProcess;
  let envelope: string;
  let token: string;

  function content(): Record<string, string> {
    const names = readdirSync(source.dataDir).filter((name) => !/^(lock.*|.*-shm)$/.test(name));
    return Object.fromEntries(
      names.map((name) => [
        name,
        createHash('sha256')
          .update(readFileSync(join(source.dataDir, name)))
          .digest('hex'),
      ]),
    );
  }

  test('refuses while the service runs, and what is no PostgreSQL database', async () => {
    source = { dataDir: newDataDir() };
    service = await spawnService(source);
    ({ envelope } = await furnish(service));
    token = service.adminToken();
    const url = await newPostgresDatabase();
    const running = await runCoffer(['server', 'copy', '--to', url], source);
    assert.equal(running.code, 1);
    assert.match(running.stderr, /Another Coffer process uses the data folder/);
    assert.deepEqual(await query(url, "select 1 from pg_tables where schemaname = 'public'"), [], 'nothing was made');
    const other = await runCoffer(['server', 'copy', '--to', 'mysql://there'], source);
    assert.match(other.stderr, /empty PostgreSQL database/);
    const read = () => sender(service)('GET', '/v1/vaults/shop/secrets/db/password');
    await Promise.all(Array.from({ length: READS }, read));
    // Its journal is still there, with entries that no database has.
    await killService(service);
  });

  test('takes everything along, leaves the source as it is, and can be interrupted', async () => {
    const before = content();
    const url = await newPostgresDatabase();
    for (const ms of [700, 1100, 1500]) {
      const started = startCoffer(['server', 'copy', '--to', url], source);
      await pause(ms);
      started.kill('SIGKILL');
      await started.exited;
    }
    const copied = await runCoffer(['server', 'copy', '--to', url], source);
    // One of those that were killed may have been done.
    if (copied.code === 0)
      assert.match(copied.stdout, /row counts of all tables match.*1 tenants were verified, and 2 values/);
    else assert.match(copied.stderr, /A Coffer database already exists there/);
    assert.deepEqual(content(), before);
    const twice = await runCoffer(['server', 'copy', '--to', url], source);
    assert.equal(twice.code, 1);
    assert.match(twice.stderr, /already/);

    // As an operator does, with the same folder; a copy of it, since it stores from then on how far the log has come.
    const dataDir = newDataDir();
    cpSync(source.dataDir, dataDir, { recursive: true });
    const moved = await spawnService({ dataDir, databaseUrl: url });
    assert.equal(await readsRecorded(moved, token), READS);
    await assertFurnished(moved, token, envelope);
    await stopService(moved);
  });

  test('does not go on with what an earlier copy of another state left there, and nothing starts on that', async () => {
    const url = await newPostgresDatabase();
    const copied = await runCoffer(['server', 'copy', '--to', url], source);
    assert.equal(copied.code, 0, copied.stderr);
    await query(url, "update installation set root_key_id = 'restoring copy of another state'");
    const again = await runCoffer(['server', 'copy', '--to', url], source);
    assert.equal(again.code, 1);
    assert.match(again.stderr, /A Coffer database already exists there: use an empty one/);
    assert.ok(existsSync(join(source.dataDir, 'coffer.db')));
  });

  test('does not make a startable copy of a database that somebody has edited', async () => {
    const url = await newPostgresDatabase();
    const copied = await runCoffer(['server', 'copy', '--to', url], source);
    assert.equal(copied.code, 0, copied.stderr);
    await query(url, "update users set role = 'owner' where email = 'ann@example.com'");
    const next = await newPostgresDatabase();
    const target = { ...source, databaseUrl: url };
    const refused = await runCoffer(['server', 'copy', '--to', next], target);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /The copy failed verification/);
    const [installation] = await query(next, 'select root_key_id from installation');
    assert.match(String(installation?.['root_key_id']), /^restoring copy/);
  });

  test('takes no journal for closed and no older database for the newest because somebody wrote so', async () => {
    const edited = newDataDir();
    cpSync(source.dataDir, edited, { recursive: true });
    const database = new DatabaseSync(join(edited, 'coffer.db'));
    database.exec('update audit_journal set is_open = 0');
    database.close();
    const hidden = await runCoffer(['server', 'copy', '--to', await newPostgresDatabase()], { dataDir: edited });
    assert.equal(hidden.code, 1);
    assert.match(hidden.stderr, /audit_journal was changed outside the service/);

    const older = newDataDir();
    cpSync(source.dataDir, older, { recursive: true });
    const later = newDataDir();
    cpSync(source.dataDir, later, { recursive: true });
    const goesOn = await spawnService({ dataDir: later });
    await sender(goesOn)('POST', '/v1/vaults', { name: 'later', environment: 'staging' });
    await stopService(goesOn);
    copyFileSync(join(later, 'audit.anchor'), join(older, 'audit.anchor'));
    const putBack = await runCoffer(['server', 'copy', '--to', await newPostgresDatabase()], { dataDir: older });
    assert.equal(putBack.code, 1, putBack.stdout);
    assert.match(putBack.stderr, /The copy failed verification/);
  });
});
