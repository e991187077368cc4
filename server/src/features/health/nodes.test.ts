import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addPerson, addTenant, ok } from '../../../../test/support/people.ts';
import { newMigratedDatabase } from '../../../../test/support/postgres.ts';
import { runService, spawnService } from '../../../../test/support/process.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { until } from '../../../../test/support/until.ts';
import { addSecret, addVault, readValue, secretUrl, startNodeBeside } from '../../../../test/support/vaults.ts';
import { DELETED_AFTER_MS } from '../../kernel/nodes/node-list.ts';
import { type LoadedMigration, listMigrations, type Migration, migrate } from '../../kernel/storage/migrate.ts';
import { PostgresDatabase } from '../../kernel/storage/postgres.ts';
import { SCHEMA_VERSION } from '../../kernel/storage/schema-version.ts';
import { SYSTEM_TENANT } from '../../kernel/storage/tables.ts';
import type { Cutoff } from '../../kernel/time/cutoff.ts';

onSqliteAtLanding('the list of nodes', (kind) => {
  let service: Service;
  let databaseUrl: string | undefined;
  before(async () => {
    databaseUrl = kind === 'postgres' ? await newMigratedDatabase() : undefined;
    service = await startService(kind, databaseUrl === undefined ? {} : { databaseUrl });
  });
  after(() => service.close());

  const nodes = async (of = service) => (await ok(of.call('GET', '/admin/nodes'))).nodes as { id: string }[];

  test('names the node that responds, with release and schema', async () => {
    const { kernel } = service.app;
    const [node, ...others] = (await ok(service.call('GET', '/admin/nodes'))).nodes;
    assert.deepEqual(others, []);
    const { started_at, seen_at, ...rest } = node;
    const schema_version = SCHEMA_VERSION;
    assert.deepEqual(rest, {
      id: kernel.nodeId,
      release: kernel.version,
      commit: kernel.commit,
      schema_version,
      region: null,
      is_answering: true,
    });
    assert.ok(Date.parse(started_at) <= Date.parse(seen_at));
    const health = await ok(service.call('GET', '/health', { token: null }));
    assert.deepEqual(health, { status: 'ok', release: kernel.version, commit: kernel.commit, schema_version });
    assert.match(kernel.commit, /^(?:[0-9a-f]{40}|unknown)$/);
  });

  test('is for the operator alone', async () => {
    const tenant = await addTenant(service);
    const other = await service.call('GET', '/admin/nodes', { token: tenant.owner.token });
    assert.equal(other.status, 403);
    const member = await service.call('GET', '/admin/nodes', { token: (await addPerson(service)).token });
    assert.deepEqual([member.status, member.body.error.code], [403, 'INSUFFICIENT_PRIVILEGE']);
  });

  if (kind === 'postgres') {
    test('lists each node while it runs, and no longer', async () => {
      assert.ok(databaseUrl !== undefined);
      const beside = await startNodeBeside(service, databaseUrl);
      const ids = [service.app.kernel.nodeId, beside.app.kernel.nodeId];
      assert.deepEqual(
        (await nodes()).map(({ id }) => id),
        ids.toSorted(),
      );
      assert.deepEqual(
        (await nodes(beside)).map(({ id }) => id),
        ids.toSorted(),
      );
      await beside.close();
      assert.deepEqual(
        (await nodes()).map(({ id }) => id),
        [service.app.kernel.nodeId],
      );
    });

    test('deletes a node that was killed', async () => {
      const { database, nodes: list } = service.app.kernel;
      const killed = {
        tenant_id: SYSTEM_TENANT,
        node_id: 'node_killed',
        release: '0.1.0',
        schema_version: 1,
        // Releases before this column do not report their commit.
        commit_id: null,
        region: null,
      };
      const times = { started_at: service.clock.now(), seen_at: service.clock.now() };
      await database.transaction((tx) =>
        tx
          .insertInto('nodes')
          .values({ ...killed, ...times })
          .execute(),
      );
      const listed = (await ok(service.call('GET', '/admin/nodes'))).nodes as Record<string, unknown>[];
      assert.deepEqual(listed.map(({ is_answering }) => is_answering).toSorted(), [false, true]);
      assert.equal(listed.find(({ id }) => id === 'node_killed')?.['commit'], 'unknown');
      service.clock.advance(DELETED_AFTER_MS + 1);
      await until('the other has reported itself again', async () => (await nodes()).length === 1);
      await list.deleteUnseen((service.clock.now() - DELETED_AFTER_MS) as Cutoff);
      const rows = await database.read.selectFrom('nodes').select('node_id').execute();
      assert.deepEqual(rows, [{ node_id: service.app.kernel.nodeId }]);
    });
  }
});

onSqliteAtLanding('a newer release that changes the schema', (kind) => {
  if (kind === 'sqlite') return;

  async function nextSchema(isAdditive: boolean): Promise<Migration[]> {
    const migrations = listMigrations();
    const version = SCHEMA_VERSION + 1;
    const up: LoadedMigration['up'] = async (schema) => {
      await schema.createTable('of_the_next_release').addColumn('a', 'text').execute();
    };
    return [...migrations, { version, name: 'next', load: async () => ({ description: '', isAdditive, up }) }];
  }

  test('ends an older node with the next request, reads and changes alike', async () => {
    const service = await startService('postgres');
    try {
      service.expectErrorLogs(/newer release has changed the database/);
      const vault = await addVault(service);
      await addSecret(service, vault, 'a', { value: 'first' });
      assert.equal(await readValue(service, vault, 'a'), 'first');
      await migrate(service.app.kernel.database, await nextSchema(false));
      for (const answer of [
        await service.call('GET', secretUrl(vault, 'a')),
        await service.call('PUT', secretUrl(vault, 'a'), { body: { value: 'second' } }),
        await service.call('GET', '/health/ready', { token: null }),
      ]) {
        assert.equal(answer.status, 503);
        assert.match(answer.body.error.message, /newer release/);
      }
      assert.equal((await service.call('GET', '/health', { token: null })).status, 200);
    } finally {
      await service.close();
    }
  });

  test('ends the process of an older node, within seconds even if nobody calls it', async () => {
    const databaseUrl = await newMigratedDatabase();
    const node = await spawnService({ databaseUrl, env: { CV_DRAIN_SECONDS: '0' } });
    const database = new PostgresDatabase(databaseUrl, 4);
    await migrate(database, await nextSchema(false));
    await database.close();
    const { code, stdout } = await node.exited;
    assert.equal(code, 1);
    assert.match(stdout, /Start this node with the newer release/);
    const again = await runService({ databaseUrl, dataDir: node.dataDir });
    assert.equal(again.code, 1);
    assert.match(again.stderr, /newer than this release supports/);
  });

  test('lets an older node go on if it only adds', async () => {
    const service = await startService('postgres');
    try {
      const vault = await addVault(service);
      await addSecret(service, vault, 'a', { value: 'first' });
      await migrate(service.app.kernel.database, await nextSchema(true));
      await ok(service.call('PUT', secretUrl(vault, 'a'), { body: { value: 'second' } }));
      assert.equal(await readValue(service, vault, 'a'), 'second');
      await service.app.kernel.schemaFence.check();
    } finally {
      await service.close();
    }
  });
});
