import { StartError } from '../../kernel/base/data-folder.ts';
import type { RootKey } from '../../kernel/crypto/root-key.ts';
import { SealError } from '../../kernel/seals/provider.ts';
import { failureOf, type RootSeals, sealCopy } from '../../kernel/seals/root-seals.ts';
import type { SealedCopy } from '../../kernel/seals/sealed-copies.ts';
import { SHAMIR, shareSetOf } from '../../kernel/seals/shamir-seal.ts';
import type { Config } from '../../settings/config.ts';
import { type Locked, rootSeals, sharesFrom } from '../../start/open-root-key.ts';

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
    if (former !== undefined) copies.push(await sealedAgain({ config, locked, seals }, former, change));
  }
  return copies;
}

async function sealedAgain(
  { config, locked, seals }: { config: Config; locked: Locked; seals: RootSeals },
  former: SealedCopy,
  { from, to, now }: { from: RootKey; to: RootKey; now: number },
): Promise<SealedCopy> {
  const { reference } = former;
  try {
    if (reference !== SHAMIR) return await sealCopy(seals, reference, to, now);
    const entry = sharesFrom(config, locked);
    if (entry?.isComplete !== true)
      throw new SealError(
        'misconfigured',
        `Put shares of set ${shareSetOf(former.sealed).id} into the file in CV_SHARES_FILE: a rekey seals only for people who are seen to hold them.`,
      );
    const sealed = entry.sealAgain(from, to);
    entry.clear();
    return { reference, sealed, root_key_id: to.id, sealed_at: now };
  } catch (error) {
    const { message } = failureOf(reference, error);
    throw new StartError(
      `The new root key could not be sealed under ${reference}, so nothing was changed. ${message} To go on without this seal, remove it first with "coffer server seal remove".`,
    );
  }
}
