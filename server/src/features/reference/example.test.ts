import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type, { type TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { idPattern } from '../../kernel/base/ids.ts';
import {
  ANY_TOKEN,
  BODY_BYTES_DEFAULT,
  type EndpointDeclaration,
  endpoint,
  NONE,
} from '../../kernel/endpoint/declaration.ts';
import { object } from '../../kernel/wire/wire.ts';
import { DECLARATIONS } from '../../tools/declarations.ts';
import { getDocs } from './contract.ts';
import { answerExample, curlExample, exampleOf } from './example.ts';
import { plainSchema } from './openapi.ts';

const BASE: EndpointDeclaration = {
  ...getDocs,
  credentials: ANY_TOKEN,
  tenant: 'own',
  permission: 'secrets:write',
  resource: 'vault/{vault}/{path}',
  audit: 'secrets:write',
  output: 'none',
  raw: 'none',
  status: 204,
};

const body = object({
  name: Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$' }),
  owner: Type.String({ pattern: idPattern('user') }),
  ttl_days: Type.Integer({ minimum: 30, maximum: 365 }),
  kind: Type.Union([Type.Literal('a'), Type.Literal('b')]),
  until: Type.Union([Type.Null(), Type.String()]),
  entries: Type.Array(object({ path: Type.String({ minLength: 2 }) }), { minItems: 1 }),
  labels: Type.Record(Type.String(), Type.String()),
  note: Type.Optional(Type.String({ maxLength: 1 })),
});

test('examples are valid requests and answers', () => {
  const schemas: TSchema[] = [body, Type.Partial(body), Type.Array(body), Type.Enum(['x', 'y'])];
  for (const schema of schemas) {
    for (const extent of ['needed', 'all'] as const) {
      const example = exampleOf(plainSchema(schema), 'example', extent);
      assert.ok(Compile(schema).Check(example), JSON.stringify(example));
    }
  }
});

test('every example of the service is valid, and nothing in it is left to be filled in', () => {
  for (const { name, params, query, body } of DECLARATIONS) {
    for (const schema of [params, query, body]) {
      if (schema === NONE) continue;
      const required = (plainSchema(schema).required ?? []).length > 0;
      const example = required || schema === body ? exampleOf(plainSchema(schema), name, 'needed') : {};
      assert.ok(Compile(schema).Check(example), `${name}: ${JSON.stringify(example)}`);
      assert.doesNotMatch(JSON.stringify(example), /"<|"example"/, name);
    }
  }
});

test('a list of plain values stays on one line, and what is shown is still JSON', () => {
  const output = object({
    tags: Type.Array(Type.String(), { examples: [['a', 'b']] }),
    odd: Type.Array(Type.String(), { examples: [['a]', '{', '\n', '"[']] }),
    rows: Type.Array(object({ ids: Type.Array(Type.Integer()) })),
  });
  const shown = answerExample({ ...BASE, status: 200, output }) ?? '';
  assert.match(shown, /"tags": \["a", "b"\],/);
  assert.deepEqual(JSON.parse(shown), { tags: ['a', 'b'], odd: ['a]', '{', '\n', '"['], rows: [{ ids: [1] }] });
});

test('a request shows what must be sent and nothing else', () => {
  const example = exampleOf(plainSchema(body), 'body', 'needed');
  assert.deepEqual(Object.keys(Object(example)), plainSchema(body).required);
});

test('the curl command quotes for the shell and leaves the token to it', () => {
  const e = endpoint({
    ...BASE,
    method: 'POST',
    path: '/v1/vaults/{vault}/secrets/{path*}',
    effect: 'change',
    bodyBytesMax: BODY_BYTES_DEFAULT,
    params: object({ vault: Type.String({ examples: ['a b'] }), path: Type.String() }),
    query: object({ reason: Type.String({ examples: ['x&y'] }), limit: Type.Optional(Type.Integer()) }),
    body: object({ value: Type.String({ examples: ["it's"] }) }),
  });
  assert.equal(
    curlExample(e, 'https://coffer.example.com'),
    [
      "curl -X POST 'https://coffer.example.com/v1/vaults/a%20b/secrets/database/password?reason=x%26y' \\",
      '  -H "Authorization: Bearer $COFFER_TOKEN" \\',
      "  -H 'Content-Type: application/json' \\",
      "  -d '{",
      `    "value": "it'\\''s"`,
      "  }'",
    ].join('\n'),
  );
  const ofMachines = curlExample(
    { ...e, credentials: ['connection', 'bound_certificate'] },
    'https://coffer.example.com',
  );
  assert.match(ofMachines, /-H "X-Client-Id: \$COFFER_CLIENT_ID" \\\n {2}-H "X-Client-Secret: \$COFFER_CLIENT_SECRET"/);
  assert.equal(curlExample(getDocs, 'http://127.0.0.1:7400'), 'curl http://127.0.0.1:7400/docs');
});
