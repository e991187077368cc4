import { type Assigned, assignedTo } from './assigned-values.ts';
import type { FileContext } from './context.ts';
import {
  classesOf,
  isCode,
  isRandomHex,
  isType,
  looksChosen,
  looksRandom,
  mayBeKey,
  mayBePassword,
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
    const assigned = assignedTo(text, name.start, name.end);
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
  const looks = name.strength === 'password' ? lookOfPassword(assigned) : lookOfKey(name, assigned);
  if (looks === null) return 'possible';
  if (isSample(value) || by === 'sentence') return atMost(looks, 'low');
  if (by === 'comma' || by === 'call') return classesOf(value) >= 3 || looksRandom(value) ? looks : 'possible';
  return looks;
}

function lookOfPassword({ value, isQuoted }: Assigned): Confidence | null {
  if (looksChosen(value, isQuoted)) return 'medium';
  return mayBePassword(value, isQuoted) ? 'low' : null;
}

function lookOfKey({ strength, isAbout, whole }: Name, { value }: Assigned): Confidence | null {
  if (isOfService(whole, value)) return 'medium';
  if (!mayBeKey(value)) return null;
  const isStrong = looksRandom(value);
  if (strength === 'weak') return weakLook(value, isStrong && !isAbout);
  if (isStrong && !isAbout) return 'medium';
  return isAbout && !isStrong ? null : 'low';
}

/** `key`, `session` and `auth` stand beside names and digests too. */
function weakLook(value: string, isStrong: boolean): Confidence | null {
  if (/[a-z]/.test(value) && /[A-Z]/.test(value) && /\d/.test(value)) return isStrong ? 'medium' : 'low';
  return isStrong && isRandomHex(value) ? 'low' : null;
}

function atMost(confidence: Confidence, most: Confidence): Confidence {
  return confidence === 'high' || confidence === 'medium' ? most : confidence;
}
