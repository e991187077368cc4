import { StartError } from '../../kernel/base/data-folder.ts';
import type { RootKey } from '../../kernel/crypto/root-key.ts';
import { failureOf, type RootSeals, sealCopy } from '../../kernel/seals/root-seals.ts';
import type { SealedCopy } from '../../kernel/seals/sealed-copies.ts';
import { SHAMIR, sealForSameShares } from '../../kernel/seals/shamir-seal.ts';
import type { Config } from '../../settings/config.ts';
import { type Locked, rootSeals } from '../../start/open-root-key.ts';

/** Copies of a new root key under every seal that the settings name and that has a copy now. All are made, or none is used. */
export async function resealed(
  config: Config,
  locked: Locked,
  change: { from: RootKey; to: RootKey; now: number },
): Promise<SealedCopy[]> {
  const seals = rootSeals(config, locked);
  const copies: SealedCopy[] = [];
  for (const reference of seals.references) {
    const former = locked.copies.find((copy) => copy.reference === reference);
    if (former !== undefined) copies.push(await sealedAgain(seals, former, change));
  }
  return copies;
}

async function sealedAgain(
  seals: RootSeals,
  former: SealedCopy,
  { from, to, now }: { from: RootKey; to: RootKey; now: number },
): Promise<SealedCopy> {
  const { reference } = former;
  try {
    if (reference !== SHAMIR) return await sealCopy(seals, reference, to, now);
    const sealed = sealForSameShares(former.sealed, seals.installation, from, to);
    return { reference, sealed, root_key_id: to.id, sealed_at: now };
  } catch (error) {
    const { message } = failureOf(reference, error);
    throw new StartError(
      `The new root key could not be sealed under ${reference}, so nothing was changed. ${message} To go on without this seal, remove it first with "coffer server seal remove".`,
    );
  }
}
