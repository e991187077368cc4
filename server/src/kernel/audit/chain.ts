import { sha256 } from '../crypto/digest.ts';

/** The hash before the first entry of every chain. */
export const GENESIS_HASH = Buffer.alloc(32);
export const HASH_BYTES = 32;

export interface ChainHead {
  seq: number;
  hash: Uint8Array;
}

export interface Links {
  firstSeq: number;
  /** Of each entry, 32 bytes each, in order. */
  hashes: Buffer;
  head: ChainHead;
}

/** Links entries (as `entryText` writes them) after the head, in the order given. They are of one tenant. */
export function link(head: ChainHead, tenantId: string, texts: readonly string[]): Links {
  const hashes = Buffer.allocUnsafe(texts.length * HASH_BYTES);
  let { seq, hash } = head;
  for (const [i, text] of texts.entries()) {
    seq++;
    const next = linkHash(hash, tenantId, seq, text);
    next.copy(hashes, i * HASH_BYTES);
    hash = next;
  }
  return { firstSeq: head.seq + 1, hashes, head: { seq, hash } };
}

/**
 * SHA-256 over four lines: the previous hash in hexadecimal, the tenant, the place, and the entry. Unkeyed, so that an export can be
 * verified anywhere; the head is what is protected (see heads.ts).
 */
export function linkHash(previous: Uint8Array, tenantId: string, seq: number, text: string): Buffer {
  const before = Buffer.from(previous.buffer, previous.byteOffset, previous.byteLength).toString('hex');
  return sha256(`${before}\n${tenantId}\n${seq}\n${text}`);
}
