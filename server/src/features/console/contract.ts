import Type from 'typebox';
import { endpoint, NONE } from '../../kernel/endpoint/declaration.ts';
import { object } from '../../kernel/wire/wire.ts';

/** Public, because the files are the same for every installation: what a person sees comes from the API. */
const publicFile = {
  method: 'GET',
  noun: 'console',
  aboutNoun: {
    title: 'Console',
    group: 'Administration',
    guide: ['console'],
    description: 'The web console. It uses the endpoints of this reference, with what the signed-in person may do.',
  },
  credentials: 'public',
  tenant: NONE,
  permission: NONE,
  resource: NONE,
  rate: 'none',
  tier: NONE,
  region: 'local',
  approval: NONE,
  plaintext: false,
  audit: NONE,
  effect: 'read',
  params: NONE,
  query: NONE,
  body: NONE,
  bodyBytesMax: 0,
  status: 200,
  output: NONE,
  errors: ['NOT_FOUND'],
} as const;

const file = (example: string) =>
  object({
    file: Type.String({
      pattern: '^[A-Za-z0-9-]{1,96}\\.(?:js|css|svg|woff2)$',
      description: 'The name of the file, which contains a digest of its content.',
      examples: [example],
    }),
  });

export const getConsole = endpoint({
  ...publicFile,
  name: 'getConsole',
  path: '/',
  summary: 'The web console',
  description:
    'Its page for browsers. Requests of the console have the prefix `/console/api` and the session in a cookie that scripts cannot read; they are accepted from its own pages only. Not found with `CV_CONSOLE=off`.',
  raw: 'text/html; charset=utf-8',
});

export const getConsoleScript = endpoint({
  ...publicFile,
  name: 'getConsoleScript',
  path: '/console/script/{file}',
  summary: 'A script of the web console',
  description: 'Part of the page at `/`.',
  params: file('main-5XK2M7QP.js'),
  raw: 'text/javascript; charset=utf-8',
});

export const getConsoleStyle = endpoint({
  ...publicFile,
  name: 'getConsoleStyle',
  path: '/console/style/{file}',
  summary: 'The style sheet of the web console',
  description: 'Part of the page at `/`.',
  params: file('style-7RN4T2WB.css'),
  raw: 'text/css; charset=utf-8',
});

export const getConsoleIcons = endpoint({
  ...publicFile,
  name: 'getConsoleIcons',
  path: '/console/icons/{file}',
  summary: 'The icons of the web console',
  description: 'Part of the page at `/`: one file with a symbol for each.',
  params: file('icons-3DB9A41C.svg'),
  raw: 'image/svg+xml',
});

export const getConsoleFont = endpoint({
  ...publicFile,
  name: 'getConsoleFont',
  path: '/console/font/{file}',
  summary: 'A font of the web console',
  description: 'Part of the page at `/`.',
  params: file('geist-latin-wght-normal-94EF01B7.woff2'),
  raw: 'font/woff2',
});
