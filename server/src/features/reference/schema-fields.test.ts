import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { idPattern } from '../../kernel/base/ids.ts';
import { plainSchema } from './openapi.ts';
import { fieldsOf } from './schema-fields.ts';

test('a schema becomes rows, with what is nested below what holds it', () => {
  const schema = Type.Object({
    id: Type.String({ pattern: idPattern('vault'), description: 'Its id.' }),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 100 })),
    scope: Type.Optional(Type.Object({ vaults: Type.Array(Type.String({ maxLength: 63 }), { minItems: 1 }) })),
    versions: Type.Array(Type.Object({ at: Type.String({ format: 'date-time' }) })),
    state: Type.Union([Type.Literal('on'), Type.Literal('off'), Type.Null()]),
    labels: Type.Record(Type.String(), Type.String()),
  });
  const rows = fieldsOf(plainSchema(schema)).map((field) => {
    return [field.name, field.type, field.isRequired, field.constraints.join('; ')];
  });
  assert.deepEqual(rows, [
    ['id', 'string', true, 'starts with `vault_`'],
    ['limit', 'integer', false, '1 to 1,000; default `100`'],
    ['scope', 'object', false, ''],
    ['scope.vaults', 'array of string', true, 'at least 1 item; each: at most 63 characters'],
    ['versions', 'array of object', true, ''],
    ['versions[].at', 'string (date-time)', true, ''],
    ['state', 'string or null', true, 'one of `on`, `off`'],
    ['labels', 'map of string', true, ''],
  ]);
});
