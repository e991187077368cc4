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

/** Something meant as a reference is noticed in other letters and behind a few spaces, too. */
const MEANT_AT = /\{\{\s{0,16}coffer:/gi;
const FORM =
  /\{\{coffer:\/\/([A-Za-z0-9][A-Za-z0-9._-]{0,62})\/([A-Za-z0-9._@+=/-]{1,1024})((?:#(?:\/[A-Za-z0-9_.-]{1,128}){1,8})?)\}\}/y;
const MEANT = 'must be {{coffer://vault/path}} or {{coffer://vault/path#/field}}, without spaces';

/** Every other text in braces stays as it is. A reference has one spelling, and one that is misspelt is told, because it would be sent as it is. */
export function parseTemplate(text: string): ParsedTemplate {
  const references: Reference[] = [];
  let problem: ParsedTemplate['problem'] = null;
  MEANT_AT.lastIndex = 0;
  // A text is refused for its first problem, or for the first reference too many, so nothing beyond is parsed.
  while (problem === null && references.length <= REFERENCES_MAX) {
    const start = MEANT_AT.exec(text)?.index;
    if (start === undefined) break;
    const found = referenceAt(text, start);
    if (typeof found === 'string') problem = { start, reason: found };
    else {
      references.push(found);
      MEANT_AT.lastIndex = found.end;
    }
  }
  return { references, problem };
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
