import { sha256 } from '../crypto/digest.ts';
import type { AuditEntry } from './entry.ts';

/** The hash before the first entry of every chain. */
export const GENESIS_HASH = Buffer.alloc(32);

export interface ChainHead {
  seq: number;
  hash: Uint8Array;
}

export interface LinkedEntry extends AuditEntry {
  seq: number;
  hash: Buffer;
}

/** Links entries after the head, in the order given. Entries are of one tenant. */
export function link(head: ChainHead, entries: readonly AuditEntry[]): LinkedEntry[] {
  let { seq, hash } = head;
  return entries.map((entry) => {
    seq++;
    const next = linkHash(hash, seq, entry);
    hash = next;
    return { ...entry, seq, hash: next };
  });
}

/**
 * SHA-256 over the previous hash, in hexadecimal, and the entry as a JSON array of its fields in this order. Unkeyed, so that an export can be
 * verified anywhere; the head is what is protected (see heads.ts).
 */
export function linkHash(previous: Uint8Array, seq: number, e: AuditEntry): Buffer {
  const fields = [
    e.tenant_id,
    seq,
    e.id,
    e.at,
    e.actor_kind,
    e.actor_id,
    e.actor_name,
    e.actor_key,
    e.action,
    e.resource,
    e.vault,
    e.decision,
    e.status,
    e.ip,
    e.user_agent,
    e.request_id,
    e.reason,
    e.details,
  ];
  const before = Buffer.from(previous.buffer, previous.byteOffset, previous.byteLength).toString('hex');
  return sha256(before + JSON.stringify(fields));
}
