import { randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 43 characters of an alphabet of 62 hold 256 bits. */
const RANDOM_CHARACTERS = 43;
const CHECKSUM_CHARACTERS = 6;

/** A prefix, 43 random characters, and a checksum over both, by which a scanner distinguishes a real credential from similar text. */
export class CredentialText {
  readonly #prefix: string;
  readonly #form: RegExp;

  /** The prefix is what secret scanners search for. */
  constructor(prefix: string) {
    this.#prefix = prefix;
    this.#form = new RegExp(`^${prefix}[0-9A-Za-z]{${RANDOM_CHARACTERS + CHECKSUM_CHARACTERS}}$`);
  }

  create(): string {
    let text = this.#prefix;
    for (let i = 0; i < RANDOM_CHARACTERS; i++) text += ALPHABET[randomInt(ALPHABET.length)];
    return text + checksumOf(text);
  }

  matches(text: string): boolean {
    return this.#form.test(text) && text.endsWith(checksumOf(text.slice(0, -CHECKSUM_CHARACTERS)));
  }
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
