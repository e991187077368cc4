import type { Random } from '../support/random.ts';
import type { Pool } from './pool.ts';
import { sourcesOf, valueIn } from './pool.ts';
import { type Draft, type Site, sitesOf } from './request.ts';

/** Ways to bend a request. Each changes one thing about it; a draft may be bent more than once. */

interface Bending {
  random: Random;
  /** Of another tenant than the caller's. */
  others: Pool;
}

type Trick = (draft: Draft, bending: Bending) => void;

const DEEP = 40;
const LONG = 70_000;

/** Values that are missing. */
const ODD: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  2 ** 53,
  -(2 ** 31) - 1,
  '',
  ' ',
  'x'.repeat(LONG),
  '\u0000',
  'a\u0000b',
  'a\r\nX-Evil: b',
  'é🙂',
  '\u202eabc',
  'e\u0301',
  '\ud800',
  'ﬁ',
  '..',
  '../../etc/passwd',
  '%2e%2e%2f',
  '__proto__',
  'constructor',
  "' or '1'='1",
  '(a+)+$',
  '*',
  '**',
  '1',
  'NaN',
  'true',
  '2026-02-30T25:61:00Z',
  {},
  [],
  [[]],
  [null],
  { __proto__: null, constructor: { prototype: {} } },
  Array.from({ length: 2000 }, (_, i) => i),
];

/** As they stand in a path or a query, not to be encoded. */
const ODD_RAW: readonly string[] = [
  '%',
  '%zz',
  '%00',
  '%c3%28',
  '%ff',
  '%2f',
  '%2e%2e',
  '.',
  '..',
  '%252e%252e',
  '%0d%0aX-Evil:b',
  '*',
  '%20',
  '+',
  ';a=b',
  'é',
  'x'.repeat(5000),
  '-1',
  '0',
  '9'.repeat(30),
  'collisions',
  'simulate',
  'versions',
  'rotate',
  '__proto__',
  'null',
  'undefined',
];

const onBody =
  (change: (site: Site, bending: Bending) => void): Trick =>
  (draft, bending) => {
    const holder = { body: structuredClone(draft.body ?? {}) };
    const sites = sitesOf(draft.operation.body ?? {}, holder, 'body', '');
    change(bending.random.pick(sites), bending);
    draft.body = holder.body;
  };

/** Just outside of what the schema allows, or just inside. */
function atBounds({ schema }: Site, random: Random): unknown[] {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems } = schema;
  const list = (length: number) => Array.from({ length: Math.min(length, LONG) }, (_, i) => `item ${i}`);
  const letter = random.pick(['x', 'é', '"', '\u0001']);
  return [
    ...(minimum === undefined ? [] : [minimum - 1, minimum, minimum + 0.5]),
    ...(maximum === undefined ? [] : [maximum + 1, maximum]),
    ...(minLength === undefined || minLength === 0 ? [] : ['x'.repeat(minLength - 1), 'x'.repeat(minLength)]),
    ...(maxLength === undefined ? [] : [letter.repeat(maxLength + 1), letter.repeat(maxLength)]),
    ...(minItems === undefined || minItems === 0 ? [] : [list(minItems - 1)]),
    ...(maxItems === undefined ? [] : [list(maxItems + 1), list(maxItems)]),
  ];
}

const raw = (draft: Draft, change: (text: string) => string | Buffer) => {
  const changed = change(JSON.stringify(draft.body ?? {}));
  draft.rawBody = typeof changed === 'string' ? Buffer.from(changed) : changed;
};

const BODIES: Record<string, Trick> = {
  'an odd value': onBody((site, { random }) => site.replace(random.pick(ODD))),
  'a value at a bound': onBody((site, { random }) => {
    const bounds = atBounds(site, random);
    site.replace(random.pick(bounds.length === 0 ? ODD : bounds));
  }),
  'a field less': onBody((site) => site.remove()),
  'another tenant’s thing': onBody((site, { random, others }) => {
    site.replace(others.any(site.field) ?? others.any('id') ?? random.pick(ODD));
  }),
  'an unknown field': (draft, { random }) => {
    const name = random.pick(['is_admin', 'tenant_id', 'role', 'id', '', 'a'.repeat(300), 'constructor', 'é']);
    draft.body = { ...Object(draft.body), [name]: random.pick(ODD) };
  },
  'a key twice': (draft) => raw(draft, (text) => text.replace(/^\{("[^"]*":)/, '{$1null,$1')),
  'the key __proto__': (draft) => raw(draft, (text) => text.replace(/^\{/, '{"__proto__":{"role":"owner"},')),
  'cut off': (draft, { random }) => raw(draft, (text) => text.slice(0, random.integer(1, text.length))),
  'not UTF-8': (draft) =>
    raw(draft, (text) => Buffer.concat([Buffer.from(text.slice(0, -1)), Buffer.from([0xc3, 0x28])])),
  deep: (draft) => raw(draft, () => `${'{"a":'.repeat(DEEP)}1${'}'.repeat(DEEP)}`),
  'not an object': (draft, { random }) => raw(draft, () => random.pick(['[]', '"x"', '1', 'null', '', ' ', '{}{}'])),
  'too large': (draft, { random }) => {
    const { bodyBytesMax } = draft.operation;
    // What takes megabytes is tried now and then only: each costs as much as a thousand others.
    const bytes = bodyBytesMax < 200_000 || random.chance(0.05) ? bodyBytesMax + 1 : 70_000;
    raw(draft, () => `{"value":"${'x'.repeat(bytes)}"}`);
  },
  'another content type': (draft, { random }) => {
    const types = ['text/plain', 'application/x-www-form-urlencoded', 'application/json; charset=latin1', 'x', ''];
    draft.body ??= {};
    draft.headers.push(['content-type', random.pick(types)]);
  },
};

const PATHS: Record<string, Trick> = {
  'another tenant’s path': (draft, { random, others }) => {
    const { path, parameters } = draft.operation;
    const inPath = parameters.filter((one) => one.in === 'path');
    const needs = inPath.map(({ name }) => sourcesOf(path, name));
    const found = others.find(needs);
    if (found === null) return;
    const isWhole = random.chance(0.7);
    for (const [i, { name }] of inPath.entries()) {
      if (isWhole || random.chance(0.5)) draft.params[name] = String(valueIn(found, needs[i] ?? []) ?? '');
    }
  },
  'an odd parameter': (draft, { random }) => {
    const names = Object.keys(draft.params);
    if (names.length === 0) return;
    const odd = random.pick(ODD);
    draft.params[random.pick(names)] = typeof odd === 'string' ? odd.slice(0, 5000) : JSON.stringify(odd).slice(0, 500);
  },
  'an odd raw parameter': (draft, { random }) => {
    const odd = random.pick(ODD_RAW);
    draft.rawPath = Buffer.from(
      draft.operation.path.replace(/\{([a-z_]+)\}/, odd).replace(/\{([a-z_]+)\}/g, (_, name: string) => {
        return encodeURIComponent((draft.params[name] ?? '').toWellFormed());
      }),
    ).toString('latin1');
  },
  'another case': (draft, { random }) => {
    for (const [name, text] of Object.entries(draft.params)) {
      if (random.chance(0.7)) draft.params[name] = random.chance(0.5) ? text.toUpperCase() : text.toLowerCase();
    }
  },
  'a slash more': (draft, { random }) => {
    const path = draft.operation.path.replace(/\{([a-z_]+)\}/g, (_, name) =>
      encodeURIComponent((draft.params[name] ?? '').toWellFormed()),
    );
    draft.rawPath = random.pick([
      `${path}/`,
      `/${path}`,
      `${path}//`,
      `${path}/.`,
      path.replace('/', '/./'),
      `${path}%2f`,
    ]);
  },
  'another method': (draft, { random }) => {
    draft.method = random.pick(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD', 'TRACE', 'PROPFIND']);
  },
};

const QUERIES: Record<string, Trick> = {
  'an odd query': (draft, { random }) => {
    const names = draft.operation.parameters.filter((one) => one.in === 'query').map((one) => one.name);
    const odd = random.pick(ODD);
    draft.query.push([
      random.pick([...names, 'x']),
      typeof odd === 'string' ? odd.slice(0, 3000) : JSON.stringify(odd).slice(0, 500),
    ]);
  },
  'a key of the query twice': (draft, { random }) => {
    const [name, text] = draft.query[0] ?? ['limit', '2'];
    draft.query.push([name, random.pick([text, '3', ''])], [name, text]);
  },
  'a raw query': (draft, { random }) => {
    const names = draft.operation.parameters.filter((one) => one.in === 'query').map((one) => one.name);
    draft.rawQuery = `${random.pick([...names, 'a[]', '__proto__', '%'])}=${random.pick(ODD_RAW)}`;
  },
  'an altered cursor': (draft, { random, others }) => {
    const at = draft.query.findIndex(([name]) => name === 'cursor');
    const cursor = draft.query[at]?.[1] ?? String(others.any('cursor') ?? 'bm90aGluZw');
    const place = random.integer(0, Math.max(0, cursor.length - 1));
    const altered = random.pick([
      cursor,
      cursor.slice(0, place),
      `${cursor}A`,
      cursor.slice(0, place) + random.pick(['A', '_', '=']) + cursor.slice(place + 1),
    ]);
    draft.query = [...draft.query.filter(([name]) => name !== 'cursor'), ['cursor', altered]];
  },
};

/** Headers that other software would listen to, and some that this one does. */
const HEADERS: readonly [string, string][] = [
  ['X-Forwarded-For', '127.0.0.1'],
  ['X-Forwarded-For', "10.0.0.1, ' or 1=1"],
  ['Forwarded', 'for=127.0.0.1'],
  ['X-Request-Id', 'req_00000000000000000000000000'],
  ['X-HTTP-Method-Override', 'DELETE'],
  ['X-Original-URL', '/v1/users'],
  ['X-Tenant-Id', 'default'],
  ['X-Svc-Region-Origin', 'elsewhere'],
  ['X-Client-Cert', 'x'],
  ['X-SSL-Client-Cert', '-----BEGIN CERTIFICATE-----'],
  ['If-Match', '"v1"'],
  ['If-Match', '"v999"'],
  ['If-Match', 'W/"x"'],
  ['If-None-Match', '*'],
  ['Content-Encoding', 'gzip'],
  ['Accept', 'text/html'],
  ['Accept-Encoding', 'br;q=x'],
  ['Cookie', 'session=x'],
  ['Origin', 'https://evil.example'],
  ['Range', 'bytes=0-1'],
  ['DPoP', 'a.b.c'],
  ['Idempotency-Key', ''],
  ['Idempotency-Key', 'x'.repeat(256)],
  ['Idempotency-Key', 'with space'],
  ['Idempotency-Key', 'é'],
  ['X-Client-Id', '00000000-0000-4000-8000-000000000000'],
  ['X-Client-Secret', 'Svc_nothing'],
  ['Authorization', 'Bearer'],
  ['Authorization', 'Basic YTpi'],
  ['Authorization', 'DPoP a.b.c'],
  ['User-Agent', 'x'.repeat(4000)],
  ['User-Agent', 'é\u0080'],
];

const OF_HEADERS: Record<string, Trick> = {
  'a header more': (draft, { random }) => {
    draft.headers.push(random.pick(HEADERS));
  },
  'a header twice': (draft, { random }) => {
    const [name, text] = random.pick(HEADERS);
    draft.headers.push([name, text], [name, random.pick([text, 'other'])]);
  },
};

const WITH_BODY = Object.entries({ ...BODIES, ...PATHS, ...QUERIES, ...OF_HEADERS });
const WITHOUT_BODY = Object.entries({ ...PATHS, ...QUERIES, ...OF_HEADERS });
const ANYWAY = Object.entries(BODIES);

export function bend(draft: Draft, bending: Bending): void {
  const { random } = bending;
  const times = random.pick([1, 1, 1, 2, 3]);
  for (let i = 0; i < times; i++) {
    const hasBody = draft.operation.body !== null;
    const tricks = hasBody ? WITH_BODY : random.chance(0.1) ? ANYWAY : WITHOUT_BODY;
    const [name, trick] = random.pick(tricks);
    trick(draft, bending);
    draft.tricks.push(name);
  }
}
