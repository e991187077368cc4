import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { DECLARATIONS } from '../../tools/declarations.ts';
import { NONE } from '../endpoint/declaration.ts';
import { newPassword, nullable, object } from '../wire/wire.ts';
import { REDACTED, redacted } from './redaction.ts';

const Body = object({
  name: Type.String(),
  password: Type.Optional(newPassword),
  deep: Type.Optional(object({ list: Type.Array(object({ key: nullable(newPassword), shown: Type.Integer() })) })),
});

test('what is only written is hidden, wherever it stands, and nothing else is', () => {
  const body = { name: 'ann', password: 'p', deep: { list: [{ key: 'k', shown: 1 }] } };
  assert.deepEqual(redacted(Body, body), {
    name: 'ann',
    password: REDACTED,
    deep: { list: [{ key: REDACTED, shown: 1 }] },
  });
});

test('what the schema does not know is hidden', () => {
  assert.deepEqual(redacted(Body, { name: 'ann', more: 'x' }), { name: 'ann', more: REDACTED });
});

/** Fields about a secret that say which one it is, or what a Secret of Kubernetes is called and what kind it is. */
const ABOUT_SECRETS = ['restoreSecret.secret_id', 'createClusterPolicy.secret_name', 'createClusterPolicy.secret_type'];

test('every body that can wait for approval hides its credentials', () => {
  const looksSecret = /password|secret|otp|private|credential/i;
  const exposed = DECLARATIONS.filter(({ approval }) => approval !== NONE).flatMap(({ name, body }) =>
    body === NONE
      ? []
      : Object.entries(body.properties)
          .filter(([field, schema]) => looksSecret.test(field) && redacted(schema, 'x') !== REDACTED)
          .map(([field]) => `${name}.${field}`),
  );
  assert.deepEqual(exposed, ABOUT_SECRETS);
});
