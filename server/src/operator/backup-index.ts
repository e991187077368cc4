import type { KeyObject } from 'node:crypto';
import type { Block } from './backup-blocks.ts';
import { type BackupReader, type BackupWriter, lineOf } from './backup-format.ts';

const BLOCKS = '#blocks';
const UNCHANGED = '#kept';
export const INDEX_MARKS: readonly string[] = [BLOCKS, UNCHANGED];
const ITEMS_PER_LINE = 1000;

type Range = [first: number, last: number];

/** What a backup has. A full one has blocks of rows; an incremental one names blocks of its base, by their position. */
export interface BackupIndex {
  blocks: Block[];
  unchanged: Range[];
}

/** Writes the index and the last line. */
export function writeIndex(
  writer: BackupWriter,
  { blocks, unchanged }: BackupIndex,
  last: (indexPiece: number) => unknown,
) {
  const indexPiece = writer.cut();
  for (const some of portions(blocks))
    writer.write(lineOf([BLOCKS, some.map(({ rows, digest }) => [rows, digest] satisfies [number, string])]));
  for (const some of portions(unchanged)) writer.write(lineOf([UNCHANGED, some]));
  writer.cut();
  writer.write(lineOf(last(indexPiece)));
  writer.finish();
}

function* portions<T>(all: readonly T[]): Generator<T[]> {
  for (let at = 0; at < all.length; at += ITEMS_PER_LINE) yield all.slice(at, at + ITEMS_PER_LINE);
}

/** Null if the backup is of a release that wrote no index. */
export function readIndex(reader: BackupReader, rootKey: KeyObject): BackupIndex | null {
  const lines = reader.tail(rootKey, (last) => {
    const [, end] = last.at(-1) as [string, { index_piece: number }];
    return end.index_piece;
  });
  if (lines === null) return null;
  const index: BackupIndex = { blocks: [], unchanged: [] };
  for (const line of lines) {
    const [name, items] = line as [string, unknown];
    if (name === BLOCKS) for (const [rows, digest] of items as [number, string][]) index.blocks.push({ rows, digest });
    if (name === UNCHANGED) index.unchanged.push(...(items as Range[]));
  }
  return index;
}

/** Positions in ascending order, as ranges. */
export function rangesOf(positions: Iterable<number>): Range[] {
  const ranges: Range[] = [];
  for (const position of positions) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === position - 1) last[1] = position;
    else ranges.push([position, position]);
  }
  return ranges;
}
