import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Attacker, attackerOf } from '../../../../../test/support/attacker.ts';
import { compact, grow, segmentsOf } from '../../../../../test/support/audit-growth.ts';
import { purgeAudit, sign, verified } from '../../../../../test/support/audit-retention.ts';
import { metricsText, seriesValue } from '../../../../../test/support/metric-lines.ts';
import { ok } from '../../../../../test/support/people.ts';
import { newMigratedDatabase } from '../../../../../test/support/postgres.ts';
import { onBothDatabases, type Service, startService } from '../../../../../test/support/service.ts';
import { addSecret, addVault, runJobs } from '../../../../../test/support/vaults.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../kernel/base/clock.ts';
import { findVerified, type VerifiedRow } from './verified-store.ts';

onBothDatabases('verification of the audit log as a job', (database) => {
  let service: Service;
  let attacker: Attacker;
  before(async () => {
    const databaseUrl = database === 'postgres' ? await newMigratedDatabase() : undefined;
    service = await startService(database, { ...(databaseUrl !== undefined && { databaseUrl }) });
    attacker = await attackerOf(database, service, databaseUrl);
  });
  after(async () => {
    await attacker.close();
    await service.close();
  });

  const state = async (): Promise<VerifiedRow> => {
    const { kernel } = service.app;
    const row = await findVerified(kernel.database.read, kernel.operatorTenantId);
    assert.ok(row !== null);
    return row;
  };
  const verifyByJob = async () => {
    await sign(service);
    service.clock.advance(HOUR_MS);
    await runJobs(service);
    return state();
  };
  const metric = async (name: string) => Number(seriesValue(await metricsText(service), name));

  test('begins where the last one ended, and once a week at the beginning', async () => {
    const first = await verifyByJob();
    assert.deepEqual([first.is_valid, first.seq], [1, 0]);
    const vault = await addVault(service);
    await grow(service, vault);
    const second = await verifyByJob();
    assert.ok(second.seq >= 2048 && second.checkpoint_no > 0, 'it got further');
    assert.equal(second.full_at, first.full_at);
    assert.ok(second.verified_at > first.verified_at);
    await addSecret(service, vault, 'a');
    await compact(service);
    const third = await verifyByJob();
    assert.deepEqual([third.is_valid, third.full_at], [1, first.full_at]);
    service.clock.advance(7 * DAY_MS);
    const later = await verifyByJob();
    assert.deepEqual([later.is_valid, later.full_at > first.full_at], [1, true]);
    assert.equal(await metric('cv_audit_logs_invalid'), 0);
    assert.ok((await metric('cv_audit_last_verification_timestamp_seconds')) > 0);
  });

  test('goes on after entries were purged, on either side of where it is', async () => {
    const vault = await addVault(service, { audit: { retention_days: 1 } });
    await grow(service, vault);
    const { full_at } = await verifyByJob();
    await grow(service, vault, 500);
    service.clock.advance(2 * DAY_MS);
    await purgeAudit(service);
    const after = await verifyByJob();
    assert.deepEqual([after.is_valid, after.full_at], [1, full_at]);
    assert.ok((await verified(service)).purged >= 2600);
  });

  test('takes nothing for late that was recorded a moment before the clock jumps', async (t) => {
    const { audit } = service.app.kernel;
    const link = audit.link.bind(audit);
    t.mock.method(audit, 'link', async () => {
      await link();
      await ok(service.call('GET', '/v1/groups'));
      service.clock.advance(4 * MINUTE_MS);
    });
    for (let round = 0; round < 5; round++) {
      const { valid, rows } = await verified(service);
      assert.deepEqual([valid, rows.problems], [true, []]);
    }
  });

  test('finds at once what was changed since, and within a week what was changed before', async () => {
    service.expectErrorLogs(/fails verification/);
    await grow(service, await addVault(service));
    await verifyByJob();
    const { tenant_id, seq } = await state();
    const all = await segmentsOf(service);
    for (const { old, waitMs } of [
      { old: false, waitMs: 0 },
      { old: true, waitMs: 7 * DAY_MS },
    ]) {
      const genuine = all.find(({ first_seq }) => (old ? Number(first_seq) < seq - 500 : Number(first_seq) > seq));
      assert.ok(genuine !== undefined);
      const set = (hashes: Uint8Array | null) =>
        attacker.update('audit_segments', { tenant_id, id: genuine.id }, { hashes });
      await set(Buffer.alloc(genuine.hashes?.length ?? 0));
      const { is_valid } = await verifyByJob();
      assert.equal(is_valid, old ? 1 : 0, 'what is before the position is left to the weekly verification');
      service.clock.advance(waitMs);
      assert.equal((await verifyByJob()).is_valid, 0);
      assert.equal(await metric('cv_audit_logs_invalid'), 1);
      await set(genuine.hashes);
      assert.equal((await verifyByJob()).is_valid, 1, 'and sees when it is mended');
      assert.equal(await metric('cv_audit_logs_invalid'), 0);
    }
  });

  test('finds a row that was put back or deleted after a change that it has seen', async () => {
    service.expectErrorLogs(/fails verification/);
    await verifyByJob();
    const vault = await addVault(service);
    const now = () => attacker.row('vaults', { name: vault });
    const before = await now();
    await ok(service.call('PATCH', `/v1/vaults/${vault}`, { body: { description: 'changed' } }));
    const changed = await now();
    await attacker.update('vaults', { name: vault }, before);
    assert.equal((await verifyByJob()).is_valid, 0);
    await attacker.update('vaults', { name: vault }, changed);
    assert.equal((await verifyByJob()).is_valid, 1);
    await ok(service.call('PATCH', `/v1/vaults/${vault}`, { body: { description: 'again' } }));
    const last = await now();
    await attacker.delete('vaults', { name: vault });
    assert.equal((await verifyByJob()).is_valid, 0);
    await attacker.insert('vaults', last);
    assert.equal((await verifyByJob()).is_valid, 1);
  });

  test('a forged state is not believed, and the log is verified from its beginning', async () => {
    service.expectErrorLogs(/audit_verified|fails verification|not written by the service/);
    await verifyByJob();
    const tenant_id = service.app.kernel.operatorTenantId;
    const genuine = await attacker.row('audit_verified', { tenant_id });
    const [first] = await segmentsOf(service);
    assert.ok(first !== undefined);
    await attacker.update(
      'audit_segments',
      { tenant_id, id: first.id },
      { hashes: Buffer.alloc(first.hashes?.length ?? 0) },
    );
    await attacker.update('audit_verified', { tenant_id }, { full_at: service.clock.now() + DAY_MS });
    const result = await verifyByJob();
    assert.deepEqual([result.is_valid, result.full_at <= service.clock.now()], [0, true]);
    await attacker.update('audit_verified', { tenant_id }, genuine);
    assert.equal((await verifyByJob()).is_valid, 0, 'an older state put back does not hide a failure');
    await attacker.update('audit_segments', { tenant_id, id: first.id }, { hashes: first.hashes });
    await attacker.delete('audit_verified', { tenant_id });
    assert.equal((await verifyByJob()).is_valid, 1);
  });
});
