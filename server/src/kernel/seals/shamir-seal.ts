import { createHash, createSecretKey, randomBytes } from 'node:crypto';
import type { RootKey } from '../crypto/root-key.ts';
import { SEALED_OVERHEAD_BYTES, type SealedLocation, seal, UnsealError, unseal } from '../crypto/sealing.ts';
import { SealError } from './provider.ts';
import { join, PARTS_MAX, split } from './shamir.ts';
import { formatShare, type Share, ShareProblem } from './share-text.ts';

/** What `CV_SEALS` calls it. An installation has one set of shares at a time. */
export const SHAMIR = 'shamir';

const FORMAT = 1;
const KEY_BYTES = 32;
const SET_ID_BYTES = 6;
const MARK_BYTES = 16;
const HEAD_BYTES = 1 + SET_ID_BYTES + 2 + 2;
const SEALED_KEY_BYTES = SEALED_OVERHEAD_BYTES + KEY_BYTES;
const DAY_MS = 86_400_000;

/** What everybody may know of a set of shares. */
export interface ShareSet {
  readonly id: string;
  readonly needed: number;
  readonly parts: number;
  readonly madeOn: string;
}

interface Stored {
  set: ShareSet;
  /** A digest of each share, so that a wrong one is recognized by itself, and the right ones that others entered still count. */
  marks: readonly Buffer[];
  /** The root key under the sealing key, which is what the shares give. */
  sealedRoot: Buffer;
  /** The sealing key under the root key, so that another root key is sealed for the same shares without them. */
  sealedKey: Buffer;
}

/** Seals the root key under a key that exists only in shares. */
export function sealInShares(
  root: RootKey,
  { installation, needed, parts, now }: { installation: string; needed: number; parts: number; now: number },
): { sealed: Buffer; shares: Share[] } {
  const key = randomBytes(KEY_BYTES);
  const day = Math.floor(now / DAY_MS);
  const madeOn = new Date(day * DAY_MS).toISOString().slice(0, 10);
  const set: ShareSet = { id: randomBytes(SET_ID_BYTES).toString('hex'), needed, parts, madeOn };
  const shares = split(key, set).map((y, i): Share => ({ setId: set.id, needed, parts, index: i + 1, madeOn, y }));
  const sealed = stored(installation, { set, marks: shares.map(markOf) }, key, root);
  key.fill(0);
  return { sealed, shares };
}

/** The same for another root key: the shares that people hold stay as they are. Enough of them have to be there, because somebody with the former root key could have stored a set of their own. */
export function sealForSameShares(
  sealed: Uint8Array,
  installation: string,
  { from, to, shares }: { from: RootKey; to: RootKey; shares: readonly Share[] },
): Buffer {
  const { set, marks, sealedKey } = parse(sealed);
  const key = openWith(() => unseal(from.key, placeOf(installation, set, 'key'), sealedKey));
  if (!join(shares.slice(0, set.needed)).equals(key)) throw damaged();
  const result = stored(installation, { set, marks }, key, to);
  key.fill(0);
  return result;
}

export function shareSetOf(sealed: Uint8Array): ShareSet {
  return parse(sealed).set;
}

/** Refuses a share that does not belong to the set, or is not what was handed out. */
export function checkShare(sealed: Uint8Array, share: Share): void {
  const { set, marks } = parse(sealed);
  if (share.setId !== set.id) {
    throw new ShareProblem(
      `This share belongs to set ${share.setId}, made on ${share.madeOn}; this installation needs set ${set.id}, made on ${set.madeOn}.`,
    );
  }
  const mark = marks[share.index - 1];
  if (mark === undefined || share.needed !== set.needed || !markOf(share).equals(mark))
    throw new ShareProblem(`This is not share ${share.index} of set ${set.id}: it was changed after it was printed.`);
}

/** The bytes of the root key. The shares were checked, and have different indexes. */
export function openByShares(sealed: Uint8Array, installation: string, shares: readonly Share[]): Buffer {
  const { set, sealedRoot } = parse(sealed);
  const key = join(shares.slice(0, set.needed));
  try {
    return openWith(() => unseal(createSecretKey(key), placeOf(installation, set, 'root'), sealedRoot));
  } finally {
    key.fill(0);
  }
}

/** Whether the root key can be sealed again for the shares: as much as can be known without them. */
export function checkSealedKey(sealed: Uint8Array, installation: string, root: RootKey): void {
  const { set, sealedKey, sealedRoot } = parse(sealed);
  const key = openWith(() => unseal(root.key, placeOf(installation, set, 'key'), sealedKey));
  const inside = openWith(() => unseal(createSecretKey(key), placeOf(installation, set, 'root'), sealedRoot));
  const isSame = inside.equals(root.key.export());
  key.fill(0);
  inside.fill(0);
  if (!isSame) throw damaged();
}

export function printShare(share: Share): string {
  return formatShare(share);
}

export function isPossibleSet(needed: number, parts: number): boolean {
  return [needed, parts].every(Number.isInteger) && needed >= 2 && parts >= needed && parts <= PARTS_MAX;
}

function stored(
  installation: string,
  { set, marks }: Pick<Stored, 'set' | 'marks'>,
  key: Buffer,
  root: RootKey,
): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head[0] = FORMAT;
  head.write(set.id, 1, 'hex');
  head.set([set.needed, set.parts], 1 + SET_ID_BYTES);
  head.writeUInt16BE(Date.parse(set.madeOn) / DAY_MS, HEAD_BYTES - 2);
  const bytes = root.key.export();
  const sealedRoot = seal(createSecretKey(key), 0, placeOf(installation, set, 'root'), bytes);
  bytes.fill(0);
  const sealedKey = seal(root.key, 0, placeOf(installation, set, 'key'), key);
  return Buffer.concat([head, sealedRoot, sealedKey, ...marks]);
}

function parse(sealed: Uint8Array): Stored {
  const bytes = Buffer.from(sealed);
  const parts = bytes[2 + SET_ID_BYTES] ?? 0;
  const needed = bytes[1 + SET_ID_BYTES] ?? 0;
  const marksAt = HEAD_BYTES + 2 * SEALED_KEY_BYTES;
  if (bytes[0] !== FORMAT || !isPossibleSet(needed, parts) || bytes.length !== marksAt + parts * MARK_BYTES)
    throw damaged();
  const madeOn = new Date(bytes.readUInt16BE(HEAD_BYTES - 2) * DAY_MS).toISOString().slice(0, 10);
  return {
    set: { id: bytes.toString('hex', 1, 1 + SET_ID_BYTES), needed, parts, madeOn },
    sealedRoot: bytes.subarray(HEAD_BYTES, HEAD_BYTES + SEALED_KEY_BYTES),
    sealedKey: bytes.subarray(HEAD_BYTES + SEALED_KEY_BYTES, marksAt),
    marks: Array.from({ length: parts }, (_, i) =>
      bytes.subarray(marksAt + i * MARK_BYTES, marksAt + (i + 1) * MARK_BYTES),
    ),
  };
}

/** A share has 256 random bits, so its digest helps nobody to guess it. */
function markOf({ setId, index, y }: Share): Buffer {
  return createHash('sha256').update(`coffer share of ${setId} ${index}\0`).update(y).digest().subarray(0, MARK_BYTES);
}

function placeOf(installation: string, { id, needed, parts, madeOn }: ShareSet, what: string): SealedLocation {
  return {
    tenantId: 'system',
    table: 'seals',
    row: `shamir ${what} ${installation} ${id} ${needed}/${parts} ${madeOn}`,
  };
}

function openWith(open: () => Buffer): Buffer {
  try {
    return open();
  } catch (error) {
    if (error instanceof UnsealError) throw damaged();
    throw error;
  }
}

function damaged(): SealError {
  return new SealError(
    'wrong',
    'What is stored for the shares was changed or damaged, or belongs to another root key: make a new set with "coffer server seal add shamir".',
  );
}
