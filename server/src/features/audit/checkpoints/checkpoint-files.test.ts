import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { CheckpointSet } from '../../../../../cli/src/verify/checkpoints.ts';
import { verifyLog } from '../../../../../cli/src/verify/verification.ts';
import { addTenant, ok } from '../../../../../test/support/people.ts';
import { type Answer, onBothDatabases, type Service, startService } from '../../../../../test/support/service.ts';
import { until } from '../../../../../test/support/until.ts';
import { MINUTE_MS } from '../../../kernel/base/clock.ts';

type Checkpoint = Answer['body'];

onBothDatabases('checkpoints as files', (database) => {
  const newFolder = () => mkdtempSync(join(tmpdir(), 'coffer-checkpoints-'));
  const start = (folder: string, more = {}) => startService(database, { env: { CV_CHECKPOINT_DIR: folder }, ...more });
  const sign = (service: Service, token = service.adminToken) =>
    ok(service.call('POST', '/v1/audit/checkpoints', { token }), 201);
  const filesIn = (folder: string) => readdirSync(folder).sort();

  async function found<T>(what: string, look: () => T | undefined): Promise<T> {
    let it: T | undefined;
    await until(what, () => {
      it = look();
      return it !== undefined;
    });
    return it as T;
  }
  const fileOf = (folder: string, { tenant_id, id }: Checkpoint) =>
    found(`checkpoint ${id} was not written`, () =>
      filesIn(folder).find((name) => name.startsWith(`${tenant_id}-${String(id).padStart(6, '0')}-`)),
    );

  test('each is written, of every tenant, with its key, and nothing else is', async () => {
    const folder = newFolder();
    const service = await start(folder);
    const tenant = await addTenant(service);
    const signed = [await sign(service), await sign(service, tenant.owner.token), await sign(service)];
    const { keys } = await ok(service.call('GET', '/v1/audit/checkpoints'));
    for (const checkpoint of signed) {
      const file = JSON.parse(readFileSync(join(folder, await fileOf(folder, checkpoint)), 'utf8'));
      assert.deepEqual(file, { checkpoint, key: keys[0] });
    }
    const kept = new CheckpointSet();
    const own = filesIn(folder).filter((name) => name.startsWith(service.app.kernel.operatorTenantId));
    const together = own.map((name) => readFileSync(join(folder, name), 'utf8')).join('');
    kept.add(together, (where, what) => assert.fail(`${where} ${what}`));
    const { text } = await service.call('GET', '/v1/audit/export');
    async function* lines() {
      yield* text.split('\n');
    }
    const trusted = new Set<string>([keys[0].key_id]);
    const result = await verifyLog(lines(), {
      checkpoints: kept,
      checkpointProblems: [],
      trusted,
      fromSeq: 1,
      tenantId: null,
    });
    assert.deepEqual([result.problems, result.checkpoints], [[], own.length]);
    await service.close();
    for (const name of filesIn(folder)) assert.match(name, /^tenant_[0-9a-z]{26}-\d{6}-[0-9a-f]{12}\.json$/);
    rmSync(folder, { recursive: true });
  });

  test('a folder that is missing stops no request, is told, and gets all of them once it is there', async () => {
    const folder = join(newFolder(), 'mounted-later');
    const service = await start(folder);
    service.expectErrorLogs(/audit checkpoints cannot be written to CV_CHECKPOINT_DIR/);
    const signed = [await sign(service)];
    await ok(service.call('GET', '/auth/me'));
    signed.push(await sign(service));
    const line = await found('it was not told', () => service.logs.find((text) => text.includes('cannot be written')));
    assert.match(JSON.parse(line).what_to_do, /CV_CHECKPOINT_DIR/);
    assert.match((await service.call('GET', '/metrics')).text, /cv_checkpoint_files_failing 1/);
    mkdirSync(folder);
    signed.push(await sign(service));
    for (const checkpoint of signed) await fileOf(folder, checkpoint);
    await until('still failing', () =>
      service.logs.some((text) => text.includes('written to CV_CHECKPOINT_DIR again')),
    );
    assert.match((await service.call('GET', '/metrics')).text, /cv_checkpoint_files_failing 0/);
    await service.close();
    rmSync(folder, { recursive: true });
  });

  test('what was signed before it was set, or while the service was down, is written; what was written is never touched', async () => {
    const folder = newFolder();
    const first = await startService(database, { keepData: true });
    const { dataDir } = first;
    const { databaseUrl } = first.app.kernel.config;
    const signed = [await sign(first), await sign(first)];
    await first.close();
    const reused = { dataDir, keepData: true, ...(databaseUrl !== null && { databaseUrl }) };
    const second = await start(folder, reused);
    for (const checkpoint of signed) await fileOf(folder, checkpoint);
    await second.close();
    const written = filesIn(folder);
    const before = written.map((name) => readFileSync(join(folder, name), 'utf8'));
    const third = await start(folder, reused);
    // Checkpoints are written in their order: once a new one is written, the service has passed the others.
    await fileOf(folder, await sign(third));
    await third.close();
    assert.deepEqual(
      written.map((name) => readFileSync(join(folder, name), 'utf8')),
      before,
    );
    rmSync(folder, { recursive: true });
    rmSync(dataDir, { recursive: true });
  });

  test('a checkpoint that somebody wrote into the database does not get among them', async () => {
    const folder = newFolder();
    const service = await start(folder);
    service.expectErrorLogs(/a checkpoint that the service did not sign/);
    const real = await sign(service);
    await fileOf(folder, real);
    const { database: store, operatorTenantId } = service.app.kernel;
    const row = await store.read
      .selectFrom('audit_checkpoints')
      .selectAll()
      .where('tenant_id', '=', operatorTenantId)
      .where('checkpoint_no', '=', real.id)
      .executeTakeFirstOrThrow();
    const tenant = await addTenant(service);
    await store.transaction((tx) =>
      tx
        .insertInto('audit_checkpoints')
        .values({ ...row, tenant_id: tenant.id, checkpoint_no: 1 })
        .execute(),
    );
    service.clock.advance(MINUTE_MS);
    await sign(service);
    const line = await found('it was not told', () => service.logs.find((text) => text.includes('did not sign')));
    assert.equal(JSON.parse(line).tenant_id, tenant.id);
    assert.deepEqual(
      filesIn(folder).filter((name) => name.startsWith(tenant.id)),
      [],
    );
    await service.close();
    rmSync(folder, { recursive: true });
  });
});
