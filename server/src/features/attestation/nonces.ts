import { randomBytes } from 'node:crypto';
import { MINUTE_MS } from '../../kernel/base/clock.ts';
import { CofferError } from '../../kernel/base/errors.ts';
import { sha256 } from '../../kernel/crypto/digest.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import { type Finding, fatal } from './format.ts';
import * as store from './store.ts';

/**
 * This prefix identifies a nonce of the service even after it was used and deleted: such a nonce must never pass for one that the caller made. With the random bytes
 * it is short enough for the report data of SGX and SEV-SNP.
 */
const MARK = Buffer.from('cvnonce1', 'ascii');
const RANDOM_BYTES = 24;
const LIFE_MS = 10 * MINUTE_MS;
/** Maximum unused nonces per tenant. */
const WAITING_MAX = 10_000;

export async function issueNonce(tx: Tx, tenantId: string, now: number) {
  if ((await store.countNonces(tx, tenantId, now, WAITING_MAX)) >= WAITING_MAX) {
    throw new CofferError('RATE_LIMIT_EXCEEDED', 'Too many unused nonces: use some, or wait until they expire.', {
      retryAfterSeconds: LIFE_MS / 1000,
    });
  }
  const nonce = Buffer.concat([MARK, randomBytes(RANDOM_BYTES)]);
  const expires_at = now + LIFE_MS;
  await store.insertNonce(tx, { tenant_id: tenantId, nonce_hash: hashOf(nonce), expires_at });
  return { nonce, expiresAt: expires_at };
}

export function isServiceNonce(nonce: Uint8Array | null): nonce is Uint8Array {
  return nonce !== null && MARK.equals(nonce.subarray(0, MARK.length));
}

/** The nonce is deleted atomically, so of several concurrent requests only one can use it. */
export async function useNonce(tx: Tx, tenantId: string, nonce: Uint8Array, now: number): Promise<Finding[]> {
  if (await store.consumeNonce(tx, tenantId, hashOf(nonce), now)) return [];
  return [fatal('nonce_not_current', 'The nonce was already used, has expired, or was not issued to your tenant.')];
}

function hashOf(nonce: Uint8Array): string {
  return sha256(nonce).toString('hex');
}
