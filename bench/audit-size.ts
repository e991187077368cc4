import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadConfig } from '../server/src/assembly/settings.ts';
import { compactAuditJob } from '../server/src/features/audit/compaction/index.ts';
import { HOUR_MS } from '../server/src/kernel/base/clock.ts';
import { withKernel } from '../server/src/operator/with-kernel.ts';
import { DATABASE_FILE } from '../server/src/start/open-storage.ts';
import { query } from '../test/support/postgres.ts';
import type { Settings } from './cases.ts';
import { DATABASE_NAMES, type Installation, type Installations } from './installation.ts';
import type { Row, Table } from './report.ts';
import { targets } from './spread.ts';

/** Three windows of the chain, of which at least two are full. */
const READS = 3 * 2048;
const PER_SECOND = 100;

/** What the audit log of reads at a low rate takes on disk, as it is written and after compaction. */
export async function auditSize(installations: Installations, { databases }: Settings): Promise<Table[]> {
  const rows: Row[] = [];
  for (const database of databases) {
    const one = await installations.start(database, { isTrusting: true });
    const before = await sizes(one);
    await readSlowly(one);
    await installations.whileStopped(one, async () => {
      const written = await sizes(one);
      await compacted(one);
      const packed = await sizes(one);
      rows.push({
        what: DATABASE_NAMES[database],
        written: (written.bytes - before.bytes) / READS,
        packed: (packed.bytes - before.bytes) / READS,
        wal: (written.wal - before.walAfter) / READS,
        walOfCompaction: (packed.wal - written.walAfter) / READS,
        rowsBefore: written.rows - before.rows,
        rowsAfter: packed.rows - before.rows,
      });
    });
  }
  return [
    {
      name: 'audit size',
      title: `The audit log of ${READS.toLocaleString('en-GB')} reads, ${PER_SECOND} a second, bytes for each read`,
      columns: [
        { key: 'what', heading: 'database' },
        { key: 'written', heading: 'as written', digits: 0 },
        { key: 'packed', heading: 'compacted', digits: 0 },
        { key: 'rowsBefore', heading: 'rows', digits: 0 },
        { key: 'rowsAfter', heading: 'rows, compacted', digits: 0 },
        { key: 'wal', heading: 'WAL of a read', digits: 0 },
        { key: 'walOfCompaction', heading: 'WAL of its compaction', digits: 0 },
      ],
      rows,
      notes: [
        'Sizes are those of the table of segments with its indexes, on PostgreSQL after VACUUM FULL. Entries of a window that is not full yet are counted as they are.',
      ],
    },
  ];
}

async function readSlowly(one: Installation): Promise<void> {
  // One tenant has one chain.
  const next = targets({ ...one, vaults: one.vaults.slice(0, 1) });
  const begin = performance.now();
  for (let i = 0; i < READS; i++) {
    const { secret, token } = next();
    const wait = begin + (i * 1000) / PER_SECOND - performance.now();
    if (wait > 0) await sleep(wait);
    const answer = await fetch(`http://127.0.0.1:${one.port}${secret}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    if (answer.status !== 200) throw new Error(`a read gave ${answer.status}`);
    await answer.arrayBuffer();
  }
  await sleep(1000);
}

/** The job leaves segments alone for ten minutes. */
function compacted({ env }: Installation): Promise<void> {
  return withKernel(loadConfig(env), async ({ kernel }) => {
    const clock = { now: () => kernel.clock.now() + HOUR_MS };
    await compactAuditJob({ ...kernel, clock }).run(new AbortController().signal);
  });
}

interface Sizes {
  bytes: number;
  /** The position in the write-ahead log, before and after the size was measured. */
  wal: number;
  walAfter: number;
  rows: number;
}

async function sizes({ databaseUrl, dataDir }: Installation): Promise<Sizes> {
  if (databaseUrl !== null) {
    const wal = await walPosition(databaseUrl);
    await query(databaseUrl, 'vacuum full audit_segments');
    const [row] = await query(
      databaseUrl,
      `select pg_total_relation_size('audit_segments') as bytes, (select count(*) from audit_segments) as rows`,
    );
    const walAfter = await walPosition(databaseUrl);
    return { bytes: Number(row?.['bytes']), wal, walAfter, rows: Number(row?.['rows']) };
  }
  const database = new DatabaseSync(join(dataDir, DATABASE_FILE));
  try {
    const number = (sql: string) => Number(Object.values(database.prepare(sql).get() ?? {})[0]);
    const bytes = number(`select sum(pgsize) from dbstat where name like 'audit_segments%'`);
    const rows = number('select count(*) from audit_segments');
    return { bytes, wal: Number.NaN, walAfter: Number.NaN, rows };
  } finally {
    database.close();
  }
}

async function walPosition(databaseUrl: string): Promise<number> {
  const [row] = await query(databaseUrl, `select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') as wal`);
  return Number(row?.['wal']);
}
