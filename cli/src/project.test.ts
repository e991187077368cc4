import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { printable } from './printable.ts';
import { formatProject, parseProject } from './project.ts';

const text = fc
  .string({ minLength: 1, unit: 'grapheme' })
  .filter((one) => printable(one) === one && !/[\n\t]/.test(one));

test('what is written is read back', () => {
  fc.assert(
    fc.property(
      fc.record(
        {
          url: fc.webUrl(),
          vault: text,
          environment: text,
          prefix: text,
          variables: fc.array(fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,20}\*?$/), { minLength: 1 }),
        },
        { requiredKeys: [] },
      ),
      (project) => assert.deepEqual(parseProject(formatProject(project), 'x'), { ...project }),
    ),
  );
});

test('people write YAML by hand', () => {
  const text = "---\n# ours\nurl: https://coffer.example.com   # the service\n\nvault: \"shop\"\nprefix: 'it''s'\r\n";
  assert.deepEqual(parseProject(text, 'x'), { url: 'https://coffer.example.com', vault: 'shop', prefix: "it's" });
});

test('variables are a list of names', () => {
  const text =
    'vault: shop\nvariables:   # what it needs\n  # the database\n  - DB_URL\n- \'API_*\' # all of it\n\n  - "*"\nprefix: web\n';
  assert.deepEqual(parseProject(text, 'x'), { vault: 'shop', variables: ['DB_URL', 'API_*', '*'], prefix: 'web' });
});

test('a file made to be slow is not', () => {
  const wide = ' '.repeat(60_000);
  const before = process.cpuUsage();
  for (const text of [
    `vault:${wide}x${wide}`,
    `vault: x${wide}y`,
    `vault: ${'#'.repeat(60_000)}`,
    `vault: "${'\\\\'.repeat(30_000)}`,
    `vault: '${"''".repeat(30_000)}`,
    `${wide}x`,
    `variables:\n  -${wide}A${wide}*`,
    `vault:${'\t'.repeat(60_000)}#`,
  ]) {
    try {
      parseProject(text, 'x');
    } catch (error) {
      assert.match(String(error), /x, line \d/);
    }
  }
  assert.ok(process.cpuUsage(before).user < 2e6);
});

test('what it does not understand is refused with its line, never guessed', () => {
  for (const text of [
    'vault:',
    'vault: ',
    'token: cv_pat_x',
    'vault: [a]',
    'vault: {a: b}',
    'vault: &x y',
    'vault: |',
    'vault: "open',
    '  vault: indented',
    '- vault: a',
    'vault: a: b',
    'Vault: a',
    'vault a',
    'vault: "a\\u001b[2Kb"',
    'vault: "a\\nb"',
    '- DB_URL',
    'variables: DB_URL',
    'variables:\n  - DB URL',
    'variables:\n  - DB_*_URL',
    'variables:\n  - A\nvariables:\n  - B',
  ]) {
    assert.throws(() => parseProject(`# first\n${text}`, 'here/.coffer.yaml'), /here\/\.coffer\.yaml, line \d/, text);
  }
});
