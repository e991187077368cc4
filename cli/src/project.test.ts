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
  ]) {
    assert.throws(() => parseProject(`# first\n${text}`, 'here/.coffer.yaml'), /here\/\.coffer\.yaml, line 2/, text);
  }
});
