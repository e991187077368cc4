import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { DECLARATIONS } from '../server/src/declarations.ts';
import { type EndpointDeclaration, NONE } from '../server/src/kernel/endpoint.ts';
import { invalid } from '../server/src/kernel/errors.ts';
import { coerceQuery, parseQuery } from '../server/src/kernel/http/query.ts';
import { problemsIn } from '../server/src/kernel/http/validation.ts';
import { onBothDatabases, type Service, startService } from './support/service.ts';

/** Lesson 26: what is served is what is declared, everywhere. */

const ROOT = join(import.meta.dirname, '..');

test('every endpoint that a contract declares is bound, once, under a name and a path of its own', async () => {
  const declared: EndpointDeclaration[] = [];
  for (const file of globSync('server/src/features/*/contract.ts', { cwd: ROOT })) {
    const contract = (await import(join(ROOT, file))) as Record<string, unknown>;
    for (const value of Object.values(contract)) if (isDeclaration(value)) declared.push(value);
  }
  assert.deepEqual(names(declared), names(DECLARATIONS));
  assert.equal(new Set(DECLARATIONS.map(({ name }) => name)).size, DECLARATIONS.length);
  assert.equal(new Set(DECLARATIONS.map(({ method, path }) => `${method} ${path}`)).size, DECLARATIONS.length);
});

function isDeclaration(value: unknown): value is EndpointDeclaration {
  return typeof value === 'object' && value !== null && 'credentials' in value && 'path' in value;
}

function names(declarations: readonly EndpointDeclaration[]): string[] {
  return declarations.map(({ name }) => name).sort();
}

test('an empty query parameter counts as absent, whatever it is declared to be', () => {
  let count = 0;
  for (const { name, query } of DECLARATIONS) {
    if (query === NONE) continue;
    const parameters = Object.keys(query.properties);
    for (const text of [parameters.map((one) => `${one}=`).join('&'), parameters.join('&')]) {
      assert.deepEqual(coerceQuery(query, parseQuery(`/x?${text}`)), { value: {}, problems: [] }, name);
      count++;
    }
  }
  assert.ok(count > 20);
});

test('every refusal of a choice names the choices, within bounds, and ends in one full stop', () => {
  let count = 0;
  for (const declaration of DECLARATIONS) {
    for (const part of ['query', 'body'] as const) {
      const schema = declaration[part];
      if (schema === NONE) continue;
      for (const [field, { enum: choices }] of Object.entries(
        schema.properties as Record<string, { enum?: string[] }>,
      )) {
        const problem = problemsIn(schema, { [field]: '\u0001none' }, `/${part}`).find(
          ({ pointer }) => pointer === `/${part}/${field}`,
        );
        if (problem === undefined) continue;
        const { message } = invalid([problem]);
        assert.doesNotMatch(message, /\.\.$/, declaration.name);
        assert.match(message, /[^.][.?!]$/, declaration.name);
        assert.ok(message.length < REASON_CHARS_MAX, message);
        assert.doesNotMatch(message, /not an allowed value|none/, declaration.name);
        if (choices === undefined) continue;
        for (const choice of choices) assert.ok(message.includes(choice), `${declaration.name} ${field}: ${message}`);
        count++;
      }
    }
  }
  assert.ok(count > 10);
});
const REASON_CHARS_MAX = 1000;

onBothDatabases('a service that runs', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  test('describes exactly what it serves', async () => {
    const { paths } = (await service.call('GET', '/openapi.json', { token: null })).body;
    const described = Object.values(paths as Record<string, Record<string, { operationId: string }>>)
      .flatMap((methods) => Object.values(methods))
      .map(({ operationId }) => operationId);
    assert.deepEqual(described.sort(), names(DECLARATIONS));
  });
});
