import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { CofferError } from '@coffer/client';
import { fieldOf, fieldProblems, messageOf, sentenceAt, sentenceOf } from '../../console/src/ui/field-problems.ts';

const at = (pointer: string, reason = 'must be one of a, b') => ({ pointer, reason });

test('a problem belongs to the field that names the most of its place', () => {
  const fields = ['metadata', 'metadata/tags', 'name'];
  assert.equal(fieldOf(at('/body/metadata/tags/2'), fields), 'metadata/tags');
  assert.equal(fieldOf(at('/body/metadata/tagsets'), fields), 'metadata');
  assert.equal(fieldOf(at('/path/name'), fields), 'name');
  assert.equal(fieldOf(at('/body/names'), fields), null);
  assert.equal(fieldOf(at('/body'), fields), null);
});

test('a problem is a sentence without the names of the API', () => {
  assert.equal(
    sentenceAt('name', at('/body/name', 'is reserved: choose another name')),
    'Is reserved: choose another name.',
  );
  assert.equal(sentenceAt('name', at('/body/name', 'is required')), 'Fill this in.');
  assert.equal(sentenceAt('days', at('/body/days', 'must be <= 3650')), 'This number is too large: 3650 at most.');
  assert.equal(sentenceAt('tags', at('/body/tags/0', 'Write one word.')), 'Entry 1: Write one word.');
  assert.equal(sentenceAt('dotenv', at('/body/dotenv/line/3', 'has no name')), 'Line 3: has no name.');
  assert.equal(sentenceOf(at('/body/rotation/interval_days')), 'Rotation interval days: must be one of a, b.');
  assert.equal(sentenceOf(at('/body', 'has nothing to import')), 'Has nothing to import.');
});

test('what may be null says nothing beside a problem inside it', () => {
  const error = (fields: object[]) =>
    new CofferError('wrong', { code: 'VALIDATION_FAILED', status: 422, details: { fields } });
  const inside = at('/body/rotation/interval_days', 'must be >= 1');
  assert.deepEqual(fieldProblems(error([inside, at('/body/rotation', 'must be null')])), [inside]);
  const alone = [at('/body/rotation', 'must be null')];
  assert.deepEqual(fieldProblems(error(alone)), alone);
});

test('a message is for people, without what only somebody who writes requests can use', () => {
  const said = (message: string) => messageOf({ message });
  assert.match(
    said('Your credential does not permit vaults:read here. Ask an administrator for a policy.'),
    /^You may not do this/,
  );
  assert.match(said('No token. Send a valid one as "Authorization: Bearer <token>".'), /^This token is not accepted/);
  assert.equal(
    said('Show your factor again (POST /auth/step-up), then repeat.'),
    'Show your factor again, then repeat.',
  );
  assert.equal(
    said('You could not sign in: set a password with POST /auth/password, or add a passkey.'),
    'You could not sign in: set a password, or add a passkey.',
  );
  assert.equal(
    said('Unlink it first, under My account or with DELETE /auth/links/{provider}.'),
    'Unlink it first, under My account.',
  );
  assert.equal(said('Only an owner can do this.'), 'Only an owner can do this.');
});

/** Their messages are for programs and operators; the console does not send what they refuse, or shows none of it. */
const NOT_FOR_THE_CONSOLE = [
  'features/anomalies/recommendation.ts',
  'features/app-connections/principal.ts',
  'features/audit/',
  'features/clusters/scheme.ts',
  'features/eso/',
  'features/mail/',
  'features/saas/',
  'features/scim/',
];

test('no message of the service names requests or permissions in the console', () => {
  const root = join(import.meta.dirname, '..', '..', 'server', 'src');
  const files = globSync(['features/**/*.ts', 'kernel/auth/*.ts', 'kernel/request/*.ts'], { cwd: root }).filter(
    (file) =>
      !/\.test\.ts$|contract\.ts$|schemas\.ts$/.test(file) &&
      !NOT_FOR_THE_CONSOLE.some((each) => file.startsWith(each)),
  );
  const isForPrograms = (text: string) =>
    /\b(GET|POST|PUT|PATCH|DELETE) \/|Authorization|(?<![\w"])[a-z_]+:[a-z_]+\b/.test(text);
  const found = files.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/(['`])([A-Z$][^'`\n]* [^'`\n]*\.)\1,?\s/g)]
      .map(([, , text = '']) => text)
      .filter(isForPrograms)
      .map((text) => ({ file, text })),
  );
  assert.ok(found.length > 10, 'the messages are found');
  const shown = found.map(({ file, text }) => ({ file, text: messageOf({ message: text }) }));
  assert.deepEqual(
    shown.filter(({ text }) => isForPrograms(text)),
    [],
  );
});
