import { rmSync } from 'node:fs';
import { StartError } from '../../kernel/base/data-folder.ts';
import { SealError } from '../../kernel/seals/provider.ts';
import { openCopy } from '../../kernel/seals/root-seals.ts';
import { deleteCopy } from '../../kernel/seals/sealed-copies.ts';
import { checkSealedKey, SHAMIR } from '../../kernel/seals/shamir-seal.ts';
import type { Config } from '../../settings/config.ts';
import { isDirect, providerFor } from '../../start/open-root-key.ts';
import { changeSeals, type OpenSeals, withSeals } from './change-seals.ts';

export interface RemoveOptions {
  /** Goes on although only one seal is left. */
  leaveOne?: boolean;
}

/** Takes a seal away, once another one was seen to open. */
export function removeSeal(config: Config, reference: string, options: RemoveOptions = {}): Promise<string> {
  return withSeals(config, async (open) => {
    const isProvider = reference === config.rootKey.provider && isDirect(config);
    const hasCopy = open.locked.copies.some((copy) => copy.reference === reference);
    if (!isProvider && !hasCopy)
      throw new StartError(
        `There is no seal ${JSON.stringify(reference)}: "coffer server seal list" shows those there are.`,
      );
    const left = await openingWithout(config, open, reference);
    if (left.length === 0)
      throw new StartError(
        `No other seal opens the root key, so ${reference} was not removed. Add one with "coffer server seal add", name it in CV_SEALS, and see "coffer server seal check".`,
      );
    if (left.length === 1 && options.leaveOne !== true)
      throw new StartError(
        `Only ${left[0]} would be left: if it is lost, every secret is lost. Add another seal first, or repeat with --leave-one.`,
      );
    await changeSeals(open, { action: 'server:seal_remove', reference }, (tx) => deleteCopy(tx, reference));
    if (isProvider && config.rootKey.provider === 'file') rmSync(config.rootKey.file);
    return `${said(config, reference, isProvider)} Set CV_SEALS=${left.join(',')} on every node. Anyone who has an older copy of the database and can use ${reference} can still open that copy: "coffer server rekey" makes a key that it never had.`;
  });
}

/** The other seals of the settings that open now. Shares count if enough of them are in CV_SHARES_FILE, or as long as their copy is whole. */
async function openingWithout(config: Config, open: OpenSeals, removed: string): Promise<string[]> {
  const named = (config.seals ?? [config.rootKey.provider]).filter((reference) => reference !== removed);
  const opening: string[] = [];
  for (const reference of named) if (await opens(config, open, reference)) opening.push(reference);
  return opening;
}

async function opens(
  config: Config,
  { locked, root, installation, by }: OpenSeals,
  reference: string,
): Promise<boolean> {
  if (reference === by) return true;
  // The provider is tried before the others: if it did not open, it has no copy, either.
  const copy = locked.copies.find((one) => one.reference === reference);
  if (copy === undefined || copy.root_key_id !== root.id) return false;
  const seals = { installation: installation.installationId, providerOf: providerFor(config) };
  try {
    if (reference !== SHAMIR) return (await openCopy(seals, copy)).id === root.id;
    checkSealedKey(copy.sealed, seals.installation, root);
    return true;
  } catch (error) {
    if (error instanceof SealError) return false;
    throw error;
  }
}

function said({ rootKey }: Config, reference: string, isProvider: boolean): string {
  if (!isProvider) return `The copy of the root key under ${reference} was deleted.`;
  return rootKey.provider === 'file'
    ? `The root key file ${rootKey.file} was deleted; delete its copies as well.`
    : `Remove the root key from the settings of every node.`;
}
