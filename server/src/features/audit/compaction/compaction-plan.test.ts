import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { GENESIS_HASH, type Links, link } from '../../../kernel/audit/chain/chain.ts';
import { entriesByPosition, purgedText, segmentRow, textsOf, withTexts } from '../../../kernel/audit/chain/segment.ts';
import type { AuditSegmentsTable } from '../../../kernel/storage/tables.ts';
import { PACKED_ENTRIES_MAX, planCompaction } from './compaction-plan.ts';

const TENANT = 'tenant_1';

/** Segments of a chain from sequence number 1 on, with this many entries each. */
function chainOf(sizes: readonly number[], { firstSeq = 1 } = {}): AuditSegmentsTable[] {
  let head: Links['head'] = { seq: firstSeq - 1, hash: GENESIS_HASH };
  return sizes.map((size, at) => {
    const texts = Array.from({ length: size }, (_, i) => JSON.stringify([`${at}-${i}`, head.seq + i]));
    const links = link(head, TENANT, texts);
    head = links.head;
    return segmentRow(TENANT, { id: idOf(at), texts }, links);
  });
}

const idOf = (at: number) => `audit_${String(at).padStart(6, '0')}`;

function lines(segments: readonly AuditSegmentsTable[]) {
  return segments.flatMap((row) => {
    const own = hashes(row);
    return textsOf(row).map((text, i) => `${Number(row.first_seq) + i} ${own[i]} ${text}`);
  });
}

function hashes({ hashes }: AuditSegmentsTable): string[] {
  return (
    Buffer.from(hashes ?? [])
      .toString('hex')
      .match(/.{64}/g) ?? []
  );
}

/** What the database holds after the plan is carried out. */
function carriedOut(segments: readonly AuditSegmentsTable[], others: readonly string[]): AuditSegmentsTable[] {
  let left = [...segments];
  for (const { row, merged } of planCompaction(segments, others)) {
    left = left.filter(({ id }) => !merged.includes(id));
    left = left.map((one) => (one.id === row.id ? row : one));
  }
  return left;
}

test('no plan changes an entry, its number, its hash or the order by time', () => {
  const size = fc.integer({ min: 1, max: 200 });
  fc.assert(
    fc.property(fc.array(size, { maxLength: 30 }), fc.integer({ min: 1, max: 5000 }), (sizes, firstSeq) => {
      const segments = chainOf(sizes, { firstSeq });
      const after = carriedOut(segments, []);
      assert.deepEqual(lines(after), lines(segments));
      assert.deepEqual(
        after.map(({ id }) => id),
        after.map(({ id }) => id).toSorted(),
      );
      for (const row of after) assert.ok(hashes(row).length <= PACKED_ENTRIES_MAX);
    }),
    { numRuns: 30 },
  );
});

test('segments of one entry become one, without its signature, and can be purged from', () => {
  const segments = chainOf(Array(100).fill(1)).map((row) => ({
    ...row,
    node_id: 'n',
    node_no: 1,
    voids: '[]',
    mac: Buffer.alloc(32),
    mac_key_version: 1,
  }));
  const [{ row, merged } = { row: null, merged: [] }, ...more] = planCompaction(segments, []);
  assert.ok(row !== null);
  assert.deepEqual(
    [more.length, merged.length, row.id, row.entries, row.node_id, row.mac],
    [0, 99, idOf(99), '', null, null],
  );
  assert.ok((row.packed?.length ?? 0) < segments.reduce((sum, { entries }) => sum + entries.length, 0) / 3);
  const purged = withTexts(
    row,
    textsOf(row).map((text, i) => (i < 50 ? purgedText('audit_purge') : text)),
  );
  assert.equal(purged.entries, '');
  assert.deepEqual(
    entriesByPosition(purged).map((entry) => entry === null),
    Array.from({ length: 100 }, (_, i) => i < 50),
  );
  assert.deepEqual(planCompaction([row], []), [], 'and is left as it is from then on');
});

test('segments are not merged across others, against the order of time, across a gap, or over the end of a window', () => {
  const segments = chainOf([1, 1, 1, 1]);
  const [a, b, c, d] = segments as [AuditSegmentsTable, AuditSegmentsTable, AuditSegmentsTable, AuditSegmentsTable];
  const counts = (rows: AuditSegmentsTable[], others: string[] = []) =>
    planCompaction(rows, others).map(({ merged }) => merged.length + 1);
  assert.deepEqual(counts([a, b, c, d]), [4]);
  assert.deepEqual(counts([a, b, c, d], [`${b.id}x`]), [2, 2], 'a segment of another window is between them');
  assert.deepEqual(counts([a, { ...b, id: c.id }, { ...c, id: b.id }, d]), [2, 2], 'the chain is not in time order');
  assert.deepEqual(counts([a, b, d]), [2, 1], 'numbers were skipped');
  assert.deepEqual(counts(chainOf([100, 100, 100], { firstSeq: 2048 - 150 })), [1, 1]);
});

test('an edited segment stays as it is and does not keep others from being merged', () => {
  const [a, b, c, d, e] = chainOf([1, 1, 1, 1, 1]) as AuditSegmentsTable[];
  for (const edited of [
    { entries: '{' },
    { entries: '[]' },
    { entries: '[["x"],["y"]]' },
    { hashes: null },
    { entries: '', packed: Buffer.from('x') },
  ]) {
    const rows = [a, b, { ...c, ...edited }, d, e] as AuditSegmentsTable[];
    assert.deepEqual(
      planCompaction(rows, []).map(({ row }) => row.id),
      [b?.id, e?.id],
    );
  }
  const huge = chainOf([1, 1]).map((row) => ({ ...row, entries: JSON.stringify([['x'.repeat(3_000_000)]]) }));
  assert.deepEqual(planCompaction(huge, []), [], 'what would be too long to unpack is not packed');
});
