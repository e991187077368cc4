import { randomInt } from 'node:crypto';

/** The password is in a header rather than in a URL: responses are not cached, and no log of ours contains their headers. */
export const ARCHIVE_PASSWORD_HEADER = 'X-Archive-Password';

/** 32 letters and digits, without those that look alike (0, 1, l, o): each carries 5 bits. */
const ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789';
const GROUPS = 5;
const GROUP_LENGTH = 5;

/** The password has 125 bits. A ZIP archive uses only 1,000 key derivation rounds, so a password that people choose is soon guessed. */
export function newArchivePassword(): string {
  const group = () => Array.from({ length: GROUP_LENGTH }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join('');
  return Array.from({ length: GROUPS }, group).join('-');
}
