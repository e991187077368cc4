import { hexOf } from '../../../kernel/audit/chain/chain.ts';
import { timestamp } from '../../../kernel/base/clock.ts';
import { SIGNATURE_ALGORITHM } from '../../pqc/index.ts';
import type { Checkpoint, CheckpointKey as WireKey } from '../contract.ts';
import type { CheckpointRow } from '../store.ts';
import type { CheckpointKey } from './checkpoint.ts';

/** Serializes checkpoints and their keys, for responses and for files. */

export function checkpointToWire(row: CheckpointRow): Checkpoint {
  const { tenant_id, checkpoint_no, seq, hash, signed_at, key_id, signature } = row;
  return {
    id: checkpoint_no,
    tenant_id,
    seq,
    hash: hexOf(hash),
    signed_at: timestamp(signed_at),
    key_id,
    signature: Buffer.from(signature).toString('base64'),
  };
}

export function keyToWire({ keyId, publicKey, endorsedBy, endorsement }: CheckpointKey): WireKey {
  return {
    key_id: keyId,
    algorithm: SIGNATURE_ALGORITHM,
    public_key: publicKey.toString('base64'),
    endorsed_by: endorsedBy,
    endorsement: endorsement?.toString('base64') ?? null,
  };
}
