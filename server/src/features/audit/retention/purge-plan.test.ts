import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GENESIS_HASH, hexOf, link } from '../../../kernel/audit/chain/chain.ts';
import { PURGE_ACTION, PurgedEntries } from '../../../kernel/audit/chain/purged-entries.ts';
import { entriesByPosition, hashAt, purgedBy, segmentRow, textsOf } from '../../../kernel/audit/chain/segment.ts';
import { type AuditEntry, entryText } from '../../../kernel/audit/entry/entry.ts';
import { systemEntry } from '../../../kernel/audit/entry/system-entry.ts';
import { DAY_MS } from '../../../kernel/base/clock.ts';
import type { AuditSegmentsTable } from '../../../kernel/storage/tables.ts';
import type { Cutoff } from '../../../kernel/time/cutoff.ts';
import { isExpired, planPurge, rewriteSegments, type Window } from './purge-plan.ts';

const TENANT = 'tenant_a';
const PURGE = 'audit_purge';

function entryAbout(vault: string, more: Partial<AuditEntry> = {}): AuditEntry {
  const facts = { tenantId: TENANT, actorId: 'operator', action: 'secrets:read', status: 200 } as const;
  return { ...systemEntry({ ...facts, resource: `vault/${vault}/x`, details: {}, now: 1000 }), ...more };
}

/** Segments with one entry for each vault name, linked from the genesis hash. */
function windowOf(segments: readonly (readonly string[])[]): Window {
  let head = { seq: 0, hash: GENESIS_HASH as Uint8Array };
  const rows = segments.map((vaults, i) => {
    const texts = vaults.map((vault) => entryText(entryAbout(vault)));
    const links = link(head, TENANT, texts);
    head = links.head;
    return segmentRow(TENANT, { id: `audit_${i}`, texts }, links);
  });
  return { segments: rows, hashBefore: hexOf(GENESIS_HASH), lastSeq: head.seq };
}

const isOfGone = (entry: AuditEntry) => entry.vault.startsWith('gone');

/** The vault of each remaining entry, or `-` where the entry was purged. */
function left(rows: readonly AuditSegmentsTable[]): string[] {
  return rows.flatMap((row) => entriesByPosition(row).map((entry) => entry?.vault ?? '-'));
}

function applied(window: Window, isDue: (entry: AuditEntry) => boolean = isOfGone) {
  const plan = planPurge(window, isDue);
  assert.ok(plan !== null);
  const { changed, merged } = rewriteSegments(window, plan, PURGE);
  const rows = window.segments
    .map((row) => changed.find(({ id }) => id === row.id) ?? row)
    .filter(({ id }) => !merged.includes(id));
  return { plan, rows };
}

test('takes out what is due and leaves places and hashes as they were', () => {
  const window = windowOf([['a', 'gone', 'gone', 'b'], ['c'], ['gone', 'd']]);
  const { plan, rows } = applied(window);
  assert.deepEqual(left(rows), ['a', '-', '-', 'b', 'c', '-', 'd']);
  const { digest, ...told } = plan.record;
  assert.deepEqual(told, { vaults: { gone: 3 }, from_seq: 2, to_seq: 6, entries: 3 });
  assert.deepEqual(
    rows.map(({ hashes }) => hashes),
    window.segments.map(({ hashes }) => hashes),
  );
  assert.equal(rows[1], window.segments[1], 'a segment without any of it is not written');
});

test('makes one row of neighbours of which nothing is left, also of those of an earlier purge', () => {
  const first = windowOf([['gone'], ['gone-2'], ['gone'], ['a'], ['gone', 'gone'], ['gone']]);
  const { rows } = applied(first, ({ vault }) => vault === 'gone');
  assert.deepEqual(left(rows), ['-', 'gone-2', '-', 'a', '-', '-', '-']);
  assert.equal(rows.length, 5);
  const again = applied({ ...first, segments: rows });
  assert.deepEqual(left(again.rows), ['-', '-', '-', 'a', '-', '-', '-']);
  assert.equal(again.rows.length, 3);
  assert.equal(hashAt(again.rows[0], 2), hashAt(first.segments[1], 2));
  assert.equal(planPurge({ ...first, segments: again.rows }, isOfGone), null);
});

test('goes on behind numbers that a chain left out, and makes no row across them', () => {
  const [first] = windowOf([['gone', 'gone']]).segments as [AuditSegmentsTable];
  const texts = [entryText(entryAbout('gone'))];
  const links = link({ seq: 900, hash: Buffer.from(hashAt(first, 2), 'hex') }, TENANT, texts);
  const segments = [first, segmentRow(TENANT, { id: 'audit_9', texts }, links)];
  const { plan, rows } = applied({ segments, hashBefore: hexOf(GENESIS_HASH), lastSeq: 901 });
  assert.equal(plan.record.to_seq, 901);
  assert.deepEqual(
    rows.map(({ first_seq }) => first_seq),
    [1, 901],
  );
});

test('leaves what no checkpoint covers', () => {
  const window = windowOf([['gone', 'gone', 'gone']]);
  assert.deepEqual(left(applied({ ...window, lastSeq: 2 }).rows), ['-', '-', 'gone']);
  assert.equal(planPurge({ ...window, lastSeq: 0 }, isOfGone), null);
});

test('names every vault in one entry, and leaves the rest to the next one', () => {
  const names = Array.from({ length: 70 }, (_, i) => `gone-${'x'.repeat(55)}${i}`);
  let window = windowOf([names]);
  for (const expected of [30, 30, 10]) {
    const { plan, rows } = applied(window);
    assert.equal(Object.keys(plan.record.vaults).length, expected);
    const entry = systemEntry({ ...facts, details: { ...plan.record } });
    assert.equal(JSON.parse(entry.details).digest, plan.record.digest, 'the record has room for it');
    window = { ...window, segments: rows };
  }
  assert.equal(planPurge(window, isOfGone), null);
});

const facts = {
  tenantId: TENANT,
  actorId: 'job:purge-audit',
  action: PURGE_ACTION,
  resource: 'audit',
  status: 200,
  now: 5,
} as const;

test('purges nothing from a window that was changed', () => {
  const window = windowOf([['a', 'gone'], ['b']]);
  const [first, second] = window.segments as [AuditSegmentsTable, AuditSegmentsTable];
  const edited = { ...first, entries: first.entries.replace('"operator"', '"somebody"') };
  for (const segments of [
    [edited, second],
    [second, first],
    [first, { ...second, first_seq: 9 }],
  ]) {
    assert.throws(() => planPurge({ ...window, segments }, isOfGone), /was changed after it was verified/);
  }
  assert.throws(() => planPurge({ ...window, hashBefore: '0'.repeat(63) }, isOfGone), /was changed/);
});

test('what it records is what a reader of the chain finds gone, and nothing else', () => {
  const { plan, rows } = applied(
    windowOf([
      ['a', 'gone'],
      ['gone', 'b'],
    ]),
  );
  const record = { ...systemEntry({ ...facts, details: { ...plan.record } }), id: PURGE };
  const readBack = (skipped: number) => {
    const purged = new PurgedEntries();
    let hash = hexOf(GENESIS_HASH);
    for (const row of rows) {
      for (const [i, text] of textsOf(row).entries()) {
        const seq = Number(row.first_seq) + i;
        const by = purgedBy(text);
        if (by !== null && seq !== skipped) assert.equal(purged.add(by, seq, hash, hashAt(row, seq)), null);
        hash = hashAt(row, seq);
      }
    }
    return purged;
  };
  const purged = readBack(0);
  assert.deepEqual(purged.missing(), { seq: 2, reason: 'the entry is missing' });
  assert.equal(purged.settle(entryText({ ...record, actor_kind: 'user' })), null);
  assert.equal(purged.missing()?.seq, 2, 'what somebody else recorded settles nothing');
  assert.equal(purged.settle(entryText(record)), null);
  assert.equal(purged.missing(), null);
  assert.equal(readBack(2).settle(entryText(record))?.seq, 3);
});

test('an entry is over when its vault keeps it no longer, unless verification needs it', () => {
  const rules = new Map([['a', { vault: 'a', since: 500, days: 2 }]]);
  const at = (ms: number) => ms as Cutoff;
  const over = 1000 + 2 * DAY_MS;
  assert.equal(isExpired(entryAbout('a'), rules, at(over)), true);
  assert.equal(isExpired(entryAbout('a'), rules, at(over - 1)), false);
  assert.equal(isExpired(entryAbout('a', { at: 499 }), rules, at(over)), false, 'of an earlier vault of that name');
  assert.equal(isExpired(entryAbout('a', { rows: [['secrets', 'x', null, null]] }), rules, at(over)), false);
  assert.equal(isExpired(entryAbout('b'), rules, at(over)), false);
  assert.equal(isExpired(entryAbout('a', { vault: '' }), rules, at(over)), false);
});
