import { argon2Sync, createHash, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { StartError } from '../storage/data-folder.ts';

export const ROOT_KEY_BYTES = 32;
export const ROOT_SALT_BYTES = 16;

/** The key at the top. It wraps tenant keys and nothing else, and never touches the database. */
export interface RootKey {
  id: string;
  key: KeyObject;
}

/** Where the root key comes from. `create` says whether a first start may make it. */
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
      return { describes: 'CV_ROOT_KEY', load: () => rootKey(source.key) };
    case 'passphrase':
      return passphraseProvider(source.passphrase);
  }
}

/** The id names the key without revealing it: the hash of 256 random bits, or of argon2id's output. */
function rootKey(bytes: Buffer): RootKey {
  const id = createHash('sha256').update('coffer root key id\0').update(bytes).digest('hex').slice(0, 16);
  return { id, key: createSecretKey(bytes) };
}

function fileProvider(file: string): RootKeyProvider {
  return {
    describes: file,
    load(_salt, create) {
      if (!existsSync(file)) {
        if (!create) {
          throw new StartError(
            `The root key file ${file} is missing, and without it no secret opens. Put it back from your backup; a new key cannot open this database.`,
          );
        }
        writeRootKeyFile(file);
      }
      return readRootKeyFile(file);
    },
  };
}

export function readRootKeyFile(file: string): RootKey {
  const mode = statSync(file).mode & 0o777;
  if ((mode & 0o077) !== 0) {
    throw new StartError(
      `The root key file ${file} can be read by others (mode ${mode.toString(8)}). Run: chmod 600 ${file}`,
    );
  }
  const text = readFileSync(file, 'utf8').trim();
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length !== ROOT_KEY_BYTES || bytes.toString('base64') !== text) {
    throw new StartError(
      `The root key file ${file} does not hold a key (base64 of ${ROOT_KEY_BYTES} bytes). Restore it from your backup.`,
    );
  }
  return rootKey(bytes);
}

/** Never overwrites: whoever finds a file there has a key that may still open something. */
export function writeRootKeyFile(file: string): void {
  writeDurably(file, `${randomBytes(ROOT_KEY_BYTES).toString('base64')}\n`);
}

/** A file that is whole or absent after a kill at any instant, readable by its owner alone. */
export function writeDurably(file: string, text: string): void {
  const pending = `${file}.${process.pid}.tmp`;
  const fd = openSync(pending, 'wx', 0o600);
  try {
    writeSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  if (existsSync(file)) throw new StartError(`${file} exists already and is not overwritten.`);
  renameDurably(pending, file);
}

export function renameDurably(from: string, to: string): void {
  renameSync(from, to);
  const folder = openSync(dirname(to), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** RFC 9106's second recommended option: 64 MiB, three passes, four lanes. */
const PASSPHRASE_COST = { memory: 65_536, passes: 3, parallelism: 4 };
const PASSPHRASE_LENGTH_MIN = 16;

function passphraseProvider(passphrase: string | { file: string }): RootKeyProvider {
  return {
    describes: 'the root passphrase',
    load(salt) {
      const text = typeof passphrase === 'string' ? passphrase : readFileSync(passphrase.file, 'utf8').trimEnd();
      if (text.length < PASSPHRASE_LENGTH_MIN) {
        throw new StartError(`The root passphrase needs at least ${PASSPHRASE_LENGTH_MIN} characters.`);
      }
      return rootKey(
        argon2Sync('argon2id', { message: text, nonce: salt, tagLength: ROOT_KEY_BYTES, ...PASSPHRASE_COST }),
      );
    },
  };
}
