import { randomBytes, randomInt } from 'node:crypto';
import type { Generator } from '../contract.ts';
import { newOpenSshKey } from './openssh-key.ts';

const LOWER = 'abcdefghijklmnopqrstuvwxyz';
const UPPER = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
const DIGITS = '0123456789';

/**
 * The characters of each charset, by class. `ascii` has only the symbols that RFC 3986 (2.3) leaves unreserved, so that a generated password needs no
 * quoting in a shell, a URL, a connection string or YAML.
 */
const CHARSETS = {
  alphanumeric: [LOWER, UPPER, DIGITS],
  ascii: [LOWER, UPPER, DIGITS, '-._~'],
  hex: [DIGITS, 'abcdef'],
  base64url: [LOWER, UPPER, DIGITS, '-_'],
  digits: [DIGITS],
} as const satisfies Record<NonNullable<Generator['charset']>, readonly string[]>;
type Charset = keyof typeof CHARSETS;

interface GenerationOptions {
  readonly length: number;
  readonly charset: Charset;
  readonly require_each_class: boolean;
}

/** For types without defaults of their own, if the caller requests a generated value. */
const FALLBACK_OPTIONS: GenerationOptions = { length: 32, charset: 'alphanumeric', require_each_class: false };
const DEFAULT_OPTIONS: Readonly<Record<string, GenerationOptions>> = {
  password: { length: 32, charset: 'ascii', require_each_class: true },
  api_key: { length: 40, charset: 'alphanumeric', require_each_class: false },
  token: { length: 43, charset: 'base64url', require_each_class: false },
};
const TOKEN_BYTES = 32;
const SSH_KEY_COMMENT = 'coffer';
/** Their values have an inner structure that random characters do not produce. */
const STRUCTURED_TYPES = ['database', 'certificate', 'json', 'template'];

/**
 * Returns why this generator cannot generate a value of this type, worded to follow a JSON pointer to the generator, or null. Call it when a
 * generator is configured: one stored with a secret runs much later, when nobody would see the error.
 */
export function generatorProblem(type: string, generator: Generator | null): string | null {
  if (generator === null) return null;
  if (STRUCTURED_TYPES.includes(type)) {
    return `must be absent: a value of type ${type} cannot be generated from random characters; send "value" instead`;
  }
  const hasOptions = Object.values(generator).some((option) => option !== undefined);
  return type === 'ssh_key' && hasOptions ? 'must be without options: an ssh_key is always ed25519' : null;
}

/** Returns a new value, or null if the type has no defaults and `generator` is null. `generatorProblem` must have accepted the generator. */
export function generateValue(type: string, generator: Generator | null): string | null {
  const problem = generatorProblem(type, generator);
  if (problem !== null) throw new TypeError(`the generator ${problem}`);
  if (type === 'ssh_key') return newOpenSshKey(SSH_KEY_COMMENT);
  const defaults = Object.hasOwn(DEFAULT_OPTIONS, type) ? DEFAULT_OPTIONS[type] : undefined;
  if (defaults === undefined && generator === null) return null;
  const { prefix = '', ...options } = generator ?? {};
  // Encodes exactly 32 bytes, so that a token can also be decoded as a 256-bit key.
  if (type === 'token' && Object.keys(options).length === 0) return prefix + newToken();
  return prefix + randomText({ ...(defaults ?? FALLBACK_OPTIONS), ...options });
}

/** 256 bits in 43 characters of base64url. */
export function newToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url');
}

function randomText({ length, charset, require_each_class }: GenerationOptions): string {
  const classes: readonly string[] = CHARSETS[charset];
  // A leading `-` would be parsed as an option by a command, a leading `~` or `.` as a path by a shell.
  const first = charset === 'ascii' ? LOWER + UPPER + DIGITS : classes.join('');
  // A text that lacks a class is discarded as a whole: inserting the missing character would make some values more likely. Even at the shortest
  // length and with the rarest class, one attempt in ten succeeds.
  for (;;) {
    const text = pick(first) + Array.from({ length: length - 1 }, () => pick(classes.join(''))).join('');
    if (!require_each_class || classes.every((characters) => hasAny(text, characters))) return text;
  }
}

/** `randomInt` has no modulo bias, so every character is equally likely. */
function pick(characters: string): string {
  return characters.charAt(randomInt(characters.length));
}

function hasAny(text: string, characters: string): boolean {
  return [...characters].some((character) => text.includes(character));
}
