import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Command } from 'commander';
import { fieldName, nameFields } from './named-fields.ts';

const command = nameFields(new Command('set').argument('<path>').option('--stage <stage>').option('--length <n>'), {
  environment: '--stage',
  document: '--document',
});

test('a refused field is called as the command calls it', () => {
  for (const [pointer, name] of [
    ['/body/environment', '--stage'],
    ['/body/environment/0', '--stage'],
    ['/path/path', '<path>'],
    ['/body/generator/length', '--length'],
    ['/body/document/statement/0/action/1', '--document, statement/0/action/1:'],
    ['/body/unknown/thing', 'unknown/thing'],
    ['/body', 'The request'],
  ] as const)
    assert.equal(fieldName(pointer, command), name, pointer);
});

test('what no command sent keeps the name of the field', () => {
  assert.equal(fieldName('/body/environment', null), 'environment');
});
