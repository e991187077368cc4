import Type from 'typebox';
import { endpoint } from '../../kernel/endpoint.ts';

/** Public: it says what every installation of Coffer can do, and nothing about this one. */
const PUBLIC_FILE = {
  method: 'GET',
  noun: 'reference',
  nounDescription: 'What this API is, for people and for tools.',
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

export const getOpenApi = endpoint({
  ...PUBLIC_FILE,
  name: 'getOpenApi',
  path: '/openapi.json',
  summary: 'The OpenAPI document',
  description: 'Describes every endpoint of this version in OpenAPI 3.1, for generators of clients and for tools.',
  raw: 'application/json; charset=utf-8',
  rawSchema: Type.Record(Type.String(), Type.Unknown(), { description: 'An OpenAPI 3.1 document.' }),
});

export const getDocs = endpoint({
  ...PUBLIC_FILE,
  name: 'getDocs',
  path: '/docs',
  summary: 'This reference',
  description: 'The same as a page for people. It loads nothing from elsewhere and also works without JavaScript.',
  raw: 'text/html; charset=utf-8',
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
