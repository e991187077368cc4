import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { DECLARATIONS } from '../server/src/declarations.ts';
import type { EndpointDeclaration } from '../server/src/kernel/endpoint.ts';
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
