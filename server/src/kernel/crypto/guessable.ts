import { entropyOf } from '../../../../detection/src/entropy.ts';
import { isCommonPassword } from './common-passwords.ts';

/** A shorter or more regular value can be guessed by trying all of its kind. */
const UNGUESSABLE_LENGTH_MIN = 12;
const UNGUESSABLE_BITS_MIN = 36;
const DIGITS_LENGTH_MIN = 20;

/** Whether somebody could find the value by sending everything that it might be. */
export function isGuessable(value: string): boolean {
  if (value.length < UNGUESSABLE_LENGTH_MIN) return true;
  if (/^[\d\s+().:/-]+$/.test(value) && value.length < DIGITS_LENGTH_MIN) return true;
  return entropyOf(value) * value.length < UNGUESSABLE_BITS_MIN || isCommonPassword(value);
}
