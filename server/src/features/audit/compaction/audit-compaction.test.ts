import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { deflateRawSync } from 'node:zlib';
import { sql } from 'kysely';
import { compact, grow, pagesOf, segmentsOf } from '../../../../../test/support/audit-growth.ts';
import { purgeAudit, readsOf, sign, verified, verifiedOffline } from '../../../../../test/support/audit-retention.ts';
import { ok } from '../../../../../test/support/people.ts';
import { type DatabaseKind, onBothDatabases, type Service, startService } from '../../../../../test/support/service.ts';
import { addVault, runJobs } from '../../../../../test/support/vaults.ts';
import { walkChain } from '../../../kernel/audit/chain/chain-walk.ts';
import { textsOf } from '../../../kernel/audit/chain/segment.ts';
import { DAY_MS, MINUTE_MS, timestamp } from '../../../kernel/base/clock.ts';
import type { Tx } from '../../../kernel/storage/database.ts';
import type { AuditSegmentsTable } from '../../../kernel/storage/tables.ts';
import { seqBefore } from '../store.ts';
import { compactAuditJob } from './compaction.ts';

/** A database that refuses to store how far compaction came. */
function refusals(kind: DatabaseKind): { begin: string[]; end: string[] } {
  if (kind === 'sqlite') {
    const body = `begin select raise(abort, 'refused by a test'); end`;
    return {
      begin: ['insert', 'update'].map((what) => `create trigger no_${what} before ${what} on audit_compaction ${body}`),
      end: ['drop trigger no_insert', 'drop trigger no_update'],
    };
  }
  return {
    begin: [
      `create function no_note() returns trigger language plpgsql as $$ begin raise 'refused by a test'; end $$`,
      'create trigger no_note before insert or update on audit_compaction for each row execute function no_note()',
    ],
    end: ['drop trigger no_note on audit_compaction'],
  };
}

onBothDatabases('compaction of the audit log', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  const change = (act: (tx: Tx) => Promise<unknown>) => service.app.kernel.database.transaction(act);
  const replace = (row: AuditSegmentsTable) =>
    change((tx) =>
      tx
        .updateTable('audit_segments')
        .set(row)
        .where('tenant_id', '=', row.tenant_id)
        .where('id', '=', row.id)
        .execute(),
    );
  const exported = async (lastSeq: number) =>
    (await service.call('GET', '/v1/audit/export')).text.split('\n').slice(1, lastSeq + 1);

  test('merges segments, and every reader sees what it saw before', async () => {
    const vault = await addVault(service);
    service.clock.advance(MINUTE_MS);
    const from = timestamp(service.clock.now());
    await grow(service, vault);
    service.clock.advance(5 * MINUTE_MS);
    await grow(service, vault);
    await sign(service);
    const middle = timestamp(service.clock.now() - 1);
    const queries = [
      `vault=${vault}&limit=97`,
      `vault=${vault}&limit=1000&to=${middle}`,
      `from=${from}&to=${middle}&limit=300`,
    ];
    const before = await segmentsOf(service);
    const [lists, log] = [await Promise.all(queries.map((query) => pagesOf(service, query))), await exported(4000)];
    const since = before.map(({ id }) => id).filter((_, i) => i % 40 === 0);
    const positions = (ids: readonly string[]) =>
      Promise.all(
        ids.map((id) => seqBefore(service.app.kernel.database.read, service.app.kernel.operatorTenantId, id)),
      );
    const seqs = await positions(since);
    const open = await ok(service.call('GET', `/v1/audit?vault=${vault}&limit=1000`));
    const deep = await ok(service.call('GET', `/v1/audit?vault=${vault}&limit=1000&cursor=${open.next_cursor}`));
    const short = await ok(service.call('GET', `/v1/audit?vault=${vault}&limit=33&cursor=${deep.next_cursor}`));

    await compact(service);
    const packed = (await segmentsOf(service)).filter((row) => row.packed !== null);
    assert.ok(packed.length > 0 && (await segmentsOf(service)).length < before.length, 'nothing was merged');
    assert.ok(packed.every((row) => row.entries === '' && row.mac === null));
    assert.deepEqual(await Promise.all(queries.map((query) => pagesOf(service, query))), lists);
    assert.deepEqual(await exported(4000), log);
    assert.deepEqual(await positions(since), seqs);
    for (const { next_cursor, shown } of [
      { next_cursor: open.next_cursor, shown: 1000 },
      { next_cursor: deep.next_cursor, shown: 2000 },
      { next_cursor: short.next_cursor, shown: 2033 },
    ]) {
      const rest = await pagesOf(service, `vault=${vault}&limit=500`, next_cursor);
      assert.deepEqual(rest, lists[0]?.slice(shown), `a cursor from before goes on after ${shown} entries`);
    }
    const result = await verified(service);
    assert.deepEqual([result.valid, result.first_broken], [true, null]);
    assert.deepEqual((await verifiedOffline(service)).problems, []);
  });

  test('does not make a verification that began before it find the chain rewritten', async () => {
    const own = await startService(database);
    const { heads, database: db, operatorTenantId } = own.app.kernel;
    const vault = await addVault(own);
    await grow(own, vault, 160);
    const head = await heads.row(db.read, operatorTenantId);
    await grow(own, vault);
    await compact(own);
    assert.ok(head !== undefined);
    const merged = (await segmentsOf(own)).find((row) => Number(row.first_seq) + textsOf(row).length > head.seq);
    assert.ok(merged !== undefined && Number(merged.first_seq) <= head.seq && merged.packed !== null);
    let last = 0;
    const visit = (seq: number) => {
      last = seq;
      return null;
    };
    assert.equal(await walkChain(db.read, { heads, head }, visit), null);
    assert.equal(last, head.seq);
    await own.close();
  });

  test('two nodes at once do it once, and a second run changes nothing that can be read', async () => {
    const vault = await addVault(service);
    await grow(service, vault);
    service.clock.advance(11 * MINUTE_MS);
    const { signal } = new AbortController();
    await Promise.all([1, 2].map(() => compactAuditJob(service.app.kernel).run(signal)));
    const packed = async () => (await segmentsOf(service)).filter((row) => row.packed !== null);
    const textsUpTo = async (seq: number) =>
      (await segmentsOf(service))
        .filter(({ first_seq }) => first_seq !== null)
        .sort((a, b) => Number(a.first_seq) - Number(b.first_seq))
        .flatMap((row) => textsOf(row))
        .slice(0, seq);
    const once = await packed();
    const last = Number(
      (await service.app.kernel.heads.row(service.app.kernel.database.read, once[0]?.tenant_id ?? ''))?.seq,
    );
    const log = await textsUpTo(last);
    await change((tx) => tx.deleteFrom('audit_compaction').execute());
    await compactAuditJob(service.app.kernel).run(signal);
    // Segments that another window kept apart by their ids may be merged once that window is.
    assert.ok((await packed()).length <= once.length);
    assert.deepEqual(await textsUpTo(last), log);
    assert.equal((await verified(service)).valid, true);
  });

  test('a window is merged as a whole or not at all', async () => {
    await compact(service);
    await grow(service, await addVault(service));
    const { kernel } = service.app;
    // The job of the service itself waits meanwhile.
    const setNextRun = (next_run_at: number) =>
      change((tx) => tx.updateTable('job_leases').set({ next_run_at }).where('job', '=', 'compact-audit').execute());
    await runJobs(service);
    await setNextRun(service.clock.now() + 60 * MINUTE_MS);
    const before = await segmentsOf(service);
    service.clock.advance(11 * MINUTE_MS);
    // The note of how far it came is the last statement of the transaction, and cannot be written.
    const fault = refusals(database);
    for (const statement of fault.begin) await change((tx) => sql.raw(statement).execute(tx));
    await assert.rejects(compactAuditJob(kernel).run(new AbortController().signal), /refused by a test/);
    for (const statement of fault.end) await change((tx) => sql.raw(statement).execute(tx));
    assert.deepEqual((await segmentsOf(service)).slice(0, before.length), before);
    await compactAuditJob(kernel).run(new AbortController().signal);
    assert.ok((await segmentsOf(service)).length < before.length, 'and later it is');
    await setNextRun(0);
    assert.equal((await verified(service)).valid, true);
  });

  test('entries past their retention are purged from merged segments', async () => {
    const vault = await addVault(service, { audit: { retention_days: 1 } });
    await grow(service, vault);
    await compact(service);
    service.clock.advance(2 * DAY_MS);
    await purgeAudit(service);
    assert.deepEqual(await readsOf(service, vault), []);
    const texts = (await segmentsOf(service)).flatMap((row) => textsOf(row));
    assert.equal(texts.filter((text) => text.includes(`vault/${vault}/single`)).length, 0);
    const result = await verified(service);
    assert.deepEqual([result.valid, result.purged], [true, 2100]);
  });

  test('an edited entry of a merged segment is found and named', async () => {
    await grow(service, await addVault(service));
    await compact(service);
    const [genuine] = (await segmentsOf(service)).filter(
      (row) => row.packed !== null && (row.hashes?.length ?? 0) > 640,
    );
    assert.ok(genuine !== undefined);
    const texts = textsOf(genuine).map((text, i) => (i === 7 ? text.replace('secrets:read', 'secrets:list') : text));
    const forged = { ...genuine, packed: deflateRawSync(`[${texts.join(',')}]`) };
    const first = Number(genuine.first_seq);
    for (const [row, seq] of [
      [forged, first + 7],
      [{ ...genuine, packed: Buffer.from('no deflate stream') }, first],
      [{ ...genuine, packed: deflateRawSync(Buffer.alloc(64 * 1024 * 1024, '[')) }, first],
      [{ ...genuine, packed: null }, first],
    ] as const) {
      await replace(row);
      const result = await verified(service);
      assert.deepEqual([result.valid, result.first_broken?.seq], [false, seq]);
    }
    await replace(genuine);
    const copy = { ...genuine, id: genuine.id.replace(/.$/, (last) => (last === '0' ? '1' : '0')) };
    await change((tx) => tx.insertInto('audit_segments').values(copy).execute());
    assert.equal((await verified(service)).valid, false, 'a second segment with the same numbers');
    await change((tx) => tx.deleteFrom('audit_compaction').execute());
    await compactAuditJob(service.app.kernel).run(new AbortController().signal);
    assert.equal((await verified(service)).valid, false, 'compaction does not hide it');
    await change((tx) => tx.deleteFrom('audit_segments').where('id', '=', copy.id).execute());
    assert.equal((await verified(service)).valid, true);
  });
});
