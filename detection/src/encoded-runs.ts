import { isUtf8 } from 'node:buffer';

/** A run of base64 or hexadecimal, with the bytes that it stands for. */
export interface EncodedRun {
  readonly start: number;
  readonly end: number;
  readonly bytes: Buffer;
}

const RUN_LENGTH_MIN = 16;
const EQUALS = 61;
/** What base64 is written with, also in its form for URLs. */
const IN_BASE64 = new Uint8Array(128);
for (const character of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_')
  IN_BASE64[character.charCodeAt(0)] = 1;

const BASE64_LINE = /[A-Za-z0-9+/]{60,80}\r?\n[ \t]{0,16}/y;
const BASE64_LAST_LINE = /[A-Za-z0-9+/]{1,80}={0,2}(?![A-Za-z0-9+/_=-])/y;
const HEXADECIMAL = /^(?:0x)?(?:[0-9a-fA-F]{2}){12,}$/;

/** Lines of base64 as files have them, or one run of it. Walked letter by letter, because a pattern would begin anew at each of them. */
function* base64Runs(text: string): Generator<{ start: number; end: number }> {
  let start = 0;
  for (let at = 0; at <= text.length; at++) {
    if (IN_BASE64[text.charCodeAt(at)] === 1) continue;
    if (at - start >= RUN_LENGTH_MIN) {
      const end = endOfBase64Lines(text, start) ?? endWithPadding(text, at);
      if (end !== null) {
        yield { start, end };
        at = Math.max(at, end - 1);
      }
    }
    start = at + 1;
  }
}

function endWithPadding(text: string, from: number): number | null {
  let end = from;
  while (end - from < 2 && text.charCodeAt(end) === EQUALS) end++;
  const next = text.charCodeAt(end);
  return next === EQUALS || IN_BASE64[next] === 1 ? null : end;
}

function endOfBase64Lines(text: string, start: number): number | null {
  let [at, count, end] = [start, 0, start];
  for (;;) {
    BASE64_LINE.lastIndex = at;
    const line = BASE64_LINE.exec(text);
    if (line === null) break;
    end = at + line[0].trimEnd().length;
    at += line[0].length;
    count++;
  }
  BASE64_LAST_LINE.lastIndex = at;
  const last = count === 0 ? null : BASE64_LAST_LINE.exec(text);
  if (last !== null) return at + last[0].length;
  // The last of the whole lines ends it.
  return count > 1 ? end : null;
}

/** Runs of base64 or hexadecimal that begin as given and have so many characters at least, with their bytes. */
export function* encodedRuns(text: string, beginning: RegExp, lengthMin: number): Generator<EncodedRun> {
  for (const { start, end } of base64Runs(text)) {
    if (end - start < lengthMin) continue;
    const run = text.slice(start, end);
    if (!beginning.test(run)) continue;
    if (HEXADECIMAL.test(run)) yield { start, end, bytes: Buffer.from(run.replace(/^0x/, ''), 'hex') };
    yield { start, end, bytes: Buffer.from(run.replace(/\s/g, ''), 'base64') };
  }
}

/** Names and paths, of which code is full, are not decoded: they have no digits, or letters of one case. */
const MAY_BE_TEXT = /^(?=[^\d]*\d|[A-Za-z+/]*=)|^[A-Za-z]*[a-z][A-Z]/;
const DECODED_LENGTH_MIN = 16;

export interface Decoded {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Runs of base64 or hexadecimal that stand for readable text. */
export function* decodedRuns(text: string): Generator<Decoded> {
  for (const { start, end, bytes } of encodedRuns(text, MAY_BE_TEXT, DECODED_LENGTH_MIN)) {
    const plain = readable(bytes);
    if (plain !== null) yield { start, end, text: plain };
  }
}

const READABLE_BYTES_MIN = 6;
const PROBE_BYTES = 24;
// biome-ignore lint/suspicious/noControlCharactersInRegex: bytes with control characters are no text
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/;

function readable(bytes: Buffer): string | null {
  if (bytes.length < READABLE_BYTES_MIN) return null;
  let zeros = 0;
  for (let at = 0; at < Math.min(bytes.length, PROBE_BYTES); at++) {
    const byte = bytes[at] as number;
    if (byte === 0) zeros++;
    else if (byte < 32 && byte !== 9 && byte !== 10 && byte !== 13) return null;
  }
  if (zeros === 0) return isUtf8(bytes) ? plainText(bytes.toString('utf8')) : null;
  // Text of Windows, as in the commands of PowerShell. A zero in every other byte tells it from other bytes.
  if (bytes.length % 2 !== 0 || zeros < Math.min(bytes.length, PROBE_BYTES) / 4) return null;
  return plainText((bytes[0] === 0 ? Buffer.from(bytes).swap16() : bytes).toString('utf16le'));
}

function plainText(text: string): string | null {
  return CONTROL.test(text) || !text.isWellFormed() ? null : text;
}
