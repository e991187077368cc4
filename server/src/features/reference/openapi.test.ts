import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type, { type TSchema } from 'typebox';
import { ERROR_CODES } from '../../kernel/base/errors.ts';
import {
  ANY_TOKEN,
  CREDENTIAL_KINDS,
  type EndpointDeclaration,
  endpoint,
  errorCodes,
} from '../../kernel/endpoint/declaration.ts';
import { described, named } from '../../kernel/wire/named-schemas.ts';
import { SECRET_PATH_PATTERN } from '../../kernel/wire/secret-path.ts';
import { object, oneOf, record } from '../../kernel/wire/wire.ts';
import { openApiDocument } from './openapi.ts';

const BASE = {
  noun: 'secrets',
  credentials: ANY_TOKEN,
  tenant: 'own',
  permission: 'secrets:read',
  resource: 'vault/{vault}/{path}',
  rate: 'read',
  tier: 'none',
  region: 'forward',
  approval: 'none',
  plaintext: true,
  audit: 'secrets:read',
  effect: 'read',
  params: object({ vault: Type.String({ description: 'Its vault.' }), path: Type.String() }),
  query: 'none',
  body: 'none',
  bodyBytesMax: 1024,
  status: 200,
  output: Type.Object({ value: Type.String() }),
  raw: 'none',
  errors: ['NOT_FOUND'],
} as const;

const PATH = '/v1/vaults/{vault}/secrets/{path*}';
const read = endpoint({
  ...BASE,
  name: 'readSecret',
  method: 'GET',
  path: PATH,
  summary: 'Read a secret',
  query: object({ version: Type.Optional(Type.Integer({ minimum: 1, description: 'Which one.' })) }),
});
const write = endpoint({
  ...BASE,
  name: 'writeSecret',
  method: 'PUT',
  path: PATH,
  summary: 'Write a secret',
  description: 'Adds a version.',
  effect: 'change',
  rate: 'write',
  body: object({ value: Type.String() }),
  errors: ['NOT_FOUND', 'VERSION_CONFLICT'],
});
const remove = endpoint({
  ...BASE,
  name: 'deleteSecret',
  method: 'DELETE',
  path: PATH,
  summary: 'Delete a secret',
  effect: 'change',
  body: object({ reason: Type.Optional(Type.String()) }),
  status: 204,
  output: 'none',
});
const purge = endpoint({
  ...BASE,
  name: 'purgeSecret',
  method: 'DELETE',
  path: '/v1/vaults/{vault}/purge/{path}',
  summary: 'Purge a secret',
  effect: 'change',
  approval: 'vault_delete',
  status: 204,
  output: 'none',
});
const health = endpoint({
  ...BASE,
  name: 'getHealth',
  plaintext: false,
  method: 'GET',
  path: '/health',
  summary: 'Health',
  noun: 'service',
  credentials: 'public',
  tenant: 'none',
  permission: 'none',
  resource: 'none',
  rate: 'none',
  audit: 'none',
  params: 'none',
  output: 'none',
  raw: 'text/plain; charset=utf-8',
});
const DECLARATIONS = [read, write, remove, purge, health];

interface Operation {
  operationId: string;
  parameters?: Record<string, unknown>[];
  requestBody?: { required: boolean };
  responses: Record<string, { $ref?: string; headers?: object; content?: object }>;
  security: unknown[];
}

interface Document {
  openapi: string;
  info: { description: string };
  tags: { name: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: Record<string, Record<string, unknown>>;
}

function make(declarations: readonly EndpointDeclaration[] = DECLARATIONS): Document {
  return JSON.parse(JSON.stringify(openApiDocument(declarations, { version: '1.2.3', serverUrl: 'https://c.test' })));
}

function at(document: Document, path: string, method: string): Operation {
  const operation = document.paths[path]?.[method];
  assert.ok(operation !== undefined, `${method} ${path}`);
  return operation;
}

const SECRET = '/v1/vaults/{vault}/secrets/{path}';

test('the document keeps the rules of OpenAPI', () => {
  const document = make();
  const operations = Object.values(document.paths).flatMap((item) => Object.values(item));
  assert.equal(new Set(operations.map((each) => each.operationId)).size, DECLARATIONS.length);
  const shapes = Object.keys(document.paths).map((path) => path.replaceAll(/\{[^}]+\}/g, '{}'));
  assert.equal(new Set(shapes).size, shapes.length, 'two paths differ only in the names of their parameters');
  for (const [path, item] of Object.entries(document.paths)) {
    const templated = [...path.matchAll(/\{([^}]+)\}/g)].map((match) => match[1]);
    for (const { parameters = [], responses } of Object.values(item)) {
      const declared = parameters.filter((each) => each['in'] === 'path');
      assert.deepEqual(
        declared.map((each) => each['name']),
        templated,
      );
      assert.ok(declared.every((each) => each['required'] === true));
      assert.ok(Object.keys(responses).some((status) => status.startsWith('2')));
      assert.ok(Object.keys(responses).every((status) => /^[1-5]\d\d$/.test(status)));
    }
  }
  for (const kind of Object.values(document.components)) {
    for (const name of Object.keys(kind)) assert.match(name, /^[A-Za-z0-9._-]+$/);
  }
});

test('every reference resolves', () => {
  const document = make();
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map((match) => String(match[1]));
  assert.ok(references.length > 0);
  for (const reference of references) {
    const found = reference
      .slice(2)
      .split('/')
      .reduce<unknown>((node, key) => Object(node)[key], document);
    assert.ok(found !== undefined, reference);
  }
});

test('each endpoint answers with exactly its codes, under their statuses', () => {
  const document = make();
  for (const e of DECLARATIONS) {
    const { responses } = at(document, e.path.replaceAll('*', ''), e.method.toLowerCase());
    const told = Object.values(responses).flatMap(({ $ref }) => $ref?.split('/').at(-1)?.split('.').slice(1) ?? []);
    assert.deepEqual(told.toSorted(), errorCodes(e).toSorted());
    assert.deepEqual(responses['431'], { $ref: '#/components/responses/HeadersTooLarge' });
  }
  const { HeadersTooLarge: _, ...byCodes } = document.components['responses'] ?? {};
  for (const [name, response] of Object.entries(byCodes)) {
    const [status, ...codes] = name.split('.');
    for (const code of codes) assert.equal(String(ERROR_CODES[code as keyof typeof ERROR_CODES][0]), status);
    const { content, 'x-coffer': told } = response as { content: object; 'x-coffer': object };
    assert.deepEqual(told, { codes });
    assert.deepEqual(content, { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } });
  }
});

test('a path that spans segments is explained as text', () => {
  const { parameters = [] } = at(make(), SECRET, 'get');
  assert.deepEqual(parameters, [
    { name: 'vault', in: 'path', required: true, description: 'Its vault.', schema: { type: 'string' } },
    {
      name: 'path',
      in: 'path',
      required: true,
      description: 'May span segments: `/` is sent as it is or as `%2F`.',
      schema: { type: 'string', pattern: SECRET_PATH_PATTERN },
    },
    {
      name: 'version',
      in: 'query',
      required: false,
      allowEmptyValue: true,
      description: 'Which one.',
      schema: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER, format: 'int64' },
    },
  ]);
});

test('a text in the query holds no NUL, whatever else it may be', () => {
  const query = object({
    prefix: Type.Optional(Type.String({ maxLength: 9 })),
    kind: Type.Optional(oneOf(['a', 'b'])),
  });
  const list = endpoint({ ...BASE, name: 'list', method: 'GET', path: PATH, summary: 'List', query });
  const [, , prefix, kind] = at(make([list]), SECRET, 'get').parameters ?? [];
  assert.deepEqual(prefix?.['schema'], { type: 'string', maxLength: 9, pattern: '^[^\\u0000]*$' });
  assert.deepEqual(kind?.['schema'], { type: 'string', enum: ['a', 'b'] });
});

test('changes take an Idempotency-Key; a body is required when a field of it is', () => {
  const document = make();
  const takesKey = (method: string) => JSON.stringify(at(document, SECRET, method).parameters).includes('Idempotency');
  assert.deepEqual(['get', 'put', 'delete'].map(takesKey), [false, true, true]);
  assert.equal(at(document, SECRET, 'get').requestBody, undefined);
  assert.equal(at(document, SECRET, 'put').requestBody?.required, true);
  assert.equal(at(document, SECRET, 'delete').requestBody?.required, false);
});

test('what may wait for approval says so, with the answer it then gives', () => {
  const document = make();
  const { responses } = at(document, '/v1/vaults/{vault}/purge/{path}', 'delete');
  const schema = { $ref: '#/components/schemas/PendingApproval' };
  assert.deepEqual(responses['202']?.content, { 'application/json': { schema } });
  assert.equal(responses['204']?.content, undefined);
  assert.equal(at(document, SECRET, 'delete').responses['202'], undefined);
});

test('a public endpoint needs no credential, and one without a limit tells none', () => {
  const document = make();
  const health200 = at(document, '/health', 'get').responses['200'];
  assert.deepEqual(at(document, '/health', 'get').security, []);
  assert.deepEqual(at(document, SECRET, 'get').security, [{ bearer: [] }]);
  assert.deepEqual(Object.keys(health200?.headers ?? {}), ['X-Request-Id']);
  assert.deepEqual(health200?.content, { 'text/plain': { schema: { type: 'string' } } });
  assert.ok('X-RateLimit-Remaining' in (at(document, SECRET, 'get').responses['200']?.headers ?? {}));
  assert.equal(at(document, SECRET, 'delete').responses['204']?.content, undefined);
});

test('the same declarations give the same bytes', () => {
  assert.equal(JSON.stringify(make()), JSON.stringify(make([...DECLARATIONS])));
});

test('every way to prove who asks is told, each once', () => {
  const byAll = endpoint({
    ...BASE,
    name: 'readByAnyone',
    method: 'GET',
    path: PATH,
    summary: 'Read',
    credentials: [...CREDENTIAL_KINDS],
  });
  const document = openApiDocument([byAll], { version: '1', serverUrl: 'https://coffer.example' }) as Document;
  assert.deepEqual(at(document, SECRET, 'get').security, [
    { bearer: [] },
    { clientId: [], clientSecret: [] },
    { certificate: [] },
    { clusterToken: [] },
  ]);
});

test('an answer whose type the query chooses has them all', () => {
  const exported = endpoint({
    ...BASE,
    name: 'export',
    method: 'GET',
    path: PATH,
    summary: 'Export',
    output: 'none',
    raw: 'application/json; charset=utf-8',
    otherRaw: ['text/plain; charset=utf-8', 'application/zip'],
    rawSchema: Type.Record(Type.String(), Type.String(), { description: 'By path.' }),
  });
  const document = openApiDocument([exported], { version: '1', serverUrl: 'https://coffer.example' }) as Document;
  const { content } = at(document, SECRET, 'get').responses['200'] as { content: object };
  const byPath = { type: 'object', description: 'By path.', additionalProperties: { type: 'string' } };
  assert.deepEqual(JSON.parse(JSON.stringify(content)), {
    'application/json': { schema: byPath },
    'text/plain': { schema: { type: 'string' } },
    'application/zip': { schema: { type: 'string', format: 'binary' } },
  });
});

const Colour = named('Colour', 'Of a thing.', Type.Enum(['red', 'green']));
const Thing = named('Thing', 'A thing.', object({ colour: Colour, frame: described('Around it.', Colour) }));

function schemasOf(output: TSchema): Record<string, unknown> {
  return make([endpoint({ ...BASE, name: 'readThing', method: 'GET', path: PATH, summary: 'Read', output })])
    .components['schemas'] as Record<string, unknown>;
}

test('a schema that has a name is one component, wherever it is used and however it is described there', () => {
  const { Thing: thing, Colour: colour, ReadThingOutput: output } = schemasOf(object({ things: Type.Array(Thing) }));
  const toColour = { $ref: '#/components/schemas/Colour' };
  assert.deepEqual(colour, { enum: ['red', 'green'], description: 'Of a thing.' });
  assert.deepEqual(Object(thing).properties, { colour: toColour, frame: { ...toColour, description: 'Around it.' } });
  assert.deepEqual(Object(output).properties, {
    things: { type: 'array', items: { $ref: '#/components/schemas/Thing' } },
  });
  assert.equal(Object(output).description, 'The response of `readThing`.');
  assert.equal(schemasOf(Thing)['ReadThingOutput'], undefined, 'what has a name needs no other');
});

test('a name means one schema: another of that name, or a copy that differs, is a mistake', () => {
  const other = named('Colour', 'Of a thing.', Type.Enum(['red', 'green']));
  assert.throws(() => schemasOf(object({ a: Colour, b: other })), /two schemas are called Colour/);
  const copy = { ...Colour, enum: ['red'] };
  assert.throws(() => schemasOf(object({ a: copy })), /a copy of Colour differs from it/);
  assert.throws(() => named('a colour', '', Type.String()), /no name of a type/);
});

test('maps, and members beside those that have names, are written so that generators have types for them', () => {
  const text = { type: 'string' };
  const { ReadThingOutput: output } = schemasOf(
    object({
      map: record('^[a-z]+$', Type.String(), { maxProperties: 3 }),
      open: Type.Object({ a: Type.Integer(), b: Type.Integer() }, { additionalProperties: Type.String() }),
    }),
  );
  const { map, open } = Object(output).properties;
  assert.deepEqual(map, {
    type: 'object',
    maxProperties: 3,
    propertyNames: { pattern: '^[a-z]+$' },
    additionalProperties: text,
  });
  assert.equal(open.additionalProperties, true);
  assert.deepEqual(open.patternProperties, { '^(?!(?:a|b)$)': text });
});

test('what takes over members of a schema that has a name has none itself', () => {
  const { ReadThingOutput: output } = schemasOf(Type.Partial(Thing, { additionalProperties: false }));
  assert.deepEqual(Object(output).required ?? [], []);
});
