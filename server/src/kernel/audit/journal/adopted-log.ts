import type { Clock } from '../../base/clock.ts';
import { StartError } from '../../base/data-folder.ts';
import { findUncheckedOperator } from '../../integrity/tenant-rows.ts';
import type { Keyring, MacKey } from '../../keys/keyring.ts';
import type { Database, Tx } from '../../storage/database.ts';
import { link } from '../chain/chain.ts';
import { type Heads, headRow } from '../chain/heads.ts';
import { textsOf } from '../chain/segment.ts';
import { type AuditEntry, entryOf } from '../entry/entry.ts';
import type { AuditLog } from '../log/audit-log.ts';
import { isSignedByNode } from '../postgres/node-segments.ts';
import { JOURNAL_BYTES } from './journal-file.ts';
import { leftBehind, missingJournalEntry } from './journal-recovery.ts';
import { JournalKeys, stateOf, stateRow } from './journal-state.ts';

/** Segments linked per transaction. */
const BATCH_ROWS = 500;

interface Parts {
  database: Database;
  keyring: Keyring;
  heads: Heads;
  audit: AuditLog;
  clock: Clock;
  /** By tenant; null for a tenant whose keys cannot be unwrapped. */
  headKeys: ReadonlyMap<string, MacKey | null>;
}

/**
 * SQLite and PostgreSQL store unlinked entries in different ways. Entries that came from the other database would never be linked here, so they are
 * linked before anything else is recorded.
 */
export async function adoptLog(parts: Parts, journal: Buffer | null): Promise<void> {
  if (parts.database.kind === 'postgres') await adoptJournal(parts, journal);
  else await adoptSegments(parts);
}

/**
 * On SQLite, entries wait in the journal. The transaction that inserts them also closes the journal's state, so that a repeated run inserts nothing
 * twice.
 */
async function adoptJournal({ database, keyring, audit, clock }: Parts, journal: Buffer | null): Promise<void> {
  const row = await database.read.selectFrom('audit_journal').selectAll().executeTakeFirst();
  const keys = new JournalKeys(keyring);
  // The row is verified before it is used: a forged one that claims to be closed would hide the entries that wait.
  if (row !== undefined && !(await keys.isAuthentic(row))) {
    throw new StartError(
      'The row in the table audit_journal was changed outside the service: use another backup. Nothing was changed.',
    );
  }
  const state = row === undefined ? null : stateOf(row);
  const left = await leftBehind({ file: 'that came with the database', size: JOURNAL_BYTES }, journal, state, keys);
  if (state?.isOpen !== true) return;
  const entries = left.kind === 'waiting' ? left.batches.flatMap(({ payload }) => entriesOf(payload)) : [];
  const operator = await findUncheckedOperator(database.read);
  if (left.kind === 'missing' && operator !== undefined)
    entries.push(missingJournalEntry(operator.tenant_id, clock.now()));
  const closed = stateRow({ ...state, isOpen: false }, await keys.newest());
  const groups = [...Map.groupBy(entries, ({ tenant_id }) => tenant_id)];
  const headKeys = await Promise.all(groups.map(([tenantId]) => audit.headKey(tenantId)));
  await database.transaction(async (tx) => {
    for (const [i, [, own]] of groups.entries()) await audit.recordIn(tx, own, headKeys[i] as MacKey);
    await tx.updateTable('audit_journal').set(closed).execute();
  });
}

/** A batch of the journal is a list of tenants, each with its entries. */
function entriesOf(payload: string): AuditEntry[] {
  const tenants = JSON.parse(payload) as [string, unknown[][]][];
  return tenants.flatMap(([tenantId, lists]) => lists.map((fields) => entryOf(tenantId, fields)));
}

/**
 * On PostgreSQL, nodes sign the segments they insert and link them after the commit. A segment without a valid signature stays unlinked and is
 * reported.
 */
async function adoptSegments({ database, keyring, heads, headKeys }: Parts): Promise<void> {
  for (const [tenantId, headKey] of headKeys) {
    if (headKey === null) continue;
    for (let after: string | null = ''; after !== null; ) {
      const from: string = after;
      after = await database.transaction((tx) => linkSome(tx, { keyring, heads, headKey, tenantId, after: from }));
      heads.hasMoved(tenantId);
    }
  }
}

/** Returns the id of the last segment it processed, or null if there are no more. */
async function linkSome(
  tx: Tx,
  at: { keyring: Keyring; heads: Heads; headKey: MacKey; tenantId: string; after: string },
): Promise<string | null> {
  const { keyring, heads, headKey, tenantId } = at;
  const stored = await heads.row(tx, tenantId);
  if (stored === undefined || !(await heads.isAuthentic(stored, headKey))) return null;
  const rows = await tx
    .selectFrom('audit_segments')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('first_seq', 'is', null)
    .where('id', '>', at.after)
    .orderBy('id')
    .limit(BATCH_ROWS)
    .execute();
  let head: Parameters<typeof link>[0] = stored;
  for (const row of rows) {
    if (!(await isSignedByNode(keyring, row))) continue;
    const texts = textsOf(row);
    // A segment without entries only lists void numbers of its node, or is a tombstone: no node inserts here any more.
    if (texts.length === 0) {
      await tx.deleteFrom('audit_segments').where('tenant_id', '=', tenantId).where('id', '=', row.id).execute();
      continue;
    }
    const { firstSeq, hashes, head: next } = link(head, tenantId, texts);
    await tx
      .updateTable('audit_segments')
      .set({ first_seq: firstSeq, hashes, schema_version: null })
      .where('tenant_id', '=', tenantId)
      .where('id', '=', row.id)
      .execute();
    head = next;
  }
  const { tenant_id: _, ...change } = headRow(tenantId, head, headKey);
  await tx.updateTable('audit_heads').set(change).where('tenant_id', '=', tenantId).execute();
  return rows.length < BATCH_ROWS ? null : (rows.at(-1)?.id ?? null);
}
