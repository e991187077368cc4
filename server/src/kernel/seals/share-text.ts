import { createHash } from 'node:crypto';

/** One share of a key, as a person holds it. */
export interface Share {
  /** Names the set that it belongs to: shares of different sets do not fit together. */
  readonly setId: string;
  readonly needed: number;
  readonly parts: number;
  /** From 1 to `parts`. */
  readonly index: number;
  /** The day on which the set was made. */
  readonly madeOn: string;
  readonly y: Buffer;
}

const PREFIX = 'cvshare1';
const SET_ID_BYTES = 6;
const Y_BYTES = 32;
const CHECKSUM_BYTES = 4;
const BYTES = SET_ID_BYTES + 3 + 2 + Y_BYTES + CHECKSUM_BYTES;
const GROUPS = /.{1,6}/g;
const DAY_MS = 86_400_000;
/** Crockford's base 32: without letters that look like digits. */
const LETTERS = '0123456789abcdefghjkmnpqrstvwxyz';
const BITS_OF_A_LETTER = 5;
const LETTERS_OF_A_SHARE = Math.ceil((BYTES * 8) / BITS_OF_A_LETTER);
/** A share with its groups is shorter; what is longer is not read. */
export const SHARE_TEXT_MAX = 256;

/** As text of one line, in groups that are easy to compare and to type. */
export function formatShare({ setId, needed, parts, index, madeOn, y }: Share): string {
  const head = Buffer.alloc(SET_ID_BYTES + 5);
  head.write(setId, 'hex');
  head.set([needed, parts, index], SET_ID_BYTES);
  head.writeUInt16BE(Date.parse(madeOn) / DAY_MS, SET_ID_BYTES + 3);
  const bytes = Buffer.concat([head, y]);
  const letters = toLetters(Buffer.concat([bytes, checksumOf(bytes)]));
  bytes.fill(0);
  return [PREFIX, ...(letters.match(GROUPS) ?? [])].join('-');
}

/** What is wrong with the text of a share. It never says a part of it. */
export class ShareProblem extends Error {
  override readonly name = 'ShareProblem';
}

/** Reads what `formatShare` wrote, in any case and with any spaces and hyphens. A letter that was typed wrong is found by the checksum. */
export function parseShare(text: string): Share {
  if (text.length > SHARE_TEXT_MAX) throw new ShareProblem('This is too long for a share: enter one share at a time.');
  const written = text.toLowerCase().replaceAll(/[\s-]/g, '');
  if (!written.startsWith(PREFIX)) throw new ShareProblem(`This is not a share: one begins with ${PREFIX}.`);
  const letters = written.slice(PREFIX.length).replaceAll('o', '0').replaceAll(/[il]/g, '1');
  const bytes = letters.length === LETTERS_OF_A_SHARE ? fromLetters(letters) : null;
  const end = BYTES - CHECKSUM_BYTES;
  if (bytes === null || !checksumOf(bytes.subarray(0, end)).equals(bytes.subarray(end)))
    throw new ShareProblem('This share was not typed as it was printed: compare it group by group.');
  const [needed = 0, parts = 0, index = 0] = bytes.subarray(SET_ID_BYTES);
  const days = bytes.readUInt16BE(SET_ID_BYTES + 3);
  if (needed < 2 || parts < needed || index < 1 || index > parts)
    throw new ShareProblem('This share says something about its set that cannot be: use another one.');
  return {
    setId: bytes.toString('hex', 0, SET_ID_BYTES),
    needed,
    parts,
    index,
    madeOn: new Date(days * DAY_MS).toISOString().slice(0, 10),
    y: Buffer.from(bytes.subarray(SET_ID_BYTES + 5, end)),
  };
}

/** Against typing errors. It is no secret, and guards against nobody who wants to deceive. */
function checksumOf(bytes: Uint8Array): Buffer {
  return createHash('sha256').update('coffer share\0').update(bytes).digest().subarray(0, CHECKSUM_BYTES);
}

function toLetters(bytes: Uint8Array): string {
  let letters = '';
  let [bits, count] = [0, 0];
  for (const byte of bytes) {
    bits = (bits << 8) | byte;
    for (count += 8; count >= BITS_OF_A_LETTER; count -= BITS_OF_A_LETTER)
      letters += LETTERS[(bits >> (count - BITS_OF_A_LETTER)) & 31];
    bits &= (1 << count) - 1;
  }
  return count === 0 ? letters : letters + LETTERS[(bits << (BITS_OF_A_LETTER - count)) & 31];
}

/** Null for another letter, and for bits left over that are not 0: each share has one spelling. */
function fromLetters(letters: string): Buffer | null {
  const bytes: number[] = [];
  let [bits, count] = [0, 0];
  for (const letter of letters) {
    const value = LETTERS.indexOf(letter);
    if (value === -1) return null;
    bits = (bits << BITS_OF_A_LETTER) | value;
    count += BITS_OF_A_LETTER;
    if (count >= 8) {
      count -= 8;
      bytes.push(bits >> count);
      bits &= (1 << count) - 1;
    }
  }
  return bits === 0 ? Buffer.from(bytes) : null;
}
