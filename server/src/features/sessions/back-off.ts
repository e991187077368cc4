import { addressGroup, networkGroup } from '../../kernel/base/address-group.ts';
import { MINUTE_MS, SECOND_MS } from '../../kernel/base/clock.ts';
import { CofferError } from '../../kernel/base/errors.ts';
import { sha256 } from '../../kernel/crypto/digest.ts';
import * as store from '../../kernel/limits/attempt-counters.ts';
import type { Database, Tx } from '../../kernel/storage/database.ts';
import { SYSTEM_TENANT } from '../../kernel/storage/tables.ts';

/** Failed attempts without a delay; each further one doubles it: 1, 2, 4 … seconds, up to the maximum. */
const FREE_TRIES = { account: 5, address: 20, network: 100 };
const LONGEST_MS = 5 * MINUTE_MS;
const FORGET_AFTER_MS = 60 * MINUTE_MS;

export type Subject = { kind: keyof typeof FREE_TRIES; hash: Buffer };

/**
 * The subjects of an attempt. The account is counted whether or not it exists, and under its canonical name, so that case or spaces do not make a new
 * subject.
 */
export function subjectsOf(tenant: string, email: string, address: string): Subject[] {
  return [
    { kind: 'account', hash: sha256(JSON.stringify(['account', tenant, email])) },
    { kind: 'address', hash: sha256(JSON.stringify(['address', addressGroup(address)])) },
  ];
}

/** Sign-ups have counters of their own: many of them from one network must not delay its logins. */
export function signupSubjects(mailbox: string, address: string): Subject[] {
  return [
    { kind: 'account', hash: sha256(JSON.stringify(['sign-up account', mailbox])) },
    { kind: 'address', hash: sha256(JSON.stringify(['sign-up address', addressGroup(address)])) },
    { kind: 'network', hash: sha256(JSON.stringify(['sign-up network', networkGroup(address)])) },
  ];
}

/** Codes of command lines: anyone who guesses them from one address is slowed down, and so is a person who tries many. */
export function deviceSubjects(userId: string, address: string): Subject[] {
  const byAddress: Subject = { kind: 'address', hash: sha256(JSON.stringify(['device code', addressGroup(address)])) };
  if (userId === '') return [byAddress];
  return [{ kind: 'account', hash: sha256(JSON.stringify(['device code of', userId])) }, byAddress];
}

/** Anyone who has the token of a sign-up may still not guess the password of the person who signed up. */
export function verificationSubjects(tokenHash: Buffer): Subject[] {
  return [{ kind: 'account', hash: sha256(JSON.stringify(['verification', tokenHash.toString('base64url')])) }];
}

/**
 * Counts an attempt as failed before it is verified, so that a thousand concurrent attempts count as a thousand. `succeeded` undoes it. Refuses while
 * a subject is blocked.
 */
export async function beginTry(
  database: Database,
  subjects: readonly Subject[],
  now: number,
  what: 'failed logins' | 'sign-ups' | 'wrong codes' | 'attempts to verify' = 'failed logins',
): Promise<void> {
  const blockedUntil = await database.transaction(async (tx) => {
    let until = 0;
    for (const { kind, hash } of subjects) {
      const row = await store.lockFailures(tx, SYSTEM_TENANT, hash);
      if (row.blocked_until > now) {
        until = Math.max(until, row.blocked_until);
        continue;
      }
      const failures = (row.forget_at > now ? row.failures : 0) + 1;
      const delay = delayMs(kind, failures);
      const blocked_until = delay === 0 ? 0 : now + delay;
      const forget_at = now + delay + FORGET_AFTER_MS;
      await store.saveFailures(tx, {
        tenant_id: SYSTEM_TENANT,
        subject_hash: hash,
        failures,
        blocked_until,
        forget_at,
      });
    }
    return until;
  });
  if (blockedUntil <= now) return;
  const retryAfterSeconds = Math.ceil((blockedUntil - now) / SECOND_MS);
  throw new CofferError('RATE_LIMIT_EXCEEDED', `Too many ${what}: retry in ${retryAfterSeconds} s.`, {
    retryAfterSeconds,
    auditReason: `too many ${what}`,
  });
}

/** The account's counter is reset. The address's is only decremented: otherwise one valid account would hide guesses at others. */
export async function succeeded(tx: Tx, subjects: readonly Subject[]): Promise<void> {
  for (const { kind, hash } of subjects) {
    if (kind === 'account') await store.clearFailures(tx, SYSTEM_TENANT, hash);
    else await forgive(tx, hash);
  }
}

/** The attempt was not verified after all, so it is not counted. */
export function takeBack(database: Database, subjects: readonly Subject[]): Promise<void> {
  return database.transaction(async (tx) => {
    for (const { kind, hash } of subjects) {
      if (kind === 'address') await forgive(tx, hash);
      else {
        const row = await store.lockFailures(tx, SYSTEM_TENANT, hash);
        await store.saveFailures(tx, { ...row, failures: Math.max(0, row.failures - 1), blocked_until: 0 });
      }
    }
  });
}

/** The password was right and only the code is missing, so the attempt does not count against the address. */
export function forgiveAddress(database: Database, subjects: readonly Subject[]): Promise<void> {
  return database.transaction(async (tx) => {
    for (const { kind, hash } of subjects) if (kind === 'address') await forgive(tx, hash);
  });
}

async function forgive(tx: Tx, hash: Buffer): Promise<void> {
  const row = await store.lockFailures(tx, SYSTEM_TENANT, hash);
  const failures = Math.max(0, row.failures - 1);
  // A block caused by other attempts stays: a successful login must not lift it for concurrent guesses.
  const blocked_until = failures < FREE_TRIES.address ? 0 : row.blocked_until;
  await store.saveFailures(tx, { ...row, failures, blocked_until });
}

function delayMs(kind: Subject['kind'], failures: number): number {
  const beyond = failures - FREE_TRIES[kind];
  return beyond < 0 ? 0 : Math.min(LONGEST_MS, SECOND_MS * 2 ** beyond);
}
