import { endpointArticle, methodLabel, searchWords } from './endpoint-article.ts';
import { guideLinks } from './guide.ts';
import { type Html, html, inline } from './html.ts';
import { endpointLine } from './index-page.ts';
import type { NounPage } from './nouns.ts';
import type { Links } from './page-links.ts';

export function nounContent(noun: NounPage, serverUrl: string, links: Links): Html {
  return html`<section class="unfiltered">
<h1>${noun.title}</h1>
<p class="lead">${inline(noun.description)} ${guideLinks(noun.guide, links)}</p>
<ul class="entries">${noun.endpoints.map((e) => html`<li><a href="#${e.name}">${endpointLine(e)}</a></li>`)}</ul>
</section>
${noun.endpoints.map((e) => endpointArticle(e, serverUrl, links))}`;
}

/** The endpoints listed below the noun in the contents. */
export function nounContents({ endpoints }: NounPage): Html {
  return html`<ul class="endpoints">${endpoints.map((e) => {
    return html`<li data-words="${searchWords(e)}"><a href="#${e.name}" title="${e.path}">${methodLabel(e)} <span>${inline(e.summary)}</span></a></li>`;
  })}</ul>`;
}
