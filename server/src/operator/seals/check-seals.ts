import { timestamp } from '../../kernel/base/clock.ts';
import { StartError } from '../../kernel/base/data-folder.ts';
import { checkCopies, type SealCheck } from '../../kernel/seals/check-copies.ts';
import { SealError } from '../../kernel/seals/provider.ts';
import { listCopies } from '../../kernel/seals/sealed-copies.ts';
import { SHAMIR, shareSetOf } from '../../kernel/seals/shamir-seal.ts';
import type { Config } from '../../settings/config.ts';
import { findInstallation } from '../../start/installation.ts';
import { isDirect, rootSeals, sealReferences } from '../../start/open-root-key.ts';
import { withStorage } from '../with-kernel.ts';
import { withSeals } from './change-seals.ts';

/** Opens each seal, compares what it opened with the root key, and stores the result. */
export function checkSeals(config: Config): Promise<{ report: string; isWhole: boolean }> {
  return withSeals(config, async ({ kernel, locked, root, by, failures }) => {
    const checks = await checkCopies(kernel.database, rootSeals(config, locked), { root, now: kernel.clock.now() });
    const provider = isDirect(config)
      ? [
          failures.find(({ reference }) => reference === config.rootKey.provider) ?? {
            reference: config.rootKey.provider,
            problem: null,
            message: '',
          },
        ]
      : [];
    const all: SealCheck[] = [...provider, ...checks];
    const lines = all.map(({ reference, problem, message }) =>
      problem === null ? `${reference}: opens` : `${reference}: ${problem}. ${message}`,
    );
    return {
      report: [...lines, `The root key ${root.id} was opened by ${by}.`].join('\n'),
      isWhole: all.every(({ problem }) => problem === null),
    };
  });
}

/** What is known of each seal, without opening any. */
export function listSeals(config: Config): Promise<string> {
  return withStorage(config, async (database) => {
    const installation = await findInstallation(database);
    if (installation === null) throw new StartError('The database is empty: start the service once to initialize it.');
    const copies = await listCopies(database.read);
    const named = [...(isDirect(config) ? [config.rootKey.provider] : []), ...sealReferences(config)];
    const lines = named.map((reference) => {
      const copy = copies.find((one) => one.reference === reference);
      if (copy === undefined)
        return `${reference}: ${isDirect(config) && reference === config.rootKey.provider ? 'the provider, which has the root key itself' : 'has no copy yet; run "coffer server seal add"'}`;
      return `${reference}: ${described(copy, installation.rootKeyId)}`;
    });
    for (const copy of copies)
      if (!named.includes(copy.reference))
        lines.push(
          `${JSON.stringify(copy.reference)}: ${described(copy, installation.rootKeyId)}; not in CV_SEALS, so it is not used`,
        );
    return lines.join('\n');
  });
}

function described(copy: Awaited<ReturnType<typeof listCopies>>[number], rootKeyId: string): string {
  const parts = [`sealed ${timestamp(copy.sealed_at)}`];
  if (copy.reference === SHAMIR) {
    parts.push(setIn(copy.sealed));
  }
  if (copy.root_key_id !== rootKeyId) parts.push('of a former root key, so it opens nothing');
  if (copy.checked_at !== null) parts.push(`checked ${timestamp(copy.checked_at)}: ${copy.problem ?? 'opens'}`);
  return parts.join(', ');
}

function setIn(sealed: Uint8Array): string {
  try {
    const { id, needed, parts, madeOn } = shareSetOf(sealed);
    return `${needed} of ${parts} shares of set ${id}, made on ${madeOn}`;
  } catch (error) {
    if (error instanceof SealError) return error.message;
    throw error;
  }
}
