import { escaped } from '../printable.ts';

/** No id, time or hash of the service is longer. */
const QUOTED_MAX = 64;
const PLAIN = /^[\w.:+-]+$/;

/**
 * A text of a file that may be forged, as part of a line. An ordinary id, time or hash stays as it is. Anything else is quoted, cut and written in
 * ASCII: spaces could push the rest of a line to the next one, and look like a verdict there.
 */
export function quoted(text: string): string {
  const part = text.slice(0, QUOTED_MAX);
  if (PLAIN.test(part) && part === text) return text;
  return `${JSON.stringify(part).replace(/[^ -~]/g, inAscii)}${part === text ? '' : '…'}`;
}

/** One line for a terminal, whatever the text has: a line break in it is escaped as well. */
export function inOneLine(text: string): string {
  return escaped(text).replaceAll('\n', '\\n').replaceAll('\t', '\\t');
}

function inAscii(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
