import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type TSchema, Type } from 'typebox';
import { Check } from 'typebox/value';
import { NONE } from '../../server/src/kernel/endpoint/declaration.ts';
import { DECLARATIONS } from '../../server/src/tools/declarations.ts';
import { largestBody } from '../support/largest-input.ts';

/** What the worst inputs of endpoints are made by. */

const closed = { additionalProperties: false };
const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));
const bodyOf = (name: string): TSchema => {
  const body = DECLARATIONS.find((declaration) => declaration.name === name)?.body;
  assert.ok(body !== undefined && body !== NONE, name);
  return body;
};

describe('the largest body', () => {
  test('texts get as long as they may be, and those that a pattern describes stay', () => {
    const schema = Type.Object({ text: Type.String({ maxLength: 100 }), id: Type.String({ pattern: '^id_[0-9]$' }) });
    const grown = largestBody(schema, { text: 'x', id: 'id_1' }, 1000) as Record<string, string>;
    assert.equal(grown['text']?.length, 100);
    assert.equal(grown['id'], 'id_1');
  });

  test('lists and maps get as many members as they may have, all of them different', () => {
    const schema = Type.Object({
      list: Type.Array(Type.String({ maxLength: 20 }), { maxItems: 50, uniqueItems: true }),
      map: Type.Record(Type.String(), Type.String({ maxLength: 5 }), { maxProperties: 30 }),
    });
    const grown = largestBody(schema, { list: ['x'], map: { a: 'b' } }, 10_000) as { list: string[]; map: object };
    assert.equal(new Set(grown.list).size, 50);
    assert.equal(Object.keys(grown.map).length, 30);
  });

  test('optional fields come only if every field is wanted', () => {
    const schema = Type.Object({ more: Type.Optional(Type.String({ maxLength: 5 })) }, closed);
    assert.deepEqual(largestBody(schema, {}, 100), {});
    assert.deepEqual(largestBody(schema, {}, 100, { isEveryField: true }), { more: 'aaaaa' });
    assert.deepEqual(largestBody(schema, {}, 100, { isEveryField: true, filler: '\u0001' }), {
      more: '\u0001'.repeat(5),
    });
  });

  test('a path stays one', () => {
    const schema = Type.Object({ path: Type.String({ maxLength: 1024 }) });
    const { path } = largestBody(schema, { path: 'some/path' }, 10_000) as { path: string };
    assert.equal(path.length, 1024);
    assert.ok(path.startsWith('some/path/') && path.split('/').every((segment) => segment.length < 64));
  });

  const SAMPLES: [string, object, number][] = [
    ['importSecrets', { secrets: { 'a/path': 'x' } }, 12 * 2 ** 20],
    ['findKnownValues', { values: ['x'] }, 256 * 1024],
    ['createSecret', { path: 'a/path', value: 'x' }, 6 * 2 ** 20],
  ];
  for (const [name, sample, bytesMax] of SAMPLES) {
    test(`it is one that ${name} takes, and uses the room there is`, () => {
      const schema = bodyOf(name);
      const grown = largestBody(schema, sample, bytesMax);
      assert.ok(Check(schema, grown));
      assert.ok(bytesOf(grown) <= bytesMax);
      assert.ok(bytesOf(grown) > Math.min(bytesMax, 2 ** 20) * 0.9, `${bytesOf(grown)} bytes`);
    });
  }
});
