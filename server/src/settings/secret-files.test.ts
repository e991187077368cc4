import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ALL_SETTINGS, loadConfig } from '../assembly/settings.ts';
import { ConfigError } from './config.ts';
import { fileNames } from './secret-files.ts';

describe('a secret in a file', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'coffer-settings-'));
  });
  after(() => rmSync(folder, { recursive: true }));

  const fileWith = (content: string) => {
    const file = join(folder, 'secret');
    writeFileSync(file, content);
    return file;
  };
  const problemsOf = (env: Record<string, string>): readonly string[] => {
    try {
      loadConfig(env);
    } catch (error) {
      assert.ok(error instanceof ConfigError);
      return error.problems;
    }
    assert.fail('it was accepted');
  };

  test('can be given for every secret setting', () => {
    const names = ALL_SETTINGS.map(({ name }): string => name);
    for (const { name, secret } of ALL_SETTINGS) {
      if (secret) assert.ok([...names, ...fileNames(ALL_SETTINGS)].includes(`${name}_FILE`), name);
    }
    assert.ok(fileNames(ALL_SETTINGS).includes('CV_DATABASE_URL_FILE'));
    assert.ok(!fileNames(ALL_SETTINGS).includes('CV_ROOT_KEY_FILE'), 'it is the key file of the provider `file`');
  });

  test('counts as the value, without the final line break', () => {
    const url = 'postgres://user:password@db/coffer';
    const config = loadConfig({ CV_DATABASE_URL_FILE: fileWith(`${url}\n`), CV_DATABASE_POOL: '10' });
    assert.deepEqual([config.databaseUrl, config.changed['CV_DATABASE_URL']], [url, '[hidden]']);
    assert.ok(!JSON.stringify(config).includes('password'));
  });

  test('is refused where it is missing, empty, malformed, or given twice, and is never shown', () => {
    const missing = join(folder, 'missing');
    assert.deepEqual(problemsOf({ CV_DATABASE_URL_FILE: missing }), [
      'CV_DATABASE_URL_FILE names a file that cannot be read (ENOENT).',
    ]);
    assert.deepEqual(problemsOf({ CV_DATABASE_URL_FILE: fileWith('\n') }), [
      'CV_DATABASE_URL_FILE names a file that is empty.',
    ]);
    const malformed = problemsOf({ CV_DATABASE_URL_FILE: fileWith('MARKER') });
    assert.match(malformed.join(), /^CV_DATABASE_URL must be /);
    assert.ok(!malformed.join().includes('MARKER'));
    const both = { CV_DATABASE_URL: 'postgres://db/x', CV_DATABASE_URL_FILE: fileWith('postgres://db/x') };
    assert.deepEqual(problemsOf(both), ['CV_DATABASE_URL and CV_DATABASE_URL_FILE exclude each other: set one.']);
    assert.match(problemsOf({ CV_PORT_FILE: 'x' }).join(), /CV_PORT_FILE is not a setting/);
  });
});
