import { argon2Sync, createHash, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { refuseForeignOwner, StartError } from '../base/data-folder.ts';
import { type Argon2Cost, COST_DEFAULT, isLower, isWithinBounds } from './argon2-cost.ts';

export const ROOT_KEY_BYTES = 32;
const SALT_BYTES = 16;

/** The key at the top of the hierarchy. It wraps only tenant keys and is never stored in the database. */
export interface RootKey {
  id: string;
  key: KeyObject;
}

/** The source of the root key. `salt` is the result of `newRootSalt`; `create` allows a first start to create the key. */
export interface RootKeyProvider {
  readonly describes: string;
  load(salt: Uint8Array, create: boolean): RootKey;
}

export type RootKeySource =
  | { provider: 'file'; file: string }
  | { provider: 'env'; key: Buffer }
  | { provider: 'passphrase'; passphrase: string | { file: string } };

export function rootKeyProvider(source: RootKeySource): RootKeyProvider {
  switch (source.provider) {
    case 'file':
      return fileProvider(source.file);
    case 'env':
      return { describes: 'CV_ROOT_KEY', load: () => rootKeyOf(source.key) };
    case 'passphrase':
      return passphraseProvider(source.passphrase);
  }
}

/** The id identifies the key without revealing it: a hash of 256 random bits, or of argon2id's output. */
export function rootKeyOf(bytes: Uint8Array): RootKey {
  const id = createHash('sha256').update('coffer root key id\0').update(bytes).digest('hex').slice(0, 16);
  return { id, key: createSecretKey(bytes) };
}

function fileProvider(file: string): RootKeyProvider {
  return {
    describes: file,
    load(_salt, create) {
      dropUnfinished(file);
      if (!existsSync(file)) {
        if (!create) {
          throw new StartError(
            `The root key file ${file} is missing, and without it no secret can be decrypted. Restore it from your backup; a new key cannot decrypt this database.`,
          );
        }
        // Another node may have created the file at the same moment; then its key is used.
        writeIfAbsent(file, newRootKey().text);
      }
      return readRootKeyFile(file);
    },
  };
}

export function readRootKeyFile(file: string): RootKey {
  const text = readSecretFile(file, 'root key file').trim();
  refuseForeignOwner('root key file', file);
  const mode = statSync(file).mode & 0o777;
  if ((mode & 0o077) !== 0) {
    throw new StartError(
      `The root key file ${file} can be read by others (mode ${mode.toString(8)}). Run: chmod 600 ${file}`,
    );
  }
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length !== ROOT_KEY_BYTES || bytes.toString('base64') !== text) {
    throw new StartError(
      `The root key file ${file} does not contain a key (base64 of ${ROOT_KEY_BYTES} bytes). Restore it from your backup.`,
    );
  }
  return rootKeyOf(bytes);
}

function readSecretFile(file: string, what: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new StartError(`The ${what} ${file} cannot be read (${code}). Check its path, owner and permissions.`);
  }
}

/** A new key, with its text in a root key file. */
export function newRootKey(): { root: RootKey; text: string } {
  const bytes = randomBytes(ROOT_KEY_BYTES);
  return { root: rootKeyOf(bytes), text: `${bytes.toString('base64')}\n` };
}

/**
 * Writes a file that is complete or absent after a kill at any moment, and readable by its owner alone. It never overwrites, because an existing
 * file may still be needed.
 */
export function writeDurably(file: string, text: string): void {
  if (!writeIfAbsent(file, text)) throw new StartError(`${file} already exists and is not overwritten.`);
}

/** The same, but replaces an existing file. */
export function replaceDurably(file: string, text: string): void {
  renameDurably(writeUnfinished(file, text), file);
}

export function renameDurably(from: string, to: string): void {
  renameSync(from, to);
  syncFolderOf(to);
}

/** Unlike a rename, it fails if the name exists. */
export function linkDurably(from: string, to: string): void {
  linkSync(from, to);
  syncFolderOf(to);
}

/** Two processes that write the same file may delete each other's temporary file. The one that lost its file writes it again. */
const WRITE_ATTEMPTS = 5;

/** Unlike a rename, a link fails if the name exists: of two processes that create a key, one succeeds and both use its key. */
function writeIfAbsent(file: string, text: string): boolean {
  for (let attempt = 1; ; attempt++) {
    const unfinished = writeUnfinished(file, text);
    try {
      linkDurably(unfinished, file);
      return true;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EEXIST') return false;
      if (code !== 'ENOENT' || attempt === WRITE_ATTEMPTS) throw error;
    } finally {
      rmSync(unfinished, { force: true });
    }
  }
}

function writeUnfinished(file: string, text: string): string {
  dropUnfinished(file);
  const unfinished = `${file}.${randomBytes(6).toString('hex')}.tmp`;
  const fd = openSync(unfinished, 'wx', 0o600);
  try {
    writeSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  return unfinished;
}

const UNFINISHED = /^\.[0-9a-f]{12}\.tmp$/;

/** Deletes temporary files that a kill left behind, because they may hold a key or a token. */
function dropUnfinished(file: string): void {
  const [folder, name] = [dirname(file), basename(file)];
  if (!existsSync(folder)) return;
  for (const found of readdirSync(folder)) {
    if (found.startsWith(name) && UNFINISHED.test(found.slice(name.length)))
      rmSync(join(folder, found), { force: true });
  }
}

export function syncFolderOf(file: string): void {
  const folder = openSync(dirname(file), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** The cost of every salt before 0.5.0, and the lowest cost that is accepted. */
const FIRST_COST: Argon2Cost = { memory: 65_536, passes: 3, parallelism: 4 };
const COST_BYTES = 6;

/** Parameters for deriving the key from a passphrase, as stored: `salt(16) ‖ memory in KiB(4) ‖ passes(1) ‖ lanes(1)`. */
export function newRootSalt(cost: Argon2Cost = COST_DEFAULT): Buffer {
  const stored = Buffer.concat([randomBytes(SALT_BYTES), Buffer.alloc(COST_BYTES)]);
  stored.writeUInt32BE(cost.memory, SALT_BYTES);
  stored.writeUInt8(cost.passes, SALT_BYTES + 4);
  stored.writeUInt8(cost.parallelism, SALT_BYTES + 5);
  return stored;
}

/**
 * A salt without a cost is from a release before 0.5.0. A lower cost than theirs is refused: anyone who writes to the database and reads the log,
 * which contains the id of a key that does not match, could otherwise try passphrases cheaply.
 */
function saltAndCost(stored: Uint8Array): { salt: Buffer; cost: Argon2Cost } {
  const bytes = Buffer.from(stored);
  const salt = bytes.subarray(0, SALT_BYTES);
  if (bytes.length === SALT_BYTES) return { salt, cost: FIRST_COST };
  if (bytes.length === SALT_BYTES + COST_BYTES) {
    const cost = {
      memory: bytes.readUInt32BE(SALT_BYTES),
      passes: bytes.readUInt8(SALT_BYTES + 4),
      parallelism: bytes.readUInt8(SALT_BYTES + 5),
    };
    if (isWithinBounds(cost) && !isLower(cost, FIRST_COST)) return { salt, cost };
  }
  throw new StartError(
    'The parameters in the database for deriving the root key from the passphrase are not valid: they were damaged or tampered with. Restore the database from a backup.',
  );
}

const PASSPHRASE_LENGTH_MIN = 16;

function passphraseProvider(passphrase: string | { file: string }): RootKeyProvider {
  return {
    describes: 'the root passphrase',
    load(stored) {
      const { salt, cost } = saltAndCost(stored);
      const text =
        typeof passphrase === 'string' ? passphrase : readSecretFile(passphrase.file, 'root passphrase file').trimEnd();
      if (text.length < PASSPHRASE_LENGTH_MIN) {
        throw new StartError(`The root passphrase must have at least ${PASSPHRASE_LENGTH_MIN} characters.`);
      }
      return rootKeyOf(argon2Sync('argon2id', { message: text, nonce: salt, tagLength: ROOT_KEY_BYTES, ...cost }));
    },
  };
}
