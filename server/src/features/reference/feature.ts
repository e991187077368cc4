import { readFileSync } from 'node:fs';
import { CofferError } from '../../kernel/base/errors.ts';
import { feature } from '../../kernel/feature/declaration.ts';
import { allEndpoints } from '../../kernel/feature/wiring.ts';
import * as contract from './contract.ts';
import { guideAddress } from './guide.ts';
import { once } from './once.ts';
import { openApiDocument } from './openapi.ts';
import { INDEX } from './page-links.ts';
import { referencePages } from './pages.ts';

/** The API reference, for tools at /openapi.json and for people at /docs, and the guide. */
export const referenceFeature = feature({
  name: 'reference',
  endpoints: contract,
  uses: ['addresses', 'version'],
  needs: { endpoints: allEndpoints },
  build(parts) {
    // The pages list this feature too, and name a port that may be known only once the service listens.
    const service = () => ({ version: parts.version, serverUrl: parts.addresses.baseUrl });
    const document = once(() => JSON.stringify(openApiDocument(parts.endpoints.declarations, service())));
    const pages = once(() => referencePages({ declarations: parts.endpoints.declarations, ...service() }));
    const page = (address: string): string => {
      const make = pages().get(address);
      if (make === undefined)
        throw new CofferError('NOT_FOUND', 'There is no such page: see /docs for the list of pages.');
      return make();
    };
    const style = once(() => asset('style.css'));
    const script = once(() => asset('script.js'));
    return {
      handlers: {
        getOpenApi: async () => document(),
        getDocs: async () => page(INDEX),
        getDocsPage: async (_, { params }) => page(params.page),
        getGuide: async () => page(guideAddress('')),
        getGuidePage: async (_, { params }) => page(guideAddress(params.page)),
        getDocsStyle: async () => style(),
        getDocsScript: async () => script(),
      },
    };
  },
});

function asset(name: string): string {
  return readFileSync(new URL(`./assets/${name}`, import.meta.url), 'utf8');
}
