import { createHash, hash } from 'node:crypto';

/** The size that blocks have on average, and the size at which one ends in any case. */
const TARGET_BYTES = 128 * 1024;
const MAX_BYTES = 4 * TARGET_BYTES;
const HASHES = 2 ** 32;

/** Consecutive rows of one table. */
export interface Block {
  rows: number;
  digest: string;
}

/**
 * Divides the rows of a backup into blocks. Where a block ends depends only on the rows in it, so that rows that did not change make the same blocks in
 * the next backup, whatever was inserted, changed or deleted before them.
 */
export class BlockCutter {
  #hash = createHash('sha256');
  #rows = 0;
  #bytes = 0;

  /** Takes the next row. Returns the block if this row is its last. */
  take(line: Buffer): Block | null {
    const digest = hash('sha256', line, 'buffer');
    this.#hash.update(digest);
    this.#rows++;
    this.#bytes += line.length;
    const isLast = digest.readUInt32BE(0) < (HASHES * line.length) / TARGET_BYTES || this.#bytes >= MAX_BYTES;
    return isLast ? this.end() : null;
  }

  /** Ends the block where the table ends. Returns null if no row is left. */
  end(): Block | null {
    if (this.#rows === 0) return null;
    const block = { rows: this.#rows, digest: this.#hash.digest('base64') };
    [this.#hash, this.#rows, this.#bytes] = [createHash('sha256'), 0, 0];
    return block;
  }
}
