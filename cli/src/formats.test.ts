import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { parseEnv } from 'node:util';
import { parse as parseDotenv } from 'dotenv';
import fc from 'fast-check';
import { CommandError } from './failure.ts';
import { formatted, githubEnvironment, githubMasks } from './formats.ts';

const folder = mkdtempSync(join(tmpdir(), 'coffer-formats-'));
after(() => rmSync(folder, { recursive: true }));

/** Values that are hard on purpose, beside arbitrary ones. */
const value = fc
  .oneof(
    fc.string({ unit: 'grapheme', maxLength: 40 }),
    fc.string({
      unit: fc.constantFrom('a', "'", '"', '\\', '$', '{', '`', '\n', ' ', '#', '=', '%', '\r'),
      maxLength: 12,
    }),
  )
  .filter((text) => !text.includes('\0'));

test('what is printed for a shell is read back by a shell as it was', () => {
  fc.assert(
    fc.property(value, (text) => {
      const file = join(folder, 'values.sh');
      writeFileSync(file, formatted(new Map([['VALUE', text]]), 'shell', ''));
      const read = execFileSync('sh', ['-c', '. "$1"; printf %s "$VALUE"', 'sh', file], { encoding: 'utf8' });
      assert.equal(read, text);
    }),
    { numRuns: 30 },
  );
});

test('what is printed as dotenv is read back alike by dotenv, Node and bash, or refused', () => {
  fc.assert(
    fc.property(value, (text) => {
      let printed: string;
      try {
        printed = formatted(new Map([['VALUE', text]]), 'dotenv', '');
      } catch (error) {
        assert.ok(error instanceof CommandError && !error.message.includes(text || 'nothing'));
        return;
      }
      assert.equal(parseDotenv(printed)['VALUE'], text);
      assert.equal(parseEnv(printed)['VALUE'], text);
    }),
    { numRuns: 500 },
  );
});

test('JSON and YAML are read back as they were', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.stringMatching(/^[A-Z_]{1,8}$/), value), (values) => {
      const variables = new Map(Object.entries(values));
      assert.deepEqual(JSON.parse(formatted(variables, 'json', '')), { ...values });
      const lines = formatted(variables, 'yaml', '').trimEnd().split('\n').filter(Boolean);
      assert.deepEqual(
        Object.fromEntries(
          lines.map((line) => [JSON.parse(line.replace(/: .*$/s, '')), JSON.parse(line.replace(/^"[A-Z_]+": /, ''))]),
        ),
        { ...values },
      );
    }),
  );
});

test('a Secret for Kubernetes keeps empty values and those that YAML would read as numbers', () => {
  const values = new Map([
    ['EMPTY', ''],
    ['NUMBER', 'd7'],
    ['TEXT', 'x'],
  ]);
  const written = formatted(values, 'k8s', 'shop');
  // In quotes JSON and YAML read the same text.
  const data = written.slice(written.indexOf('\ndata:\n') + '\ndata:\n'.length).trimEnd();
  const read = JSON.parse(`{${data.split('\n').join(',')}}`);
  assert.deepEqual(read, { EMPTY: '', NUMBER: 'ZDc=', TEXT: 'eA==' });
});

test('a name that a shell would run, or keeps for itself, is refused', () => {
  for (const name of ['A;rm -rf', 'A B', '1A', 'A-B', '$(x)', 'UID', '']) {
    assert.throws(() => formatted(new Map([[name, 'x']]), 'shell', ''), CommandError, name);
    assert.throws(() => formatted(new Map([[name, 'x']]), 'dotenv', ''), CommandError, name);
    assert.throws(() => githubEnvironment(new Map([[name, 'x']])), CommandError, name);
  }
});

/** Reads the file as the runner does: NAME<<DELIMITER, lines, DELIMITER. */
function readGithub(text: string): Map<string, string> {
  const read = new Map<string, string>();
  const lines = text.split('\n');
  for (let i = 0; i < lines.length - 1; i++) {
    const [, name = '', delimiter = ''] = /^([^<]+)<<(.+)$/.exec(lines[i] ?? '') ?? [];
    assert.notEqual(name, '', `line ${i + 1}`);
    const end = lines.indexOf(delimiter, i + 1);
    read.set(name, lines.slice(i + 1, end).join('\n'));
    i = end;
  }
  return read;
}

test('no value adds a variable or a command to a job of GitHub, and each of its lines is masked', () => {
  const hostile = fc.oneof(
    value,
    fc.constantFrom('x\nEVIL<<EOF\ny\nEOF', 'coffer_\nA=1', '::set-output name=x::y', '%0A::add-mask::'),
  );
  fc.assert(
    fc.property(hostile, (text) => {
      const variables = new Map([['VALUE', text]]);
      assert.deepEqual(readGithub(githubEnvironment(variables)), variables);
      const masks = githubMasks(variables).split('\n').slice(0, -1);
      for (const line of masks) assert.match(line, /^::add-mask::/);
      const unmasked = masks.map((line) =>
        line.slice('::add-mask::'.length).replaceAll('%0D', '\r').replaceAll('%25', '%'),
      );
      const wanted = text.split(/\r?\n/).filter((line) => line.trim().length >= 4);
      assert.deepEqual(new Set(unmasked), new Set(wanted));
    }),
  );
});
