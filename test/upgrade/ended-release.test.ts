import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { listMigrations } from '../../server/src/kernel/storage/migrate.ts';
import { FENCED_SINCE } from '../../server/src/kernel/storage/recording-fence.ts';
import { expectedOf, startOn, unpack } from '../fixtures/unpack.ts';
import { nextRelease } from '../support/next-release.ts';
import { ok } from '../support/people.ts';
import { newMigratedDatabase, query } from '../support/postgres.ts';
import {
  newDataDir,
  runCoffer,
  runService,
  type ServiceProcess,
  spawnService,
  stopService,
} from '../support/process.ts';
import { call, type Service } from '../support/service.ts';
import { until } from '../support/until.ts';
import { addSecret, readValue } from '../support/vaults.ts';

/** Lesson 38: a schema that ends a release makes the statements of that release fail, so that its nodes acknowledge nothing. */

/** As 0.4.0 sends them: entries of reads and of changes, links of entries, heads, jobs and keys. */
const STATEMENTS_OF_0_4 = {
  'the entries of several reads': `insert into audit_segments (tenant_id, id, entries)
    select * from unnest(array['TENANT'], array['audit_old'], array['[]'])`,
  'the entry of a read': `insert into audit_segments (tenant_id, id, entries) values ('TENANT', 'audit_old', '[]')`,
  'the entry of a change': `insert into audit_segments (tenant_id, id, entries, first_seq, hashes) values ('TENANT', 'audit_old', '[]', null, null)`,
  'the head of a log': `update audit_heads set seq = seq, hash = hash, mac = mac, mac_key_version = 1 where tenant_id = 'TENANT'`,
  'the lease of a job': `update job_leases set owner = 'node_old', lease_until = 0 where job = 'purge-secrets'`,
  'the row of a job': `insert into job_leases (tenant_id, job, owner, lease_until, next_run_at, last_outcome, runs)
    values ('system', 'old', '', 0, 0, '', 0) on conflict (tenant_id, job) do nothing`,
  'a key': `insert into keys (tenant_id, purpose, version, wrapped_by, wrapped, uses, created_at) values ('TENANT', 'old', 1, 'tenant:1', '', 0, 0)`,
};

describe('after the upgrade of 0.4.0, its nodes', () => {
  let service: Service;
  let databaseUrl: string;
  let tenantId: string;

  before(async () => {
    const data = await unpack('0.4.0', 'postgres');
    databaseUrl = data.databaseUrl ?? assert.fail();
    service = await startOn(data, expectedOf('0.4.0', 'postgres'));
    tenantId = (
      await service.app.kernel.database.read.selectFrom('tenants').select('tenant_id').executeTakeFirstOrThrow()
    ).tenant_id;
  });
  after(() => service.close());

  for (const [what, statement] of Object.entries(STATEMENTS_OF_0_4)) {
    test(`cannot write ${what}`, async () => {
      const sent = query(databaseUrl, statement.replaceAll('TENANT', tenantId));
      await assert.rejects(sent, /violates check constraint|column "\w+" (?:of relation "\w+" )?does not exist/);
    });
  }

  test('leave behind what nodes of this release record and link', async () => {
    await addSecret(service, 'lab', 'after/fence');
    assert.equal(await readValue(service, 'lab', 'after/fence'), 'value of after/fence');
    await until('everything is linked', async () => {
      const [left] = await query(databaseUrl, 'select 1 from audit_segments where first_seq is null limit 1');
      return left === undefined;
    });
    assert.equal((await ok(service.call('GET', '/v1/audit/verify'))).valid, true);
  });
});

test('the migration that adds the fence is the one that the code names', async () => {
  const migrations = listMigrations();
  const found = migrations.find(({ version }) => version === FENCED_SINCE);
  assert.equal(found?.name, 'end-of-release-0-4');
});

describe('a release whose schema ends the one before', () => {
  const next = nextRelease({ isAdditive: false });
  let older: ServiceProcess;
  let databaseUrl: string;

  before(async () => {
    databaseUrl = await newMigratedDatabase();
    older = await spawnService({ databaseUrl, env: { CV_DRAIN_SECONDS: '0' } });
  });

  function nextTo(node: ServiceProcess): string {
    const dataDir = newDataDir();
    mkdirSync(dataDir, { mode: 0o700 });
    copyFileSync(join(node.dataDir, 'root.key'), join(dataDir, 'root.key'));
    return dataDir;
  }

  test('neither starts nor migrates while an older node runs, and its plan says so', async () => {
    const dataDir = nextTo(older);
    const seen = /Nodes of an earlier release are running on this database \(\d+ connections?, from 127\.0\.0\.1\)\./;
    const plan = await runCoffer(['server', 'migrate', '--plan'], { databaseUrl, dataDir, root: next.root });
    assert.equal(plan.code, 0, plan.stderr);
    assert.match(plan.stdout, /next-release \(ends earlier releases\)/);
    assert.match(plan.stdout, seen);
    assert.match(plan.stdout, /While one is seen, this release neither starts nor migrates\./);
    for (const refused of [
      await runService({ databaseUrl, dataDir, root: next.root }),
      await runCoffer(['server', 'migrate'], { databaseUrl, dataDir, root: next.root }),
    ]) {
      assert.equal(refused.code, 1, refused.stdout);
      assert.match(refused.stderr, seen);
      assert.match(refused.stderr, /Nothing was changed\./);
    }
    assert.deepEqual(await query(databaseUrl, 'select version from schema_version'), [{ version: next.schema - 1 }]);
  });

  test('ends it if the operator says so, and every write that it acknowledged stays', async () => {
    const token = older.adminToken();
    const write = (i: number) =>
      call(older.url, 'POST', '/v1/vaults/lab/secrets', {
        token,
        body: { path: `k${i}`, type: 'generic', value: `v${i}` },
      });
    await ok(call(older.url, 'POST', '/v1/vaults', { token, body: { name: 'lab', environment: 'development' } }), 201);
    let isOver = false;
    const acknowledged: number[] = [];
    const writer = async (first: number) => {
      for (let i = first; !isOver; i += 4) {
        const { status } = await write(i).catch(() => ({ status: 0 }));
        if (status === 201) acknowledged.push(i);
        if (status === 0) return;
      }
    };
    const writers = [0, 1, 2, 3].map(writer);
    await until('some writes are acknowledged', () => acknowledged.length > 20);
    const dataDir = nextTo(older);
    const options = { databaseUrl, dataDir, root: next.root };
    const migrated = await runCoffer(['server', 'migrate', '--end-older-nodes'], options);
    assert.equal(migrated.code, 0, migrated.stderr);
    assert.equal((await older.exited).code, 1, 'the older node ends by itself');
    isOver = true;
    await Promise.all(writers);

    const newer = await spawnService(options);
    for (const i of acknowledged) {
      const read = await call(newer.url, 'GET', `/v1/vaults/lab/secrets/k${i}`, { token });
      assert.deepEqual([read.status, read.body.value], [200, `v${i}`], read.text);
    }
    assert.equal((await ok(call(newer.url, 'GET', '/v1/audit/verify', { token }))).valid, true);
    await stopService(newer);
  });
});
