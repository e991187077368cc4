import { EMAIL_PATTERN } from '../../kernel/wire/wire.ts';

/** A mail to one person. A paragraph is text, or something to copy, such as a token, on lines of its own. */
export interface Message {
  to: string;
  subject: string;
  paragraphs: readonly (string | { readonly copy: string })[];
}

/** Everything that a header is made of. Other characters could end the header, or add a recipient. */
const ADDRESS = new RegExp(EMAIL_PATTERN);
const SUBJECT = /^[^\p{C}\p{Zl}\p{Zp}]{1,200}$/u;

/** Refuses a message whose headers could hold more than they should. */
export function requireSafeHeaders({ to, subject }: Message): void {
  if (!ADDRESS.test(to)) throw new Error('the recipient of a mail is not one plain address');
  if (!SUBJECT.test(subject)) throw new Error('the subject of a mail is empty, too long, or has control characters');
}

export function isMailAddress(text: string): boolean {
  return ADDRESS.test(text);
}

/** Longer lines would be encoded for the way, and a token in a file could not be copied. */
const LINE_LENGTH_MAX = 72;

export function textOf({ paragraphs }: Message): string {
  return `${paragraphs.map((one) => (typeof one === 'string' ? wrapped(one) : indented(one.copy))).join('\n\n')}\n`;
}

function wrapped(paragraph: string): string {
  const lines: string[] = [];
  for (const word of paragraph.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= LINE_LENGTH_MAX)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines.join('\n');
}

function indented(copy: string): string {
  return copy.replace(/^/gm, '    ');
}

export function htmlOf({ subject, paragraphs }: Message): string {
  const body = paragraphs.map((one) =>
    typeof one === 'string' ? `<p>${escaped(one)}</p>` : `<pre>${escaped(one.copy)}</pre>`,
  );
  return `<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>${escaped(subject)}</title></head>\n<body>\n${body.join('\n')}\n</body></html>\n`;
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}
