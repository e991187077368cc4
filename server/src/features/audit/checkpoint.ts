import { hash } from 'node:crypto';
import { hexOf } from '../../kernel/audit/chain.ts';
import { UnsealError } from '../../kernel/crypto/sealing.ts';
import { SYSTEM_TENANT } from '../../kernel/storage/tables.ts';
import {
  type PqcKey,
  type PqcKeys,
  type PqcVersion,
  parseCompositePublic,
  SIGNATURE_ALGORITHM,
  signDigest,
  verifyDigest,
} from '../pqc/index.ts';
import type { CheckpointRow } from './store.ts';

/** A signature of a checkpoint is one of nothing else, whatever the same key might ever sign. */
const CONTEXT = Buffer.from('coffer-audit-checkpoint-v1', 'ascii');
const KEY_CONTEXT = Buffer.from('coffer-audit-key-v1', 'ascii');
/** One is made in a year. */
const VERSIONS_MAX = 100;

export type Unsigned = Omit<CheckpointRow, 'key_id' | 'signature'>;

/**
 * What is signed: lines of fixed meaning, none of which can hold a line break. It never changes, since checkpoints are kept outside the service, and
 * `coffer-verify` has it written down once more.
 */
export function checkpointText({ tenant_id, checkpoint_no, seq, hash, signed_at }: Unsigned): string {
  return ['coffer audit checkpoint v1', tenant_id, checkpoint_no, seq, hexOf(hash), signed_at].join('\n');
}

/** With the key of the installation, which signs nothing else (docs/decisions/0016). */
export async function signCheckpoint(keys: PqcKeys, unsigned: Unsigned): Promise<CheckpointRow> {
  const { keyId, privateKey } = await keys.newest(SYSTEM_TENANT, SIGNATURE_ALGORITHM);
  return { ...unsigned, key_id: keyId, signature: await signDigest(privateKey, digestOf(unsigned), CONTEXT) };
}

/** Why the signature does not hold, or null. */
export async function signatureProblem(keys: PqcKeys, row: CheckpointRow): Promise<string | null> {
  const name = `checkpoint ${row.checkpoint_no}`;
  const bytes = await publicKeyOf(keys, row.key_id);
  const publicKey = bytes === null ? null : parseCompositePublic(bytes);
  if (publicKey === null) return `${name} is signed by an unknown key`;
  const { mlDsa, rsaPss } = await verifyDigest(publicKey, digestOf(row), Buffer.from(row.signature), CONTEXT);
  if (mlDsa && rsaPss) return null;
  const failed = [...(rsaPss ? [] : ['RSA-PSS']), ...(mlDsa ? [] : ['ML-DSA'])].join(' and ');
  return `the signature of ${name} does not hold (${failed})`;
}

/** A key that signs checkpoints, with the word of the one before it that it is its successor. */
export interface CheckpointKey {
  keyId: string;
  publicKey: Buffer;
  endorsedBy: string | null;
  endorsement: Buffer | null;
}

/**
 * Every version of the key, newest first. Who noted the id of one of them follows from there to those that came after, and need not
 * note a new one each year.
 */
export async function checkpointKeys(keys: PqcKeys): Promise<CheckpointKey[]> {
  await settleSuccession(keys);
  const versions = await versionsOf(keys);
  return versions.map(({ keyId, publicKey, endorsement }, i) => {
    const endorsedBy = endorsement === null ? null : (versions[i + 1]?.keyId ?? null);
    return { keyId, publicKey, endorsedBy, endorsement: endorsedBy === null ? null : endorsement };
  });
}

/**
 * Each key vouches for the one after it, once, and its private half is destroyed with that: who gets hold of it later can neither sign old
 * checkpoints anew nor vouch for a key of their own.
 */
export async function settleSuccession(keys: PqcKeys): Promise<void> {
  const versions = await versionsOf(keys);
  for (const [i, successor] of versions.entries()) {
    const before = versions[i + 1];
    if (before === undefined || before.privateKey === null || successor.endorsement !== null) continue;
    await keys.succeed(SYSTEM_TENANT, before, successor, await endorse(before.privateKey, successor.keyId));
  }
}

function versionsOf(keys: PqcKeys): Promise<PqcVersion<typeof SIGNATURE_ALGORITHM>[]> {
  return keys.versions(SYSTEM_TENANT, SIGNATURE_ALGORITHM, VERSIONS_MAX);
}

function endorse(privateKey: PqcKey<typeof SIGNATURE_ALGORITHM>['privateKey'], keyId: string): Promise<Buffer> {
  return signDigest(privateKey, hash('sha512', `coffer audit key v1\n${keyId}`, 'buffer'), KEY_CONTEXT);
}

/** A key whose row was tampered with is none of ours. */
async function publicKeyOf(keys: PqcKeys, keyId: string): Promise<Buffer | null> {
  try {
    const key = await keys.findPublic(SYSTEM_TENANT, keyId);
    return key?.algorithm === SIGNATURE_ALGORITHM ? key.publicKey : null;
  } catch (error) {
    if (error instanceof UnsealError) return null;
    throw error;
  }
}

function digestOf(unsigned: Unsigned): Buffer {
  return hash('sha512', checkpointText(unsigned), 'buffer');
}
