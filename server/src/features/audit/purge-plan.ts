import { hexOf, linkHash } from '../../kernel/audit/chain.ts';
import type { AuditEntry } from '../../kernel/audit/entry.ts';
import { type PurgeRecord, purgeDigest } from '../../kernel/audit/purged-entries.ts';
import { hashAt, placesOf, purgedBy, purgedText, segmentTextWithPurged, textsOf } from '../../kernel/audit/segment.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import type { AuditSegmentsTable } from '../../kernel/storage/tables.ts';
import { type Cutoff, earlier } from '../../kernel/time/cutoff.ts';
import type { AuditRetention } from '../vaults/index.ts';

/** Vaults that one purge names: the entry that records it has to hold them all. What is left over is a purge of its own. */
const VAULTS_MAX = 30;

/** By the name of the vault. */
export type RetentionRules = ReadonlyMap<string, AuditRetention>;

/** Entries that tell rows are never purged: verification compares the rows with them. */
export function isExpired(entry: AuditEntry, rules: RetentionRules, cutoff: Cutoff): boolean {
  const rule = rules.get(entry.vault);
  if (rule === undefined || entry.rows !== undefined) return false;
  return entry.at >= rule.since && entry.at <= earlier(cutoff, rule.days * DAY_MS);
}

/** Segments of one window of the chain, one after the other. */
export interface Window {
  segments: readonly AuditSegmentsTable[];
  /** Of the entry before the first one. */
  hashBefore: string;
  /** Up to here the chain was verified, and a checkpoint vouches for it. */
  lastSeq: number;
}

export interface PurgePlan {
  record: PurgeRecord & { vaults: Record<string, number> };
  /** By segment, what is at each place; null for what goes. */
  texts: readonly (readonly (string | null)[])[];
}

/** Chooses what goes, and recomputes the links of the window meanwhile: what was changed since it was verified is not purged. */
export function planPurge(
  { segments, hashBefore, lastSeq }: Window,
  isDue: (entry: AuditEntry) => boolean,
): PurgePlan | null {
  const vaults = new Map<string, number>();
  const removed: number[] = [];
  let digest = '';
  let hash = hashBefore;
  const texts = segments.map((segment) => {
    const entries = placesOf(segment);
    return textsOf(segment).map((text, i) => {
      const seq = Number(segment.first_seq) + i;
      const before = hash;
      hash = hashAt(segment, seq);
      requireLinked(segment.tenant_id, seq, before, text, hash);
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

function requireLinked(tenantId: string, seq: number, before: string, text: string, hash: string): void {
  if (purgedBy(text) !== null || linkHash(before, tenantId, seq, text) === hash) return;
  throw new Error(`entry ${seq} of an audit log was changed after it was verified: nothing is purged`);
}

export interface RewrittenSegments {
  changed: AuditSegmentsTable[];
  /** The ids of those that went into another. */
  merged: string[];
}

/** The segments without what goes. Neighbours of which nothing is left become one: a row for each would keep most of the space. */
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
    const row = { ...segment, entries: segmentTextWithPurged(left) };
    if (texts[i]?.includes(null)) changed.push(row);
    empty = isEmpty ? { row, texts: left } : null;
  }
  return { changed, merged };
}

/** A chain may have left numbers out; the places of a row have none between them. */
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
  const row = { ...next, first_seq: first.row.first_seq, entries: segmentTextWithPurged(all), hashes };
  return { row, texts: all };
}
