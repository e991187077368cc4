import { INDEX_MARKS } from './backup-index.ts';
import type { LastRecord, SourceRecord } from './fill-database.ts';
import type { Row } from './snapshot-store.ts';

const JOURNAL = '#journal';
const END = '#end';

/** One line of a backup: an array that begins with a table name or with one of the markers above, which are no table names. */
export type BackupLine =
  | [table: string, row: Row]
  | [typeof JOURNAL, at: number, base64: string]
  | [typeof END, { counts: Readonly<Record<string, number>>; journal_bytes: number; index_piece: number }];

export function backupLine(record: Exclude<SourceRecord, LastRecord>): BackupLine {
  if ('table' in record) return [record.table, encoded(record.row)];
  return [JOURNAL, record.journalAt, record.piece.toString('base64')];
}

/** `indexPiece` is the number of the chunk with which the index begins. */
export function lastLine({ counts, journalBytes }: LastRecord, indexPiece: number): BackupLine {
  return [END, { counts, journal_bytes: journalBytes, index_piece: indexPiece }];
}

export function* sourceRecords(lines: Iterable<unknown>): Generator<SourceRecord> {
  for (const line of lines) {
    const [name, value, more] = line as [string, never, string];
    if (INDEX_MARKS.includes(name)) continue;
    if (name === JOURNAL) yield { journalAt: value, piece: Buffer.from(more, 'base64') };
    else if (name === END) yield { counts: value['counts'], journalBytes: value['journal_bytes'] };
    else yield { table: name, row: decoded(value) };
  }
}

/** Bytes are written as `{"$": base64}`; no other value is an object. */
function encoded(row: Row): Row {
  const plain: Row = {};
  for (const [column, value] of Object.entries(row)) {
    plain[column] = value instanceof Uint8Array ? { $: Buffer.from(value).toString('base64') } : value;
  }
  return plain;
}

function decoded(row: Row): Row {
  const plain: Row = {};
  for (const [column, value] of Object.entries(row)) {
    const isBytes = typeof value === 'object' && value !== null;
    plain[column] = isBytes ? Buffer.from((value as { $: string }).$, 'base64') : value;
  }
  return plain;
}
