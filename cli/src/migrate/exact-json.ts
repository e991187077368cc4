import { CommandError } from '../failure.ts';

type Reviver = (key: string, value: unknown, context: { source?: string }) => unknown;
/** Node has them; the library types of the compiler do not yet. */
const json = JSON as unknown as {
  parse(text: string, reviver: Reviver): unknown;
  rawJSON(text: string): unknown;
};

/** Parses JSON and writes numbers back as they were: an id of twenty digits must not be rounded. */
export function parseExactly(text: string): unknown {
  return json.parse(text, (_, value, { source }) =>
    typeof value === 'number' && source !== undefined && String(value) !== source ? json.rawJSON(source) : value,
  );
}

/** A value of a key as the text of a secret: text as it is, anything else as JSON. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The JSON documents of a file, one after the other, as several runs of a command print them. */
export function documentsIn(text: string, what: string): unknown[] {
  const trimmed = text.replace(/^\uFEFF/, '').trim();
  if (trimmed === '') throw new CommandError(`${what} is empty.`);
  const documents: unknown[] = [];
  for (let start = 0; start < trimmed.length; ) {
    const end = endOfDocument(trimmed, start);
    try {
      documents.push(parseExactly(trimmed.slice(start, end)));
    } catch {
      // The message of the parser quotes the text, which has secrets.
      throw new CommandError(`${what} is not JSON, from character ${start + 1} on. Export it again, as JSON.`);
    }
    start = end + (/^\s*/.exec(trimmed.slice(end, end + 1024))?.[0].length ?? 0);
  }
  return documents;
}

/** Behind the bracket that closes the one at `start`, or the end of the text. */
function endOfDocument(text: string, start: number): number {
  const marks = /["{}[\]]/g;
  marks.lastIndex = start;
  let depth = 0;
  for (let match = marks.exec(text); match !== null; match = marks.exec(text)) {
    if (match[0] === '"') {
      marks.lastIndex = endOfString(text, match.index);
      continue;
    }
    depth += match[0] === '{' || match[0] === '[' ? 1 : -1;
    if (depth <= 0) return marks.lastIndex;
  }
  return text.length;
}

function endOfString(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    if (text[i] === '\\') i++;
    else if (text[i] === '"') return i + 1;
  }
  return text.length;
}

/** Whether it is an object of JSON, and not a list, a number that is written back exactly, or null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !('rawJSON' in value && Object.isFrozen(value))
  );
}
