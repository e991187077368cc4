import { codeBlock } from './code-block.ts';
import { breakable, type Html, html } from './html.ts';

/**
 * The subset of Markdown used by the guide: headings, paragraphs, flat lists, tables, quotes, fenced code and parts that are folded; within a line, code, bold and links.
 * All other Markdown is an error, so that no page is rendered differently than intended.
 */
export interface Rendered {
  /** The text of the first heading. */
  title: string;
  body: Html;
}

/** Resolves a link target; `href` is null if the target is not served, and `file` then names it in the repository. */
export type ResolveLink = (target: string) => { href: string } | { href: null; file: string };

export function renderMarkdown(source: string, resolve: ResolveLink): Rendered {
  const reader = new MarkdownReader(source.split('\n'), resolve);
  const body = html`${reader.blocks()}`;
  return { title: reader.title, body };
}

const LANGUAGES: Readonly<Record<string, string>> = { sh: 'Shell', json: 'JSON', yaml: 'YAML', '': 'Text' };
const FENCE = /^```([a-z]*)$/;
const HEADING = /^(#{1,3}) (\S.*)$/;
const LIST_ITEM = /^(-|\d+\.) (\S.*)$/;
const CONTINUED = /^ {2,}(\S.*)$/;
const FOLD = /^<details><summary>([^<>]+)<\/summary>$/;
const FOLD_END = '</details>';
const QUOTE = /^> (.*)$/;
const TABLE_ROW = /^\|.*\|$/;
const TABLE_RULE = /^\|(?:-+\|)+$/;
/** Starts of unsupported blocks: indented code, HTML, images, other headings, rules and lists. */
const UNKNOWN_BLOCK = /^(?:\s|<|!\[|#|>|\||```|[*+] |[-=*_]{3,}\s*$)/;

class MarkdownReader {
  title = '';
  readonly #lines: readonly string[];
  readonly #resolve: ResolveLink;
  readonly #ids = new Set<string>();
  #at = 0;

  constructor(lines: readonly string[], resolve: ResolveLink) {
    this.#lines = lines;
    this.#resolve = resolve;
  }

  blocks(): Html[] {
    const blocks: Html[] = [];
    while (this.#at < this.#lines.length) {
      if (this.#line() === '') this.#at++;
      else blocks.push(this.#block());
    }
    return blocks;
  }

  #block(): Html {
    const line = this.#line();
    if (FENCE.test(line)) return this.#code();
    if (FOLD.test(line)) return this.#fold();
    if (HEADING.test(line)) return this.#heading();
    if (LIST_ITEM.test(line)) return this.#list();
    if (QUOTE.test(line)) return html`<blockquote>${this.#inline(this.#takeAll(QUOTE).join(' '))}</blockquote>`;
    if (TABLE_ROW.test(line)) return this.#table();
    return this.#paragraph();
  }

  #code(): Html {
    const language = LANGUAGES[FENCE.exec(this.#line())?.[1] ?? ''];
    if (language === undefined) throw this.#unknown('an unknown code language');
    const from = ++this.#at;
    while (this.#line() !== '```') {
      if (++this.#at >= this.#lines.length) throw this.#unknown('a code fence that is not closed');
    }
    return codeBlock(language, this.#lines.slice(from, this.#at++).join('\n'));
  }

  #fold(): Html {
    const summary = this.#inline(FOLD.exec(this.#line())?.[1] ?? '');
    const blocks: Html[] = [];
    for (this.#at++; this.#line() !== FOLD_END; ) {
      if (this.#at >= this.#lines.length) throw this.#unknown('a folded part that is not closed');
      if (FOLD.test(this.#line())) throw this.#unknown('a folded part within another');
      if (this.#line() === '') this.#at++;
      else blocks.push(this.#block());
    }
    this.#at++;
    return html`<details><summary>${summary}</summary>${blocks}</details>`;
  }

  #heading(): Html {
    const [, marks = '', text = ''] = HEADING.exec(this.#line()) ?? [];
    const content = this.#inline(text);
    this.#at++;
    const id = headingId(text);
    if (this.#ids.has(id)) throw this.#unknown(`a second heading "${text}"`);
    this.#ids.add(id);
    if (this.title === '') this.title = text.replaceAll('`', '');
    if (marks === '#') return html`<h1 id="${id}">${content}</h1>`;
    if (marks === '##') return html`<h2 id="${id}"><a href="#${id}">${content}</a></h2>`;
    return html`<h3 id="${id}"><a href="#${id}">${content}</a></h3>`;
  }

  #list(): Html {
    const items: Html[] = [];
    const first = this.#line();
    for (let item = LIST_ITEM.exec(first); item !== null; item = LIST_ITEM.exec(this.#line())) {
      this.#at++;
      const text = [String(item[2]), ...this.#takeAll(CONTINUED)];
      if (text.slice(1).some((line) => LIST_ITEM.test(line))) throw this.#unknown('a nested list');
      items.push(html`<li>${this.#inline(text.join(' '))}</li>`);
    }
    return first.startsWith('-')
      ? html`<ul>${items}</ul>`
      : html`<ol start="${Number.parseInt(first, 10)}">${items}</ol>`;
  }

  #table(): Html {
    const [heads, rule, ...rows] = this.#takeAll(/^(\|.*\|)$/);
    if (heads === undefined || rule === undefined || !TABLE_RULE.test(rule))
      throw this.#unknown('a table without a header row');
    const columns = cellsOf(heads);
    const body = rows.map(cellsOf);
    if (body.some((cells) => cells.length !== columns.length))
      throw this.#unknown('a row with a different number of columns');
    return html`<div class="scroll"><table>
<thead><tr>${columns.map((cell) => html`<th scope="col">${this.#inline(cell)}</th>`)}</tr></thead>
<tbody>${body.map((cells) => html`<tr>${cells.map((cell) => html`<td>${this.#inline(cell)}</td>`)}</tr>`)}</tbody>
</table></div>`;
  }

  #paragraph(): Html {
    const text: string[] = [];
    for (let line = this.#line(); line !== '' && !isBlockStart(line); line = this.#line()) {
      if (UNKNOWN_BLOCK.test(line)) throw this.#unknown('this kind of block');
      text.push(line);
      this.#at++;
    }
    return html`<p>${this.#inline(text.join(' '))}</p>`;
  }

  #inline(text: string): Html {
    const parts: (Html | string)[] = [];
    let end = 0;
    for (const match of text.matchAll(INLINE)) {
      parts.push(this.#plain(text.slice(end, match.index)), this.#marked(match.groups ?? {}));
      end = match.index + match[0].length;
    }
    return html`${parts}${this.#plain(text.slice(end))}`;
  }

  #marked({ code, bold, label, target }: Record<string, string | undefined>): Html {
    if (code !== undefined) return html`<code>${breakable(code)}</code>`;
    if (bold !== undefined) return html`<strong>${this.#inline(bold)}</strong>`;
    const content = this.#inline(label ?? '');
    const link = this.#resolve(target ?? '');
    if (link.href === null) return html`${content} (<code>${link.file}</code> in the repository)`;
    return html`<a href="${link.href}">${content}</a>`;
  }

  #plain(text: string): string {
    if (UNKNOWN_MARK.test(text)) throw this.#unknown(`the mark in "${text.trim()}"`);
    return text;
  }

  #takeAll(form: RegExp): string[] {
    const taken: string[] = [];
    for (let match = form.exec(this.#line()); match !== null; match = form.exec(this.#line())) {
      taken.push(String(match[1]));
      this.#at++;
    }
    return taken;
  }

  #line(): string {
    return (this.#lines[this.#at] ?? '').trimEnd();
  }

  #unknown(what: string): Error {
    return new Error(`line ${this.#at + 1}: ${what} is not supported Markdown`);
  }
}

const INLINE =
  /`(?<code>[^`]+)`|\*\*(?<bold>(?:[^*`]|`[^`]+`)+)\*\*|\[(?<label>(?:[^[\]`]|`[^`]+`)+)\]\((?<target>[^()\s]+)\)/g;
const UNKNOWN_MARK = /[`\\]|\]\(|!\[|<[a-zA-Z/!]|&[a-z#]|(?:^|[\s(])[*_]\S/;

function isBlockStart(line: string): boolean {
  return [FENCE, HEADING, LIST_ITEM, QUOTE, TABLE_ROW].some((form) => form.test(line));
}

/** A `|` in a cell is written `\|`. */
function cellsOf(row: string): string[] {
  return row
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'));
}

/** Generated like on repository hosts, so that a link to a heading works in both. */
export function headingId(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');
}
