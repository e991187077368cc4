import { type Argon2Parameters, argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { SECOND_MS } from '../base/clock.ts';
import { unavailable } from '../base/errors.ts';
import { FairQueue } from '../fairness/fair-queue.ts';
import { type Argon2Cost, COST_DEFAULT, isLower, isWithinBounds } from './argon2-cost.ts';

const SALT_BYTES = 16;
const HASH_BYTES = 32;
/** Each running hash of a password holds 64 MiB. */
export const PASSWORD_SLOTS = 2;
/** Each running hash holds 64 MiB, and each waiting one holds a request. Both are limited, so logins cannot exhaust the process. */
let hashing = hashingQueue(PASSWORD_SLOTS);

function hashingQueue(slots: number): FairQueue {
  return new FairQueue({
    of: 'passwords',
    slots,
    perTenant: slots,
    waitingPerTenant: 64,
    waitingMax: 256,
    waitMs: 30 * SECOND_MS,
  });
}

/** Sets how many hashes this process computes at a time. Called before it hashes anything. */
export function setPasswordSlots(slots: number): void {
  hashing = hashingQueue(slots);
}

let currentCost = COST_DEFAULT;

/** For tests that log in thousands of times. The service never calls it. */
export function setPasswordCost(cost: Argon2Cost): void {
  currentCost = cost;
}

/** Returns `argon2id$m=…,t=…,p=…$salt$hash`. Hashing is slow, so callers with different `queueKey` take turns; it identifies the tenant. */
export async function hashPassword(password: string, queueKey: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const cost = currentCost;
  const hash = await derive(password, salt, cost, queueKey);
  const { memory, passes, parallelism } = cost;
  return `argon2id$m=${memory},t=${passes},p=${parallelism}$${salt.toString('base64')}$${hash.toString('base64')}`;
}

/** Whether a hash has a lower cost than new hashes have, so that it should be replaced after a successful login. */
export function needsRehash(stored: string): boolean {
  const parsed = parse(stored);
  return parsed !== null && isLower(parsed.cost, currentCost);
}

/**
 * Whether the password matches the stored hash, computed with the cost stored in the hash. Without a hash (no such account, or one without a
 * password) the same work is done anyway, so that the response time does not reveal which accounts exist.
 */
export async function verifyPassword(password: string, stored: string | null, queueKey: string): Promise<boolean> {
  const parsed = stored === null ? null : parse(stored);
  const salt = parsed?.salt ?? Buffer.alloc(SALT_BYTES);
  const actual = await derive(password, salt, parsed?.cost ?? currentCost, queueKey);
  return parsed !== null && timingSafeEqual(actual, parsed.hash);
}

const STORED = /^argon2id\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]+)$/;

function parse(stored: string): { cost: Argon2Cost; salt: Buffer; hash: Buffer } | null {
  const match = STORED.exec(stored);
  if (match === null) return null;
  const cost = { memory: Number(match[1]), passes: Number(match[2]), parallelism: Number(match[3]) };
  const hash = Buffer.from(String(match[5]), 'base64');
  if (hash.length !== HASH_BYTES || !isWithinBounds(cost)) return null;
  return { cost, salt: Buffer.from(String(match[4]), 'base64'), hash };
}

async function derive(password: string, salt: Buffer, cost: Argon2Cost, queueKey: string): Promise<Buffer> {
  const queue = hashing;
  // All callers get the same error: naming the tenant whose share is used up would reveal which tenants exist.
  await queue.enter(queueKey)?.catch((error: unknown) => {
    throw unavailable('Too many logins at the same time: try again shortly.', error);
  });
  const parameters: Argon2Parameters = { message: password, nonce: salt, tagLength: HASH_BYTES, ...cost };
  try {
    return await new Promise((resolve, reject) => {
      argon2('argon2id', parameters, (error, key) => (error === null ? resolve(key) : reject(error)));
    });
  } finally {
    queue.leave(queueKey);
  }
}
