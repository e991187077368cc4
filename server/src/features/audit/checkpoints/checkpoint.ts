import { hash } from 'node:crypto';
import { hexOf } from '../../../kernel/audit/chain/chain.ts';
import { UnsealError } from '../../../kernel/crypto/sealing.ts';
import { SYSTEM_TENANT } from '../../../kernel/storage/tables.ts';
import {
  type PqcKey,
  type PqcKeys,
  type PqcVersion,
  parseCompositePublic,
  SIGNATURE_ALGORITHM,
  signDigest,
  verifyDigest,
} from '../../pqc/index.ts';
import type { CheckpointRow } from '../store.ts';

/** The context makes a checkpoint signature valid for nothing else, whatever the same key might ever sign. */
const CONTEXT = Buffer.from('coffer-audit-checkpoint-v1', 'ascii');
const KEY_CONTEXT = Buffer.from('coffer-audit-key-v1', 'ascii');
/** One version is created per year. */
const VERSIONS_MAX = 100;

export type Unsigned = Omit<CheckpointRow, 'key_id' | 'signature'>;

/**
 * The text that is signed: lines of fixed meaning, none of which can contain a line break. It must never change, since checkpoints are stored outside
 * the service and `coffer-verify` has its own copy of this format.
 */
export function checkpointText({ tenant_id, checkpoint_no, seq, hash, signed_at }: Unsigned): string {
  return ['coffer audit checkpoint v1', tenant_id, checkpoint_no, seq, hexOf(hash), signed_at].join('\n');
}

/** Signs with the installation's key, which otherwise signs only its own successor (docs/decisions/0016-audit-checkpoints.md). */
export async function signCheckpoint(keys: PqcKeys, unsigned: Unsigned): Promise<CheckpointRow> {
  return { ...unsigned, ...(await signText(keys, checkpointText(unsigned), CONTEXT)) };
}

/** The context makes the signature valid for one kind of text only. */
export async function signText(
  keys: PqcKeys,
  text: string,
  context: Buffer,
): Promise<{ key_id: string; signature: Buffer }> {
  const { keyId, privateKey } = await keys.newest(SYSTEM_TENANT, SIGNATURE_ALGORITHM);
  return { key_id: keyId, signature: await signDigest(privateKey, hash('sha512', text, 'buffer'), context) };
}

/** Returns why the signature is invalid, or null. */
export async function signatureProblem(keys: PqcKeys, row: CheckpointRow): Promise<string | null> {
  const name = `checkpoint ${row.checkpoint_no}`;
  return textProblem(keys, name, { ...row, text: checkpointText(row) }, CONTEXT);
}

export async function textProblem(
  keys: PqcKeys,
  name: string,
  signed: { text: string; key_id: string; signature: Uint8Array },
  context: Buffer,
): Promise<string | null> {
  const bytes = await publicKeyOf(keys, signed.key_id);
  const publicKey = bytes === null ? null : parseCompositePublic(bytes);
  if (publicKey === null) return `${name} is signed by an unknown key`;
  const digest = hash('sha512', signed.text, 'buffer');
  const { mlDsa, rsaPss } = await verifyDigest(publicKey, digest, Buffer.from(signed.signature), context);
  if (mlDsa && rsaPss) return null;
  const failed = [...(rsaPss ? [] : ['RSA-PSS']), ...(mlDsa ? [] : ['ML-DSA'])].join(' and ');
  return `the signature of ${name} does not hold (${failed})`;
}

/** A key that signs checkpoints, with its predecessor's signature over its id. */
export interface CheckpointKey {
  keyId: string;
  publicKey: Buffer;
  endorsedBy: string | null;
  endorsement: Buffer | null;
}

/**
 * Returns every version of the key, newest first. Anyone who pinned the id of one version can follow the endorsements to the later ones, and need not
 * pin a new id each year.
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
 * Each key endorses its successor once, and its private key is destroyed in the same step. Anyone who gains access later can then neither sign old
 * checkpoints anew nor endorse a key of their own.
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

/** A key whose row was tampered with is treated as unknown. */
async function publicKeyOf(keys: PqcKeys, keyId: string): Promise<Buffer | null> {
  try {
    const key = await keys.findPublic(SYSTEM_TENANT, keyId);
    return key?.algorithm === SIGNATURE_ALGORITHM ? key.publicKey : null;
  } catch (error) {
    if (error instanceof UnsealError) return null;
    throw error;
  }
}
