import { StartError } from '../../kernel/base/data-folder.ts';
import { failureOf, sealCopy } from '../../kernel/seals/root-seals.ts';
import { type SealedCopy, saveCopy } from '../../kernel/seals/sealed-copies.ts';
import { PARTS_MAX } from '../../kernel/seals/shamir.ts';
import { isPossibleSet, printShare, SHAMIR, sealInShares } from '../../kernel/seals/shamir-seal.ts';
import type { Config } from '../../settings/config.ts';
import { providerFor } from '../../start/open-root-key.ts';
import { changeSeals, type OpenSeals, withSeals } from './change-seals.ts';

export interface AddedSeal {
  /** What happened, and what to do next. */
  said: string;
  /** The shares, each for one person; they exist nowhere else. */
  shares: string[];
}

/** Seals the root key under one more seal, or anew under one that has a copy. */
export function addSeal(
  config: Config,
  reference: string,
  options: { needed?: number; parts?: number; keep?(shares: readonly string[]): void } = {},
): Promise<AddedSeal> {
  refuseProviders(reference);
  const { needed, parts, keep = () => {} } = options;
  if (reference !== SHAMIR) {
    if (needed !== undefined || parts !== undefined)
      throw new StartError('--needed and --parts are for shamir: leave them out.');
    return withSeals(config, (open) => addProvider(config, open, reference));
  }
  if (needed === undefined || parts === undefined || !isPossibleSet(needed, parts))
    throw new StartError(
      `Say how many shares there are and how many of them open: --needed 3 --parts 5, at least 2 and at most ${PARTS_MAX}.`,
    );
  return withSeals(config, (open) => addShares(config, open, { needed, parts }, keep));
}

function refuseProviders(reference: string): void {
  if (!['file', 'env', 'passphrase'].includes(reference)) return;
  throw new StartError(
    `${reference} has the root key itself, and no copy of it: set CV_ROOT_KEY_PROVIDER and "coffer server rekey" to change it.`,
  );
}

async function addProvider(config: Config, open: OpenSeals, reference: string): Promise<AddedSeal> {
  const seals = { installation: open.installation.installationId, providerOf: providerFor(config) };
  let copy: SealedCopy;
  try {
    copy = await sealCopy(seals, reference, open.root, open.kernel.clock.now());
  } catch (error) {
    throw new StartError(
      `The root key could not be sealed under ${reference}. ${failureOf(reference, error).message} Nothing was changed.`,
    );
  }
  await changeSeals(open, { action: 'server:seal_add', reference }, (tx) => saveCopy(tx, copy));
  return {
    said: `The root key ${open.root.id} is sealed under ${reference}, which was opened and compared. ${inSettings(config, reference)}`,
    shares: [],
  };
}

async function addShares(
  config: Config,
  open: OpenSeals,
  set: { needed: number; parts: number },
  keep: (shares: readonly string[]) => void,
): Promise<AddedSeal> {
  const now = open.kernel.clock.now();
  const { sealed, shares } = sealInShares(open.root, { installation: open.installation.installationId, ...set, now });
  const copy = { reference: SHAMIR, sealed, root_key_id: open.root.id, sealed_at: now };
  const former = open.locked.copies.some(({ reference }) => reference === SHAMIR);
  const details = { set_id: shares[0]?.setId ?? '', ...set };
  const printed = shares.map(printShare);
  // Before the former set is replaced: shares that nobody could keep open nothing.
  keep(printed);
  await changeSeals(open, { action: 'server:seal_add', reference: SHAMIR, details }, (tx) => saveCopy(tx, copy));
  const before = former
    ? ' The shares of the former set open nothing that is stored from now on; with an older copy of the database they still open it, until "coffer server rekey".'
    : '';
  return {
    said: `Any ${set.needed} of these ${set.parts} shares of set ${details.set_id} open the root key ${open.root.id}. Give each to another person. They are shown only now.${before} ${inSettings(config, SHAMIR)}`,
    shares: printed,
  };
}

/** A copy is used only once the settings name its seal: the database alone cannot say where keys come from. */
function inSettings({ seals, rootKey }: Config, reference: string): string {
  const named = seals ?? [rootKey.provider];
  if (named.includes(reference)) return 'CV_SEALS names it already.';
  return `Set CV_SEALS=${[...named, reference].join(',')} on every node, so that it is used.`;
}
