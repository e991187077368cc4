import { createCipheriv, createDecipheriv, createSecretKey, hash, type KeyObject, randomBytes } from 'node:crypto';
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { basename } from 'node:path';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import Type from 'typebox';
import { Compile } from 'typebox/compile';
import { StartError } from '../kernel/base/data-folder.ts';
import { type SealedLocation, seal, UnsealError, unseal } from '../kernel/crypto/sealing.ts';
import type { DatabaseKind } from '../kernel/storage/database.ts';
import type { Locked } from '../start/open-root-key.ts';

/**
 * A backup file: a header line, then chunks of at most 1 MiB, each compressed, then sealed with a key made for this file and wrapped by the root key.
 * The number of a chunk, and whether it is the last, are part of its IV, so chunks cannot be omitted, reordered or truncated. Values of secrets are
 * sealed before, so their content does not decide how well a chunk compresses.
 * After the rows comes an index in chunks of its own, and a last chunk that says where the index begins: it can be read without the rows.
 */
const MAGIC = 'coffer-backup 3';
/** Of 0.5 before it was released: without an index. */
const UNINDEXED_MAGIC = 'coffer-backup 2';
/** Of releases up to 0.4: not compressed either. */
const UNCOMPRESSED_MAGIC = 'coffer-backup 1';
const ALGORITHM = 'aes-256-gcm';
const TAG_BYTES = 16;
const PIECE_BYTES = 1024 * 1024;
/** What does not compress grows by a few bytes. */
const SEALED_PIECE_BYTES_MAX = PIECE_BYTES + 1024;
/** The copies of the root key under seals are in it. */
const HEADER_BYTES_MAX = 64 * 1024;

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
  /** The root key, sealed under each seal of the installation: one that opens is enough to restore. */
  seals?: { reference: string; sealed: string }[];
  /** The full backup that has the rows which this one leaves out. Without it this is a full backup. */
  base?: { made_at: string; digest: string };
}

const base64 = (maxLength: number) => Type.String({ pattern: '^[A-Za-z0-9+/]+={0,2}$', maxLength });
const time = Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$' });
const hex = Type.String({ pattern: '^[0-9a-f]{1,64}$' });

/** A copy in shares has a mark for each of them. */
const SEALED_TEXT_MAX = 6144;

/** The header is used and printed before the chunks show that it was not changed, so it must have the form that it was written in. */
const SEALED_HEADER = Type.Object({
  magic: Type.Enum([MAGIC, UNINDEXED_MAGIC, UNCOMPRESSED_MAGIC]),
  kind: Type.Enum(['sqlite', 'postgres']),
  schema: Type.Integer({ minimum: 1, maximum: 100_000 }),
  installation_id: hex,
  root_key_id: hex,
  root_key_salt: base64(64),
  made_at: time,
  seals: Type.Optional(
    Type.Array(
      Type.Object({ reference: Type.String({ pattern: '^[\\x21-\\x7e]{1,1024}$' }), sealed: base64(SEALED_TEXT_MAX) }),
      { maxItems: 8 },
    ),
  ),
  base: Type.Optional(Type.Object({ made_at: time, digest: base64(64) })),
  wrapped_key: base64(512),
});
const isSealedHeader = Compile(SEALED_HEADER);
type SealedHeader = BackupHeader & { magic: string; wrapped_key: string };

/** What is needed to open the root key of a backup. */
export function lockedIn({ installation_id, root_key_id, root_key_salt, made_at, seals = [] }: BackupHeader): Locked {
  const copies = seals.map(({ reference, sealed }) => ({
    reference,
    sealed: Buffer.from(sealed, 'base64'),
    root_key_id,
    sealed_at: Date.parse(made_at),
  }));
  const salt = Buffer.from(root_key_salt, 'base64');
  return { installationId: installation_id, rootKeyId: root_key_id, salt, copies };
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
    const whole = { magic: MAGIC, ...header, wrapped_key } satisfies SealedHeader;
    const line = Buffer.from(`${JSON.stringify(whole)}\n`);
    // It would be found to be no backup when it is needed.
    if (!isSealedHeader.Check(whole) || line.length > HEADER_BYTES_MAX)
      throw new StartError(
        'No backup was made, because it could not be restored: the database has more seals than 8, or one that the service did not write. See "coffer server seal list", and remove it.',
      );
    this.#aad = hash('sha256', line, 'buffer');
    this.#fd = fd;
    writeAll(fd, line);
  }

  write(line: Buffer): void {
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

  /** Begins a new chunk, and returns its number. */
  cut(): number {
    if (this.#pendingBytes > 0) this.#writePiece(Buffer.concat(this.#pending), false);
    [this.#pending, this.#pendingBytes] = [[], 0];
    return this.#pieces;
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

export function lineOf(record: unknown): Buffer {
  return Buffer.from(`${JSON.stringify(record)}\n`, 'utf8');
}

export class BackupReader {
  readonly header: BackupHeader;
  readonly file: string;
  /** Identifies the file: every chunk is bound to its header, which has a key of its own. */
  readonly digest: string;
  readonly #fd: number;
  readonly #wrappedKey: Buffer;
  readonly #aad: Buffer;
  readonly #start: number;
  readonly #magic: string;

  constructor(file: string) {
    this.file = file;
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
    this.digest = this.#aad.toString('base64');
    this.#wrappedKey = Buffer.from(header.wrapped_key, 'base64');
    this.header = header;
  }

  /** Yields the records as they were written. A chunk is decrypted and authenticated as a whole before any of its records is yielded. */
  *records(rootKey: KeyObject): Generator<unknown> {
    yield* this.#lines(this.#pieces(this.#openKey(rootKey), { at: this.#start, n: 0 }));
  }

  /** The records of the last chunk, and of all chunks from the one that `begin` finds in those; null if the file has no index. */
  tail(rootKey: KeyObject, begin: (last: readonly unknown[]) => number): Iterable<unknown> | null {
    if (this.#magic !== MAGIC) return null;
    const key = this.#openKey(rootKey);
    const starts = this.#starts();
    const from = (n: number) => this.#lines(this.#pieces(key, { at: starts[n] ?? this.#start, n }));
    const n = begin([...from(starts.length - 1)]);
    if (starts[n] === undefined) throw this.#damaged();
    return from(n);
  }

  *#lines(pieces: Iterable<string>): Generator<unknown> {
    let rest = '';
    for (const piece of pieces) {
      const lines = (rest + piece).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) yield JSON.parse(line);
    }
    if (rest !== '') throw this.#damaged();
  }

  close(): void {
    closeSync(this.#fd);
  }

  #openKey(rootKey: KeyObject): KeyObject {
    try {
      return createSecretKey(unseal(rootKey, keyLocation(this.#magic), this.#wrappedKey));
    } catch (error) {
      if (error instanceof UnsealError) throw this.#damaged();
      throw error;
    }
  }

  /** Where each chunk starts, by their lengths alone: whether they are what was written is found when they are decrypted. */
  #starts(): number[] {
    const starts: number[] = [];
    for (let at = this.#start; starts.length === 0 || !this.#isEnd(at); ) {
      starts.push(at);
      const { head, length } = this.#headAt(at);
      at += head.length + length;
    }
    return starts;
  }

  #headAt(at: number): { head: Buffer; length: number } {
    const head = this.#read(at, 4 + TAG_BYTES);
    const length = head.readUInt32BE(0);
    if (length > SEALED_PIECE_BYTES_MAX) throw this.#damaged();
    return { head, length };
  }

  *#pieces(key: KeyObject, start: { at: number; n: number }): Generator<string> {
    const decoder = new TextDecoder('utf-8', { fatal: true });
    let { at } = start;
    for (let { n } = start; ; n++) {
      const { head, length } = this.#headAt(at);
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
        throw this.#damaged();
      }
      yield decoder.decode(this.#decompressed(plaintext), { stream: !isLast });
      if (isLast) return;
    }
  }

  #decompressed(piece: Buffer): Buffer {
    return this.#magic === UNCOMPRESSED_MAGIC ? piece : inflateRawSync(piece, { maxOutputLength: PIECE_BYTES });
  }

  #read(at: number, length: number): Buffer {
    const bytes = Buffer.alloc(length);
    if (readSync(this.#fd, bytes, 0, length, at) !== length) throw this.#damaged();
    return bytes;
  }

  #isEnd(at: number): boolean {
    return readSync(this.#fd, Buffer.alloc(1), 0, 1, at) === 0;
  }

  #damaged(): StartError {
    return new StartError(
      `The backup ${basename(this.file)} is damaged, truncated or modified: use another one. Nothing was changed.`,
    );
  }
}

function parsed(line: string): SealedHeader | null {
  try {
    const header: unknown = JSON.parse(line);
    return isSealedHeader.Check(header) ? (header as SealedHeader) : null;
  } catch {
    return null;
  }
}

function notABackup(): StartError {
  return new StartError(
    'This file is not a backup made by `coffer server backup` of this release. Nothing was changed.',
  );
}
