import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { sql } from 'kysely';
import { pino } from 'pino';
import { CofferError } from '../../base/errors.ts';
import { type Outcome, Overtaken, type Tx, UniqueViolation } from '../database.ts';
import { SqliteDatabase } from '../sqlite.ts';
import { Inbox } from './inbox.ts';
import { SharedSqlite } from './shared-sqlite.ts';
import { WriteClient } from './write-client.ts';
import { WriteServer } from './write-server.ts';

/** Short, so that a transaction that hangs is given up soon. */
const SILENT_MS = 300;

describe('a SQLite file that another process writes', () => {
  const folder = mkdtempSync(join(tmpdir(), 'coffer-shared-'));
  const file = join(folder, 'x.db');
  const path = join(folder, 'writer');
  const noted: unknown[] = [];
  let writer: SqliteDatabase;
  let server: WriteServer;
  let shared: SharedSqlite;

  before(async () => {
    writer = new SqliteDatabase(file, { isShared: true });
    await writer.transaction(async (tx) => {
      await sql`create table notes (id integer primary key, text text unique not null, bytes blob)`.execute(tx);
    });
    server = new WriteServer({
      database: writer,
      calls: {
        calls: { double: async (n: number) => 2 * n },
        callsInside: {
          note: async (tx: Tx, text: string) => {
            noted.push(text);
            await sql`insert into notes (text) values (${text})`.execute(tx);
          },
        },
      },
      log: pino({ level: 'silent' }),
      newInbox: () => new Inbox(SILENT_MS),
    });
    await server.listen(path);
    shared = new SharedSqlite(file, await WriteClient.connect(path));
  });
  after(async () => {
    await shared.close();
    await server.close();
    await writer.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const insert = (tx: Tx, text: string, bytes: Uint8Array | null = null) =>
    sql<{ id: number }>`insert into notes (text, bytes) values (${text}, ${bytes}) returning id`.execute(tx);
  const count = async (text: string) => {
    const { rows } = await sql<{ n: number }>`select count(*) as n from notes where text = ${text}`.execute(
      shared.read,
    );
    return rows[0]?.n;
  };

  test('what was committed is there at once, for both', async () => {
    const bytes = new Uint8Array([0, 255, 7]);
    const version = Number(writer.version);
    const versionHere = shared.version;
    assert.equal(shared.version, versionHere);
    const outcomes: Outcome[] = [];
    const id = await shared.transaction(async (tx) => {
      tx.onEnd.push((outcome) => outcomes.push(outcome));
      return (await insert(tx, 'first', bytes)).rows[0]?.id;
    });
    assert.ok(Number(id) > 0);
    assert.deepEqual(outcomes, ['committed']);
    assert.ok(Number(writer.version) > version, 'what the writing process has cached is not used any more');
    assert.notEqual(shared.version, versionHere, 'nor what is cached here');
    for (const database of [shared, writer]) {
      const { rows } = await sql<{ bytes: Uint8Array }>`select bytes from notes where text = 'first'`.execute(
        database.read,
      );
      assert.deepEqual(Buffer.from(rows[0]?.bytes ?? []), Buffer.from(bytes));
    }
  });

  test('it is not written to from here', async () => {
    await assert.rejects(sql`insert into notes (text) values ('direct')`.execute(shared.read));
    assert.equal(await count('direct'), 0);
  });

  test('a transaction that fails leaves nothing, and the next one works', async () => {
    const outcomes: Outcome[] = [];
    const failing = shared.transaction(async (tx) => {
      tx.onEnd.push((outcome) => outcomes.push(outcome));
      await insert(tx, 'undone');
      throw new Error('half-way');
    });
    await assert.rejects(failing, /half-way/);
    assert.deepEqual(outcomes, ['rolled back']);
    await shared.transaction((tx) => insert(tx, 'after'));
    assert.deepEqual([await count('undone'), await count('after')], [0, 1]);
  });

  test('a second row with the same key is recognized, and the transaction can go on', async () => {
    await shared.transaction((tx) => insert(tx, 'unique'));
    await shared.transaction(async (tx) => {
      await assert.rejects(insert(tx, 'unique'), UniqueViolation);
      await insert(tx, 'goes on');
    });
    assert.equal(await count('goes on'), 1);
    await assert.rejects(
      shared.transaction((tx) => insert(tx, 'unique')),
      UniqueViolation,
    );
  });

  test('a transaction that was overtaken is repeated', async () => {
    let attempts = 0;
    await shared.transaction(async (tx) => {
      await insert(tx, 'repeated');
      if (++attempts < 3) throw new Overtaken('changed meanwhile');
    });
    assert.equal(attempts, 3);
    assert.equal(await count('repeated'), 1);
  });

  test('a statement that nobody waits for fails the transaction', async () => {
    const failing = shared.transaction(async (tx) => {
      await insert(tx, 'before a bad one');
      tx.sent.push(insert(tx, 'before a bad one'));
    });
    await assert.rejects(failing, UniqueViolation);
    assert.equal(await count('before a bad one'), 0);
  });

  test('transactions of both do not mix', async () => {
    const add = (database: SharedSqlite | SqliteDatabase) =>
      database.transaction(async (tx) => {
        const { rows } = await sql<{ n: number }>`select count(*) as n from notes where text like 'turn %'`.execute(tx);
        await new Promise(setImmediate);
        await insert(tx, `turn ${rows[0]?.n}`);
      });
    await Promise.all(Array.from({ length: 60 }, (_, i) => add(i % 2 === 0 ? shared : writer)));
    const { rows } = await sql<{ n: number }>`select count(*) as n from notes where text like 'turn %'`.execute(
      shared.read,
    );
    assert.equal(rows[0]?.n, 60);
  });

  test('a large value and many of them arrive whole', async () => {
    const bytes = Buffer.alloc(3_000_000, 7);
    await shared.transaction(async (tx) => {
      await insert(tx, 'large', bytes);
      for (let i = 0; i < 300; i++) tx.sent.push(insert(tx, `many ${i}`, Buffer.alloc(i, i)));
    });
    const { rows } = await sql<{ bytes: Uint8Array }>`select bytes from notes where text = 'large'`.execute(
      shared.read,
    );
    assert.ok(bytes.equals(Buffer.from(rows[0]?.bytes ?? [])));
    assert.equal(await count('many 299'), 1);
  });

  test('functions of the writing process are called, in a transaction and outside of it', async () => {
    assert.equal(await shared.writer.call('double', 21), 42);
    await assert.rejects(shared.writer.call('unknown'), /has no function unknown/);
    await shared.transaction((tx) => shared.callInside(tx, 'note', 'from inside'));
    assert.equal(await count('from inside'), 1);
    await assert.rejects(
      shared.transaction(async (tx) => {
        await shared.callInside(tx, 'note', 'undone inside');
        throw new Error('half-way');
      }),
      /half-way/,
    );
    assert.deepEqual(noted, ['from inside', 'undone inside']);
    assert.equal(await count('undone inside'), 0);
  });

  test('one that hangs is rolled back, and holds up the others no longer', async () => {
    const { promise: hanging, resolve: goOn } = Promise.withResolvers<void>();
    const hung = shared.transaction(async (tx) => {
      await insert(tx, 'hung');
      await hanging;
      await insert(tx, 'too late');
    });
    hung.catch(() => {});
    await writer.transaction((tx) => insert(tx, 'not held up'));
    assert.equal(await count('not held up'), 1);
    goOn();
    // It is repeated as a whole, or refused; it never becomes half a change.
    const isDone = await hung.then(
      () => true,
      (error) => {
        assert.ok(error instanceof CofferError || error instanceof Overtaken, String(error));
        return false;
      },
    );
    const expected = isDone ? 1 : 0;
    assert.deepEqual([await count('hung'), await count('too late')], [expected, expected]);
  });

  test('what a process had not committed when it ended is undone', async () => {
    const other = new SharedSqlite(file, await WriteClient.connect(path));
    const begun = other.transaction(async (tx) => {
      await insert(tx, 'left behind');
      await other.writer.close();
      await insert(tx, 'left behind too');
    });
    await assert.rejects(begun, CofferError);
    await writer.transaction((tx) => insert(tx, 'goes on after it'));
    assert.deepEqual([await count('left behind'), await count('goes on after it')], [0, 1]);
    await assert.rejects(
      other.transaction((tx) => insert(tx, 'nobody there')),
      CofferError,
    );
  });

  test('a commit whose answer does not arrive is neither called committed nor undone', async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const holding = writer.transaction(() => held);
    const other = new SharedSqlite(file, await WriteClient.connect(path));
    const outcomes: Outcome[] = [];
    const committing = other.transaction(async (tx) => {
      tx.onEnd.push((outcome) => outcomes.push(outcome));
    });
    const refused = assert.rejects(committing, /may have stored it/);
    await new Promise(setImmediate);
    await other.writer.close();
    await refused;
    assert.deepEqual(outcomes, ['unknown']);
    release();
    await holding;
  });

  test('the end of the writing process is announced, and noticed', async () => {
    const ownPath = join(folder, 'other');
    const own = new WriteServer({
      database: writer,
      calls: { calls: {}, callsInside: {} },
      log: pino({ level: 'silent' }),
    });
    await own.listen(ownPath);
    const client = await WriteClient.connect(ownPath);
    const ending = Promise.withResolvers<void>();
    client.onEnding = ending.resolve;
    own.announceEnd();
    await ending.promise;
    let isClosed = false;
    const closed = own.close().then(() => {
      isClosed = true;
    });
    assert.equal(isClosed, false, 'it waits for the others');
    await client.close();
    await closed;
    await assert.rejects(client.call('sync'), CofferError);
  });
});
