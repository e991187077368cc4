import { readFileSync } from 'node:fs';
import { bind, type EndpointDeclaration } from '../../kernel/endpoint.ts';
import { CofferError } from '../../kernel/errors.ts';
import type { Feature } from '../../kernel/feature.ts';
import { openApiDocument } from '../../kernel/openapi.ts';
import * as contract from './contract.ts';
import { guideAddress } from './guide.ts';
import { INDEX } from './links.ts';
import { once } from './once.ts';
import { referencePages } from './pages.ts';

export interface ReferenceParts {
  /** All declarations. It is a function, because the list includes those of this feature. */
  declarations: () => readonly EndpointDeclaration[];
  version: string;
  /** It is a function, because the port may be known only once the service listens. */
  serverUrl: () => string;
}

/** The API reference, for tools at /openapi.json and for people at /docs, and the guide. */
export function referenceFeature(parts: ReferenceParts): Feature {
  const { version } = parts;
  const document = once(() =>
    JSON.stringify(openApiDocument(parts.declarations(), { version, serverUrl: parts.serverUrl() })),
  );
  const pages = once(() =>
    referencePages({ declarations: parts.declarations(), version, serverUrl: parts.serverUrl() }),
  );
  const page = (address: string): string => {
    const make = pages().get(address);
    if (make === undefined) throw new CofferError('NOT_FOUND', 'There is no such page. /docs leads to all of them.');
    return make();
  };
  const style = once(() => asset('style.css'));
  const script = once(() => asset('script.js'));
  return {
    name: 'reference',
    endpoints: [
      bind(contract.getOpenApi, async () => document()),
      bind(contract.getDocs, async () => page(INDEX)),
      bind(contract.getDocsPage, async (_, { params }) => page(params.page)),
      bind(contract.getGuide, async () => page(guideAddress(''))),
      bind(contract.getGuidePage, async (_, { params }) => page(guideAddress(params.page))),
      bind(contract.getDocsStyle, async () => style()),
      bind(contract.getDocsScript, async () => script()),
    ],
  };
}

function asset(name: string): string {
  return readFileSync(new URL(`./assets/${name}`, import.meta.url), 'utf8');
}
