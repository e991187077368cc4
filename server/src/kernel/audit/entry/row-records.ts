import { newId } from '../../base/ids.ts';
import type { RowRecord } from '../../storage/row-changes.ts';
import type { AuditEntry } from './entry.ts';

/** Rows listed by one entry. A larger change adds further entries, so that no entry grows without bound. */
const ROWS_MAX = 200;

/** The first entry, which describes the change, also lists its rows. Rows that do not fit follow in further entries. */
export function withRows(entries: readonly AuditEntry[], records: readonly RowRecord[]): AuditEntry[] {
  const [first, ...others] = entries;
  if (first === undefined || records.length === 0) return [...entries];
  const recorded: AuditEntry[] = [{ ...first, rows: records.slice(0, ROWS_MAX) }, ...others];
  for (let at = ROWS_MAX; at < records.length; at += ROWS_MAX) {
    const rows = records.slice(at, at + ROWS_MAX);
    recorded.push({ ...first, id: newId('audit', first.at), details: CONTINUED, rows });
  }
  return recorded;
}

const CONTINUED = '{"continued":true}';
