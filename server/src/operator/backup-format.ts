import { createCipheriv, createDecipheriv, createSecretKey, hash, type KeyObject, randomBytes } from 'node:crypto';
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { type SealedLocation, seal, UnsealError, unseal } from '../kernel/crypto/sealing.ts';
import { StartError } from '../kernel/storage/data-folder.ts';
import type { DatabaseKind } from '../kernel/storage/database.ts';

/**
 * A backup file: a header line, then chunks of at most 1 MiB, each compressed, then sealed with a key made for this file and wrapped by the root key.
 * The number of a chunk, and whether it is the last, are part of its IV, so chunks cannot be omitted, reordered or truncated. Values of secrets are
 * sealed before, so their content does not decide how well a chunk compresses.
 */
const MAGIC = 'coffer-backup 2';
/** Of releases up to 0.4: not compressed. */
const UNCOMPRESSED_MAGIC = 'coffer-backup 1';
const ALGORITHM = 'aes-256-gcm';
const TAG_BYTES = 16;
const PIECE_BYTES = 1024 * 1024;
/** What does not compress grows by a few bytes. */
const SEALED_PIECE_BYTES_MAX = PIECE_BYTES + 1024;
const HEADER_BYTES_MAX = 4096;

function keyLocation(magic: string): SealedLocation {
  return { tenantId: 'system', table: 'backup', row: magic };
}

export interface BackupHeader {
  kind: DatabaseKind;
  /** The number of migrations of its schema. */
  schema: number;
  installation_id: string;
  root_key_id: string;
  root_key_salt: string;
  made_at: string;
}

interface SealedHeader extends BackupHeader {
  magic: string;
  wrapped_key: string;
}

export class BackupWriter {
  readonly #fd: number;
  readonly #key: KeyObject;
  readonly #aad: Buffer;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #pieces = 0;

  /** Writes to an open file or pipe, which the caller closes. */
  constructor(fd: number, header: BackupHeader, rootKey: KeyObject) {
    const bytes = randomBytes(32);
    this.#key = createSecretKey(bytes);
    const wrapped_key = seal(rootKey, 0, keyLocation(MAGIC), bytes).toString('base64');
    bytes.fill(0);
    const line = Buffer.from(`${JSON.stringify({ magic: MAGIC, ...header, wrapped_key } satisfies SealedHeader)}\n`);
    this.#aad = hash('sha256', line, 'buffer');
    this.#fd = fd;
    writeAll(fd, line);
  }

  write(record: unknown): void {
    const line = Buffer.from(`${JSON.stringify(record)}\n`, 'utf8');
    this.#pending.push(line);
    this.#pendingBytes += line.length;
    if (this.#pendingBytes < PIECE_BYTES) return;
    const all = Buffer.concat(this.#pending);
    let at = 0;
    for (; all.length - at > PIECE_BYTES; at += PIECE_BYTES)
      this.#writePiece(all.subarray(at, at + PIECE_BYTES), false);
    this.#pending = [all.subarray(at)];
    this.#pendingBytes = all.length - at;
  }

  finish(): void {
    this.#writePiece(Buffer.concat(this.#pending), true);
  }

  #writePiece(plaintext: Buffer, isLast: boolean): void {
    const cipher = createCipheriv(ALGORITHM, this.#key, ivOf(this.#pieces++, isLast), { authTagLength: TAG_BYTES });
    cipher.setAAD(this.#aad);
    const body = cipher.update(deflateRawSync(plaintext));
    cipher.final();
    const length = Buffer.alloc(4);
    length.writeUInt32BE(body.length);
    writeAll(this.#fd, Buffer.concat([length, cipher.getAuthTag(), body]));
  }
}

const PIPE_PAUSE_MS = 5;
const PIPE_STALLED_MS = 60_000;

/** A pipe takes what its reader has room for. A reader that takes nothing must not hold the snapshot of the database forever. */
function writeAll(fd: number, bytes: Buffer): void {
  let lastAt = performance.now();
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(fd, bytes, at);
      lastAt = performance.now();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      if (performance.now() - lastAt > PIPE_STALLED_MS)
        throw new StartError('Nobody reads the backup from standard output any more: it was given up. Run it again.');
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PIPE_PAUSE_MS);
    }
  }
}

/** The key is used for this file only, so a counter suffices for unique IVs. */
function ivOf(piece: number, isLast: boolean): Buffer {
  const iv = Buffer.alloc(12);
  iv.writeUInt32BE(piece, 0);
  iv[11] = Number(isLast);
  return iv;
}

export class BackupReader {
  readonly header: BackupHeader;
  readonly #fd: number;
  readonly #wrappedKey: Buffer;
  readonly #aad: Buffer;
  readonly #start: number;
  readonly #magic: string;

  constructor(file: string) {
    try {
      this.#fd = openSync(file, 'r');
    } catch {
      throw new StartError(
        'The backup file cannot be opened. Give the path of a file written by `coffer server backup`.',
      );
    }
    const first = Buffer.alloc(HEADER_BYTES_MAX);
    const count = readSync(this.#fd, first, 0, HEADER_BYTES_MAX, 0);
    const end = first.subarray(0, count).indexOf('\n');
    const header = end === -1 ? null : parsed(first.toString('utf8', 0, end));
    if (header === null) {
      closeSync(this.#fd);
      throw notABackup();
    }
    this.#start = end + 1;
    this.#magic = header.magic;
    this.#aad = hash('sha256', first.subarray(0, this.#start), 'buffer');
    this.#wrappedKey = Buffer.from(header.wrapped_key, 'base64');
    this.header = header;
  }

  /** Yields the records as they were written. A chunk is decrypted and authenticated as a whole before any of its records is yielded. */
  *records(rootKey: KeyObject): Generator<unknown> {
    const key = this.#openKey(rootKey);
    let rest = '';
    for (const piece of this.#pieces(key)) {
      const lines = (rest + piece).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) yield JSON.parse(line);
    }
    if (rest !== '') throw damaged();
  }

  close(): void {
    closeSync(this.#fd);
  }

  #openKey(rootKey: KeyObject): KeyObject {
    try {
      return createSecretKey(unseal(rootKey, keyLocation(this.#magic), this.#wrappedKey));
    } catch (error) {
      if (error instanceof UnsealError) throw damaged();
      throw error;
    }
  }

  *#pieces(key: KeyObject): Generator<string> {
    const decoder = new TextDecoder('utf-8', { fatal: true });
    let at = this.#start;
    for (let n = 0; ; n++) {
      const head = this.#read(at, 4 + TAG_BYTES);
      const length = head.readUInt32BE(0);
      if (length > SEALED_PIECE_BYTES_MAX) throw damaged();
      const body = this.#read(at + head.length, length);
      at += head.length + length;
      const isLast = this.#isEnd(at);
      const decipher = createDecipheriv(ALGORITHM, key, ivOf(n, isLast), { authTagLength: TAG_BYTES });
      decipher.setAAD(this.#aad);
      decipher.setAuthTag(head.subarray(4));
      const plaintext = decipher.update(body);
      try {
        decipher.final();
      } catch {
        throw damaged();
      }
      yield decoder.decode(this.#decompressed(plaintext), { stream: !isLast });
      if (isLast) return;
    }
  }

  #decompressed(piece: Buffer): Buffer {
    return this.#magic === MAGIC ? inflateRawSync(piece, { maxOutputLength: PIECE_BYTES }) : piece;
  }

  #read(at: number, length: number): Buffer {
    const bytes = Buffer.alloc(length);
    if (readSync(this.#fd, bytes, 0, length, at) !== length) throw damaged();
    return bytes;
  }

  #isEnd(at: number): boolean {
    return readSync(this.#fd, Buffer.alloc(1), 0, 1, at) === 0;
  }
}

function parsed(line: string): SealedHeader | null {
  try {
    const header = JSON.parse(line) as SealedHeader;
    return header.magic === MAGIC || header.magic === UNCOMPRESSED_MAGIC ? header : null;
  } catch {
    return null;
  }
}

function notABackup(): StartError {
  return new StartError(
    'This file is not a backup made by `coffer server backup` of this release. Nothing was changed.',
  );
}

function damaged(): StartError {
  return new StartError('The backup is damaged, truncated or modified: use another one. Nothing was changed.');
}
