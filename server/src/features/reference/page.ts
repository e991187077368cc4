import type { EndpointDeclaration } from '../../kernel/endpoint.ts';
import { ERROR_CODES } from '../../kernel/errors.ts';
import { codeBlock, endpointArticle, methodLabel, searchWords } from './endpoint-article.ts';
import { breakable, type Html, html, inline } from './html.ts';

export interface PageParts {
  declarations: readonly EndpointDeclaration[];
  version: string;
  serverUrl: string;
}

/**
 * The API reference as one page. Links are relative, so it also works under `/v1/docs` and behind a proxy that adds a
 * prefix. Style and script are files of their own, because the content security policy allows nothing inline.
 */
export function referencePage(parts: PageParts): string {
  const groups = Map.groupBy(parts.declarations, (e) => e.noun);
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Coffer API reference</title>
<link rel="icon" href="data:image/svg+xml,${ICON}">
<link rel="stylesheet" href="docs/style.css">
<script src="docs/script.js" defer></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
${sidebar(groups, parts.version)}
<main id="content">
${introduction(parts)}
${[...groups].map(([noun, endpoints]) => nounSection(noun, endpoints, parts.serverUrl))}
${errorSection()}
<p id="nothing-found" role="status" hidden>No endpoint matches the filter.</p>
</main>
</body>
</html>
`.markup;
}

const ICON = encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3.5" fill="#0f6e66"/>' +
    '<path d="M4.5 7.5h7v4.5h-7zM6 7.5v-2a2 2 0 0 1 4 0v2" fill="none" stroke="#fff" stroke-width="1.4"/></svg>',
);

function sidebar(groups: ReadonlyMap<string, readonly EndpointDeclaration[]>, version: string): Html {
  return html`<div class="sidebar">
<p class="brand"><a href="#content">Coffer</a> <span>API reference ${version}</span></p>
<details class="contents" open>
<summary>Contents</summary>
<p class="filter" hidden><label for="filter">Filter endpoints</label>
<input id="filter" type="search" placeholder="Filter endpoints" autocomplete="off" spellcheck="false"></p>
<nav aria-label="Endpoints">
${[...groups].map(([noun, endpoints]) => navigationGroup(noun, endpoints))}
<div class="group"><h2><a href="#errors">Error codes</a></h2></div>
</nav>
</details>
</div>`;
}

function navigationGroup(noun: string, endpoints: readonly EndpointDeclaration[]): Html {
  return html`<div class="group"><h2><a href="#${nounId(noun)}">${noun}</a></h2>
<ul>${endpoints.map((e) => {
    return html`<li data-words="${searchWords(e)}">
<a href="#${e.name}" title="${e.path}">${methodLabel(e)} <span>${inline(e.summary)}</span></a></li>`;
  })}</ul></div>`;
}

function introduction({ serverUrl }: PageParts): Html {
  return html`<section class="introduction">
<h1>Coffer API</h1>
<p>Coffer stores, versions, rotates and serves secrets, and records who asked for what. This page is made from the
declarations the service itself runs on. The same as a document for tools: <a href="openapi.json">OpenAPI 3.1</a>.</p>
<dl class="facts">
<div><dt>Base URL</dt><dd><code>${serverUrl}</code></dd></div>
<div><dt>Paths</dt><dd>Each also answers with <code>/v1</code> added or removed.</dd></div>
<div><dt>Credential</dt><dd><code>Authorization: Bearer $COFFER_TOKEN</code></dd></div>
<div><dt>Bodies</dt><dd>JSON in UTF-8; an unknown field is refused. Timestamps are ISO 8601 in UTC.</dd></div>
<div><dt>Lists</dt>
<dd>Give <code>next_cursor</code> back as <code>cursor</code>; it is null on the last page.</dd></div>
<div><dt>Repeating</dt>
<dd>With an <code>Idempotency-Key</code> a change happens once; its answer is kept for 24 hours.</dd></div>
<div><dt>Rate limits</dt>
<dd><code>X-RateLimit-Limit</code>, <code>-Remaining</code> and <code>-Reset</code> tell what is left; after a 429 wait
 <code>Retry-After</code> seconds.</dd></div>
<div><dt>Request id</dt>
<dd>Every answer carries <code>X-Request-Id</code>, which also leads to its audit entry.</dd></div>
</dl>
</section>`;
}

function nounSection(noun: string, endpoints: readonly EndpointDeclaration[], serverUrl: string): Html {
  return html`<section class="noun" id="${nounId(noun)}"><h2>${noun}</h2>
${endpoints.map((e) => endpointArticle(e, serverUrl))}</section>`;
}

function errorSection(): Html {
  return html`<section class="noun" id="errors"><h2>Error codes</h2>
<p>A refusal is always of this form. Decide by <code>code</code>, which never changes;
<code>message</code> is for people.</p>
${codeBlock('Refusal', '{"error": {"code": "NOT_FOUND", "message": "…", "request_id": "req_…"}}')}
<div class="scroll"><table>
<thead><tr><th scope="col">Code</th><th scope="col">HTTP</th><th scope="col">Meaning</th></tr></thead>
<tbody>${Object.entries(ERROR_CODES).map(([code, [status, meaning]]) => {
    return html`<tr id="error-${code}"><th scope="row"><code class="field">${breakable(code)}</code></th>
<td>${status}</td><td>${inline(meaning)}</td></tr>`;
  })}</tbody>
</table></div></section>`;
}

/** Endpoint names are single words, so the prefix keeps a noun of the same name apart. */
function nounId(noun: string): string {
  return `noun-${noun.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`;
}
