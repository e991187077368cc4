import { CofferError } from './errors.ts';

/** How long guessing a passphrase takes, as the page of a link computes it too. */
const ITERATIONS = 600_000;
const CONTEXT = new TextEncoder().encode('coffer share v1');
const FORM = /^share:v1:(?:key|passphrase:([A-Za-z0-9_-]{22})):([A-Za-z0-9_-]{16}):([A-Za-z0-9_-]{22,})$/;
/** The service stores no more of one link. */
export const SHARED_BYTES_MAX = 32 * 1024;

export interface SealedShare {
  /** For the service. */
  envelope: string;
  /** For the link, after `#`: it never reaches the service. */
  key: string;
}

/** Seals a value under a new key, and a passphrase if there is one: then both are needed to open it. */
export async function sealShare(value: string, passphrase: string | null = null): Promise<SealedShare> {
  const plain = new TextEncoder().encode(value);
  if (plain.length > SHARED_BYTES_MAX)
    throw new CofferError(`What is shared has at most ${SHARED_BYTES_MAX} bytes.`, { code: 'INVALID_ARGUMENT' });
  if (passphrase === '') throw new CofferError('The passphrase is empty.', { code: 'INVALID_ARGUMENT' });
  const secret = crypto.getRandomValues(new Uint8Array(32));
  const salt = passphrase === null ? null : crypto.getRandomValues(new Uint8Array(16));
  const iv = crypto.getRandomValues(new Uint8Array(12));
  const key = await keyOf(secret, passphrase, salt);
  const sealed = await crypto.subtle.encrypt({ name: 'AES-GCM', iv, additionalData: CONTEXT }, key, plain);
  const how = salt === null ? 'key' : `passphrase:${base64url(salt)}`;
  return { envelope: `share:v1:${how}:${base64url(iv)}:${base64url(new Uint8Array(sealed))}`, key: base64url(secret) };
}

export function takesPassphrase(envelope: string): boolean {
  return envelope.startsWith('share:v1:passphrase:');
}

/** Opens what was shared. A wrong key, a wrong passphrase and a changed envelope are one refusal. */
export async function openShare(envelope: string, key: string, passphrase: string | null = null): Promise<string> {
  const [, salt, iv, sealed] = FORM.exec(envelope) ?? [];
  const refusal = new CofferError('The link is damaged, or the passphrase is wrong.', { code: 'INVALID_ARGUMENT' });
  if (iv === undefined || sealed === undefined || !/^[A-Za-z0-9_-]{43}$/.test(key)) throw refusal;
  const opening = await keyOf(bytesOf(key), passphrase, salt === undefined ? null : bytesOf(salt));
  const how = { name: 'AES-GCM', iv: bytesOf(iv), additionalData: CONTEXT };
  const plain = await crypto.subtle.decrypt(how, opening, bytesOf(sealed)).catch(() => {
    throw refusal;
  });
  return new TextDecoder().decode(plain);
}

async function keyOf(
  secret: Uint8Array<ArrayBuffer>,
  passphrase: string | null,
  salt: Uint8Array<ArrayBuffer> | null,
): Promise<CryptoKey> {
  const added = salt === null ? new Uint8Array() : await stretched(passphrase ?? '', salt);
  const from = await crypto.subtle.importKey('raw', secret, 'HKDF', false, ['deriveKey']);
  const derivation = { name: 'HKDF', hash: 'SHA-256', salt: added, info: CONTEXT };
  const form = { name: 'AES-GCM', length: 256 };
  return crypto.subtle.deriveKey(derivation, from, form, false, ['encrypt', 'decrypt']);
}

async function stretched(passphrase: string, salt: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const given = await crypto.subtle.importKey('raw', new TextEncoder().encode(passphrase), 'PBKDF2', false, [
    'deriveBits',
  ]);
  const cost = { name: 'PBKDF2', hash: 'SHA-256', salt, iterations: ITERATIONS };
  return new Uint8Array(await crypto.subtle.deriveBits(cost, given, 256));
}

function base64url(bytes: Uint8Array): string {
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}
