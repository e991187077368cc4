import { createHash } from 'node:crypto';
import { expiryOfCell } from './merge.ts';
import { isExcessive, signedText, type UnsignedOperation } from './operation.ts';

const DIGEST_BITS = 256;
const MODULUS = 1n << BigInt(DIGEST_BITS);

/**
 * A digest of a set of cells, whatever their order. Heads of audit logs, and when they were published, are left out, because they change all the time, and cells that expire up to
 * `asOf`, because regions delete those at different times.
 */
export class DirectoryDigest {
  #sum = 0n;
  readonly #asOf: number;

  constructor(asOf: number) {
    this.#asOf = asOf;
  }

  add(cell: UnsignedOperation): void {
    if (cell.kind === 'head' || cell.kind === 'published' || isExcessive(cell)) return;
    const expiry = expiryOfCell(cell);
    if (expiry !== null && expiry <= this.#asOf) return;
    const hash = createHash('sha256').update(signedText(cell)).digest('hex');
    this.#sum = (this.#sum + BigInt(`0x${hash}`)) % MODULUS;
  }

  toString(): string {
    return this.#sum.toString(16).padStart(DIGEST_BITS / 4, '0');
  }
}
