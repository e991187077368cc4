import { readFileSync } from 'node:fs';
import { CofferError } from '../../kernel/platform/errors.ts';
import type { Feature } from '../../kernel/platform/feature.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import type { Wiring } from '../../kernel/platform/wiring.ts';
import { bindContract } from '../../kernel/request/binding.ts';
import * as contract from './contract.ts';
import { guideAddress } from './guide.ts';
import { INDEX } from './links.ts';
import { once } from './once.ts';
import { openApiDocument } from './openapi.ts';
import { referencePages } from './pages.ts';

/** The API reference, for tools at /openapi.json and for people at /docs, and the guide. */
export function referenceFeature(
  kernel: Pick<Kernel, 'version' | 'addresses'>,
  wiring: Pick<Wiring, 'declarations'>,
): Feature {
  // The pages list this feature too, and name a port that may be known only once the service listens.
  const service = () => ({ version: kernel.version, serverUrl: kernel.addresses.baseUrl });
  const document = once(() => JSON.stringify(openApiDocument(wiring.declarations, service())));
  const pages = once(() => referencePages({ declarations: wiring.declarations, ...service() }));
  const page = (address: string): string => {
    const make = pages().get(address);
    if (make === undefined)
      throw new CofferError('NOT_FOUND', 'There is no such page: see /docs for the list of pages.');
    return make();
  };
  const style = once(() => asset('style.css'));
  const script = once(() => asset('script.js'));
  return {
    name: 'reference',
    endpoints: bindContract(contract, {
      getOpenApi: async () => document(),
      getDocs: async () => page(INDEX),
      getDocsPage: async (_, { params }) => page(params.page),
      getGuide: async () => page(guideAddress('')),
      getGuidePage: async (_, { params }) => page(guideAddress(params.page)),
      getDocsStyle: async () => style(),
      getDocsScript: async () => script(),
    }),
  };
}

function asset(name: string): string {
  return readFileSync(new URL(`./assets/${name}`, import.meta.url), 'utf8');
}
