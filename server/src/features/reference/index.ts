import { readFileSync } from 'node:fs';
import { bind, type EndpointDeclaration } from '../../kernel/endpoint.ts';
import type { Feature } from '../../kernel/feature.ts';
import { openApiDocument } from '../../kernel/openapi.ts';
import { getDocs, getDocsScript, getDocsStyle, getOpenApi } from './contract.ts';
import { referencePage } from './page.ts';

export interface ReferenceParts {
  /** All of them; a function, because the list also holds this feature's own. */
  declarations: () => readonly EndpointDeclaration[];
  version: string;
  /** A function, because the port may only be known once the service listens. */
  serverUrl: () => string;
}

/** The API reference: for tools at /openapi.json, for people at /docs. */
export function referenceFeature(parts: ReferenceParts): Feature {
  const { version } = parts;
  const document = once(() =>
    JSON.stringify(openApiDocument(parts.declarations(), { version, serverUrl: parts.serverUrl() })),
  );
  const page = once(() => referencePage({ declarations: parts.declarations(), version, serverUrl: parts.serverUrl() }));
  const style = once(() => asset('style.css'));
  const script = once(() => asset('script.js'));
  return {
    name: 'reference',
    endpoints: [
      bind(getOpenApi, async () => document()),
      bind(getDocs, async () => page()),
      bind(getDocsStyle, async () => style()),
      bind(getDocsScript, async () => script()),
    ],
  };
}

function asset(name: string): string {
  return readFileSync(new URL(`./assets/${name}`, import.meta.url), 'utf8');
}

function once(make: () => string): () => string {
  let made: string | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
