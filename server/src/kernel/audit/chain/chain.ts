import { hash } from 'node:crypto';

/** The hash before the first entry of every chain. */
export const GENESIS_HASH = Buffer.alloc(32);
export const HASH_BYTES = 32;

export interface ChainHead {
  seq: number;
  hash: Uint8Array;
}

/** The entry at which a chain fails verification, and why. */
export interface BrokenLink {
  seq: number;
  reason: string;
}

export interface Links {
  firstSeq: number;
  /** The hashes of all entries in order, 32 bytes each. */
  hashes: Buffer;
  head: ChainHead;
}

/** Links entries of one tenant, as `entryText` serializes them, after the head in the given order. */
export function link(head: ChainHead, tenantId: string, texts: readonly string[]): Links {
  let { seq } = head;
  let last = hexOf(head.hash);
  let all = '';
  for (const text of texts) {
    last = linkHash(last, tenantId, ++seq, text);
    all += last;
  }
  const hashes = Buffer.from(all, 'hex');
  const end = texts.length === 0 ? head.hash : hashes.subarray(-HASH_BYTES);
  return { firstSeq: head.seq + 1, hashes, head: { seq, hash: end } };
}

/**
 * SHA-256 over four lines: the previous hash, the tenant, the sequence number and the entry. It has no key, so that an export can be verified
 * anywhere; the head is authenticated instead (see heads.ts). Hashes are hexadecimal strings here, because a `Buffer` for each costs twice as much
 * as the hash itself.
 */
export function linkHash(previous: string, tenantId: string, seq: number, text: string): string {
  return hash('sha256', `${previous}\n${tenantId}\n${seq}\n${text}`, 'hex');
}

export function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex');
}
