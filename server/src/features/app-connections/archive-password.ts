import { randomInt } from 'node:crypto';

/** Beside the archive rather than in a URL: answers are not cached, and their headers are in no log of ours. */
export const ARCHIVE_PASSWORD_HEADER = 'X-Archive-Password';

/** 32 letters and digits, without those that look alike (0, 1, l, o): each stands for 5 bits. */
const ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789';
const GROUPS = 5;
const GROUP_LENGTH = 5;

/** 125 bits. A ZIP archive spends only 1,000 rounds on its password, so that one which people choose is soon guessed. */
export function newArchivePassword(): string {
  const group = () => Array.from({ length: GROUP_LENGTH }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join('');
  return Array.from({ length: GROUPS }, group).join('-');
}
