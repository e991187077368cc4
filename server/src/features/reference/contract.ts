import Type from 'typebox';
import { endpoint } from '../../kernel/endpoint/declaration.ts';
import { object } from '../../kernel/wire/wire.ts';

/** Public, because it describes what every installation of Coffer can do and nothing about this one. */
const PUBLIC_FILE = {
  method: 'GET',
  noun: 'reference',
  aboutNoun: {
    title: 'Reference',
    group: 'Administration',
    guide: [],
    description: 'The API reference, for people and tools.',
  },
  credentials: 'public',
  tenant: 'none',
  permission: 'none',
  resource: 'none',
  rate: 'none',
  tier: 'none',
  region: 'local',
  approval: 'none',
  plaintext: false,
  audit: 'none',
  effect: 'read',
  params: 'none',
  query: 'none',
  body: 'none',
  bodyBytesMax: 0,
  status: 200,
  output: 'none',
  errors: [],
} as const;

const PUBLIC_PAGE = { ...PUBLIC_FILE, raw: 'text/html; charset=utf-8' } as const;

function pageParam(example: string) {
  return object({
    page: Type.String({
      pattern: '^[a-z0-9-]{1,64}$',
      description: 'The name of the page, as in the links.',
      examples: [example],
    }),
  });
}

export const getOpenApi = endpoint({
  ...PUBLIC_FILE,
  name: 'getOpenApi',
  path: '/openapi.json',
  summary: 'The OpenAPI document',
  description: 'Describes every endpoint of this version in OpenAPI 3.1, for client generators and tools.',
  raw: 'application/json; charset=utf-8',
  rawSchema: Type.Record(Type.String(), Type.Unknown(), { description: 'An OpenAPI 3.1 document.' }),
});

export const getDocs = endpoint({
  ...PUBLIC_PAGE,
  name: 'getDocs',
  path: '/docs',
  summary: 'API reference: all nouns and endpoints',
  description:
    'The OpenAPI document as HTML pages. They load nothing from other hosts and also work without JavaScript.',
});

export const getDocsPage = endpoint({
  ...PUBLIC_PAGE,
  name: 'getDocsPage',
  path: '/docs/{page}',
  summary: 'A page of this reference',
  description: 'One page for each noun, one for the conventions and one for the error codes.',
  params: pageParam('vaults'),
  errors: ['NOT_FOUND'],
});

export const getGuide = endpoint({
  ...PUBLIC_PAGE,
  name: 'getGuide',
  path: '/docs/guide',
  summary: 'The guide',
  description: 'Lists its pages, and what their examples require.',
});

export const getGuidePage = endpoint({
  ...PUBLIC_PAGE,
  name: 'getGuidePage',
  path: '/docs/guide/{page}',
  summary: 'A page of the guide',
  description: 'One of the listed pages; also operations, configuration and quotas.',
  params: pageParam('first-hour'),
  errors: ['NOT_FOUND'],
});

export const getDocsStyle = endpoint({
  ...PUBLIC_FILE,
  name: 'getDocsStyle',
  path: '/docs/style.css',
  summary: 'Style sheet of the reference',
  description: 'Part of the pages at `/docs`.',
  raw: 'text/css; charset=utf-8',
});

export const getDocsScript = endpoint({
  ...PUBLIC_FILE,
  name: 'getDocsScript',
  path: '/docs/script.js',
  summary: 'Script of the reference',
  description: 'Part of the pages at `/docs`; they work without it.',
  raw: 'text/javascript; charset=utf-8',
});
