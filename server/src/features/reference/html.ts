/** Markup that is safe to send as it is. Only `html` creates it, so text cannot become markup by accident. */
class Html {
  readonly markup: string;

  constructor(markup: string) {
    this.markup = markup;
  }
}

export type { Html };
export type HtmlPart = Html | string | number | null | readonly HtmlPart[];

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}

/** Every value is escaped unless it is itself the result of `html`; null becomes nothing. */
export function html(literals: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html {
  return new Html(literals.map((literal, index) => literal + markupOf(parts[index] ?? null)).join(''));
}

/** A line of text in which `backticks` mark code, as in the declarations. */
export function inline(text: string): Html {
  const pieces = text.split('`');
  // An unpaired backtick at the end stays as text.
  const last = pieces.length % 2 === 0 ? `\`${pieces.pop() ?? ''}` : '';
  return html`${pieces.map((piece, index) => (index % 2 === 1 ? html`<code>${piece}</code>` : piece))}${last}`;
}

export function paragraphs(text: string | undefined): Html[] {
  return (text ?? '')
    .split(/\n{2,}/)
    .filter((paragraph) => paragraph.trim() !== '')
    .map((paragraph) => html`<p>${inline(paragraph)}</p>`);
}

/** A long name or path may break after a dot or underscore and before a slash, but not inside a word. */
export function breakable(text: string): Html {
  return html`${text.split(/(?=\/)|(?<=[._])/).map((piece, index) => (index === 0 ? piece : html`<wbr>${piece}`))}`;
}

function markupOf(part: HtmlPart): string {
  if (part === null) return '';
  if (part instanceof Html) return part.markup;
  return Array.isArray(part) ? part.map(markupOf).join('') : escapeHtml(String(part));
}
