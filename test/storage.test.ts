import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { StartError } from '../server/src/kernel/base/data-folder.ts';
import { CofferError } from '../server/src/kernel/base/errors.ts';
import { type Database, type Tx, UniqueViolation } from '../server/src/kernel/storage/database.ts';
import { Epochs, raiseEpoch } from '../server/src/kernel/storage/epochs.ts';
import {
  type LoadedMigration,
  listMigrations,
  type Migration,
  migrate,
  requireMigrated,
} from '../server/src/kernel/storage/migrate.ts';
import { PreparedQuery } from '../server/src/kernel/storage/prepared-query.ts';
import { SCHEMA_VERSION } from '../server/src/kernel/storage/schema-version.ts';
import type { TenantsTable } from '../server/src/kernel/storage/tables.ts';
import { openDatabase } from './support/database.ts';
import type { Unguarded } from './support/rows.ts';
import { onBothDatabases } from './support/service.ts';

let unique = 0;

function tenant(name: string): TenantsTable {
  const tenant_id = `tenant_${++unique}`;
  return {
    tenant_id,
    name,
    status: 'active',
    is_operator: 0,
    plan: 'starter',
    rate_overrides: '{}',
    epoch: 1,
    created_at: 1,
    require_mfa: null,
    anomaly_thresholds: null,
    mail_notices: null,
    base_plan: null,
  };
}

const insert = (tx: Tx, row: TenantsTable) => (tx as unknown as Unguarded).insertInto('tenants').values(row).execute();

const RENAME = new PreparedQuery<{ name: string; tenantId: string }, never>((db, parameter) =>
  (db as unknown as Unguarded)
    .updateTable('tenants')
    .set({ name: parameter('name') })
    .where('tenant_id', '=', parameter('tenantId'))
    .$castTo<never>(),
);

onBothDatabases('storage', (kind) => {
  let db: Database;
  before(async () => {
    db = await openDatabase(kind);
  });
  const names = async () => (await db.read.selectFrom('tenants').select('name').execute()).map((row) => row.name);

  test('a transaction commits whole or not at all', async () => {
    await db.transaction(async (tx) => {
      await insert(tx, tenant('kept'));
    });
    await assert.rejects(
      db.transaction(async (tx) => {
        await insert(tx, tenant('lost'));
        throw new CofferError('IN_USE', 'no');
      }),
      CofferError,
    );
    const all = await names();
    assert.ok(all.includes('kept'));
    assert.ok(!all.includes('lost'));
  });

  test('what is not committed is not seen by readers', async () => {
    await db.transaction(async (tx) => {
      await insert(tx, tenant('pending'));
      assert.ok(!(await names()).includes('pending'));
    });
    assert.ok((await names()).includes('pending'));
  });

  test('the reading side cannot write', async () => {
    await assert.rejects(insert(db.read as Tx, tenant('sneaked in')));
    assert.ok(!(await names()).includes('sneaked in'));
  });

  test('a second row with the same key is a UniqueViolation on either database', async () => {
    await db.transaction((tx) => insert(tx, tenant('once')).then(() => undefined));
    await assert.rejects(
      db.transaction((tx) => insert(tx, tenant('once'))),
      UniqueViolation,
    );
  });

  test('a change that nobody waits for is part of the transaction, and its failure is the failure of all', async () => {
    const row = tenant('sent');
    const rename = (tx: Tx, name: string) => RENAME.send(tx, { name, tenantId: row.tenant_id });
    await db.transaction(async (tx) => {
      await insert(tx, row);
      rename(tx, 'sent and renamed');
      const seen = tx.selectFrom('tenants').select('name').where('tenant_id', '=', row.tenant_id);
      assert.equal((await seen.executeTakeFirst())?.name, 'sent and renamed', 'the next statement sees it');
      rename(tx, 'sent last');
    });
    assert.ok((await names()).includes('sent last'));

    await db.transaction((tx) => insert(tx, tenant('taken')).then(() => undefined));
    const lost = tenant('lost with what was sent');
    const ended: string[] = [];
    const failing = (after: (tx: Tx) => Promise<unknown>) =>
      db.transaction(async (tx) => {
        tx.onEnd.push((outcome) => ended.push(outcome));
        await insert(tx, lost);
        rename(tx, 'taken');
        await after(tx);
      });
    await assert.rejects(
      failing(async () => {}),
      UniqueViolation,
      'at the commit',
    );
    await assert.rejects(
      failing((tx) => tx.selectFrom('tenants').select('name').execute()),
      UniqueViolation,
      'at the next statement',
    );
    assert.deepEqual(ended, ['rolled back', 'rolled back']);
    await db.transaction(async (tx) => void tx.onEnd.push((outcome) => ended.push(outcome)));
    assert.equal(ended.at(-1), 'committed');
    const all = await names();
    assert.ok(all.includes('sent last') && !all.includes(lost.name));
  });

  test('a transaction inside a transaction is a defect that shows at once', async () => {
    await assert.rejects(
      db.transaction(async () => {
        await db.transaction(async () => {});
      }),
      /inside a transaction/,
    );
  });

  test('a transaction used beyond its end is dead', async () => {
    let leaked: Tx | undefined;
    await db.transaction(async (tx) => {
      leaked = tx;
    });
    await assert.rejects(insert(leaked as Tx, tenant('after the end')), /has ended/);
  });

  test('read, decide, write under a lock loses no update, however many do it at once', async () => {
    const row = tenant('counter');
    await db.transaction((tx) => insert(tx, row).then(() => undefined));
    const increment = () =>
      db.transaction(async (tx) => {
        const of = tx.selectFrom('tenants').select('epoch').where('tenant_id', '=', row.tenant_id);
        const { epoch } = await of.forUpdate().executeTakeFirstOrThrow();
        await sleep(Math.random());
        await tx
          .updateTable('tenants')
          .set({ epoch: epoch + 1 })
          .where('tenant_id', '=', row.tenant_id)
          .execute();
      });
    await Promise.all(Array.from({ length: 40 }, increment));
    assert.equal(await new Epochs(db).current(row.tenant_id), 41);
  });

  test('an epoch raised before a query is in its result', async () => {
    const row = tenant('epochs');
    await db.transaction((tx) => insert(tx, row).then(() => undefined));
    const epochs = new Epochs(db);
    let raised = 1;
    const asking = Array.from({ length: 200 }, async (_, i) => {
      await sleep(Math.random() * 30);
      if (i % 10 === 0) {
        await db.transaction((tx) => raiseEpoch(tx, row.tenant_id));
        raised++;
      }
      const atLeast = raised;
      const seen = await epochs.current(row.tenant_id);
      assert.ok(seen !== null && seen >= atLeast, `${seen} is older than ${atLeast}`);
    });
    await Promise.all(asking);
    assert.equal(await epochs.current('tenant_none'), null);
  });

  test('a prepared query binds its parameters by name, constants included', async () => {
    await db.transaction((tx) => insert(tx, tenant('prepared')).then(() => undefined));
    const query = new PreparedQuery<{ name: string }, { name: string; plan: string }>((on, parameter) =>
      on
        .selectFrom('tenants')
        .select(['name', 'plan'])
        .where('plan', '=', 'starter')
        .where('name', '=', parameter('name')),
    );
    assert.deepEqual(await db.query(query, { name: 'prepared' }).then((rows) => rows.map((r) => ({ ...r }))), [
      { name: 'prepared', plan: 'starter' },
    ]);
    assert.deepEqual([...(await db.query(query, { name: "x' or '1'='1" }))], []);
  });

  test('text is compared byte by byte', async () => {
    for (const name of ['Zeta', 'alpha', 'a-b', 'a_b', 'ab', 'Äpfel']) {
      await db.transaction((tx) => insert(tx, tenant(`sort-${name}`)).then(() => undefined));
    }
    const rows = await db.read
      .selectFrom('tenants')
      .select('name')
      .where('name', 'like', 'sort-%')
      .orderBy('name')
      .execute();
    assert.deepEqual(
      rows.map((row) => row.name.slice(5)),
      ['Zeta', 'a-b', 'a_b', 'ab', 'alpha', 'Äpfel'],
    );
  });
});

onBothDatabases('migrations', (kind) => {
  test('run once, in order, however many nodes start together', async () => {
    const db = await openDatabase(kind, { migrated: false });
    const migrations = listMigrations();
    const runs = await Promise.all(Array.from({ length: 4 }, () => migrate(db, migrations)));
    assert.deepEqual(runs.flatMap((run) => run.applied).toSorted(), migrations.map((m) => m.name).toSorted());
    assert.deepEqual(await migrate(db, migrations), { applied: [] });
  });

  test('those that a database has are neither read nor given a transaction', async () => {
    const db = await openDatabase(kind);
    const unread = listMigrations().map((one) => ({ ...one, load: () => assert.fail(`${one.name} was read`) }));
    let transactions = 0;
    const counting = new Proxy(db, {
      get(target, name) {
        const value = Reflect.get(target, name, target);
        if (name === 'transaction') transactions++;
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    assert.deepEqual(await migrate(counting, unread), { applied: [] });
    assert.ok(transactions <= 2, `${transactions} transactions for ${unread.length} migrations`);
  });

  test('a step that fails leaves nothing of itself', async () => {
    const db = await openDatabase(kind, { migrated: false });
    const migrations = listMigrations();
    const broken = {
      version: SCHEMA_VERSION + 1,
      name: 'broken',
      load: async (): Promise<LoadedMigration> => ({
        description: '',
        isAdditive: true,
        up: async (schema) => {
          await schema.createTable('half').addColumn('a', 'text').execute();
          throw new Error('power cut');
        },
      }),
    };
    await assert.rejects(migrate(db, [...migrations, broken]), /power cut/);
    await assert.rejects(
      db.read
        .selectFrom('half' as 'tenants')
        .selectAll()
        .execute(),
    );
    assert.deepEqual(await migrate(db, migrations), { applied: [] });
  });

  test('every old version of a fortress secret gets the key it was sealed under, ordinary ones none', async () => {
    const db = await openDatabase(kind, { migrated: false });
    const migrations = listMigrations();
    const at = migrations.findIndex(({ name }) => name === 'versions-of-keys');
    await migrate(db, migrations.slice(0, at));
    const key = Buffer.from('wrapped');
    await db.transaction(async (tx) => {
      for (const [secretId, dataKey] of [
        ['fortress', key],
        ['ordinary', null],
      ] as const) {
        await sql`insert into secrets (tenant_id, vault_id, deleted_no, path, secret_id, secret_no, type, environment, protection, version, metadata,
          tags, created_at, updated_at, fingerprint, data_key, sealed_version, sealed) values ('t', 'v', 0, ${secretId}, ${secretId},
          ${secretId.charCodeAt(0)}, 'generic', 'staging', 'standard', 2, '{}', '[]', 1, 1, ${dataKey === null ? key : null}, ${dataKey}, 2, ${key})`.execute(
          tx,
        );
        for (const version of [1, 2]) {
          await sql`insert into secret_versions (tenant_id, secret_id, version, operation, reason, author_kind, author_id, author_name, type, metadata,
            tags, created_at, sealed_version, sealed) values ('t', ${secretId}, ${version}, 'create', '', '', '', '', 'generic', '{}', '[]', 1,
            ${version}, ${key})`.execute(tx);
        }
        await sql`insert into rotations (tenant_id, rotation_id, secret_id, status, backend, reason, author_kind, author_id, author_name, sealed_next,
          failure, started_at, lease_until) values ('t', ${secretId}, ${secretId}, 'in_progress', '', '', '', '', '', ${key}, '', 1, 1)`.execute(
          tx,
        );
      }
    });
    await migrate(db, migrations);
    const versions = await db.read
      .selectFrom('secret_versions')
      .select(['secret_id', 'version', 'data_key'])
      .orderBy('secret_id')
      .orderBy('version')
      .execute();
    const text = (bytes: Uint8Array | null) => bytes && Buffer.from(bytes).toString();
    assert.deepEqual(
      versions.map((row) => [row.secret_id, row.version, text(row.data_key)]),
      [
        ['fortress', 1, 'wrapped'],
        ['fortress', 2, 'wrapped'],
        ['ordinary', 1, null],
        ['ordinary', 2, null],
      ],
    );
    const pending = await db.read.selectFrom('rotations').selectAll().orderBy('secret_id').execute();
    assert.deepEqual(
      pending.map((row) => text(row.data_key_next)),
      ['wrapped', null],
    );
    const rows = await db.read.selectFrom('secrets').selectAll().orderBy('secret_id').execute();
    assert.deepEqual(
      rows.map((row) => row.fingerprint_version),
      [0, 0],
    );
  });

  test('certificates that are stored already are marked, so that their ends are read', async () => {
    const db = await openDatabase(kind, { migrated: false });
    const migrations = listMigrations();
    const at = migrations.findIndex(({ name }) => name === 'secret-expiry');
    await migrate(db, migrations.slice(0, at));
    await db.transaction(async (tx) => {
      for (const [i, type] of ['certificate', 'generic'].entries()) {
        await sql`insert into secrets (tenant_id, vault_id, deleted_no, path, secret_id, secret_no, type, environment, protection, version, metadata,
          tags, created_at, updated_at, sealed_version, sealed) values ('t', 'v', 0, ${type}, ${type}, ${i}, ${type}, 'staging', 'standard', 1, '{}',
          '[]', 1, 1, 1, ${Buffer.from('sealed')})`.execute(tx);
      }
    });
    await migrate(db, migrations);
    const rows = await db.read.selectFrom('secrets').select(['type', 'expires_at']).orderBy('type').execute();
    assert.deepEqual(
      rows.map(({ type, expires_at }) => [type, expires_at]),
      [
        ['certificate', -1],
        ['generic', null],
      ],
    );
  });

  test('a schema newer than the code is refused', async () => {
    const db = await openDatabase(kind);
    const migrations = listMigrations();
    await assert.rejects(
      migrate(db, migrations.slice(0, -1)),
      (error) => error instanceof StartError && /newer/.test(error.message),
    );
  });

  test('a schema older than the first of them is refused and left alone', async () => {
    const db = await openDatabase(kind, { migrated: false });
    const first = async (version: number): Promise<Migration> => ({
      version,
      name: `first-${version}`,
      load: async () => ({ description: '', isAdditive: true, up: async () => {} }),
    });
    await migrate(db, [await first(13)]);
    const before = await sql`select * from schema_version`.execute(db.read);
    await assert.rejects(
      migrate(db, listMigrations()),
      (error) =>
        error instanceof StartError && /a release before 0\.4\.0\. Start the last 0\.4 release/.test(error.message),
    );
    assert.deepEqual(await sql`select * from schema_version`.execute(db.read), before);
  });

  test('a node, and nothing else, starts on a newer schema that only has more', async () => {
    const db = await openDatabase(kind);
    const migrations = listMigrations();
    const refused = (error: unknown) => error instanceof StartError && /newer/.test(error.message);
    const next = (isAdditive: boolean, ahead: number): Migration => ({
      version: SCHEMA_VERSION + ahead,
      name: `next-${ahead}`,
      load: async () => ({
        description: '',
        isAdditive,
        up: async (schema) => {
          await schema.createTable(`next_${ahead}`).addColumn('a', 'text').execute();
        },
      }),
    });
    const epochs = () => db.read.selectFrom('tenants').select(['tenant_id', 'epoch']).orderBy('tenant_id').execute();
    const added = [...migrations, next(true, 1)];
    await migrate(db, added);
    assert.deepEqual(await migrate(db, migrations, { mayBeNewer: true }), { applied: [] });
    await assert.rejects(migrate(db, migrations), refused);
    await requireMigrated(db, migrations);
    const before = await epochs();
    await migrate(db, [...added, next(false, 2)]);
    await assert.rejects(migrate(db, migrations, { mayBeNewer: true }), refused);
    await assert.rejects(migrate(db, added, { mayBeNewer: true }), refused);
    await assert.rejects(requireMigrated(db, added), StartError);
    assert.deepEqual(
      await epochs(),
      before.map((tenant) => ({ ...tenant, epoch: tenant.epoch + 1 })),
    );
  });

  test('each says what it does', async () => {
    for (const { name, load } of listMigrations()) {
      assert.match((await load()).description, /^\S[^\n]*[.)]$/, name);
    }
  });
});
