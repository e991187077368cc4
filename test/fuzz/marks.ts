/**
 * What is sent carries marks that stand nowhere by chance: names say whose they are, and values that they are values. What comes back, or
 * stands in a log, can so be told from what may be there.
 */

export type Side = 'ours' | 'theirs';

const LETTER: Record<Side, string> = { ours: 'a', theirs: 'b' };
/** Has a letter that no id has: among thousands of ids, four others would stand together by chance. */
const NAME_MARK = /fu[ab]x[0-9a-z]{7}/g;
const VALUE_MARK = 'Zq7FuzzValue';
const ANY_ID = /\b[a-z]+_[0-9a-hjkmnp-tv-z]{26}\b/g;

let values = 0;

export function nameMark(side: Side, rest: string): string {
  return `fu${LETTER[side]}x${rest}`;
}

export function newValue(): string {
  values++;
  return `${VALUE_MARK}${values}z`;
}

/** Names that were made up, each once. */
export function namesIn(text: string): Set<string> {
  return new Set(text.match(NAME_MARK) ?? []);
}

/** Ids that the service gave out, or that look like it. */
export function idsIn(text: string): Set<string> {
  return new Set(text.match(ANY_ID) ?? []);
}

export function sideOf(name: string): Side {
  return name.startsWith('fua') ? 'ours' : 'theirs';
}

export function valuesIn(text: string): Set<string> {
  return new Set(text.match(/Zq7FuzzValue\d+z/g) ?? []);
}

/** Forms that credentials have. */
const CREDENTIALS =
  /cv_pat_[\w.-]{20,}|Svc_[\w-]{16,}|eyJ[\w-]{16,}\.[\w-]+\.[\w-]+|-----BEGIN [A-Z ]*PRIVATE KEY-----/;

/** What must not stand in a log or an audit entry: a value, or anything that opens a door. Null: nothing of the kind does. */
export function secretIn(text: string, known: Iterable<string> = []): string | null {
  if (text.includes(VALUE_MARK)) return 'a value';
  if (CREDENTIALS.test(text)) return 'a credential';
  for (const secret of known) if (text.includes(secret)) return 'something shown once';
  return null;
}

/** For people to read: what was sent without what nobody may read. */
export function withoutSecrets(text: string): string {
  return text.replace(/Zq7FuzzValue(\d+)z/g, '<value $1>').replace(new RegExp(CREDENTIALS, 'g'), '<credential>');
}
