import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { cpSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { pino } from 'pino';
import { Anchor } from '../../server/src/kernel/audit/chain/anchor.ts';
import { genesis, HEAD_PURPOSE, Heads } from '../../server/src/kernel/audit/chain/heads.ts';
import { entriesOf } from '../../server/src/kernel/audit/chain/segment.ts';
import type { AuditEntry } from '../../server/src/kernel/audit/entry/entry.ts';
import { frameAt, PAGE_BYTES } from '../../server/src/kernel/audit/journal/journal-frame.ts';
import { JournalKeys } from '../../server/src/kernel/audit/journal/journal-state.ts';
import { SqliteAuditStore } from '../../server/src/kernel/audit/journal/sqlite-audit-store.ts';
import { newId } from '../../server/src/kernel/base/ids.ts';
import { Keyring } from '../../server/src/kernel/keys/keyring.ts';
import { Metrics } from '../../server/src/kernel/observability/metrics.ts';
import type { SqliteDatabase } from '../../server/src/kernel/storage/sqlite.ts';
import { SYSTEM_TENANT } from '../../server/src/kernel/storage/tables.ts';
import { openDatabase } from '../support/database.ts';
import { failWrites } from '../support/disk.ts';
import { assertChainValid, assertNothingLost, Load, readAll } from '../support/load.ts';
import {
  killService,
  newDataDir,
  pause,
  randomBetween,
  runCoffer,
  runService,
  type ServiceProcess,
  spawnService,
  stopService,
} from '../support/process.ts';
import { call, TestClock } from '../support/service.ts';

const JOURNAL = 'audit.journal';

function sql(dataDir: string, ...statements: string[]): void {
  const database = new DatabaseSync(join(dataDir, 'coffer.db'), { timeout: 5000 });
  for (const statement of statements) database.exec(statement);
  database.close();
}

/** While the database takes no entries, they stay in the journal. */
const HOLD = `create trigger hold before insert on audit_segments begin select raise(abort, 'held by a test'); end`;
const LET_GO = 'drop trigger hold';

/** A service that was killed while each of these requests had its entry in the journal and nowhere else, in a batch of its own. */
async function killedWhileWaiting(count: number) {
  const service = await spawnService();
  const { dataDir } = service;
  const token = service.adminToken();
  sql(dataDir, HOLD);
  const requests: string[] = [];
  for (let i = 0; i < count; i++) requests.push(await readMe(service, token));
  await killService(service);
  sql(dataDir, LET_GO);
  return { dataDir, token, requests, file: join(dataDir, JOURNAL) };
}

async function readMe(service: { url: string }, token: string): Promise<string> {
  const { status, headers, text } = await call(service.url, 'GET', '/auth/me', { token });
  assert.equal(status, 200, text);
  return String(headers.get('x-request-id'));
}

async function timesRecorded(service: ServiceProcess, token: string, requests: readonly string[]): Promise<number[]> {
  await assertChainValid(service.url, token);
  const entries = await readAll(service.url, token, '/v1/audit', 'entries');
  const ids = entries.map((entry) => entry['id']);
  assert.equal(new Set(ids).size, ids.length, 'an entry is there twice');
  return requests.map((id) => entries.filter((entry) => entry['request_id'] === id).length);
}

describe('entries that wait in the journal', () => {
  test('are in the log after a kill and a start, once each; a clean end leaves no journal', async () => {
    const { dataDir, token, requests, file } = await killedWhileWaiting(5);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    const service = await spawnService({ dataDir });
    assert.deepEqual(await timesRecorded(service, token, requests), [1, 1, 1, 1, 1]);
    assert.ok(existsSync(file), 'reading the log is recorded too');
    await stopService(service);
    assert.equal(existsSync(file), false);
    const again = await spawnService({ dataDir });
    assert.deepEqual(await timesRecorded(again, token, requests), [1, 1, 1, 1, 1]);
    await stopService(again);
  });

  test('are there once if the process is killed after they were moved, with the journal as it was before', async () => {
    const service = await spawnService();
    const { dataDir } = service;
    const token = service.adminToken();
    sql(dataDir, HOLD);
    const requests: string[] = [];
    for (let i = 0; i < 5; i++) requests.push(await readMe(service, token));
    service.kill('SIGSTOP');
    const before = readFileSync(join(dataDir, JOURNAL));
    service.kill('SIGCONT');
    sql(dataDir, LET_GO);
    assert.deepEqual(await timesRecorded(service, token, requests), [1, 1, 1, 1, 1]);
    await killService(service);
    writeFileSync(join(dataDir, JOURNAL), before);
    const again = await spawnService({ dataDir });
    assert.deepEqual(await timesRecorded(again, token, requests), [1, 1, 1, 1, 1]);
    await stopService(again);
  });

  test('lose only what was torn, which was acknowledged to nobody', async () => {
    const { dataDir, token, requests, file } = await killedWhileWaiting(4);
    const bytes = readFileSync(file);
    bytes.fill(0, 4 * PAGE_BYTES + 200);
    writeFileSync(file, bytes);
    const service = await spawnService({ dataDir });
    assert.deepEqual(await timesRecorded(service, token, requests), [1, 1, 1, 0]);
    await stopService(service);
  });

  test('are moved by the operator’s commands, or left for the next start', async () => {
    const { dataDir, token, requests, file } = await killedWhileWaiting(3);
    const migrated = await runCoffer(['server', 'migrate'], { dataDir });
    assert.equal(migrated.code, 0, migrated.stderr);
    assert.ok(existsSync(file), 'without the root key nothing is moved');
    const rekeyed = await runCoffer(['server', 'rekey'], { dataDir });
    assert.equal(rekeyed.code, 0, rekeyed.stderr);
    assert.equal(existsSync(file), false);
    const service = await spawnService({ dataDir });
    assert.deepEqual(await timesRecorded(service, token, requests), [1, 1, 1]);
    const more = await readMe(service, token);
    await killService(service);
    const renewed = await runCoffer(['server', 'new-admin-token'], { dataDir });
    assert.equal(renewed.code, 0, renewed.stderr);
    const again = await spawnService({ dataDir });
    assert.deepEqual(await timesRecorded(again, token, [...requests, more]), [1, 1, 1, 1]);
    await stopService(again);
  });

  test('are there whenever the folder is copied under load', async (t) => {
    const service = await spawnService();
    const load = new Load();
    load.start(service.url, service.adminToken());
    const copies: { dataDir: string; acknowledged: Load['acknowledged'] }[] = [];
    for (let i = 0; i < 4; i++) {
      await pause(randomBetween(30, 300));
      const acknowledged = [...load.acknowledged];
      const dataDir = newDataDir();
      // Stopped, it is on the disk as if it had been killed in that instant.
      service.kill('SIGSTOP');
      cpSync(service.dataDir, dataDir, { recursive: true, mode: 0 });
      service.kill('SIGCONT');
      copies.push({ dataDir, acknowledged });
    }
    await load.stop();
    await stopService(service);
    for (const { dataDir, acknowledged } of copies) {
      const copy = await spawnService({ dataDir });
      await assertChainValid(copy.url, copy.adminToken());
      await assertNothingLost(copy.url, copy.adminToken(), acknowledged);
      await assertChainValid(copy.url, copy.adminToken());
      await stopService(copy);
    }
    t.diagnostic(
      `${copies.map(({ acknowledged }) => acknowledged.length).join(', ')} requests acknowledged at the copies`,
    );
  });
});

describe('a journal that was tampered with', () => {
  const refused = async (dataDir: string, expected: RegExp) => {
    const { code, stderr } = await runService({ dataDir });
    assert.equal(code, 1);
    assert.match(stderr, expected);
    assert.match(stderr, /^Coffer cannot start\. [^\n]+\n$/);
  };

  test('is refused and left alone; moved away, its absence is in the log', async () => {
    const { dataDir, token, requests, file } = await killedWhileWaiting(3);
    const whole = readFileSync(file);
    const changed = Buffer.from(whole);
    assert.equal(frameAt(changed, 2)?.seq, 2);
    changed.write('"deny"', changed.indexOf('"allow"', 2 * PAGE_BYTES));
    writeFileSync(file, changed);
    await refused(dataDir, /lacks batch 2: entries waiting in it were removed or changed\. .*move the file out/);
    assert.deepEqual(readFileSync(file), changed);
    const rekeyed = await runCoffer(['server', 'rekey'], { dataDir });
    assert.equal(rekeyed.code, 1);
    assert.match(rekeyed.stderr, /lacks batch 2/);

    renameSync(file, join(dataDir, '..', 'evidence'));
    for (let start = 1; start <= 2; start++) {
      const service = await spawnService({ dataDir });
      assert.deepEqual(await timesRecorded(service, token, requests), [0, 0, 0]);
      const { body } = await call(service.url, 'GET', '/v1/audit?action=server:start', { token });
      assert.equal(body.entries.length, 1, 'told once');
      assert.deepEqual([body.entries[0].decision, body.entries[0].resource], ['error', 'audit-journal']);
      assert.match(body.entries[0].reason, /journal is missing/);
      await stopService(service);
    }
  });

  test('by way of the database is refused too', async () => {
    const { dataDir, token, requests } = await killedWhileWaiting(2);
    const backup = newDataDir();
    cpSync(dataDir, backup, { recursive: true });
    sql(dataDir, 'update audit_journal set moved = 2');
    await refused(dataDir, /audit_journal was changed/);
    sql(dataDir, 'delete from audit_journal');
    await refused(dataDir, /does not match this database/);
    const service = await spawnService({ dataDir: backup });
    assert.deepEqual(await timesRecorded(service, token, requests), [1, 1]);
    await stopService(service);
  });

  test('cannot be exchanged for one of another state of the same database', async () => {
    const { dataDir, token, requests, file } = await killedWhileWaiting(2);
    const old = readFileSync(file);
    const service = await spawnService({ dataDir });
    sql(dataDir, HOLD);
    await readMe(service, token);
    await killService(service);
    sql(dataDir, LET_GO);
    const present = readFileSync(file);
    writeFileSync(file, old);
    await refused(dataDir, /does not match this database/);
    writeFileSync(file, present);
    const again = await spawnService({ dataDir });
    assert.deepEqual(await timesRecorded(again, token, requests), [1, 1]);
    await stopService(again);
  });
});

describe('a journal on a bad disk', () => {
  const folder = mkdtempSync(join(tmpdir(), 'coffer-store-'));
  const file = join(folder, JOURNAL);
  const clock = new TestClock();
  const tenantId = 'tenant_a';
  let database: SqliteDatabase;
  let heads: Heads;
  let keys: JournalKeys;

  before(async () => {
    database = (await openDatabase('sqlite')) as SqliteDatabase;
    const root = { id: 'root', key: createSecretKey(randomBytes(32)) };
    const keyring = new Keyring(database, root, clock);
    const log = pino({ level: 'silent' });
    heads = new Heads(
      keyring,
      Anchor.open({ file: join(folder, 'audit.anchor'), root, isRootCertain: true, log, metrics: new Metrics() }),
    );
    keys = new JournalKeys(keyring);
    await database.transaction(async (tx) => {
      await keyring.createTenantKey(tx, SYSTEM_TENANT);
      const [headKey] = await keyring.createTenantKey(tx, tenantId, HEAD_PURPOSE);
      assert.ok(headKey !== undefined);
      await tx.insertInto('audit_heads').values(genesis(tenantId, headKey)).execute();
    });
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const newStore = (journalBytes?: number) =>
    new SqliteAuditStore({
      database,
      heads,
      keys,
      file,
      clock,
      log: pino({ level: 'silent' }),
      ...(journalBytes && { journalBytes }),
    });
  const entry = (resource: string): AuditEntry => {
    const [now, empty] = [clock.now(), ''];
    const actor = { actor_kind: 'user', actor_id: 'user_a', actor_name: empty, actor_key: empty };
    const rest = {
      vault: empty,
      status: 200,
      ip: empty,
      user_agent: empty,
      request_id: empty,
      reason: empty,
      details: empty,
    };
    return {
      tenant_id: tenantId,
      id: newId('audit', now),
      at: now,
      ...actor,
      action: 'a:b',
      resource,
      decision: 'allow',
      ...rest,
    };
  };
  const recorded = async () => {
    const rows = await database.read.selectFrom('audit_segments').selectAll().orderBy('first_seq').execute();
    return rows.flatMap((row) => entriesOf(row)).map(({ resource }) => resource);
  };
  const nothingMissing = () => assert.fail('the journal is not missing');
  const execute = async (statement: string) => {
    const connection = new DatabaseSync(database.file, { timeout: 5000 });
    connection.exec(statement);
    connection.close();
  };

  for (const [code, written] of [
    ['ENOSPC', false],
    ['EIO', true],
  ] as const) {
    test(`${code}: refuses, trusts the file no more, loses nothing that was durable, and heals`, async () => {
      const store = newStore();
      await store.append([entry(`${code} before`)]);
      const id = frameAt(readFileSync(file), 0)?.id.toString('hex');
      const fault = failWrites(code, { written });
      await assert.rejects(store.append([entry(`${code} during`)]));
      await assert.rejects(store.append([entry(`${code} still`)]));
      fault.end();
      await store.append([entry(`${code} after`)]);
      assert.notEqual(frameAt(readFileSync(file), 0)?.id.toString('hex'), id, 'another file');
      await store.settle();
      const own = (await recorded()).filter((resource) => resource.startsWith(code));
      assert.deepEqual(own, [`${code} before`, `${code} after`]);
      await store.close();
      assert.equal(existsSync(file), false);
    });
  }

  test('an end while the disk is bad loses nothing that was durable', async () => {
    const store = newStore();
    await store.append([entry('durable')]);
    const fault = failWrites('EIO');
    await assert.rejects(store.append([entry('refused')]));
    fault.end();
    await newStore().recover(nothingMissing);
    assert.ok((await recorded()).includes('durable') && !(await recorded()).includes('refused'));
  });

  test('a database that takes no entries: they wait, until the journal is full; then it refuses, and heals', async () => {
    const store = newStore(8 * PAGE_BYTES);
    await execute(HOLD);
    const acknowledged: string[] = [];
    const write = async (resource: string) => {
      await store.append([entry(resource)]);
      acknowledged.push(resource);
    };
    for (let i = 1; i <= 7; i++) await write(`held ${i}`);
    await assert.rejects(write('one too many'), /held by a test/);
    await assert.rejects(store.settle(), /held by a test/);
    assert.ok(!(await recorded()).some((resource) => resource.startsWith('held')));
    await execute(LET_GO);
    await write('held 8');
    await store.close();
    assert.deepEqual(
      (await recorded()).filter((resource) => resource.startsWith('held')),
      acknowledged,
    );
  });

  test('a batch too long for one frame is written as several', async () => {
    const store = newStore();
    const entries = Array.from({ length: 60 }, (_, i) => ({ ...entry(`long ${i}`), details: 'x'.repeat(40_000) }));
    await store.append(entries);
    const bytes = readFileSync(file);
    assert.ok(bytes.indexOf('long 59') !== -1);
    // The store itself moves them: a second one beside it would be a second process, which the folder's lock keeps out.
    await store.close();
    const own = (await recorded()).filter((resource) => resource.startsWith('long'));
    assert.deepEqual(
      own,
      entries.map(({ resource }) => resource),
    );
  });
});
