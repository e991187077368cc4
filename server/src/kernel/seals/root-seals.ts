import { ROOT_KEY_BYTES, type RootKey, rootKeyOf } from '../crypto/root-key.ts';
import { type SealContext, SealError, type SealProblem, type SealProvider } from './provider.ts';
import type { SealedCopy } from './sealed-copies.ts';
import { checkShare, openByShares, SHAMIR, sealForSameShares, shareSetOf } from './shamir-seal.ts';
import { parseShare, type Share, ShareProblem } from './share-text.ts';

/** Why one seal does not open. */
export interface SealFailure {
  readonly reference: string;
  readonly problem: SealProblem | 'no_copy' | 'shares_needed';
  readonly message: string;
}

/** What opens or seals the root key of one installation. */
export interface RootSeals {
  readonly installation: string;
  readonly copies: readonly SealedCopy[];
  /** The seals in the order in which they are tried. */
  readonly references: readonly string[];
  providerOf(reference: string): SealProvider;
}

export function rootContext(installation: string): SealContext {
  return { installation, purpose: 'root-key' };
}

/** Tries each seal until one opens, and says why those before did not. */
export async function openRoot(
  seals: RootSeals,
  rootKeyId: string,
  /** Read only when it is their turn. */
  shares: () => ShareEntry | null,
): Promise<{ root: RootKey; by: string; failures: SealFailure[] } | { root: null; failures: SealFailure[] }> {
  const failures: SealFailure[] = [];
  for (const reference of seals.references) {
    const copy = seals.copies.find((one) => one.reference === reference);
    if (copy === undefined) {
      failures.push({ reference, problem: 'no_copy', message: NO_COPY });
      continue;
    }
    try {
      const root = reference === SHAMIR ? openShares(shares()) : await openCopy(seals, copy);
      if (root.id === rootKeyId) return { root, by: reference, failures };
      failures.push({ reference, problem: 'wrong', message: OTHER_KEY });
    } catch (error) {
      failures.push(failureOf(reference, error));
    }
  }
  return { root: null, failures };
}

const NO_COPY = 'It has no copy of the root key: run "coffer server seal add" with it while another seal opens.';
const OTHER_KEY =
  'What it opened is another root key: its copy is of an earlier one, or the database was exchanged. Run "coffer server seal add" with it again.';

/** The root key in a copy, for a seal that opens by itself. */
export async function openCopy(
  seals: Pick<RootSeals, 'installation' | 'providerOf'>,
  copy: SealedCopy,
): Promise<RootKey> {
  const provider = seals.providerOf(copy.reference);
  try {
    return rootFrom(await provider.open(copy.sealed, rootContext(seals.installation)));
  } finally {
    await provider.close();
  }
}

/** Seals the root key anew, and opens the result to be sure that it can be. */
export async function sealCopy(
  seals: Pick<RootSeals, 'installation' | 'providerOf'>,
  reference: string,
  root: RootKey,
  now: number,
): Promise<SealedCopy> {
  const provider = seals.providerOf(reference);
  const bytes = root.key.export();
  try {
    const sealed = await provider.seal(bytes, rootContext(seals.installation));
    const opened = rootFrom(await provider.open(sealed, rootContext(seals.installation)));
    if (opened.id !== root.id) throw new SealError('wrong', 'It opened something else than what it had sealed.');
    return { reference, sealed, root_key_id: root.id, sealed_at: now };
  } finally {
    bytes.fill(0);
    await provider.close();
  }
}

function openShares(shares: ShareEntry | null): RootKey {
  if (shares?.isComplete === true) return rootFrom(shares.open());
  throw new SharesNeeded();
}

class SharesNeeded extends Error {}

function rootFrom(bytes: Buffer): RootKey {
  try {
    if (bytes.length !== ROOT_KEY_BYTES) throw new SealError('wrong', 'What it opened is not a root key.');
    return rootKeyOf(bytes);
  } finally {
    bytes.fill(0);
  }
}

export function failureOf(reference: string, error: unknown): SealFailure {
  if (error instanceof SharesNeeded) return { reference, problem: 'shares_needed', message: SHARES_NEEDED };
  if (error instanceof SealError) return { reference, problem: error.problem, message: error.message };
  throw error;
}

const SHARES_NEEDED =
  'It opens with the shares that people hold: enter them with "coffer server unseal", at /unseal, or as lines of the file in CV_SHARES_FILE.';

/** The shares that were entered so far, of the set that the database names. Wrong ones change nothing. */
export class ShareEntry {
  readonly #copy: SealedCopy;
  readonly #installation: string;
  readonly #entered = new Map<number, Share>();

  constructor(copy: SealedCopy, installation: string) {
    this.#copy = copy;
    this.#installation = installation;
  }

  get set() {
    return shareSetOf(this.#copy.sealed);
  }

  get count(): number {
    return this.#entered.size;
  }

  get isComplete(): boolean {
    return this.#entered.size >= this.set.needed;
  }

  /** The index of the share. */
  enter(text: string): number {
    const share = parseShare(text);
    checkShare(this.#copy.sealed, share);
    if (this.#entered.has(share.index))
      throw new ShareProblem(`Share ${share.index} was entered before: enter another one.`);
    this.#entered.set(share.index, share);
    return share.index;
  }

  /** The sealing key for the same shares is what they make together, and not what somebody stored in its place. */
  sealAgain(from: RootKey, to: RootKey): Buffer {
    return sealForSameShares(this.#copy.sealed, this.#installation, { from, to, shares: [...this.#entered.values()] });
  }

  open(): Buffer {
    return openByShares(this.#copy.sealed, this.#installation, [...this.#entered.values()]);
  }

  /** Deletes them from memory. */
  clear(): void {
    for (const { y } of this.#entered.values()) y.fill(0);
    this.#entered.clear();
  }
}
