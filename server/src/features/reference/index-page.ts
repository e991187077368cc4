import { type EndpointDeclaration, NOUN_GROUPS } from '../../kernel/endpoint/declaration.ts';
import { codeBlock } from './code-block.ts';
import { methodLabel, searchWords } from './endpoint-article.ts';
import { guideLinks } from './guide.ts';
import { breakable, type Html, html, inline } from './html.ts';
import type { NounPage } from './nouns.ts';
import { CONVENTIONS, ERRORS, GUIDE, type Links } from './page-links.ts';

/** Every endpoint in one line. The ids are those from when the reference was a single page, so that old links lead to the line that links on. */
export function indexContent(nouns: readonly NounPage[], serverUrl: string, links: Links): Html {
  return html`${introduction(serverUrl, links)}
${NOUN_GROUPS.map((group) => {
  const inGroup = nouns.filter((noun) => noun.group === group);
  return inGroup.length === 0 ? null : groupSection(group, inGroup, links);
})}`;
}

function introduction(serverUrl: string, links: Links): Html {
  return html`<section class="unfiltered">
<h1>Coffer API</h1>
<p class="lead">Coffer stores, versions, rotates and serves secrets, and records every access. These pages are generated from the
declarations the service itself runs on.</p>
${codeBlock('First request', FIRST_REQUEST.replace('{url}', serverUrl))}
<ul class="cards">
<li><a href="${links.to(GUIDE)}">Guide</a><p>How to do each task, with examples to paste.</p></li>
<li><a href="${links.to(CONVENTIONS)}">Conventions</a><p>Credentials, bodies, lists, limits: what applies to every endpoint.</p></li>
<li id="errors"><a href="${links.to(ERRORS)}">Error codes</a><p>The meaning of each error.</p></li>
<li><a href="${links.toOpenApi()}">OpenAPI 3.1</a><p>The API as a machine-readable document.</p></li>
</ul>
</section>`;
}

const FIRST_REQUEST = `export COFFER_TOKEN=$(cat data/admin.token)
curl {url}/auth/me \\
  -H "Authorization: Bearer $COFFER_TOKEN"`;

function groupSection(title: string, nouns: readonly NounPage[], links: Links): Html {
  return html`<section class="filtered"><h2>${title}</h2>
${nouns.map((noun) => nounSection(noun, links))}</section>`;
}

function nounSection(noun: NounPage, links: Links): Html {
  return html`<section class="noun filtered" id="noun-${noun.page}">
<h3><a href="${links.to(noun.page)}">${noun.title}</a></h3>
<p>${inline(noun.description)} ${guideLinks(noun.guide, links)}</p>
<ul class="entries">${noun.endpoints.map((e) => indexEntry(e, noun.page, links))}</ul>
</section>`;
}

function indexEntry(e: EndpointDeclaration, page: string, links: Links): Html {
  return html`<li id="${e.name}" data-words="${searchWords(e)}">
<a href="${links.to(page, e.name)}">${endpointLine(e)}</a></li>`;
}

/** Method, summary and path, as shown in lists of endpoints. */
export function endpointLine(e: EndpointDeclaration): Html {
  return html`${methodLabel(e)} <span>${inline(e.summary)}</span> <code>${breakable(e.path)}</code>`;
}
