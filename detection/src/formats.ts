import { entropyOf } from './entropy.ts';
import { CLOUD } from './formats/cloud.ts';
import { CODE } from './formats/code.ts';
import type { Format } from './formats/format.ts';
import { SERVICES } from './formats/services.ts';
import type { Confidence, Match, SecretKind } from './match.ts';
import { isPlaceholder, isSample } from './placeholders.ts';

/** Credentials that begin with something that only their issuer writes. Those that Coffer issues come first. */
export const FORMATS: readonly Format[] = [...CLOUD, ...CODE, ...SERVICES];

const beginningsOf = (formats: readonly Format[]) => [...new Set(formats.map(({ begins }) => begins))].join('|');
/** Finds where a format may begin. */
const BEGINNINGS = new RegExp(
  `(?<![A-Za-z0-9_])(?:${beginningsOf(FORMATS.filter(({ before }) => before === 0))})|${beginningsOf(FORMATS.filter(({ before }) => before > 0))}`,
  'gi',
);
const BY_BEGINNING = FORMATS.map((one) => ({ ...one, begins: new RegExp(one.begins, one.form.flags) }));
/** Few of them begin with the same letter. */
const BY_FIRST_LETTER = new Map<number, (typeof BY_BEGINNING)[number][]>();
for (const [at, one] of FORMATS.entries()) {
  for (const letter of firstLettersOf(one.begins)) {
    for (const code of new Set([letter.toLowerCase().charCodeAt(0), letter.toUpperCase().charCodeAt(0)])) {
      const known = BY_FIRST_LETTER.get(code) ?? [];
      BY_FIRST_LETTER.set(code, known);
      known.push(BY_BEGINNING[at] as (typeof BY_BEGINNING)[number]);
    }
  }
}

/** The letters with which a beginning may begin. It is a literal, a class, or a group of these, which may be optional. */
function firstLettersOf(begins: string): Set<string> {
  if (begins.startsWith('[')) return new Set(begins.slice(1, begins.indexOf(']')));
  if (begins.startsWith('\\')) return new Set(begins.charAt(1));
  if (!begins.startsWith('(?:')) return new Set(begins.charAt(0));
  const end = begins.indexOf(')');
  const letters = begins
    .slice(3, end)
    .split('|')
    .flatMap((one) => [...firstLettersOf(one)]);
  const rest = begins.charAt(end + 1) === '?' ? [...firstLettersOf(begins.slice(end + 2))] : [];
  return new Set([...letters, ...rest]);
}

const IN_NAME = /[A-Za-z0-9_]/;
const ENTROPY_MIN = 2.2;
/** A text with the form of a credential that is none is not searched again if it is longer. */
const REJECTED_LENGTH_MIN = 64;

/** The credentials that begin between two positions of a text. */
export function formatsIn(text: string, from: number, to: number): Match[] {
  const run = text.slice(from, to);
  const matches: Match[] = [];
  BEGINNINGS.lastIndex = 0;
  for (let beginning = BEGINNINGS.exec(run); beginning !== null; beginning = BEGINNINGS.exec(run)) {
    const { index } = beginning;
    const { match, length } = formatAt(text, from + index);
    if (match !== null) matches.push(match);
    if (match !== null || length > REJECTED_LENGTH_MIN) BEGINNINGS.lastIndex = index + length;
  }
  const whole = wholeRun(run, from);
  if (whole !== null) matches.push(whole);
  return matches;
}

function formatAt(text: string, at: number): { match: Match | null; length: number } {
  let length = 0;
  const formats = BY_FIRST_LETTER.get(text.charCodeAt(at)) ?? [];
  for (const { rule, kind, begins, form, before, check, confidence } of formats) {
    begins.lastIndex = at;
    const start = at - before;
    if (start < 0 || !begins.test(text) || (before > 0 && IN_NAME.test(text.charAt(start - 1)))) continue;
    form.lastIndex = start;
    const value = form.exec(text)?.[0];
    if (value === undefined) continue;
    length = Math.max(length, value.length - before);
    if ((check !== null && !check(value)) || isPlaceholder(value) || entropyOf(value) < ENTROPY_MIN) continue;
    const sure = isSample(value) ? 'low' : confidence;
    return { match: { kind, rule, start, end: start + value.length, confidence: sure }, length };
  }
  return { match: null, length };
}

/** Credentials without a beginning of their own, which are all of a run of characters, or what stands behind a name in it. */
const WHOLE: readonly { rule: string; kind: SecretKind; length: number; form: RegExp; confidence: Confidence }[] = [
  {
    rule: 'mailgun-key',
    kind: 'secret',
    length: 50,
    form: /^[a-f0-9]{32}-[a-f0-9]{8}-[a-f0-9]{8}$/,
    confidence: 'high',
  },
  { rule: 'mailchimp-key', kind: 'secret', length: 36, form: /^[a-f0-9]{32}-us\d{1,2}$/, confidence: 'high' },
  {
    rule: 'discord-token',
    kind: 'token',
    length: 58,
    form: /^[MNO](?=[^\d]*\d)[A-Za-z0-9_-]{22,28}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}$/,
    confidence: 'medium',
  },
  {
    rule: 'bitcoin-key',
    kind: 'private_key',
    length: 51,
    form: /^[5KL](?=[^\d]*\d)[1-9A-HJ-NP-Za-km-z]{50,51}$/,
    confidence: 'low',
  },
  {
    rule: 'azure-storage-key',
    kind: 'secret',
    length: 88,
    form: /^(?=[^\d]*\d)[A-Za-z0-9+/]{86}==$/,
    confidence: 'low',
  },
];
const WHOLE_LENGTH_MIN = Math.min(...WHOLE.map(({ length }) => length));
const WHOLE_LENGTH_MAX = 160;

function wholeRun(run: string, from: number): Match | null {
  if (run.length < WHOLE_LENGTH_MIN || run.length > WHOLE_LENGTH_MAX) return null;
  const skipped = /^[A-Za-z0-9_.-]{1,64}=(?!=|$)/.exec(run)?.[0].length ?? 0;
  const end = run.endsWith('.') ? run.length - 1 : run.length;
  const value = run.slice(skipped, end);
  const found = WHOLE.find(({ length, form }) => value.length >= length && form.test(value));
  if (found === undefined || entropyOf(value) < ENTROPY_MIN) return null;
  const { rule, kind, confidence } = found;
  return { rule, kind, start: from + skipped, end: from + end, confidence };
}
