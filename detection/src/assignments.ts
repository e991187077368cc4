import { type Assigned, assignedTo } from './assigned-values.ts';
import type { FileContext } from './context.ts';
import {
  classesOf,
  isCode,
  isRandomHex,
  isType,
  looksChosen,
  looksPrintable,
  looksRandom,
  looksShort,
  mayBeKey,
  mayBePassword,
  UUID,
} from './judgement.ts';
import type { Confidence, Match } from './match.ts';
import { type Name, namesIn } from './names.ts';
import { isPlaceholder, isSample } from './placeholders.ts';
import { isPublished } from './random-text.ts';
import { isOfService } from './services.ts';

const VALUE_LENGTH_MIN = 6;
/** Names between two steps. */
const NAMES_PER_STEP = 500;

/** Values beside a name that says that they are secret. */
export function* assignmentMatches(
  text: string,
  file: FileContext,
  isPublic: (at: number) => boolean,
): Generator<void, Match[]> {
  const matches: Match[] = [];
  let names = 0;
  for (const name of namesIn(text)) {
    if (++names % NAMES_PER_STEP === 0) yield;
    const assigned = withoutCompany(assignedTo(text, name.start, name.end));
    if (assigned === null || isPublic(assigned.start)) continue;
    const confidence = confidenceOf(name, assigned, file);
    if (confidence === null || isPublished(text, assigned.start)) continue;
    const { start, end } = assigned;
    const isPassword = name.strength === 'password';
    matches.push({
      start,
      end,
      kind: isPassword ? 'password' : 'secret',
      rule: isPassword ? 'password' : 'secret-value',
      confidence,
    });
  }
  return matches;
}

const COMPANY_LENGTH_MIN = 16;

/** Of a text of several parts, the one that looks random: a scheme or a label may stand with it. */
function withoutCompany(assigned: Assigned | null): Assigned | null {
  if (assigned === null || !/\s/.test(assigned.value)) return assigned;
  for (const { 0: part, index } of assigned.value.matchAll(/[A-Za-z0-9+/=_.-]{16,512}/g)) {
    if (part.length < COMPANY_LENGTH_MIN || !looksRandom(part) || looksPrintable(assigned.value)) continue;
    const start = assigned.start + index;
    return { ...assigned, value: part, start, end: start + part.length };
  }
  return assigned;
}

function confidenceOf(
  name: Name,
  assigned: Assigned,
  { isCode: isCodeFile, hasDigests }: FileContext,
): Confidence | null {
  const { value, isQuoted, by } = assigned;
  if (value.length < VALUE_LENGTH_MIN || isPlaceholder(value) || isCode(value) || isType(value)) return null;
  // In code, a value without quotes is the name of something else.
  if (!isQuoted && isCodeFile && by !== 'line') return null;
  if (hasDigests && !isQuoted) return null;
  if (isOfService(name.whole, value)) return by === 'sentence' ? 'low' : 'medium';
  const looks = name.strength === 'password' ? lookOfPassword(assigned) : lookOfKey(name, assigned);
  if (looks === null) return 'possible';
  if (isSample(value) || by === 'sentence') return atMost(looks, 'low');
  if (by === 'comma' || by === 'call') return classesOf(value) >= 3 || looksRandom(value) ? looks : 'possible';
  return looks;
}

function lookOfPassword({ value, isQuoted, by }: Assigned): Confidence | null {
  // Most text in other scripts is a label.
  const isTyped = /^[\x20-\x7e\u00a1-\u024f]+$/.test(value);
  if (isTyped && (looksChosen(value, isQuoted) || looksPrintable(value))) return 'medium';
  if (!mayBePassword(value, isQuoted)) return null;
  return by === 'pair' && isTyped && /\d/.test(value) ? 'medium' : 'low';
}

/** Names beside which an id is no id: it opens something. */
const OF_CREDENTIAL = /secret|token$|api_?key|access_?key|private_?key/i;

function lookOfKey({ strength, isAbout, whole }: Name, { value, isQuoted }: Assigned): Confidence | null {
  if (looksPrintable(value)) return isAbout ? 'low' : 'medium';
  if (UUID.test(value)) return isAbout ? null : OF_CREDENTIAL.test(whole) ? 'medium' : 'low';
  if (!mayBeKey(value)) return null;
  const isStrong = looksRandom(value) || (isQuoted && looksShort(value));
  if (strength === 'weak') return weakLook(value, isStrong && !isAbout);
  if (isStrong && !isAbout) return 'medium';
  return isAbout && !isStrong ? null : 'low';
}

const WEAK_LENGTH_MIN = 20;

/** `key`, `session` and `auth` stand beside names and digests too. */
function weakLook(value: string, isStrong: boolean): Confidence | null {
  if (/[a-z]/.test(value) && /[A-Z]/.test(value) && /\d/.test(value)) return isStrong ? 'medium' : 'low';
  if (!isStrong) return null;
  // A digest is written in hexadecimal, a random key often with all letters.
  return isRandomHex(value) || value.length < WEAK_LENGTH_MIN || !/[g-z]/i.test(value) ? 'low' : 'medium';
}

function atMost(confidence: Confidence, most: Confidence): Confidence {
  return confidence === 'high' || confidence === 'medium' ? most : confidence;
}
