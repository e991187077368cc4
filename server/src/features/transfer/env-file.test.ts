import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  BASH,
  DOCKER_READER,
  DOTENV_READERS,
  type EnvReader,
  variablesOfBash,
} from '../../../../test/support/env-readers.ts';
import { type EnvFileFormat, envFileLine, envFileRefusal, variableName } from './env-file.ts';

interface Entry {
  name: string;
  value: string;
}

const FILES = 40;
const ENTRIES_MAX = 40;
const READERS: Record<EnvFileFormat, readonly EnvReader[]> = {
  dotenv: DOTENV_READERS,
  docker: [DOCKER_READER],
  shell: [BASH],
};
const FORMATS = Object.keys(READERS) as EnvFileFormat[];

/** Characters that some reader treats specially, in any order. */
const tricky = fc
  .array(
    fc.constantFrom(
      ...["'", '"', '\\', '$', '`', '\n', '\r', '\r\n', '\t', ' ', '#', ' #', '=', '{', '}', `\${A}`, '$(A)', 'n', 'A'],
      ...[
        '!',
        '~',
        '%',
        '&',
        ';',
        '|',
        '<',
        '*',
        '?',
        '(',
        ')',
        ':',
        ',',
        '\ufeff',
        '\u2028',
        '\u0085',
        '\u00a0',
        'é',
        '🔑',
      ],
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(''));
const binary = fc.string({ unit: 'binary' }).map((text) => text.replaceAll('\0', ''));
const files = fc.array(fc.oneof(tricky, binary, fc.string(), fc.base64String()), { maxLength: ENTRIES_MAX });

/** The values that can be written in this format, each under its own name. */
function writable(format: EnvFileFormat, values: readonly string[]): Entry[] {
  return values
    .map((value, i) => ({ name: `K${i}`, value }))
    .filter(({ name, value }) => envFileRefusal(format, name, value) === null);
}

const textOf = (format: EnvFileFormat, entries: readonly Entry[]) =>
  entries.map(({ name, value }) => envFileLine(format, name, value)).join('');
const asObject = (entries: readonly Entry[]) => Object.fromEntries(entries.map(({ name, value }) => [name, value]));

describe('whatever is written is read back, and nothing else', () => {
  for (const format of FORMATS) {
    for (const { name, skip, read } of READERS[format]) {
      test(`${format}, by ${name}`, { skip }, () => {
        const seed = Date.now();
        const given = fc.sample(files, { numRuns: FILES, seed }).map((values) => writable(format, values));
        assert.ok(given.flat().length > FILES, 'nearly everything was refused');
        const found = read(given.map((entries) => textOf(format, entries)));
        assert.equal(found.length, FILES);
        for (const [i, entries] of given.entries()) {
          assert.deepEqual({ ...found[i] }, asObject(entries), `seed ${seed}, file ${i}`);
        }
      });
    }
  }
});

describe('what people keep', () => {
  const everyday = {
    EMPTY: '',
    URL: 'postgres://shop:p%40ss@db.internal:5432/shop?sslmode=require&x=1#main',
    BASE64: 'a+b/c==',
    EQUALS: '=ls',
    SPACED: ' a  b ',
    MONEY: '$HOME $5 `id` $(id) !x ~',
    REGEXP: '^\\d+\\.\\w$',
    WINDOWS: 'C:\\new\\table',
    JSON: '{"a": ["b", 1], "c": "#d"}',
    APOSTROPHE: "it's #1",
    UNICODE: 'é🔑\u2028',
  };
  const severalLines = { KEY: '-----BEGIN KEY-----\nMIIE+/=\n-----END KEY-----\n', LAST: '\n' };

  for (const format of FORMATS) {
    for (const { name, skip, read } of READERS[format]) {
      test(`${format}, by ${name}`, { skip }, () => {
        const given = format === 'docker' ? everyday : { ...everyday, ...severalLines };
        const entries = Object.entries(given).map(([name, value]) => ({ name, value }));
        assert.deepEqual({ ...read([textOf(format, entries)])[0] }, given);
      });
    }
  }

  test('is written without quotes where it can be, and with single ones where quotes are needed', () => {
    const written = (value: string) => envFileLine('dotenv', 'A', value);
    assert.equal(written(''), 'A=\n');
    assert.equal(written('a+b/c=='), 'A=a+b/c==\n');
    assert.equal(written('a b'), "A='a b'\n");
    assert.equal(written('=a'), "A='=a'\n");
    assert.equal(written("it's"), 'A="it\'s"\n');
    assert.equal(envFileLine('shell', 'A', `it's "$5"`), `export A='it'\\''s "$5"'\n`);
    assert.equal(envFileLine('docker', 'A', '\'a\' "b"'), 'A=\'a\' "b"\n');
  });
});

describe('what is refused', () => {
  const refused: [EnvFileFormat, string, string, RegExp][] = [
    ['dotenv', 'A', 'a\rb', /carriage return/],
    ['dotenv', 'A', 'a\r\nb', /carriage return/],
    ['dotenv', 'A', `a \${B} c`, /python-dotenv/],
    ['dotenv', 'A', `it's "x"`, /single quote/],
    ['dotenv', 'A', `it's $5`, /single quote/],
    ['dotenv', 'A', `it's \`x\``, /single quote/],
    ['dotenv', 'A', `it's \\n`, /single quote/],
    ['dotenv', 'A', '\\\\server\\share', /backslashes/],
    ['dotenv', 'A', 'C:\\', /backslashes/],
    ['shell', 'BASH_COMMAND', 'x', /is reserved by bash or a library/],
    ['docker', 'A', 'a\nb', /line break/],
    ['docker', 'A', 'a\r', /line break/],
    ['docker', 'A', 'x'.repeat(64 * 1024), /bytes of a line/],
  ];
  for (const format of FORMATS) {
    refused.push([format, 'A', 'a\0b', /NUL/], [format, 'A', '\ud800', /surrogate/]);
    for (const name of ['', 'a-b', 'a.b', '1a', 'A\nB', 'É'])
      refused.push([format, name, 'x', /not valid for an environment variable/]);
  }
  for (const name of ['_', 'UID', 'SHLVL', 'RANDOM', '__proto__'])
    refused.push(['dotenv', name, 'x', /is reserved by bash or a library/]);

  test('has a reason, is not written, and is not repeated', () => {
    for (const [format, name, value, reason] of refused) {
      assert.match(String(envFileRefusal(format, name, value)), reason, JSON.stringify([format, name, value]));
      assert.throws(() => envFileLine(format, name, value), reason);
    }
    const marker = "S3cret'Marker";
    const unwritable = `${marker}\${X}"`;
    assert.throws(
      () => envFileLine('dotenv', 'A', unwritable),
      (error) => !String(error).includes(marker),
    );
  });

  test('is the longest line of Docker plus one byte', () => {
    const [reader] = READERS.docker;
    const longest = 'x'.repeat(64 * 1024 - 'A=\n'.length);
    assert.deepEqual(reader?.read([envFileLine('docker', 'A', longest)]), [{ A: longest }]);
    assert.notEqual(envFileRefusal('docker', 'A', `${longest}x`), null);
  });

  const { skip, read } = BASH;
  // A newer bash may have more such variables, which must be added then.
  test('has every variable that bash does not pass on as it was given', { skip }, () => {
    const names = variablesOfBash().filter((name) => envFileRefusal('dotenv', name, 'abc') === null);
    assert.ok(names.length > 10);
    const found = read(names.map((name) => envFileLine('dotenv', name, 'abc')));
    const lost = names.filter((name, i) => found[i]?.[name] !== 'abc');
    assert.deepEqual(lost, []);
  });
});

test('a path becomes a name that programs accept', () => {
  const names = { DB_URL: 'DB_URL', _c: '_c', 'db/password': 'DB_PASSWORD', 'api-key.v2': 'API_KEY_V2', '1st': '_1ST' };
  for (const [path, name] of Object.entries(names)) assert.equal(variableName(path), name);
});
