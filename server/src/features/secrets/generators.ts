import { randomBytes, randomInt } from 'node:crypto';
import type { Generator } from './contract.ts';
import { newOpenSshKey } from './openssh-key.ts';

const LOWER = 'abcdefghijklmnopqrstuvwxyz';
const UPPER = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
const DIGITS = '0123456789';

/**
 * The characters of each charset, by class. `ascii` has only the symbols that RFC 3986 (2.3) leaves unreserved: a value made of it
 * needs no quoting in a shell, a URL, a connection string or YAML, which is where generated passwords break things.
 */
const CHARSETS = {
  alphanumeric: [LOWER, UPPER, DIGITS],
  ascii: [LOWER, UPPER, DIGITS, '-._~'],
  hex: [DIGITS, 'abcdef'],
  base64url: [LOWER, UPPER, DIGITS, '-_'],
  digits: [DIGITS],
} as const satisfies Record<NonNullable<Generator['charset']>, readonly string[]>;
type Charset = keyof typeof CHARSETS;

interface Recipe {
  readonly length: number;
  readonly charset: Charset;
  readonly require_each_class: boolean;
}

/** For any type without a recipe of its own, once somebody asks for a generated value. */
const PLAIN: Recipe = { length: 32, charset: 'alphanumeric', require_each_class: false };
const RECIPES: Readonly<Record<string, Recipe>> = {
  password: { length: 32, charset: 'ascii', require_each_class: true },
  api_key: { length: 40, charset: 'alphanumeric', require_each_class: false },
  token: { length: 43, charset: 'base64url', require_each_class: false },
};
const TOKEN_BYTES = 32;
const SSH_KEY_COMMENT = 'coffer';
/** Their values have an inner form that no row of random characters has. */
const STRUCTURED_TYPES = ['database', 'certificate', 'json'];

/**
 * Why this generator cannot serve a secret of this type, as words that follow the pointer to the generator; null if it can. To be asked
 * when a generator is given, for one stored with a secret is used much later, when nobody is there to read a refusal.
 */
export function generatorProblem(type: string, generator: Generator | null): string | null {
  if (generator === null) return null;
  if (STRUCTURED_TYPES.includes(type)) {
    return `must be absent: a value of type ${type} is not made of random characters; give a value instead`;
  }
  const hasOptions = Object.values(generator).some((option) => option !== undefined);
  return type === 'ssh_key' && hasOptions ? 'must be without options: an ssh_key is always ed25519' : null;
}

/**
 * A new value, or null if the type has no built-in recipe and no generator is given. The generator is one that
 * `generatorProblem` has nothing against.
 */
export function generateValue(type: string, generator: Generator | null): string | null {
  const problem = generatorProblem(type, generator);
  if (problem !== null) throw new TypeError(`the generator ${problem}`);
  if (type === 'ssh_key') return newOpenSshKey(SSH_KEY_COMMENT);
  const recipe = Object.hasOwn(RECIPES, type) ? RECIPES[type] : undefined;
  if (recipe === undefined && generator === null) return null;
  const { prefix = '', ...options } = generator ?? {};
  // Whole bytes, so that a token also serves where a key of 256 bits is decoded from it.
  if (type === 'token' && Object.keys(options).length === 0) return prefix + newToken();
  return prefix + randomText({ ...(recipe ?? PLAIN), ...options });
}

/** 256 bits in 43 characters of base64url. */
export function newToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url');
}

function randomText({ length, charset, require_each_class }: Recipe): string {
  const classes: readonly string[] = CHARSETS[charset];
  // A first - would be taken for an option by a command, a first ~ or . for a path by a shell.
  const first = charset === 'ascii' ? LOWER + UPPER + DIGITS : classes.join('');
  // Thrown away whole and made anew when a class is missing: putting one in afterwards would favour some values. Even at the
  // shortest length and the rarest class one in ten passes.
  for (;;) {
    const text = pick(first) + Array.from({ length: length - 1 }, () => pick(classes.join(''))).join('');
    if (!require_each_class || classes.every((characters) => hasAny(text, characters))) return text;
  }
}

/** `randomInt` draws again instead of taking a remainder, so every character is equally likely. */
function pick(characters: string): string {
  return characters.charAt(randomInt(characters.length));
}

function hasAny(text: string, characters: string): boolean {
  return [...characters].some((character) => text.includes(character));
}
