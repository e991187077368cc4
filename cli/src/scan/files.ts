import { closeSync, constants, fstatSync, openSync, readdirSync, readSync, realpathSync, statSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';
import { Ignored } from './ignore.ts';

/** A part of what is scanned, with whole lines. */
export interface Piece {
  file: string;
  bytes: Buffer;
  /** The number of its first line. */
  line: number;
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
    const bytes = Buffer.allocUnsafe(size);
    let length = 0;
    for (let read = -1; read !== 0 && length < size; length += read)
      read = readSync(descriptor, bytes, length, size - length, null);
    const text = textIn(bytes.subarray(0, length));
    if (text === null) return;
    tally.files++;
    tally.bytes += length;
    yield* piecesOfText(file, text);
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

/** Text in UTF-8 or another superset of ASCII, or in UTF-16 with its mark; null for anything else. */
export function textIn(bytes: Buffer): Buffer | null {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return Buffer.from(bytes.toString('utf16le', 2), 'utf8');
  if (bytes[0] === 0xfe && bytes[1] === 0xff) {
    const even = Buffer.from(bytes.subarray(2, bytes.length - (bytes.length % 2)));
    return Buffer.from(even.swap16().toString('utf16le'), 'utf8');
  }
  return bytes.subarray(0, PROBE_BYTES).includes(0) ? null : bytes;
}

/** A text in pieces that end with a line, so that none holds much memory and no secret is cut. */
export function* piecesOfText(file: string, bytes: Buffer): Generator<Piece> {
  let line = 1;
  for (let start = 0; start < bytes.length; ) {
    let end = Math.min(start + PIECE_BYTES, bytes.length);
    if (end < bytes.length) end = start + endOfLines(bytes.subarray(start, end));
    const piece = bytes.subarray(start, end);
    yield { file, bytes: piece, line };
    line += newlinesIn(piece, 0, piece.length);
    start = end;
  }
}

/** Where the last whole line ends; before it, if a key begins there and does not end. */
function endOfLines(bytes: Buffer): number {
  const newline = bytes.lastIndexOf(10);
  if (newline === -1) return bytes.length;
  const begin = bytes.lastIndexOf(KEY_BEGINS);
  const isOpen = begin !== -1 && bytes.indexOf(KEY_ENDS, begin) === -1 && bytes.length - begin < KEY_BYTES_MAX;
  const lineStart = isOpen ? bytes.lastIndexOf(10, begin) + 1 : 0;
  return lineStart > 0 ? lineStart : newline + 1;
}

export function newlinesIn(text: Buffer | string, start: number, end: number): number {
  let count = 0;
  for (let at = text.indexOf('\n', start); at !== -1 && at < end; at = text.indexOf('\n', at + 1)) count++;
  return count;
}

/** Standard input, as it comes and however long it is. */
export async function* streamPieces(stream: AsyncIterable<Buffer>, tally: Tally): AsyncGenerator<Piece> {
  let held: Buffer[] = [];
  let size = 0;
  let line = 1;
  const file = 'stdin';
  tally.files++;
  const flush = function* (whole: Buffer, end: number): Generator<Piece> {
    const bytes = whole.subarray(0, end);
    if (bytes.length > 0) yield { file, bytes, line };
    line += newlinesIn(bytes, 0, bytes.length);
    held = [whole.subarray(end)];
    size = whole.length - end;
  };
  for await (const chunk of stream) {
    held.push(chunk);
    size += chunk.length;
    tally.bytes += chunk.length;
    if (size < PIECE_BYTES) continue;
    const whole = Buffer.concat(held);
    yield* flush(whole, endOfLines(whole));
  }
  const rest = Buffer.concat(held);
  yield* flush(rest, rest.length);
}
