import { randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** What secret scanners look for. */
const PREFIX = 'Svc_';
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 43 characters of 62 hold 256 bits. */
const RANDOM_CHARACTERS = 43;
const CHECKSUM_CHARACTERS = 6;
const FORM = new RegExp(`^${PREFIX}[0-9A-Za-z]{${RANDOM_CHARACTERS + CHECKSUM_CHARACTERS}}$`);

/** `Svc_`, 43 random characters, and a checksum over both, by which a scanner tells a real one from something that looks alike. */
export function newClientSecret(): string {
  let secret = PREFIX;
  for (let i = 0; i < RANDOM_CHARACTERS; i++) secret += ALPHABET[randomInt(ALPHABET.length)];
  return secret + checksumOf(secret);
}

export function isClientSecret(text: string): boolean {
  return FORM.test(text) && text.endsWith(checksumOf(text.slice(0, -CHECKSUM_CHARACTERS)));
}

/** CRC-32 of everything before it, in base 62, padded with zeros. */
function checksumOf(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let i = 0; i < CHECKSUM_CHARACTERS; i++) {
    digits = ALPHABET[rest % ALPHABET.length] + digits;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return digits;
}
