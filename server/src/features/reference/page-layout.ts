import { type Html, html } from './html.ts';
import { CONVENTIONS, ERRORS, GUIDE, INDEX, type Links } from './page-links.ts';

/** The frame of a page, which is the same on every page. */
export interface PageParts {
  /** The current page, which is marked in the contents. */
  page: string;
  title: string;
  version: string;
  links: Links;
  /** The part of the contents that differs between pages: nouns, or pages of the guide. */
  contents: readonly ContentsGroup[];
  /** The label of what the filter box filters; null if there is nothing to filter. */
  filters: string | null;
  content: Html;
}

export interface ContentsGroup {
  title: string;
  entries: readonly ContentsEntry[];
}

export interface ContentsEntry {
  page: string;
  title: string;
  /** Markup below the entry. */
  below?: Html;
}

/** Style and script are separate files, because the content security policy forbids inline ones. */
export function pageLayout(parts: PageParts): string {
  const { page, links, title, content } = parts;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Coffer</title>
<link rel="icon" href="data:image/svg+xml,${ICON}">
<link rel="stylesheet" href="${links.to('style.css')}">
<script src="${links.to('script.js')}" defer></script>
</head>
<body data-page="${page}">
<a class="skip" href="#content">Skip to the content</a>
${sidebar(parts)}
<main id="content">
${content}
<p id="nothing-found" hidden>Nothing here matches. Try fewer or shorter words.</p>
</main>
</body>
</html>
`.markup;
}

const ICON = encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3.5" fill="#0f6e66"/>' +
    '<path d="M4.5 7.5h7v4.5h-7zM6 7.5v-2a2 2 0 0 1 4 0v2" fill="none" stroke="#fff" stroke-width="1.4"/></svg>',
);

function sidebar(parts: PageParts): Html {
  const { version, links, contents } = parts;
  return html`<div class="sidebar">
<p class="brand"><a href="${links.to(INDEX)}">Coffer</a> <span>${version}</span></p>
${filterBox(parts)}
<details class="contents" open>
<summary>Contents</summary>
<nav aria-label="Contents">
<div class="group"><ul>${GENERAL.map((entry) => contentsEntry(entry, parts))}</ul></div>
${contents.map((group) => {
  return html`<div class="group"><h2>${group.title}</h2>
<ul>${group.entries.map((entry) => contentsEntry(entry, parts))}</ul></div>`;
})}
</nav>
</details>
</div>`;
}

const GENERAL: readonly ContentsEntry[] = [
  { page: INDEX, title: 'All endpoints' },
  { page: CONVENTIONS, title: 'Conventions' },
  { page: ERRORS, title: 'Error codes' },
  { page: GUIDE, title: 'Guide' },
];

function contentsEntry({ page, title, below }: ContentsEntry, parts: PageParts): Html {
  const link = parts.links.to(page);
  const current = page === parts.page ? html` aria-current="page"` : null;
  return html`<li><a href="${link}"${current}>${title}</a>${below ?? null}</li>`;
}

/**
 * The script shows the box, so that no dead field is there without JavaScript. On pages other than the index it links to the same search on the
 * index.
 */
function filterBox({ filters, page, links }: PageParts): Html | null {
  if (filters === null) return null;
  const elsewhere = page === INDEX ? null : html`<a id="filter-all" href="${links.to(INDEX)}" hidden>All endpoints</a>`;
  return html`<div class="filter" role="search" hidden>
<label for="filter">Filter ${filters}</label>
<input id="filter" type="search" placeholder="Filter ${filters}" autocomplete="off" spellcheck="false" aria-keyshortcuts="/">
<p><span id="filter-status" role="status"></span> ${elsewhere}</p>
</div>`;
}
