import { xchacha20poly1305 } from '@noble/ciphers/chacha.js';
import {
  ALGORITHMS,
  ENVELOPE_LENGTH_MAX,
  headerOf,
  readEnvelope,
  TAG_BYTES,
  writeEnvelope,
  type ZeroKnowledgeAlgorithm,
} from './zero-knowledge-envelope.ts';
import { deriveKey } from './zero-knowledge-keys.ts';
import {
  authenticatedData,
  type Binding,
  refuseBadBinding,
  refuseBadLocation,
  UNBOUND,
  type ZeroKnowledgeLocation,
} from './zero-knowledge-location.ts';

/** A passphrase of a person, or 32 random bytes that a machine stores. */
export type ZeroKnowledgeSecret = { passphrase: string } | { key: Uint8Array };

export interface SealOptions {
  /** `aes-256-gcm` by default. */
  algorithm?: ZeroKnowledgeAlgorithm;
}

/** The same error whether the envelope, the secret or the location is wrong: more detail would only help an attacker. */
export class ZeroKnowledgeError extends Error {
  override readonly name = 'ZeroKnowledgeError';
  constructor() {
    super(
      'The envelope cannot be decrypted: it was changed, was sealed for another vault, path or version, or the passphrase or key is wrong.',
    );
  }
}

/** Shorter passphrases can be guessed, however slow each guess is. */
const PASSPHRASE_LENGTH_MIN = 12;
const KEY_BYTES = 32;
const SALT_BYTES = { argon2id: 16, 'hkdf-sha256': 32 } as const;

/**
 * Seals a value for one location in a zero-knowledge vault. Salt and IV are generated here for each call: a caller who could choose them would
 * eventually reuse one.
 */
export async function sealZeroKnowledge(
  value: string | Uint8Array,
  secret: ZeroKnowledgeSecret,
  location: ZeroKnowledgeLocation,
  { algorithm = 'aes-256-gcm' }: SealOptions = {},
): Promise<string> {
  refuseBadLocation(location);
  const plaintext = typeof value === 'string' ? utf8(value, 'value') : new Uint8Array(value);
  return sealFor(plaintext, secret, location, { algorithm });
}

export async function sealFor(
  plaintext: Bytes,
  secret: ZeroKnowledgeSecret,
  binding: Binding,
  { algorithm = 'aes-256-gcm' }: SealOptions = {},
): Promise<string> {
  refuseBadBinding(binding);
  if (!Object.hasOwn(ALGORITHMS, algorithm)) {
    throw new TypeError(`algorithm must be ${Object.keys(ALGORITHMS).join(' or ')}`);
  }
  refuseWeak(secret);
  const derivation = 'passphrase' in secret ? 'argon2id' : 'hkdf-sha256';
  const salt = random(SALT_BYTES[derivation]);
  const iv = random(ALGORITHMS[algorithm].ivBytes);
  const header = { algorithm, derivation, salt } as const;
  // Neither algorithm makes the ciphertext longer than the plaintext.
  const parts = [iv.length, plaintext.length, TAG_BYTES].map((bytes) => 1 + Math.ceil((bytes * 4) / 3));
  if (parts.reduce((sum, part) => sum + part, headerOf(header).length) > ENVELOPE_LENGTH_MAX) {
    throw new RangeError('the value is too large: its envelope would be longer than 1 MiB');
  }
  const key = await deriveKey(header, secretBytes(secret));
  const sealed = await CIPHERS[algorithm].seal(key, iv, authenticatedData(headerOf(header), binding), plaintext);
  const end = sealed.length - TAG_BYTES;
  return writeEnvelope({ ...header, iv, ciphertext: sealed.slice(0, end), tag: sealed.slice(end) });
}

/** Returns the value as text. The envelope opens only if it was sealed for exactly this location. */
export async function openZeroKnowledge(
  envelope: string,
  secret: ZeroKnowledgeSecret,
  location: ZeroKnowledgeLocation,
): Promise<string> {
  return textOf(await openZeroKnowledgeBytes(envelope, secret, location));
}

/** Returns the value as bytes, for binary values. */
export async function openZeroKnowledgeBytes(
  envelope: string,
  secret: ZeroKnowledgeSecret,
  location: ZeroKnowledgeLocation,
): Promise<Uint8Array> {
  return (await openUnderFirst(envelope, secret, [location])).value;
}

/**
 * Opens an envelope of a release up to 0.4, which is bound to no location: the service may have returned one of another path or an older one. Use it
 * only to seal the value again for its location.
 */
export async function openUnboundZeroKnowledge(envelope: string, secret: ZeroKnowledgeSecret): Promise<Uint8Array> {
  return (await openUnderFirst(envelope, secret, [UNBOUND])).value;
}

/** Tries the bindings in order, with a key that is derived once, and returns the one the envelope was sealed for. */
export async function openUnderFirst<B extends Binding>(
  envelope: string,
  secret: ZeroKnowledgeSecret,
  bindings: readonly B[],
): Promise<{ value: Uint8Array; binding: B }> {
  for (const binding of bindings) refuseBadBinding(binding);
  let opening: ((binding: Binding) => Promise<Uint8Array>) | undefined;
  try {
    opening = await openerOf(envelope, secret);
  } catch {
    throw new ZeroKnowledgeError();
  }
  for (const binding of bindings) {
    try {
      return { value: await opening(binding), binding };
    } catch {
      // The envelope was sealed for another binding, so the next one is tried; if none is left, it is refused.
    }
  }
  throw new ZeroKnowledgeError();
}

async function openerOf(envelope: string, secret: ZeroKnowledgeSecret) {
  const read = readEnvelope(envelope);
  if (read === null || 'passphrase' in secret !== (read.derivation === 'argon2id')) throw new ZeroKnowledgeError();
  const { algorithm, iv, ciphertext, tag } = read;
  const key = await deriveKey(read, secretBytes(secret));
  const sealed = new Uint8Array(ciphertext.length + tag.length);
  sealed.set(ciphertext);
  sealed.set(tag, ciphertext.length);
  return (binding: Binding) => CIPHERS[algorithm].open(key, iv, authenticatedData(headerOf(read), binding), sealed);
}

export function textOf(value: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(value);
  } catch {
    throw new ZeroKnowledgeError();
  }
}

type Bytes = Uint8Array<ArrayBuffer>;

interface Cipher {
  /** Returns the ciphertext with its tag appended. */
  seal(key: Bytes, iv: Bytes, header: Bytes, plaintext: Bytes): Promise<Uint8Array>;
  open(key: Bytes, iv: Bytes, header: Bytes, sealed: Bytes): Promise<Uint8Array>;
}

const CIPHERS: Record<ZeroKnowledgeAlgorithm, Cipher> = {
  'aes-256-gcm': {
    async seal(key, iv, additionalData, plaintext) {
      const imported = await crypto.subtle.importKey('raw', key, 'AES-GCM', false, ['encrypt']);
      return new Uint8Array(await crypto.subtle.encrypt({ name: 'AES-GCM', iv, additionalData }, imported, plaintext));
    },
    async open(key, iv, additionalData, sealed) {
      const imported = await crypto.subtle.importKey('raw', key, 'AES-GCM', false, ['decrypt']);
      return new Uint8Array(await crypto.subtle.decrypt({ name: 'AES-GCM', iv, additionalData }, imported, sealed));
    },
  },
  'xchacha20-poly1305': {
    seal: async (key, iv, header, plaintext) => xchacha20poly1305(key, iv, header).encrypt(plaintext),
    open: async (key, iv, header, sealed) => xchacha20poly1305(key, iv, header).decrypt(sealed),
  },
};

function refuseWeak(secret: ZeroKnowledgeSecret): void {
  if ('passphrase' in secret) {
    if (typeof secret.passphrase === 'string' && [...secret.passphrase].length >= PASSPHRASE_LENGTH_MIN) return;
    throw new RangeError(`passphrase must have at least ${PASSPHRASE_LENGTH_MIN} characters`);
  }
  if (secret.key instanceof Uint8Array && secret.key.length === KEY_BYTES) return;
  throw new RangeError(`key must be ${KEY_BYTES} random bytes; for anything else use a passphrase`);
}

/** NFC normalization, so that a passphrase is the same on every keyboard. */
function secretBytes(secret: ZeroKnowledgeSecret): Uint8Array<ArrayBuffer> {
  if ('passphrase' in secret) return utf8(secret.passphrase.normalize('NFC'), 'passphrase');
  if (secret.key.length !== KEY_BYTES) throw new RangeError(`key must be ${KEY_BYTES} bytes`);
  return new Uint8Array(secret.key);
}

/** Half a surrogate pair would silently become another character. */
function utf8(text: string, name: string): Uint8Array<ArrayBuffer> {
  if (!text.isWellFormed()) throw new TypeError(`${name} must be well-formed text`);
  return new TextEncoder().encode(text);
}

function random(length: number): Uint8Array<ArrayBuffer> {
  return crypto.getRandomValues(new Uint8Array(length));
}
