import { existsSync, readFileSync } from 'node:fs';
import { StartError } from '../kernel/base/data-folder.ts';
import {
  newRootKey,
  type RootKey,
  readRootKeyFile,
  renameDurably,
  rootKeyProvider,
} from '../kernel/crypto/root-key.ts';
import { AddressGuard } from '../kernel/outbound/address-guard.ts';
import { HttpClient } from '../kernel/outbound/http-client.ts';
import { openProvider } from '../kernel/seals/open-provider.ts';
import { SealError, type SealProvider } from '../kernel/seals/provider.ts';
import { openRoot, type RootSeals, type SealFailure, ShareEntry, sealCopy } from '../kernel/seals/root-seals.ts';
import type { SealedCopy } from '../kernel/seals/sealed-copies.ts';
import { SHAMIR, shareSetOf } from '../kernel/seals/shamir-seal.ts';
import { SHARE_TEXT_MAX, ShareProblem } from '../kernel/seals/share-text.ts';
import { machineCalls } from '../kernel/seals/surroundings.ts';
import { SYSTEM_TENANT } from '../kernel/storage/tables.ts';
import { systemTime } from '../kernel/time/sources.ts';
import type { Config } from '../settings/config.ts';

/** What is known of an installation without its root key. */
export interface Locked {
  readonly installationId: string;
  readonly rootKeyId: string;
  readonly salt: Uint8Array;
  readonly copies: readonly SealedCopy[];
}

export interface OpenedRoot {
  readonly root: RootKey;
  /** The seal that opened; the provider of the settings has its own name. */
  readonly by: string;
  /** Those that were tried before and did not open. */
  readonly failures: readonly SealFailure[];
}

/** No seal opens. The start is repeated where one of them may open later. */
export class RootKeyLocked extends StartError {
  readonly failures: readonly SealFailure[];
  readonly locked: Locked;

  constructor(locked: Locked, failures: readonly SealFailure[]) {
    const lines = failures.map(({ reference, message }) => `  ${reference}: ${message}`);
    super(`No seal in CV_SEALS opens the root key of this installation.\n${lines.join('\n')}`);
    this.failures = failures;
    this.locked = locked;
  }

  /** Whether waiting helps: a provider may be reached again, or people may enter their shares. */
  get mayOpenLater(): boolean {
    return this.failures.some(({ problem }) => problem === 'unreachable' || problem === 'shares_needed');
  }
}

/** Whether the provider of the settings has the root key itself. */
export function isDirect({ seals, rootKey }: Pick<Config, 'seals' | 'rootKey'>): boolean {
  return seals === null || seals.includes(rootKey.provider);
}

/** The seals beside the provider. */
export function sealReferences({ seals, rootKey }: Pick<Config, 'seals' | 'rootKey'>): string[] {
  return (seals ?? []).filter((reference) => reference !== rootKey.provider);
}

/** The provider of a seal of the root key: it uses the identity of this machine, and the address rules of the installation. */
export function providerFor({ outboundAllow }: Pick<Config, 'outboundAllow'>): (reference: string) => SealProvider {
  return (reference) =>
    openProvider(reference, {
      http: new HttpClient(new AddressGuard(outboundAllow)),
      machine: machineCalls(),
      env: process.env,
      clock: systemTime,
      owner: SYSTEM_TENANT,
    });
}

/** Opens the root key of an installation by the first seal that opens. `shares` are those that people have entered. */
export async function openRootKey(
  config: Config,
  locked: Locked,
  { shares = null, what = 'this database' }: { shares?: ShareEntry | null; what?: string } = {},
): Promise<OpenedRoot> {
  const failures: SealFailure[] = [];
  if (isDirect(config)) {
    const references = sealReferences(config);
    try {
      return { root: loadDirectly(config, locked, what), by: config.rootKey.provider, failures };
    } catch (error) {
      if (!(error instanceof StartError) || references.length === 0) throw error;
      failures.push({ reference: config.rootKey.provider, problem: 'misconfigured', message: error.message });
    }
  }
  const opened = await openRoot(
    rootSeals(config, locked),
    locked.rootKeyId,
    () => shares ?? sharesFrom(config, locked),
  );
  failures.push(...opened.failures);
  if (opened.root === null) throw new RootKeyLocked(locked, failures);
  return { root: opened.root, by: opened.by, failures };
}

export function rootSeals(config: Config, locked: Pick<Locked, 'installationId' | 'copies'>): RootSeals {
  return {
    installation: locked.installationId,
    copies: locked.copies,
    references: sealReferences(config),
    providerOf: providerFor(config),
  };
}

/** An empty entry for the set of shares of this installation; null if it has none, or the settings do not name it. */
export function shareEntry(
  config: Pick<Config, 'seals' | 'rootKey'>,
  { installationId, copies }: Locked,
): ShareEntry | null {
  const copy = copies.find(({ reference }) => reference === SHAMIR);
  if (copy === undefined || !sealReferences(config).includes(SHAMIR)) return null;
  try {
    shareSetOf(copy.sealed);
    return new ShareEntry(copy, installationId);
  } catch (error) {
    // It is damaged, which is said where it is opened.
    if (error instanceof SealError) return null;
    throw error;
  }
}

/** Enters the lines of the file in `CV_SHARES_FILE`. */
export function sharesFrom(config: Config, locked: Locked): ShareEntry | null {
  const entry = shareEntry(config, locked);
  if (config.sharesFile === null || entry === null) return entry;
  for (const [at, line] of readShareLines(config.sharesFile).entries()) {
    try {
      if (!entry.isComplete) entry.enter(line);
    } catch (error) {
      if (!(error instanceof ShareProblem)) throw error;
      throw new SealError(
        'misconfigured',
        `Line ${at + 1} of the shares in ${config.sharesFile} cannot be used. ${error.message}`,
      );
    }
  }
  return entry;
}

/** The lines of a file that are not empty. */
export function readShareLines(file: string): string[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new SealError(
      'misconfigured',
      `The file with shares ${file} cannot be read (${code}). Check its path, owner and permissions.`,
    );
  }
  return text
    .slice(0, SHARE_TEXT_MAX * SHARE_TEXT_MAX)
    .split('\n')
    .filter((line) => line.trim() !== '');
}

/** The root key of a new installation, and its copies under every seal that the settings name: none is missing when the first secret is stored. */
export async function newRoot(
  config: Config,
  { installationId, salt, now }: { installationId: string; salt: Uint8Array; now: number },
): Promise<{ root: RootKey; copies: SealedCopy[] }> {
  const references = sealReferences(config);
  if (references.includes(SHAMIR) && !isDirect(config) && references.length === 1) {
    throw new StartError(
      'A new installation cannot begin with shares alone, because somebody has to receive them. Start it once without CV_SEALS, run "coffer server seal add shamir --needed 3 --parts 5", then set CV_SEALS=shamir and run "coffer server seal remove file".',
    );
  }
  const root = isDirect(config) ? rootKeyProvider(config.rootKey).load(salt, true) : newRootKey().root;
  const seals = { installation: installationId, providerOf: providerFor(config) };
  const copies: SealedCopy[] = [];
  for (const reference of references)
    if (reference !== SHAMIR) copies.push(await sealCopy(seals, reference, root, now));
  return { root, copies };
}

export const NEXT_KEY_SUFFIX = '.next';

/** The root key that the provider of the settings has, if it is that of the installation. */
function loadDirectly(config: Config, { rootKeyId, salt }: Pick<Locked, 'rootKeyId' | 'salt'>, what: string): RootKey {
  if (config.rootKey.provider === 'file') finishRekey(config.rootKey.file, rootKeyId);
  const provider = rootKeyProvider(config.rootKey);
  const root = provider.load(salt, false);
  if (root.id === rootKeyId) return root;
  throw new StartError(
    `The root key from ${provider.describes} (${root.id}) cannot decrypt ${what}, which requires ${rootKeyId}. ` +
      'Provide the key that the database was created or last rekeyed with; nothing was changed.',
  );
}

/**
 * A rekey that is killed after its commit leaves the new key beside the old one, and the database says which one is current. A new key that is not
 * the database's stays where it is: a rekey may be about to commit it at this moment, and the next rekey replaces it.
 */
function finishRekey(file: string, rootKeyId: string): void {
  const next = `${file}${NEXT_KEY_SUFFIX}`;
  if (existsSync(next) && readRootKeyFile(next).id === rootKeyId) renameDurably(next, file);
}
