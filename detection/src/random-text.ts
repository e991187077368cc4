import { entropyOf } from './entropy.ts';
import { isIdentifier, isMadeOfWords, isMixed } from './judgement.ts';
import type { Confidence, Match } from './match.ts';
import { isPlaceholder, isSample } from './placeholders.ts';

export const RANDOM_LENGTH_MIN = 32;
const RANDOM_LENGTH_MAX = 128;
/** Lines of a minified file or of data. */
const LINE_LENGTH_MAX = 2000;
const DIGITS_MIN = 3;

/** What publishes itself: digests of packages and images, public keys, fragments of a certificate. */
const PUBLIC_BEFORE =
  /(?:sha(?:1|224|256|384|512)[-:]|ssh-(?:rsa|ed25519|dss) |ecdsa-sha2-nistp\d{3} |sk-ssh-ed25519@openssh\.com |integrity[="': ]{1,6}|(?:sum|hash|digest|checksum|fingerprint|etag|commit|revision)["']?[ \t]{0,4}[:=][ \t]{0,4}["']?|data:[a-z]+\/[a-z0-9.+-]+;base64,|;base64,|SHA256:|h1:|"(?:n|x|y|kid)": ?")$/i;
const PUBLIC_BEFORE_LENGTH = 48;

export function isPublished(text: string, start: number): boolean {
  return PUBLIC_BEFORE.test(text.slice(Math.max(0, start - PUBLIC_BEFORE_LENGTH), start));
}

/** Text that only looks random: letters of both cases and digits, in no order. Digests in hexadecimal have one case, and names have long runs of letters. */
export function randomIn(text: string, from: number, to: number): Match | null {
  const run = text.slice(from, to);
  // It may have the name and the sign before its value, and the full stop of a sentence behind.
  const skipped = /^[A-Za-z0-9_.-]{1,64}=(?=[A-Za-z0-9+/_-]{32})/.exec(run)?.[0].length ?? 0;
  const value = /^[A-Za-z0-9+/_-]{32,128}={0,2}(?=[.~]?$)/.exec(run.slice(skipped))?.[0];
  if (value === undefined || value.length > RANDOM_LENGTH_MAX) return null;
  const start = from + skipped;
  const end = start + value.length;
  const digits = value.match(/\d/g)?.length ?? 0;
  if (!isMixed(value) || (digits < DIGITS_MIN && value.length > 40) || isMadeOfWords(value)) return null;
  // A structure in DER: private keys are found by what is in it, and the others are certificates and public keys.
  if (/^MI[IGHM]/.test(value) || isPlaceholder(value) || isPublished(text, start)) return null;
  const confidence = confidenceOf(text, start, end, digits);
  return { kind: 'secret', rule: 'random-text', start, end, confidence };
}

/** Sure is only a literal, or what is the whole value of a name. Elsewhere it may be a part of a path, of a sentence or of data. */
function confidenceOf(text: string, start: number, end: number, digits: number): Confidence {
  const value = text.slice(start, end);
  const before = text.charAt(start - 1);
  if (/[.@:/]/.test(before)) return 'possible';
  const isQuoted = /["'`]/.test(before);
  const isWhole = isQuoted
    ? text.charAt(end) === before
    : /[A-Za-z0-9_"'\]][ \t]{0,4}[=:][ \t]{0,4}$/.test(text.slice(Math.max(0, start - 16), start)) &&
      /^[\s,;]?$/.test(text.charAt(end));
  if (!isWhole || digits < DIGITS_MIN || isSample(value) || isIdentifier(value) || entropyOf(value) < 4.5) return 'low';
  return isOnLongLine(text, start) ? 'low' : 'medium';
}

/** Looks no further than such a line is long: a text of one line may have thousands of these. */
function isOnLongLine(text: string, at: number): boolean {
  const [from, to] = [Math.max(0, at - LINE_LENGTH_MAX), Math.min(text.length, at + LINE_LENGTH_MAX)];
  const [newlineBefore, newline] = [text.slice(from, at).lastIndexOf('\n'), text.slice(at, to).indexOf('\n')];
  const start = newlineBefore === -1 ? from : from + newlineBefore + 1;
  const end = newline === -1 ? to : at + newline;
  return end - start > LINE_LENGTH_MAX;
}
