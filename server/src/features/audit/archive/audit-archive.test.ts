import assert from 'node:assert/strict';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { type Attacker, attackerOf } from '../../../../../test/support/attacker.ts';
import {
  archive,
  archivesOf,
  grow,
  pagesOf,
  prune,
  pruneOnce,
  segmentsOf,
} from '../../../../../test/support/audit-growth.ts';
import { sign, verified, verifiedOffline } from '../../../../../test/support/audit-retention.ts';
import { metricsText, seriesValue } from '../../../../../test/support/metric-lines.ts';
import { ok, refused } from '../../../../../test/support/people.ts';
import { newMigratedDatabase } from '../../../../../test/support/postgres.ts';
import { onBothDatabases, type Service, startService } from '../../../../../test/support/service.ts';
import { addSecret, addVault, auditOf, runJobs } from '../../../../../test/support/vaults.ts';
import { HOUR_MS, timestamp } from '../../../kernel/base/clock.ts';
import { PqcKeys } from '../../pqc/index.ts';
import { ArchiveFolder } from './archive-folder.ts';
import { openObject } from './archive-object.ts';
import { restoreRange } from './archive-restore.ts';
import { archiveNext } from './archiving.ts';

onBothDatabases('the archive of the audit log', (database) => {
  let service: Service;
  let attacker: Attacker;
  const folder = mkdtempSync(join(tmpdir(), 'coffer-archive-'));
  before(async () => {
    const databaseUrl = database === 'postgres' ? await newMigratedDatabase() : undefined;
    const env = { CV_AUDIT_ARCHIVE: folder, CV_AUDIT_KEEP_DAYS: '1' };
    service = await startService(database, { env, ...(databaseUrl !== undefined && { databaseUrl }) });
    attacker = await attackerOf(database, service, databaseUrl);
  });
  after(async () => {
    await attacker.close();
    await service.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const parts = () => ({
    kernel: service.app.kernel,
    keys: new PqcKeys(service.app.kernel),
    target: new ArchiveFolder(folder),
  });
  const tenant = () => service.app.kernel.operatorTenantId;
  const lastArchive = async () => {
    const row = (await archivesOf(service)).at(-1);
    assert.ok(row !== undefined);
    return row;
  };

  test('ranges are written, read back, and leave the database only after their days', async () => {
    const vault = await addVault(service);
    await addSecret(service, vault, 'a');
    await grow(service, vault);
    const before = await pagesOf(service, `vault=${vault}&limit=1000`);
    await archive(service);
    const row = await lastArchive();
    assert.deepEqual([row.archive_no, row.first_seq, row.pruned_at], [1, 1, null]);
    assert.deepEqual(readdirSync(folder), [row.object]);
    const content = readFileSync(join(folder, row.object));
    assert.ok(!content.includes('secrets:read') && !content.includes(vault), 'entries are sealed');
    const { entries } = await openObject(
      { keyring: service.app.kernel.keyring, keys: parts().keys },
      tenant(),
      content,
    );
    assert.equal(entries.length, row.entries);
    assert.deepEqual(await pagesOf(service, `vault=${vault}&limit=1000`), before, 'nothing is pruned yet');
    const [told] = await auditOf(service, 'action=audit:archive');
    assert.equal(told?.details.object, row.object);

    await prune(service);
    const pruned = await lastArchive();
    assert.ok(pruned.kept !== null);
    assert.equal((await segmentsOf(service)).filter(({ first_seq }) => Number(first_seq) <= row.last_seq).length, 0);
    const page = await ok(service.call('GET', `/v1/audit?vault=${vault}&limit=1000`));
    assert.equal(page.archived_until, timestamp(row.last_at));
    assert.ok(page.entries.every((entry: { seq: number }) => entry.seq > row.last_seq));
    const later = timestamp(row.last_at + 1);
    assert.equal((await ok(service.call('GET', `/v1/audit?from=${later}`))).archived_until, null);
    const [recorded] = await auditOf(service, 'action=audit:prune');
    assert.equal(recorded?.details.last_seq, row.last_seq);
  });

  test('a pruned log verifies, with its checkpoints and rows, offline too, and goes on', async () => {
    const result = await verified(service);
    const row = await lastArchive();
    assert.deepEqual([result.valid, result.first_broken, result.archived], [true, null, row.entries]);
    assert.equal(result.rows.problems_count, 0);
    await sign(service);
    const refusal = await service.call('GET', `/v1/audit/export?from_seq=${row.last_seq}`);
    await refused(Promise.resolve(refusal), 404, 'NOT_FOUND');
    assert.deepEqual((await verifiedOffline(service, undefined, row.last_seq + 1)).problems, []);
    service.clock.advance(HOUR_MS);
    await runJobs(service);
    assert.equal(seriesValue(await metricsText(service), 'cv_audit_logs_invalid'), 0);
    await grow(service, await addVault(service));
    await archive(service);
    await prune(service);
    assert.equal((await archivesOf(service)).length, 2);
    assert.equal((await verified(service)).valid, true);
  });

  test('restored entries are listed and verified again, and pruned again', async () => {
    const row = (await archivesOf(service))[0];
    assert.ok(row !== undefined);
    const object = readFileSync(join(folder, row.object));
    await restoreRange(parts(), row, object, 5);
    await assert.rejects(restoreRange(parts(), row, object, 5), /meanwhile/);
    const all = await pagesOf(service, 'limit=1000');
    assert.ok(all.some(({ seq }) => seq === 1));
    const shown = all.filter(({ seq }) => seq <= row.last_seq);
    assert.equal(shown.length, row.entries);
    assert.deepEqual(await verified(service).then(({ valid, archived }) => [valid, archived < 5000]), [true, true]);
    const [told] = await auditOf(service, 'action=audit:restore');
    assert.equal(told?.details.archive_no, 1);
    await pruneOnce(service);
    assert.equal((await archivesOf(service))[0]?.pruned_at, null, 'not before their days are over');
    await prune(service, async () => {
      service.clock.advance(24 * HOUR_MS);
      return (await archivesOf(service)).every(({ pruned_at }) => pruned_at !== null);
    });
    assert.equal((await verified(service)).valid, true);
  });

  test('anyone who deletes entries, or forges the record of a range, is found', async () => {
    service.expectErrorLogs(
      /verification|not written by the service|audit_archives|archive-audit|could not be archived|not pruned/,
    );
    const tenant_id = tenant();
    const row = await attacker.row('audit_archives', { tenant_id, archive_no: 2 });
    const broken = async () => (await verified(service)).first_broken?.seq;
    const [last] = await segmentsOf(service);
    assert.ok(last !== undefined);
    await attacker.delete('audit_segments', { tenant_id, id: last.id });
    assert.equal(await broken(), last.first_seq, 'a segment that was not archived');
    const end = Number(last.first_seq) + (last.hashes?.length ?? 0) / 32 - 1;
    await attacker.update(
      'audit_archives',
      { tenant_id, archive_no: 2 },
      { last_seq: end, last_hash: last.hashes?.subarray(-32) },
    );
    assert.equal(await broken(), Number(row['first_seq']), 'a range that reaches over it');
    await attacker.update('audit_archives', { tenant_id, archive_no: 2 }, row);
    const forged = {
      ...row,
      archive_no: 3,
      first_seq: last.first_seq,
      last_seq: end,
      last_hash: last.hashes?.subarray(-32),
      previous_hash: row['last_hash'],
    };
    await attacker.insert('audit_archives', forged);
    assert.equal(await broken(), last.first_seq, 'a range of its own for it');
    await attacker.delete('audit_archives', { tenant_id, archive_no: 3 });
    await attacker.insert('audit_segments', { ...last });
    assert.equal((await verified(service)).valid, true);
    await attacker.delete('audit_archives', { tenant_id, archive_no: 1 });
    assert.equal(await broken(), 1, 'the record of a range is gone');
    const first = { ...row, archive_no: 1 };
    await attacker.insert('audit_archives', first);
    assert.equal(await broken(), 1, 'or another one is in its place');
    await attacker.delete('audit_archives', { tenant_id, archive_no: 1 });
  });
});

onBothDatabases('an archive that cannot be used', (database) => {
  let service: Service;
  const folder = mkdtempSync(join(tmpdir(), 'coffer-archive-'));
  const away = `${folder}-away`;
  before(async () => {
    service = await startService(database, { env: { CV_AUDIT_ARCHIVE: folder, CV_AUDIT_KEEP_DAYS: '1' } });
  });
  after(async () => {
    await service.close();
    for (const one of [folder, away]) rmSync(one, { recursive: true, force: true });
  });
  const parts = () => ({
    kernel: service.app.kernel,
    keys: new PqcKeys(service.app.kernel),
    target: new ArchiveFolder(folder),
  });
  const failing = async () => seriesValue(await metricsText(service), 'cv_audit_archive_failing');

  test('shows, deletes nothing, and is caught up with', async () => {
    service.expectErrorLogs(/could not be archived|"job":"archive-audit"/);
    await grow(service, await addVault(service));
    renameSync(folder, away);
    await archive(service);
    assert.deepEqual([await failing(), (await archivesOf(service)).length], [1, 0]);
    assert.equal((await service.call('GET', '/v1/vaults')).status, 200);
    renameSync(away, folder);
    service.clock.advance(HOUR_MS);
    await runJobs(service);
    assert.deepEqual([await failing(), (await archivesOf(service)).length], [0, 1]);
  });

  test('objects that are missing, truncated, edited or of another tenant are not pruned behind', async () => {
    service.expectErrorLogs(/was not pruned/);
    const [row] = await archivesOf(service);
    assert.ok(row !== undefined);
    const file = join(folder, row.object);
    const genuine = readFileSync(file);
    const edited = (change: (text: string) => string) => {
      const end = genuine.indexOf(10);
      return Buffer.concat([Buffer.from(change(genuine.subarray(0, end).toString())), genuine.subarray(end)]);
    };
    const flipped = Buffer.from(genuine);
    flipped[flipped.length - 1] = Number(flipped.at(-1)) ^ 1;
    rmSync(file);
    service.clock.advance(72 * HOUR_MS);
    await runJobs(service);
    for (const [what, content] of [
      ['missing', null],
      ['truncated', genuine.subarray(0, -1)],
      ['empty', Buffer.alloc(0)],
      ['edited', flipped],
      ['another tenant', edited((text) => text.replace(row.tenant_id, 'tenant_01k9abcdefghjkmnpqrstvwxyz'))],
      ['another range', edited((text) => text.replace('"first_seq":1,', '"first_seq":2,'))],
      ['no signature', edited((text) => text.replace(/"signature":"[^"]+"/, '"signature":""'))],
    ] as const) {
      if (content !== null) writeFileSync(file, content);
      await pruneOnce(service);
      assert.equal((await archivesOf(service))[0]?.pruned_at, null, what);
      if (content !== null) await assert.rejects(restoreRange(parts(), row, content, 1), Error, what);
    }
    assert.equal((await verified(service)).valid, true);
    writeFileSync(file, genuine);
    await prune(service);
    assert.equal((await verified(service)).valid, true);
  });

  test('what a killed process left unfinished is deleted a day later, and nothing else', async () => {
    const name = readdirSync(folder).find((file) => file.endsWith('.audit')) ?? '';
    const digest = '0123456789ab';
    const left = `.${name}.${digest}.tmp`;
    const others = [
      `${name}.${digest}.tmp`,
      `.${name}.${digest}.tmp.bak`,
      `.${name}.${digest.toUpperCase()}.tmp`,
      `.${name}.tmp`,
      `.notes.${digest}.tmp`,
      'notes.tmp',
    ];
    for (const file of [left, ...others]) writeFileSync(join(folder, file), 'unfinished');
    const inFolder = `.${name}.ba9876543210.tmp`;
    mkdirSync(join(folder, inFolder));
    const there = () => readdirSync(folder).filter((file) => !file.endsWith('.audit'));
    const all = [left, inFolder, ...others].sort();
    const setAge = (ms: number) => {
      const at = (service.clock.now() - ms) / 1000;
      for (const file of all) utimesSync(join(folder, file), at, at);
    };
    setAge(23 * HOUR_MS);
    await pruneOnce(service);
    assert.deepEqual(there().sort(), all, 'it may still be written');
    setAge(27 * HOUR_MS);
    await pruneOnce(service);
    assert.deepEqual(
      there().sort(),
      all.filter((file) => file !== left),
    );
    for (const file of there()) rmSync(join(folder, file), { recursive: true });
  });

  test('an object that an interrupted run left is used, and two nodes record a range once', async () => {
    // From here on the service archives nothing by itself.
    await service.app.jobs.stop();
    await grow(service, await addVault(service));
    await sign(service);
    service.clock.advance(25 * HOUR_MS);
    const { kernel } = service.app;
    const before = (await archivesOf(service)).length;
    await Promise.all([archiveNext(parts(), kernel.operatorTenantId), archiveNext(parts(), kernel.operatorTenantId)]);
    const rows = await archivesOf(service);
    assert.equal(rows.length, before + 1);
    const last = rows.at(-1);
    // As if the node had been killed after it wrote the object and before it recorded it. The log still tells of the record.
    service.expectErrorLogs(/fails verification/);
    await kernel.database.transaction(async (tx) => {
      await tx.deleteFrom('audit_archives').where('archive_no', '=', Number(last?.archive_no)).execute();
    });
    assert.equal(await archiveNext(parts(), kernel.operatorTenantId), true);
    const [again] = (await archivesOf(service)).slice(-1);
    assert.deepEqual([again?.object, again?.digest], [last?.object, last?.digest]);
    assert.ok(
      readdirSync(folder).every((name) => name.endsWith('.audit')),
      'an unfinished file is left',
    );
  });
});
