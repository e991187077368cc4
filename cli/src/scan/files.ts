import { closeSync, constants, fstatSync, openSync, readdirSync, readSync, realpathSync, statSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';
import { Ignored } from './ignore.ts';

/** A part of what is scanned, with whole lines. */
export interface Piece {
  file: string;
  bytes: Buffer;
  /** The number of its first line. */
  line: number;
  /** How many bytes of that line come before it. */
  column: number;
  /** Of a finding in history. */
  commit?: string;
  /** The former texts of the file, if only what is new counts. */
  before?(): Promise<Buffer[]>;
}

/** What was scanned, and what was not. */
export interface Tally {
  files: number;
  bytes: number;
  /** Describes files that are too large. */
  skipped: string[];
}

const PIECE_BYTES = 4 * 1024 * 1024;
const PROBE_BYTES = 8192;
const KEY_BEGINS = '-----BEGIN ';
const KEY_ENDS = '-----END ';
/** No private key is longer. */
const KEY_BYTES_MAX = 16_384;
/** What parts two things that have nothing to do with each other, from the best to the worst. A long line has only the last ones. */
const PIECE_ENDS = ['\n\n', '\r\n\r\n', '\n', '},', ';', ',', ' ', '"', "'"];
const END_SEARCHED_BYTES = 65_536;
/** Others' code, or no text of the project's. */
const FOLDERS_SKIPPED: ReadonlySet<string> = new Set(['.git', '.hg', '.svn', 'node_modules', '.venv', '__pycache__']);

/** The files of folders and files that were named. A link is followed if it was named, and never below: it may lead out of the tree. */
export function* filePieces(paths: readonly string[], bytesMax: number, tally: Tally): Generator<Piece> {
  for (const path of paths) {
    const real = realpathSync(path);
    if (statSync(real).isDirectory()) yield* folderPieces(path, real, bytesMax, tally);
    else {
      // A file that a tool names, such as a hook, is left out like one that is found.
      const isIgnored = Ignored.of(process.cwd()).covers(relative(process.cwd(), resolve(path)).split(sep).join('/'));
      if (!isIgnored) yield* piecesOf(path, real, bytesMax, tally);
    }
  }
}

function* folderPieces(shown: string, root: string, bytesMax: number, tally: Tally): Generator<Piece> {
  const ignored = Ignored.of(root);
  const folders = [''];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const entries = readdirSync(join(root, folder), { withFileTypes: true });
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (ignored.has(path, entry.isDirectory())) continue;
      if (entry.isDirectory() && !FOLDERS_SKIPPED.has(entry.name)) folders.push(path);
      else if (entry.isFile()) yield* piecesOf(join(shown, path), join(root, path), bytesMax, tally);
    }
  }
}

/** A file in pieces, unless it is binary or too large. */
function* piecesOf(shown: string, path: string, bytesMax: number, tally: Tally): Generator<Piece> {
  const file = shown.split(sep).join('/');
  const descriptor = openUnlessSpecial(path);
  if (descriptor === null) {
    tally.skipped.push(`${file} cannot be read`);
    return;
  }
  try {
    const { size, isRegular } = sizeOf(descriptor);
    if (!isRegular || size === 0) return;
    if (size > bytesMax) {
      tally.skipped.push(tooLarge(file, bytesMax));
      return;
    }
    const chunk = Buffer.allocUnsafe(Math.min(size, PIECE_BYTES));
    const pieces = new Pieces(file);
    let text: TextReader | null = null;
    for (let at = 0; at < size; ) {
      const length = readSync(descriptor, chunk, 0, Math.min(chunk.length, size - at), null);
      if (length === 0) break;
      at += length;
      text ??= textReader(chunk.subarray(0, length));
      if (text === null) return;
      tally.bytes += length;
      yield* pieces.push(text(chunk.subarray(0, length)));
    }
    tally.files++;
    yield* pieces.end();
  } finally {
    closeSync(descriptor);
  }
}

export function tooLarge(file: string, bytesMax: number): string {
  return `${file} is larger than ${Math.round(bytesMax / 1024 / 1024)} MiB`;
}

/** A link that replaced the file since is not followed, and a pipe does not hold the scan. */
function openUnlessSpecial(path: string): number | null {
  try {
    return openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    if (['EACCES', 'ELOOP', 'ENOENT', 'EPERM', 'ENXIO'].includes((error as NodeJS.ErrnoException).code ?? ''))
      return null;
    throw error;
  }
}

function sizeOf(descriptor: number): { size: number; isRegular: boolean } {
  const stat = fstatSync(descriptor);
  return { size: stat.size, isRegular: stat.isFile() };
}

/** Turns the next bytes of a text into UTF-8 or another superset of ASCII. */
type TextReader = (bytes: Buffer) => Buffer;

/** By the first bytes of a text: UTF-16 is known by its mark. Null for what is no text. */
function textReader(beginning: Buffer): TextReader | null {
  const mark = beginning.toString('latin1', 0, 2);
  const encoding = { '\xff\xfe': 'utf-16le', '\xfe\xff': 'utf-16be' }[mark];
  if (encoding === undefined)
    return beginning.subarray(0, PROBE_BYTES).includes(0) ? null : (bytes) => Buffer.from(bytes);
  const decoder = new TextDecoder(encoding);
  return (bytes) => Buffer.from(decoder.decode(bytes, { stream: true }), 'utf8');
}

/** A whole text; null for what is none. */
export function textIn(bytes: Buffer): Buffer | null {
  return textReader(bytes)?.(bytes) ?? null;
}

/** Cuts a text that arrives bit by bit into pieces that end with a line, so that none holds much memory and no secret is cut. */
class Pieces {
  readonly #file: string;
  #held: Buffer[] = [];
  #size = 0;
  #line = 1;
  #column = 0;

  constructor(file: string) {
    this.#file = file;
  }

  *push(bytes: Buffer): Generator<Piece> {
    this.#held.push(bytes);
    this.#size += bytes.length;
    while (this.#size >= PIECE_BYTES) {
      const whole = Buffer.concat(this.#held);
      yield* this.#cut(whole, endOfPiece(whole.subarray(0, 2 * PIECE_BYTES)));
    }
  }

  *end(): Generator<Piece> {
    yield* this.#cut(Buffer.concat(this.#held), this.#size);
  }

  *#cut(whole: Buffer, end: number): Generator<Piece> {
    const bytes = whole.subarray(0, end);
    if (bytes.length > 0) yield { file: this.#file, bytes, line: this.#line, column: this.#column };
    const newlines = newlinesIn(bytes, 0, bytes.length);
    this.#line += newlines;
    const onLastLine = bytes.length - (bytes.lastIndexOf(10) + 1);
    this.#column = newlines > 0 ? onLastLine : this.#column + onLastLine;
    this.#held = [whole.subarray(end)];
    this.#size = whole.length - end;
  }
}

export function* piecesOfText(file: string, bytes: Buffer): Generator<Piece> {
  const pieces = new Pieces(file);
  for (let start = 0; start < bytes.length; start += PIECE_BYTES)
    yield* pieces.push(bytes.subarray(start, start + PIECE_BYTES));
  yield* pieces.end();
}

/** Where a piece ends: at a blank line near its end, or else with its last line or the last sign in it. Before a key that does not end in it. */
function endOfPiece(bytes: Buffer): number {
  const begin = bytes.lastIndexOf(KEY_BEGINS);
  const isOpen = begin > 0 && bytes.indexOf(KEY_ENDS, begin) === -1 && bytes.length - begin < KEY_BYTES_MAX;
  const whole = isOpen ? bytes.subarray(0, begin) : bytes;
  for (const sign of PIECE_ENDS) {
    const at = whole.lastIndexOf(sign);
    if (at > 0 && at > whole.length - END_SEARCHED_BYTES) return at + sign.length;
  }
  const newline = whole.lastIndexOf(10);
  return newline === -1 ? bytes.length : newline + 1;
}

export function newlinesIn(text: Buffer | string, start: number, end: number): number {
  let count = 0;
  for (let at = text.indexOf('\n', start); at !== -1 && at < end; at = text.indexOf('\n', at + 1)) count++;
  return count;
}

/** Standard input, as it comes and however long it is. */
export async function* streamPieces(stream: AsyncIterable<Buffer>, tally: Tally): AsyncGenerator<Piece> {
  tally.files++;
  const pieces = new Pieces('stdin');
  let text: TextReader | null = null;
  for await (const chunk of stream) {
    tally.bytes += chunk.length;
    // Who pipes something into a scan means it to be read, whatever it is.
    text ??= textReader(chunk) ?? ((bytes) => bytes);
    yield* pieces.push(text(chunk));
  }
  yield* pieces.end();
}
