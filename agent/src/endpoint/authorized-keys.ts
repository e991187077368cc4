import { type PublicKey, parsePublicKey } from './key-blob.ts';
import { endOfOptions, flagsOfOptions, type KeyFlag } from './key-options.ts';

export interface AuthorizedKey extends PublicKey {
  comment: string;
  flags: KeyFlag[];
}

export interface AuthorizedKeys {
  keys: AuthorizedKey[];
  /** How many lines sshd would not understand. */
  refusedLines: number;
}

const BLANKS = /^[ \t]*/;
const LINE_END = 0x0a;

/** Reads the lines as sshd does (OpenSSH, auth2-pubkeyfile.c): at most `max` keys, and the rest is not read. */
export function parseAuthorizedKeys(content: Buffer, now: Date, max: number): AuthorizedKeys & { isCut: boolean } {
  const keys: AuthorizedKey[] = [];
  let refusedLines = 0;
  for (let start = 0; start < content.length; ) {
    if (keys.length >= max) return { keys, refusedLines, isCut: true };
    const end = content.indexOf(LINE_END, start);
    const line = content.subarray(start, end === -1 ? content.length : end);
    start += line.length + 1;
    const key = parseLine(line.toString('latin1'), now);
    if (key === 'refused') refusedLines++;
    else if (key !== null) keys.push(key);
  }
  return { keys, refusedLines, isCut: false };
}

/** One character stands for one byte. Null for a blank line or a comment. */
function parseLine(bytes: string, now: Date): AuthorizedKey | 'refused' | null {
  // A string of C ends at its first zero byte.
  const line = withoutBlanks(bytes.split('\0', 1)[0] ?? '');
  if (line === '' || line.startsWith('#')) return null;
  const plain = parseKey(line);
  if (plain !== null) return { ...plain, flags: [] };
  const end = endOfOptions(line);
  if (end === null) return 'refused';
  const key = parseKey(withoutBlanks(line.slice(end)));
  const flags = key === null ? null : flagsOfOptions(line.slice(0, end), now);
  return key === null || flags === null ? 'refused' : { ...key, flags };
}

function parseKey(text: string): (PublicKey & { comment: string }) | null {
  const [, name = '', base64 = '', comment = ''] = /^([^ \t]+)[ \t]+([^ \t]+)[ \t]*([\s\S]*)$/.exec(text) ?? [];
  const key = parsePublicKey(name, base64);
  return key === null ? null : { ...key, comment: Buffer.from(comment, 'latin1').toString('utf8').trim() };
}

function withoutBlanks(text: string): string {
  return text.replace(BLANKS, '');
}
