import type { RootKey } from '../crypto/root-key.ts';
import type { Database } from '../storage/database.ts';
import { failureOf, openCopy, type RootSeals, type SealFailure } from './root-seals.ts';
import { type SealedCopy, saveCheck } from './sealed-copies.ts';
import { checkSealedKey, SHAMIR } from './shamir-seal.ts';

/** Whether one seal opens the root key. */
export interface SealCheck {
  readonly reference: string;
  readonly problem: SealFailure['problem'] | null;
  readonly message: string;
}

/** Opens the copy under each seal and compares it with the root key in memory, so that a seal that is lost is noticed while another one opens. */
export async function checkCopies(
  database: Database,
  seals: RootSeals,
  { root, now }: { root: RootKey; now: number },
): Promise<SealCheck[]> {
  const checks: SealCheck[] = [];
  for (const reference of seals.references) {
    const copy = seals.copies.find((one) => one.reference === reference);
    const check = await checkOne(seals, reference, copy, root);
    checks.push(check);
    if (copy !== undefined)
      await database.transaction((tx) => saveCheck(tx, copy, { checked_at: now, problem: check.problem }));
  }
  return checks;
}

async function checkOne(
  seals: RootSeals,
  reference: string,
  copy: SealedCopy | undefined,
  root: RootKey,
): Promise<SealCheck> {
  if (copy === undefined) return { reference, problem: 'no_copy', message: 'Run "coffer server seal add" with it.' };
  try {
    if (reference === SHAMIR) checkSealedKey(copy.sealed, seals.installation, root);
    else if ((await openCopy(seals, copy)).id !== root.id)
      return {
        reference,
        problem: 'wrong',
        message: 'It opens another root key: run "coffer server seal add" with it.',
      };
    return { reference, problem: null, message: '' };
  } catch (error) {
    return failureOf(reference, error);
  }
}
