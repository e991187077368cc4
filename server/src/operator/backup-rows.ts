import type { KeyObject } from 'node:crypto';
import { StartError } from '../kernel/base/data-folder.ts';
import type { Base } from './backup-base.ts';
import { type Block, BlockCutter } from './backup-blocks.ts';
import type { BackupReader, BackupWriter } from './backup-format.ts';
import { type BackupIndex, rangesOf, readIndex } from './backup-index.ts';

/** Writes blocks of rows that the base lacks, and notes the positions of those that it has. */
export class RowWriter {
  readonly #writer: BackupWriter;
  readonly #base: Base | null;
  readonly #cutter = new BlockCutter();
  readonly #blocks: Block[] = [];
  readonly #unchanged = new Set<number>();
  #table = '';
  #lines: Buffer[] = [];
  writtenRows = 0;

  constructor(writer: BackupWriter, base: Base | null) {
    this.#writer = writer;
    this.#base = base;
  }

  take(table: string, line: Buffer): void {
    if (table !== this.#table) this.endBlock();
    this.#table = table;
    this.#lines.push(line);
    const block = this.#cutter.take(line);
    if (block !== null) this.#put(block);
  }

  endBlock(): void {
    const block = this.#cutter.end();
    if (block !== null) this.#put(block);
  }

  get index(): BackupIndex {
    return { blocks: this.#blocks, unchanged: rangesOf([...this.#unchanged].toSorted((a, b) => a - b)) };
  }

  #put(block: Block): void {
    const position = this.#base?.positions.get(block.digest);
    if (position !== undefined && !this.#unchanged.has(position)) this.#unchanged.add(position);
    else {
      for (const line of this.#lines) this.#writer.write(line);
      this.writtenRows += block.rows;
      if (this.#base === null) this.#blocks.push(block);
    }
    this.#lines = [];
  }
}

/** The lines of a backup, and before them the rows that it leaves to its base. */
export function* linesOf(reader: BackupReader, base: BackupReader | null, rootKey: KeyObject): Generator<unknown> {
  if (base !== null) yield* unchangedRows(reader, base, rootKey);
  yield* reader.records(rootKey);
}

function* unchangedRows(reader: BackupReader, base: BackupReader, rootKey: KeyObject): Generator<unknown> {
  const unchanged = readIndex(reader, rootKey)?.unchanged;
  const blocks = readIndex(base, rootKey)?.blocks;
  if (unchanged === undefined || blocks === undefined)
    throw new StartError('The backup has no index: use another one.');
  const rows = base.records(rootKey);
  let next = 0;
  for (const [first, last] of unchanged) {
    for (; next < first; next++) for (const _ of rowsOf(blocks[next], rows));
    for (; next <= last; next++) yield* rowsOf(blocks[next], rows);
  }
}

/** The rows of a block, which are the next ones. */
function* rowsOf(block: Block | undefined, rows: Iterator<unknown>): Generator<unknown> {
  for (let n = 0; n < (block?.rows ?? 0); n++) yield rows.next().value;
}
