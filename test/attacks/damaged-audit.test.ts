import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Attacker, attackerOf, type Row } from '../support/attacker.ts';
import { addTenant, ok, type Tenant } from '../support/people.ts';
import { newPostgresDatabase } from '../support/postgres.ts';
import { onBothDatabases, type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { addSecret, addVault, secretUrl } from '../support/vaults.ts';

/** Texts that no service writes: not JSON, not a list, not entries, entries with fields that cannot be shown. */
const DAMAGED = [
  '[["broken',
  'null',
  '{}',
  '[null]',
  '[[1,2,3]]',
  '[{"purged_by":"x","entries":1e9}]',
  '[["audit_x",1e300,"user","u","","","a","r","","allow",200,"","","","",""]]',
  '[["audit_x",1,"user","u","","","a","r","","allow",200,"","","","","{"]]',
  '[]',
];

onBothDatabases('one segment of the audit log that somebody damages', (kind) => {
  let service: Service;
  let attacker: Attacker;
  let tenant: Tenant;
  let token: string;
  let vault: string;

  before(async () => {
    const databaseUrl = kind === 'postgres' ? await newPostgresDatabase() : undefined;
    service = await startService(kind, databaseUrl === undefined ? {} : { databaseUrl });
    service.expectErrorLogs(/a segment of the audit log is damaged/);
    attacker = await attackerOf(kind, service, databaseUrl);
    tenant = await addTenant(service);
    token = tenant.owner.token;
    vault = await addVault(service, {}, token);
    for (const path of ['a', 'b', 'c']) await addSecret(service, vault, path, {}, token);
    await service.app.kernel.audit.link();
  });
  after(async () => {
    await attacker.close();
    await service.close();
  });

  const list = () => ok(service.call('GET', '/v1/audit?limit=200', { token }));

  async function thirdSegment(): Promise<Row> {
    const rows = await attacker.rows('audit_segments', { tenant_id: tenant.id });
    return rows.toSorted((a, b) => Number(a['first_seq']) - Number(b['first_seq']))[2] ?? {};
  }

  test('keeps nobody from reading the rest, and is named', async () => {
    const { id, entries, first_seq } = await thirdSegment();
    const seqs = (page: { entries: { seq: number }[] }) => page.entries.map(({ seq }) => seq).filter((seq) => seq <= 5);
    assert.deepEqual([seqs(await list()), (await list()).unreadable], [[5, 4, 3, 2, 1], []]);
    for (const text of DAMAGED) {
      await attacker.update('audit_segments', { tenant_id: tenant.id, id }, { entries: text });
      const page = await list();
      assert.deepEqual(seqs(page), [5, 4, 2, 1], text);
      assert.deepEqual(page.unreadable, [{ first_seq: Number(first_seq), last_seq: Number(first_seq) }], text);
      const { valid, first_broken } = await ok(service.call('GET', '/v1/audit/verify', { token }));
      assert.deepEqual([valid, first_broken.seq], [false, Number(first_seq)], text);
      assert.equal((await service.call('GET', '/v1/audit/export', { token })).status, 200);
    }
    const { text } = await service.call('GET', '/metrics');
    assert.match(text, /^cv_audit_damaged_segments_total 1$/m, 'it is counted once');
    const said = service.logs.filter((line) => line.includes('a segment of the audit log is damaged'));
    assert.equal(said.length, 1);
    assert.match(String(said[0]), new RegExp(String(id)));
    await attacker.update('audit_segments', { tenant_id: tenant.id, id }, { entries });
    assert.deepEqual((await list()).unreadable, []);
  });

  test('does not stop the counts of what comes after it', async () => {
    const { id } = await thirdSegment();
    await attacker.update('audit_segments', { tenant_id: tenant.id, id }, { entries: '[["broken' });
    await attacker.delete('hourly_counts', { tenant_id: tenant.id });
    await attacker.update('rollup_progress', { tenant_id: tenant.id }, { cursor_seq: 0 });
    for (let i = 0; i < 3; i++) await ok(service.call('GET', secretUrl(vault, 'a'), { token }));
    await service.app.kernel.audit.link();
    await until('the reads are counted', async () => {
      await attacker.update('rollup_progress', { tenant_id: tenant.id }, { due_at: 0 });
      const counts = await attacker.rows('hourly_counts', { tenant_id: tenant.id });
      return counts.reduce((sum, row) => sum + Number(row['reads']), 0) >= 3;
    });
    const [progress] = await attacker.rows('rollup_progress', { tenant_id: tenant.id });
    assert.ok(Number(progress?.['cursor_seq']) > 3, JSON.stringify(progress));
  });
});
