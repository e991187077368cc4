import { randomBytes } from 'node:crypto';
import { MINUTE_MS } from '../../kernel/base/clock.ts';
import { sha256 } from '../../kernel/crypto/digest.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import { insertAnswered } from './challenge-store.ts';

const PURPOSE = 'webauthn-challenge';
export const CHALLENGE_TTL_MS = 5 * MINUTE_MS;
const VERSION_BYTES = 4;
const TIME_BYTES = 6;
const NONCE_BYTES = 16;
const HEAD_BYTES = VERSION_BYTES + TIME_BYTES + NONCE_BYTES;
const MAC_BYTES = 32;
/** A key is replaced after months, and a number of this size fits into every database. */
const VERSION_MAX = 999_999_999;
/** 58 bytes have one spelling of 78 characters. */
const FORM = /^[A-Za-z0-9_-]{78}$/;

/** What a challenge is for. One that was made for something else does not match. */
export interface Occasion {
  tenantId: string;
  ceremony: 'enrol' | 'sign_in' | 'step_up';
  /** Empty for a sign-in, where the person is not known yet. */
  userId: string;
  /** The session that the challenge was given to; empty if there is none. */
  sessionId: string;
}

/** Makes the key before somebody who is unknown asks for the first challenge: no anonymous request makes keys. */
export async function prepareChallenges({ keyring }: Pick<Kernel, 'keyring'>, { tenantId }: Occasion): Promise<void> {
  await keyring.macKey(tenantId, PURPOSE);
}

/**
 * A challenge has its end and a MAC over what it is for, by a key that all nodes share: any node accepts it, nobody who is unknown makes the service
 * store anything, and nobody who can write to the database can make one. What is stored is that it was answered.
 */
export async function issueChallenge(
  { keyring, clock }: Pick<Kernel, 'clock' | 'keyring'>,
  occasion: Occasion,
): Promise<Buffer> {
  const key = await keyring.macKey(occasion.tenantId, PURPOSE);
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32BE(key.version, 0);
  head.writeUIntBE(clock.now() + CHALLENGE_TTL_MS, VERSION_BYTES, TIME_BYTES);
  randomBytes(NONCE_BYTES).copy(head, VERSION_BYTES + TIME_BYTES);
  return Buffer.concat([head, key.mac(macInput(occasion, head))]);
}

/** Whether the challenge was issued for this occasion and has not ended. `spendChallenge` then makes sure that it is answered once. */
export async function isChallengeFor(
  { keyring, clock }: Pick<Kernel, 'clock' | 'keyring'>,
  occasion: Occasion,
  text: string,
): Promise<boolean> {
  if (!FORM.test(text)) return false;
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.toString('base64url') !== text || bytes.length !== HEAD_BYTES + MAC_BYTES) return false;
  const head = bytes.subarray(0, HEAD_BYTES);
  const version = head.readUInt32BE(0);
  if (version < 1 || version > VERSION_MAX) return false;
  const left = expiryOf(bytes) - clock.now();
  if (left <= 0 || left > CHALLENGE_TTL_MS + MINUTE_MS) return false;
  const mac = bytes.subarray(HEAD_BYTES);
  return keyring.verifyMac(occasion.tenantId, { purpose: PURPOSE, version }, macInput(occasion, head), mac);
}

/** Of several concurrent answers to one challenge, the database accepts one; false for the others. */
export async function spendChallenge(tx: Tx, tenantId: string, text: string): Promise<boolean> {
  const expires_at = expiryOf(Buffer.from(text, 'base64url'));
  return insertAnswered(tx, { tenant_id: tenantId, challenge_hash: sha256(text), expires_at });
}

function expiryOf(bytes: Buffer): number {
  return bytes.readUIntBE(VERSION_BYTES, TIME_BYTES);
}

function macInput({ tenantId, ceremony, userId, sessionId }: Occasion, head: Buffer): Buffer {
  const what = [ceremony, tenantId, userId, sessionId, head.toString('base64url')];
  return Buffer.from(JSON.stringify(what), 'utf8');
}
