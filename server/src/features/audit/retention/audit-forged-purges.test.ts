import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { CheckpointSet } from '../../../../../cli/src/verify/checkpoints.ts';
import { verifyLog } from '../../../../../cli/src/verify/verification.ts';
import {
  type Entry,
  purgeAudit,
  purgesOf,
  readsOf,
  sign,
  verdictOf,
  verified,
  verifiedOffline,
} from '../../../../../test/support/audit-retention.ts';
import { ok } from '../../../../../test/support/people.ts';
import { onBothDatabases, type Service, startService } from '../../../../../test/support/service.ts';
import { addSecret, addVault, auditOf, readValue } from '../../../../../test/support/vaults.ts';
import { segmentTextWithPurged, textsOf } from '../../../kernel/audit/chain/segment.ts';
import { DAY_MS } from '../../../kernel/base/clock.ts';
import type { Tx } from '../../../kernel/storage/database.ts';
import type { AuditSegmentsTable } from '../../../kernel/storage/tables.ts';

onBothDatabases('anyone who writes to the database cannot pass a removal off as a purge', (database) => {
  let service: Service;
  let vault: string;
  let purge: Entry;
  let target: number;

  before(async () => {
    service = await startService(database);
    vault = await addVault(service, { audit: { retention_days: 1 } });
    const other = await addVault(service);
    await addSecret(service, other, 'a');
    for (let i = 0; i < 4; i++) {
      await readValue(service, other, 'a');
      await ok(service.call('GET', `/v1/vaults/${vault}`));
      await service.app.kernel.audit.settle();
    }
    service.clock.advance(2 * DAY_MS);
    await purgeAudit(service);
    await service.app.kernel.audit.link();
    [purge] = await purgesOf(service);
    target = (await readsOf(service, other))[1]?.seq;
    await sign(service);
    assert.deepEqual(await verdictOf(service), [true, 4]);
  });
  after(() => service.close());

  /** Does something to the rows of the log, looks, and undoes it. */
  async function brokenAfter(tamper: (tx: Tx) => Promise<unknown>): Promise<Entry> {
    const { database: store, audit } = service.app.kernel;
    await audit.link();
    const linked = store.read.selectFrom('audit_segments').selectAll().where('first_seq', 'is not', null);
    const rows = await linked.execute();
    await store.transaction(tamper);
    const { valid, first_broken } = await verified(service);
    await store.transaction(async (tx) => {
      for (const row of rows) {
        await tx.deleteFrom('audit_segments').where('tenant_id', '=', row.tenant_id).where('id', '=', row.id).execute();
        await tx.insertInto('audit_segments').values(row).execute();
      }
    });
    assert.equal((await verified(service)).valid, true, 'it was not undone');
    assert.equal(valid, false, 'it was not found');
    return first_broken;
  }

  async function changeEntry(tx: Tx, seq: number, change: (text: string) => string): Promise<void> {
    const { row, texts } = await segmentWith(tx, seq);
    const at = seq - Number(row.first_seq);
    const changed = texts.with(at, change(texts[at] ?? ''));
    assert.notDeepEqual(changed, texts);
    await tx
      .updateTable('audit_segments')
      .set({ entries: segmentTextWithPurged(changed) })
      .where('tenant_id', '=', row.tenant_id)
      .where('id', '=', row.id)
      .execute();
  }

  async function segmentWith(tx: Tx, seq: number): Promise<{ row: AuditSegmentsTable; texts: string[] }> {
    const row = await tx
      .selectFrom('audit_segments')
      .selectAll()
      .where('tenant_id', '=', service.app.kernel.operatorTenantId)
      .where('first_seq', '<=', seq)
      .orderBy('first_seq', 'desc')
      .executeTakeFirstOrThrow();
    return { row, texts: textsOf(row) };
  }

  const purgedText = (id: string) => JSON.stringify({ purged_by: id });

  test('without a record', async () => {
    const broken = await brokenAfter((tx) => changeEntry(tx, target, () => purgedText('audit_none')));
    assert.deepEqual(broken, { seq: target, reason: 'the entry is missing' });
  });

  test('under the record of another purge', async () => {
    const broken = await brokenAfter((tx) => changeEntry(tx, target, () => purgedText(purge.id)));
    assert.equal(broken.reason, 'the entries that are missing from here on are not those that their purge recorded');
    assert.equal(broken.seq, Math.min(target, purge.details.from_seq));
  });

  test('under the id of an entry that records something else, or comes earlier', async () => {
    await service.app.kernel.audit.link();
    const [earlier] = await auditOf(service, 'action=vault_created');
    for (const id of [earlier?.id, purge.id]) {
      const late = (await auditOf(service, 'action=audit:sign'))[0]?.seq;
      const broken = await brokenAfter((tx) => changeEntry(tx, late, () => purgedText(id)));
      assert.deepEqual(broken, { seq: late, reason: 'the entry is missing' });
    }
  });

  test('by changing the record', async () => {
    const broken = await brokenAfter((tx) =>
      changeEntry(tx, purge.seq, (text) => text.replace('\\"entries\\":4', '\\"entries\\":5')),
    );
    assert.deepEqual(broken, { seq: purge.seq, reason: 'the entry was changed' });
  });

  test('by removing the record', async () => {
    const broken = await brokenAfter((tx) => changeEntry(tx, purge.seq, () => purgedText(purge.id)));
    assert.ok(broken.seq <= purge.seq);
  });

  test('by deleting rows that hold purged entries', async () => {
    const from = purge.details.from_seq;
    const broken = await brokenAfter(async (tx) => {
      const { row } = await segmentWith(tx, from);
      await tx.deleteFrom('audit_segments').where('tenant_id', '=', row.tenant_id).where('id', '=', row.id).execute();
    });
    assert.equal(broken.reason, 'the entry is missing');
  });

  test('by other hashes in the place of those that are stored, or by claiming more entries than there were', async () => {
    const from = purge.details.from_seq;
    for (const change of [
      (row: AuditSegmentsTable) => ({ hashes: Buffer.alloc(row.hashes?.length ?? 0, 7) }),
      () => ({ entries: JSON.stringify([{ purged_by: purge.id, entries: 1e9 }]) }),
      () => ({ entries: JSON.stringify([{ purged_by: purge.id, entries: -1 }]) }),
      () => ({ entries: JSON.stringify([{ purged_by: purge.id }]) }),
      () => ({ entries: JSON.stringify([{}]) }),
    ]) {
      await brokenAfter(async (tx) => {
        const { row } = await segmentWith(tx, from);
        await tx
          .updateTable('audit_segments')
          .set(change(row))
          .where('tenant_id', '=', row.tenant_id)
          .where('id', '=', row.id)
          .execute();
      });
    }
  });

  test('in an export: each of these is found without the service, and so is a record that nobody signed', async () => {
    const lineOf = (line: string) => JSON.parse(line) as Entry;
    const problems = async (change: (lines: string[]) => string[], fromSeq?: number) =>
      (await verifiedOffline(service, change, fromSeq)).problems.map(({ where, what }) => `${where} ${what}`);
    assert.deepEqual(await problems((lines) => lines), []);
    const asPurged = (id: string) => (lines: string[]) =>
      lines.with(target, JSON.stringify({ seq: target, hash: lineOf(lines[target] ?? '').hash, purged_by: id }));
    assert.deepEqual(await problems(asPurged('audit_none')), [
      `entry ${target} is missing: no entry records its purge`,
    ]);
    assert.match((await problems(asPurged(purge.id))).join(), /does not list/);
    const [first] = await problems((lines) => lines.toSpliced(purge.details.from_seq, 1));
    assert.match(first ?? '', new RegExp(`^entry ${purge.details.from_seq} is missing`));
    assert.match(
      (await problems((lines) => lines, purge.details.from_seq + 1)).join(),
      new RegExp(`verify an export that starts at entry ${purge.details.from_seq}\\b`),
    );
    const page = await ok(service.call('GET', '/v1/audit/checkpoints'));
    const early = { ...page, checkpoints: page.checkpoints.filter((one: Entry) => one.seq < purge.seq) };
    const { text } = await service.call('GET', '/v1/audit/export');
    const checkpoints = new CheckpointSet();
    checkpoints.add(JSON.stringify(early), () => {});
    async function* lines() {
      yield* text.trimEnd().split('\n');
    }
    const trusted = new Set<string>(page.keys.map((key: Entry) => key.key_id));
    const unsigned = await verifyLog(lines(), {
      checkpoints,
      checkpointProblems: [],
      trusted,
      fromSeq: 1,
      tenantId: null,
    });
    assert.match(unsigned.problems[0]?.what ?? '', /no checkpoint covers the purge record/);
  });

  test('and from a log that was changed nothing is purged', async () => {
    await ok(service.call('GET', `/v1/vaults/${vault}`));
    service.expectErrorLogs(/fails verification/);
    const { database: store } = service.app.kernel;
    await store.transaction((tx) => changeEntry(tx, target, (text) => text.replace('"allow"', '"deny"')));
    service.clock.advance(2 * DAY_MS);
    await purgeAudit(service);
    assert.equal((await purgesOf(service)).length, 1);
    assert.equal((await auditOf(service, `vault=${vault}&action=vaults:read`)).length, 1);
    assert.ok(service.logs.some((line) => line.includes('fails verification') && line.includes('what_to_do')));
  });
});
