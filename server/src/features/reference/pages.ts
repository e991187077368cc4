import { type EndpointDeclaration, NOUN_GROUPS } from '../../kernel/endpoint/declaration.ts';
import { conventionsContent, errorsContent } from './general-pages.ts';
import { FURTHER_PAGES, guideAddress, guideContent, guidePages, guideTableOfContents } from './guide.ts';
import type { Html } from './html.ts';
import { indexContent } from './index-page.ts';
import { nounContent, nounContents } from './noun-page.ts';
import { type NounPage, nounPages } from './nouns.ts';
import { once } from './once.ts';
import { type ContentsGroup, pageLayout } from './page-layout.ts';
import { CONVENTIONS, ERRORS, INDEX, Links } from './page-links.ts';

export interface ReferenceParts {
  declarations: readonly EndpointDeclaration[];
  version: string;
  serverUrl: string;
}

/** Every page by its address below `/docs/`, each rendered on first request. */
export function referencePages(parts: ReferenceParts): ReadonlyMap<string, () => string> {
  const nouns = nounPages(parts.declarations);
  const pages = new Map<string, () => string>();
  const add = (page: string, write: (links: Links) => PageWriting) => {
    pages.set(
      page,
      once(() => {
        const links = new Links(page);
        return pageLayout({ version: parts.version, contents: nounGroups(nouns, page), ...write(links), page, links });
      }),
    );
  };
  add(INDEX, (links) => ({
    title: 'API reference',
    filters: 'all endpoints',
    content: indexContent(nouns, parts.serverUrl, links),
  }));
  add(CONVENTIONS, (links) => ({
    title: 'Conventions',
    filters: null,
    content: conventionsContent(parts.serverUrl, links),
  }));
  add(ERRORS, () => ({ title: 'Error codes', filters: 'error codes', content: errorsContent() }));
  for (const noun of nouns) {
    add(noun.page, (links) => ({
      title: noun.title,
      filters: 'this page',
      content: nounContent(noun, parts.serverUrl, links),
    }));
  }
  for (const page of ['', ...guidePages(), ...FURTHER_PAGES]) {
    add(guideAddress(page), () => {
      const { title, body } = guideContent(page, nouns);
      return { title, filters: null, contents: guideTableOfContents(), content: body };
    });
  }
  return pages;
}

interface PageWriting {
  title: string;
  filters: string | null;
  contents?: readonly ContentsGroup[];
  content: Html;
}

/** The endpoints of the current noun are listed below it. */
function nounGroups(nouns: readonly NounPage[], page: string): ContentsGroup[] {
  return NOUN_GROUPS.map((title) => ({
    title,
    entries: nouns
      .filter((noun) => noun.group === title)
      .map((noun) => ({
        page: noun.page,
        title: noun.title,
        ...(noun.page === page && { below: nounContents(noun) }),
      })),
  }));
}
