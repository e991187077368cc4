import { isCommonPassword } from './common-passwords.ts';
import { entropyOf } from './entropy.ts';

/** A shorter or more regular value can be guessed by trying all of its kind. */
const UNGUESSABLE_LENGTH_MIN = 12;
const UNGUESSABLE_BITS_MIN = 36;
const DIGITS_LENGTH_MIN = 20;
/** A beginning that nobody guesses is enough, however long the value is. */
const BEGINNING_LENGTH = 256;

/** Whether somebody could find the value by sending everything that it might be. */
export function isGuessable(value: string): boolean {
  if (value.length < UNGUESSABLE_LENGTH_MIN) return true;
  const beginning = value.slice(0, BEGINNING_LENGTH);
  if (/^[\d\s+().:/-]+$/.test(beginning) && beginning.length < DIGITS_LENGTH_MIN) return true;
  return entropyOf(beginning) * beginning.length < UNGUESSABLE_BITS_MIN || isCommonPassword(beginning);
}
