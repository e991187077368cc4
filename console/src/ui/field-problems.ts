import type { CofferError } from '@coffer/client';
import { problemTexts as texts } from './problem-texts.ts';

/** What the service found wrong at one place of a request, such as `/body/metadata/tags/0`. */
export interface FieldProblem {
  readonly pointer: string;
  readonly reason: string;
}

export function fieldProblems(error: CofferError | null): readonly FieldProblem[] {
  const found = (error?.details['fields'] ?? []) as readonly FieldProblem[];
  return found.filter(({ pointer, reason }) => {
    // What may be left out has this problem too if something inside it is wrong, which says more.
    return !OTHER_FORM.includes(reason) || !found.some((other) => other.pointer.startsWith(`${pointer}/`));
  });
}
const OTHER_FORM: readonly string[] = ['must be null', 'does not have one of the allowed formats'];

/** Without the part of the request: the body, the query or the path of the address. */
function segmentsOf(pointer: string): string[] {
  const [part = '', ...rest] = pointer.split('/').slice(1);
  return PARTS.includes(part) ? rest : [part, ...rest].filter(Boolean);
}
const PARTS: readonly string[] = ['body', 'query', 'path', 'headers'];

/** The field of a form that a problem belongs to: the one that names the most of its place. Null if the form has none. */
export function fieldOf({ pointer }: FieldProblem, fields: Iterable<string>): string | null {
  const place = `${segmentsOf(pointer).join('/')}/`;
  let found: string | null = null;
  for (const field of fields) {
    if (place.startsWith(`${field}/`) && field.length > (found?.length ?? -1)) found = field;
  }
  return found;
}

/** What went wrong, for somebody who does not write requests: without the endpoints that a message may name. */
export function messageOf({ message }: { message: string }): string {
  const [pattern, said] = texts.messages.find(([each]) => each.test(message)) ?? [];
  const words = pattern === undefined ? message : message.replace(pattern, said ?? '');
  return words.replaceAll(REQUEST_IN_BRACKETS, '').replaceAll(BY_REQUEST, '');
}
const REQUEST_IN_BRACKETS = / \((?:GET|POST|PUT|PATCH|DELETE) [^()]*\)/g;
const BY_REQUEST = /(?: or)? with (?:GET|POST|PUT|PATCH|DELETE) \/[^\s,;]*[^\s,;.:]/g;

/** The problem as a sentence that stands at its field. An entry of a list is named by its number. */
export function sentenceAt(field: string, { pointer, reason }: FieldProblem): string {
  const inside = segmentsOf(pointer).slice(field.split('/').length);
  if (inside.length > 0) return `${capital(placeInWords(inside))}: ${inPlainWords(reason)}`;
  return pointer.endsWith('/name') && reason === WRONG_FORM ? texts.nameForm : sentence(reason);
}
const WRONG_FORM = 'does not have the required format';

/** The problem as a sentence that names its place, for one that has no field. */
export function sentenceOf({ pointer, reason }: FieldProblem): string {
  const segments = segmentsOf(pointer);
  return segments.length === 0 ? sentence(reason) : `${capital(placeInWords(segments))}: ${inPlainWords(reason)}`;
}

function placeInWords(segments: readonly string[]): string {
  const words = segments.map((segment, index) => {
    if (!/^\d+$/.test(segment)) return segment.replaceAll('_', ' ');
    return segments[index - 1] === 'line' ? segment : texts.entry(Number(segment) + 1);
  });
  return words.join(' ');
}

const sentence = (reason: string) => capital(inPlainWords(reason));

function inPlainWords(reason: string): string {
  const [pattern, said] = texts.reasons.find(([each]) => each.test(reason)) ?? [];
  const words = pattern === undefined ? reason : reason.replace(pattern, said ?? '');
  return /[.?!]$/.test(words) ? words : `${words}.`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
