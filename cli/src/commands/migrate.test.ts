import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Command } from 'commander';
import { registerSources } from './migrate.ts';

test('every source writes only with --apply, says where it reads from, and takes no credential as an argument', () => {
  const verb = new Command('import').argument('<file>');
  registerSources(verb);
  assert.deepEqual(
    verb.commands.map((source) => source.name()),
    ['vault', 'openbao', 'infisical', 'doppler', 'aws-sm'],
  );
  for (const source of verb.commands) {
    const options = source.options.map(({ long }) => long);
    for (const needed of ['--vault', '--prefix', '--apply', '--overwrite', '--promote'])
      assert.ok(options.includes(needed));
    assert.ok(!options.some((option) => /token|secret|password/.test(String(option))), source.name());
    let help = '';
    source.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
    assert.match(help, /Without --apply nothing is written/);
    assert.match(help, /_TOKEN|standard input/);
  }
});
