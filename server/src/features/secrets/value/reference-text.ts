import { parseSecretPath } from '../../../kernel/wire/secret-path.ts';

/** The type whose values have references. */
export const TEMPLATE = 'template';
/** References in one template, and secrets that it is made of together with those of the templates in it. */
export const REFERENCES_MAX = 16;

/** `{{coffer://<vault>/<path>}}` or `{{coffer://<vault>/<path>#/<field>}}` in the value of a template. */
export interface Reference {
  vault: string;
  path: string;
  /** The names of the fields that lead into a value that is JSON; empty for the whole value. */
  fields: readonly string[];
  /** Where it is in the text. */
  start: number;
  end: number;
}

export interface ParsedTemplate {
  references: Reference[];
  /** Why the first text that looks like a reference is none. */
  problem: { start: number; reason: string } | null;
}

const OPENING = '{{';
const SCHEME = 'coffer:';
/** Spaces after the opening braces in which something meant as a reference is still noticed. */
const SPACES_MAX = 16;
const FORM =
  /\{\{coffer:\/\/([A-Za-z0-9][A-Za-z0-9._-]{0,62})\/([A-Za-z0-9._@+=/-]{1,1024})((?:#(?:\/[A-Za-z0-9_.-]{1,128}){1,8})?)\}\}/y;
const MEANT = 'must be {{coffer://vault/path}} or {{coffer://vault/path#/field}}, without spaces';

/** Every other text in braces stays as it is. A reference has one spelling, and one that is misspelt is told, because it would be sent as it is. */
export function parseTemplate(text: string): ParsedTemplate {
  const references: Reference[] = [];
  let problem: ParsedTemplate['problem'] = null;
  for (let start = text.indexOf(OPENING); start !== -1; ) {
    const found = isMeant(text, start) ? referenceAt(text, start) : null;
    if (typeof found === 'string') problem ??= { start, reason: found };
    else if (found !== null) references.push(found);
    start = text.indexOf(OPENING, found === null || typeof found === 'string' ? start + 1 : found.end);
  }
  return { references, problem };
}

function isMeant(text: string, start: number): boolean {
  const from = start + OPENING.length;
  const beginning = text.slice(from, from + SPACES_MAX + SCHEME.length).trimStart();
  return beginning.toLowerCase().startsWith(SCHEME);
}

function referenceAt(text: string, start: number): Reference | string {
  FORM.lastIndex = start;
  const [whole, vault, path, pointer = ''] = FORM.exec(text) ?? [];
  if (whole === undefined || vault === undefined || path === undefined) return MEANT;
  const parsed = parseSecretPath(path);
  if (!parsed.ok) return `has a path that ${parsed.reason}`;
  return { vault, path, fields: pointer.split('/').slice(1), start, end: start + whole.length };
}

/** Why a text cannot be the value of a template, to follow a JSON pointer, or null. Characters are counted from 1. */
export function templateProblem(text: string): string | null {
  const { references, problem } = parseTemplate(text);
  if (problem !== null) return `has a reference at character ${problem.start + 1} that ${problem.reason}`;
  const beyond = references[REFERENCES_MAX];
  if (beyond === undefined) return null;
  return `has more than ${REFERENCES_MAX} references: the first one too many is at character ${beyond.start + 1}`;
}
