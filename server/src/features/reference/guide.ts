import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { type Html, html } from './html.ts';
import { type Rendered, type ResolveLink, renderMarkdown } from './markdown.ts';
import type { NounPage } from './nouns.ts';
import type { ContentsGroup } from './page-layout.ts';
import { ERRORS, GUIDE, INDEX, Links } from './page-links.ts';

/**
 * The guide is read from files shipped with the service, so that it also works without network access: in an installed package they are in its own
 * folder, and in a checkout beside the server.
 */
const PACKED_FOLDER = new URL('../../../docs/', import.meta.url);
const FOLDER = existsSync(PACKED_FOLDER) ? PACKED_FOLDER : new URL('../../../../docs/', import.meta.url);
const FIRST_FILE = 'guide/README.md';

/** Files outside the guide that it links to, by their page names. */
const FURTHER_FILES: Readonly<Record<string, string>> = {
  operations: 'operations.md',
  configuration: 'generated/configuration.md',
  quotas: 'generated/quotas.md',
};

/** Generated files whose content is on pages of the reference. */
const IN_THE_REFERENCE: Readonly<Record<string, string>> = {
  'generated/endpoints.md': INDEX,
  'generated/errors.md': ERRORS,
};

/**
 * Names of the guide's pages, in the order in which its first page lists them. The last link to a page counts, because earlier links are in running
 * text.
 */
export function guidePages(): string[] {
  const first = sourceOf(FIRST_FILE);
  return readdirSync(new URL('guide/', FOLDER))
    .filter((file) => file.endsWith('.md') && `guide/${file}` !== FIRST_FILE)
    .toSorted((a, b) => first.lastIndexOf(`(${a})`) - first.lastIndexOf(`(${b})`))
    .map((file) => file.slice(0, -'.md'.length));
}

export const FURTHER_PAGES: readonly string[] = Object.keys(FURTHER_FILES);

/** A page of the guide; the empty name is the first page. */
export function guideContent(page: string, nouns: readonly NounPage[]): Rendered {
  const links = new Links(guideAddress(page));
  const { title, body } = renderMarkdown(sourceOf(fileOf(page)), linkResolver(fileOf(page), links));
  const relatedNouns = nouns.filter((noun) => noun.guide.includes(page));
  return { title, body: html`<div class="prose">${body}${referenceLinks(relatedNouns, links)}</div>` };
}

export function guideAddress(page: string): string {
  return page === '' ? GUIDE : `${GUIDE}/${page}`;
}

export function guideTableOfContents(): ContentsGroup[] {
  const entryOf = (page: string) => ({ page: guideAddress(page), title: guideTitle(page) });
  return [
    { title: 'Guide', entries: guidePages().map(entryOf) },
    { title: 'Administration', entries: FURTHER_PAGES.map(entryOf) },
  ];
}

/** Links from a noun to its pages in the guide. */
export function guideLinks(pages: readonly string[], links: Links): Html | null {
  if (pages.length === 0) return null;
  const each = pages.map((page) => html`<a href="${links.to(guideAddress(page))}">${guideTitle(page)}</a>`);
  return html`<span class="guide-links">Guide: ${commaSeparated(each)}</span>`;
}

function referenceLinks(nouns: readonly NounPage[], links: Links): Html | null {
  if (nouns.length === 0) return null;
  const each = nouns.map((noun) => html`<a href="${links.to(noun.page)}">${noun.title}</a>`);
  return html`<p class="reference-links">Endpoints and fields: ${commaSeparated(each)}</p>`;
}

function commaSeparated(parts: readonly Html[]): Html[] {
  return parts.map((part, index) => (index === 0 ? part : html`, ${part}`));
}

function guideTitle(page: string): string {
  return /^# (.+)$/m.exec(sourceOf(fileOf(page)))?.[1] ?? page;
}

function sourceOf(file: string): string {
  return readFileSync(new URL(file, FOLDER), 'utf8');
}

function fileOf(page: string): string {
  return page === '' ? FIRST_FILE : (FURTHER_FILES[page] ?? `guide/${page}.md`);
}

/** Links in the files are paths relative to the file that contains them. A link to a file that is not served is replaced by that file's path. */
function linkResolver(from: string, links: Links): ResolveLink {
  const served = new Map<string, string>([
    ...['', ...guidePages(), ...FURTHER_PAGES].map((page): [string, string] => [fileOf(page), guideAddress(page)]),
    ...Object.entries(IN_THE_REFERENCE),
  ]);
  return (target) => {
    if (/^(?:https:\/\/|#)/.test(target)) return { href: target };
    const [path = '', fragment] = target.split('#');
    const file = posix.join(posix.dirname(from), path);
    const page = served.get(file);
    return page === undefined ? { href: null, file: posix.join('docs', file) } : { href: links.to(page, fragment) };
  };
}
