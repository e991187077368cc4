import { hexOf, linkHash } from '../../../kernel/audit/chain/chain.ts';
import { type PurgeRecord, purgeDigest } from '../../../kernel/audit/chain/purged-entries.ts';
import {
  entriesByPosition,
  hashAt,
  purgedBy,
  purgedText,
  textsOf,
  withTexts,
} from '../../../kernel/audit/chain/segment.ts';
import type { AuditEntry } from '../../../kernel/audit/entry/entry.ts';
import { DAY_MS } from '../../../kernel/base/clock.ts';
import type { AuditSegmentsTable } from '../../../kernel/storage/tables.ts';
import { type Cutoff, earlier } from '../../../kernel/time/cutoff.ts';
import type { AuditRetention } from '../../vaults/storage/index.ts';

/** The audit entry that records a purge must have room for all its vault names. Further vaults get a purge of their own. */
const VAULTS_MAX = 30;

/** Keyed by vault name. */
export type RetentionRules = ReadonlyMap<string, AuditRetention>;

/** Entries that record row changes are never purged, because verification compares the rows with them. */
export function isExpired(entry: AuditEntry, rules: RetentionRules, cutoff: Cutoff): boolean {
  const rule = rules.get(entry.vault);
  if (rule === undefined || entry.rows !== undefined) return false;
  return entry.at >= rule.since && entry.at <= earlier(cutoff, rule.days * DAY_MS);
}

/** Consecutive segments of one window of the chain. */
export interface Window {
  segments: readonly AuditSegmentsTable[];
  /** Hash of the entry before the first one. */
  hashBefore: string;
  /** The chain is verified and covered by a checkpoint up to this sequence number. */
  lastSeq: number;
}

export interface PurgePlan {
  record: PurgeRecord & { vaults: Record<string, number> };
  /** The entry texts of each segment; null marks an entry to purge. */
  texts: readonly (readonly (string | null)[])[];
}

/** Chooses the entries to purge and recomputes the links of the window on the way. It throws if an entry was changed since it was verified. */
export function planPurge(
  { segments, hashBefore, lastSeq }: Window,
  isDue: (entry: AuditEntry) => boolean,
): PurgePlan | null {
  const vaults = new Map<string, number>();
  const removed: number[] = [];
  let digest = '';
  let hash = hashBefore;
  const texts = segments.map((segment) => {
    const entries = entriesByPosition(segment);
    return textsOf(segment).map((text, i) => {
      const seq = Number(segment.first_seq) + i;
      const before = hash;
      hash = hashAt(segment, seq);
      requireLinked(segment.tenant_id, { before, seq, text, hash });
      const entry = entries[i] ?? null;
      const isChosen = entry !== null && seq <= lastSeq && isDue(entry);
      if (!isChosen || (!vaults.has(entry.vault) && vaults.size === VAULTS_MAX)) return text;
      vaults.set(entry.vault, (vaults.get(entry.vault) ?? 0) + 1);
      removed.push(seq);
      digest = purgeDigest(digest, seq, before, hash);
      return null;
    });
  });
  const [from_seq] = removed;
  if (from_seq === undefined) return null;
  const span = { from_seq, to_seq: removed.at(-1) ?? from_seq, entries: removed.length };
  return { record: { vaults: Object.fromEntries(vaults), ...span, digest }, texts };
}

function requireLinked(
  tenantId: string,
  { before, seq, text, hash }: { before: string; seq: number; text: string; hash: string },
): void {
  if (purgedBy(text) !== null || linkHash(before, tenantId, seq, text) === hash) return;
  throw new Error(`entry ${seq} of an audit log was changed after it was verified: nothing is purged`);
}

export interface RewrittenSegments {
  changed: AuditSegmentsTable[];
  /** Ids of the segments that were merged into another one. */
  merged: string[];
}

/**
 * Removes the purged entries from the segments. Adjacent segments without any entry left are merged, since one row for each would keep most of the
 * space.
 */
export function rewriteSegments({ segments }: Window, { texts }: PurgePlan, purgeId: string): RewrittenSegments {
  const merged: string[] = [];
  const changed: AuditSegmentsTable[] = [];
  let empty: { row: AuditSegmentsTable; texts: string[] } | null = null;
  for (const [i, segment] of segments.entries()) {
    const left = (texts[i] ?? []).map((text) => text ?? purgedText(purgeId));
    const isEmpty = left.every((text) => purgedBy(text) !== null);
    if (isEmpty && empty !== null && isNext(empty, segment)) {
      merged.push(empty.row.id);
      if (changed.at(-1) === empty.row) changed.pop();
      empty = joined(empty, segment, left);
      changed.push(empty.row);
      continue;
    }
    const row = withTexts(segment, left);
    if (texts[i]?.includes(null)) changed.push(row);
    empty = isEmpty ? { row, texts: left } : null;
  }
  return { changed, merged };
}

/** A restored chain may skip sequence numbers, but the entries of one row must be consecutive. */
function isNext(
  { row, texts }: { row: AuditSegmentsTable; texts: string[] },
  { first_seq }: AuditSegmentsTable,
): boolean {
  return Number(row.first_seq) + texts.length === first_seq;
}

function joined(first: { row: AuditSegmentsTable; texts: string[] }, next: AuditSegmentsTable, texts: string[]) {
  const all = [...first.texts, ...texts];
  const hashes = Buffer.from(
    hexOf(first.row.hashes ?? new Uint8Array()) + hexOf(next.hashes ?? new Uint8Array()),
    'hex',
  );
  const row = withTexts({ ...next, first_seq: first.row.first_seq, hashes }, all);
  return { row, texts: all };
}
