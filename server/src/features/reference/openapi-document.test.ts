import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DECLARATIONS } from '../../tools/declarations.ts';
import { openApiDocument } from './openapi.ts';

/** The document of the whole service: what generators and readers need of it. How it is made is tested beside `openapi.ts`. */

interface Schema {
  $ref?: string;
  type?: string;
  format?: string;
  maximum?: number;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  enum?: unknown[];
  additionalProperties?: boolean | Schema;
  patternProperties?: Record<string, Schema>;
}

interface Operation {
  operationId: string;
  summary: string;
  description?: string;
  tags: string[];
  parameters?: { $ref?: string; name?: string; description?: string }[];
  responses: Record<string, { $ref?: string; description?: string; content?: Record<string, { schema?: Schema }> }>;
}

interface Document {
  tags: { name: string; description?: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: {
    schemas: Record<string, Schema>;
    parameters: Record<string, { description?: string }>;
    securitySchemes: Record<string, { scheme?: string }>;
  };
}

const made = openApiDocument(DECLARATIONS, { version: '1', serverUrl: 'https://coffer.example' });
const document = JSON.parse(JSON.stringify(made)) as Document;
const { schemas } = document.components;
const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));

/** Every schema inside the components, with where it stands; the components themselves are none of them. */
function inlineSchemas(): [place: string, schema: Schema][] {
  const found: [string, Schema][] = [];
  const into = (place: string, schema: Schema | boolean | undefined): void => {
    if (typeof schema !== 'object') return;
    found.push([place, schema]);
    parts(place, schema);
  };
  const parts = (place: string, schema: Schema): void => {
    for (const [name, member] of Object.entries(schema.properties ?? {})) into(`${place}.${name}`, member);
    for (const member of Object.values(schema.patternProperties ?? {})) into(`${place}{}`, member);
    for (const choice of schema.anyOf ?? []) into(`${place}|`, choice);
    into(`${place}{}`, schema.additionalProperties);
    into(`${place}[]`, schema.items);
  };
  for (const [name, schema] of Object.entries(schemas)) parts(name, schema);
  return found;
}

function isDescribed({ description, $ref, anyOf, items }: Schema): boolean {
  if (description !== undefined && description !== '') return true;
  if ($ref !== undefined) return isDescribed(schemas[$ref.split('/').at(-1) ?? ''] ?? {});
  return (anyOf ?? []).some(isDescribed) || (items?.$ref !== undefined && isDescribed(items));
}

test('what people speak of has a schema of its own', () => {
  for (const name of ['Vault', 'Secret', 'Policy', 'User', 'Group', 'Token', 'AppConnection', 'AuditEntry', 'Error']) {
    assert.ok(schemas[name] !== undefined, name);
  }
  const vault = { $ref: '#/components/schemas/Vault' };
  const answers = operations.map(({ responses }) => responses['200'] ?? responses['201']);
  const ofVaults = answers.filter((one) => one?.content?.['application/json']?.schema?.$ref === vault.$ref);
  assert.ok(ofVaults.length >= 3, 'several endpoints answer with the same component');
});

test('an object or a choice that stands in two places has a name, and so has every object in a list or a map', () => {
  const places = new Map<string, string[]>();
  for (const [place, schema] of inlineSchemas()) {
    const isObject = schema.properties !== undefined;
    if (isObject) assert.doesNotMatch(place, /(\[\]|\{\})$/, `${place} is an object without a name`);
    if (!isObject && (schema.enum ?? []).length < 2) continue;
    const { description: _, ...form } = schema;
    const text = JSON.stringify(form);
    places.set(text, [...(places.get(text) ?? []), place]);
  }
  assert.deepEqual(
    [...places.values()].filter((one) => one.length > 1),
    [],
  );
});

test('a body or an answer in JSON is a component; text and bytes say which they are', () => {
  let raw = 0;
  for (const { operationId, responses } of operations) {
    for (const [type, { schema }] of Object.values(responses).flatMap((one) => Object.entries(one.content ?? {}))) {
      assert.ok(schema !== undefined, `${operationId} says nothing of its ${type}`);
      if (/^application\/(scim\+)?json$/.test(type))
        assert.ok(schema.$ref !== undefined || schema.type === 'object', operationId);
      else assert.equal(schema.type, 'string', operationId);
      if (type === 'application/zip' || type === 'application/pkix-crl') assert.equal(schema.format, 'binary');
      if (type !== 'application/json') raw++;
    }
  }
  assert.ok(raw > 5);
});

test('every refusal is one schema that has the code, the message, the request id and the details', () => {
  const error = schemas['Error'];
  assert.deepEqual(error?.properties, { error: { $ref: '#/components/schemas/ErrorBody' } });
  const body = schemas['ErrorBody'];
  assert.deepEqual(Object.keys(body?.properties ?? {}), ['code', 'message', 'request_id', 'details']);
  assert.deepEqual(body?.required, ['code', 'message', 'request_id']);
  assert.doesNotMatch(JSON.stringify(document), /"(allOf|not)":/, 'generators read these in different ways');
  const exclusive = Object.keys(schemas).filter((name) => JSON.stringify(schemas[name]).includes('"oneOf":'));
  assert.deepEqual(exclusive, ['ComposeAnswer'], 'so they do with oneOf, where it has no map');
});

test('every integer says how wide it is, and inputs are bounded where they are checked', () => {
  const integers: Schema[] = [];
  const walk = (node: unknown) => {
    if (typeof node !== 'object' || node === null) return;
    if ((node as Schema).type === 'integer') integers.push(node as Schema);
    for (const inner of Object.values(node)) walk(inner);
  };
  walk(document);
  assert.ok(integers.length > 250);
  for (const integer of integers) {
    const { format, maximum = Number.POSITIVE_INFINITY } = integer;
    const most = format === 'int32' ? 2 ** 31 - 1 : Number.MAX_SAFE_INTEGER;
    assert.ok((format === 'int32' || format === 'int64') && maximum <= most, JSON.stringify(integer));
  }
  assert.equal(schemas['Secret']?.properties?.['secret_id']?.format, 'int64');
  const unbounded = DECLARATIONS.flatMap(
    ({ name, params, query, body }) =>
      JSON.stringify([params, query, body])
        .match(/\{[^{}]*"type":"integer"[^{}]*\}/g)
        ?.filter((one) => !one.includes('"maximum"'))
        .map((one) => `${name} ${one}`) ?? [],
  );
  assert.deepEqual(unbounded, []);
});

test('no boolean has one value, and no text several formats, which break the client for Rust', () => {
  const all: string[] = [];
  const booleans: string[] = [];
  JSON.stringify(document, (_, value: unknown) => {
    const { type, anyOf } = (value ?? {}) as { type?: unknown; anyOf?: unknown };
    if (type === 'boolean') booleans.push(JSON.stringify(value));
    if (type === 'string' && anyOf !== undefined) all.push(JSON.stringify(value));
    return value;
  });
  assert.ok(booleans.length > 20);
  assert.deepEqual([...all, ...booleans.filter((one) => one.includes('"const"') || one.includes('"enum"'))], []);
});

test('clients for Java compile and find the token: a choice with a map is exclusive, and one scheme is bearer', () => {
  const isMap = ({ $ref, ...inline }: Schema) => {
    const { type, properties } = schemas[$ref?.split('/').at(-1) ?? ''] ?? inline;
    return type === 'object' && properties === undefined;
  };
  const choices = [...Object.entries(schemas), ...inlineSchemas()].filter(
    ([, { anyOf = [] }]) => anyOf.filter(({ type }) => type !== 'null').length > 1 && anyOf.some(isMap),
  );
  assert.deepEqual(choices, []);
  assert.equal(schemas['ComposeAnswer']?.oneOf?.length, 2);
  const bearers = Object.values(document.components.securitySchemes).filter(({ scheme }) => scheme === 'bearer');
  assert.equal(bearers.length, 1);
});

test('every tag, operation, parameter, schema and field is described', () => {
  for (const { name, description } of document.tags) assert.match(description ?? '', /\.$/, `the tag ${name}`);
  assert.deepEqual(new Set(document.tags.map(({ name }) => name)), new Set(operations.flatMap(({ tags }) => tags)));
  for (const { operationId, summary, description = '', parameters = [] } of operations) {
    assert.notEqual(summary, '', operationId);
    assert.match(description, /\S/, operationId);
    for (const { $ref, name, description: text = '' } of parameters) {
      assert.ok($ref !== undefined || text !== '', `${operationId} does not describe ${name}`);
    }
  }
  const undescribed = inlineSchemas().filter(([place, schema]) => /\.\w+$/.test(place) && !isDescribed(schema));
  assert.deepEqual(
    undescribed.map(([place]) => place),
    [],
  );
  for (const [name, schema] of Object.entries(schemas)) assert.ok(isDescribed(schema), name);
});

test('one noun has one description', () => {
  for (const [noun, endpoints] of Map.groupBy(DECLARATIONS, (e) => e.noun)) {
    const told = new Set(
      endpoints.flatMap(({ aboutNoun }) => (aboutNoun === undefined ? [] : JSON.stringify(aboutNoun))),
    );
    assert.equal(told.size, 1, noun);
  }
});

test('names of types are the same to no generator: they differ by more than case', () => {
  const names = Object.keys(schemas);
  assert.equal(new Set(names.map((name) => name.toLowerCase())).size, names.length);
  const reserved = operations.flatMap(({ operationId }) => {
    const type = operationId.charAt(0).toUpperCase() + operationId.slice(1);
    return [`${type}Response`, `${type}Request`, `${type}Params`, `${type}Data`, `${type}Error`];
  });
  assert.deepEqual(
    names.filter((name) => reserved.includes(name)),
    [],
  );
});

test('no field without a type of its own would get the name of a type: openapi-python-client then leaves out both', () => {
  const nameOf = (place: string) => place.replaceAll(/(?:^|[._])([a-z])?/gi, (_, first = '') => first.toUpperCase());
  assert.equal(nameOf('Anomaly.acted_by'), 'AnomalyActedBy');
  const taken = inlineSchemas().filter(
    ([place, { $ref, type, enum: choices }]) =>
      $ref === undefined && (type === 'object' || choices !== undefined) && nameOf(place) in schemas,
  );
  assert.deepEqual(
    taken.map(([place]) => place),
    [],
  );
});
