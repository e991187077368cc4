import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseEnv } from 'node:util';
import fc from 'fast-check';
import { DOTENV_BYTES_MAX, DOTENV_ENTRIES_MAX, DotenvError, formatDotenv, parseDotenv } from './dotenv.ts';

function read(text: string): Record<string, string> {
  return Object.fromEntries(parseDotenv(text).entries.map(({ key, value }) => [key, value]));
}

function refused(text: string, line: number, reason: RegExp): void {
  assert.throws(
    () => parseDotenv(text),
    (error) => error instanceof DotenvError && error.line === line && reason.test(error.reason),
    JSON.stringify(text),
  );
}

describe('reading', () => {
  const values: [string, string][] = [
    ['A=value', 'value'],
    ['export A=value', 'value'],
    ['  export\tA = value  ', 'value'],
    ['A=', ''],
    ['A=   ', ''],
    ['A=a b  c', 'a b  c'],
    ['A=value # a comment', 'value'],
    ['A=value\t# a comment', 'value'],
    ['A= # a comment', ''],
    ['A=#not a comment', '#not a comment'],
    ['A=a#b', 'a#b'],
    ['A=$HOME/{X}/`id`/$(id)', '$HOME/{X}/`id`/$(id)'],
    ['A=a\\nb', 'a\\nb'],
    ["A=it's", "it's"],
    ['A=say "x"', 'say "x"'],
    ['A=b=c==', 'b=c=='],
    ["A='single # quoted'", 'single # quoted'],
    ["A='$X \\n \"'", '$X \\n "'],
    ["A=''", ''],
    ["A=' padded ' # comment", ' padded '],
    ["A='two\nlines'", 'two\nlines'],
    ['A="double # quoted"', 'double # quoted'],
    ['A=""', ''],
    ['A="\\n\\r\\t\\"\\\\\\$\\`"', '\n\r\t"\\$`'],
    ['A="$X \\d \\\' it\'s"', "$X \\d \\' it's"],
    ['A="two\nlines"', 'two\nlines'],
    ['A="x"# comment', 'x'],
    ['A=  "x"  ', 'x'],
    ['A=é🔑\u2028\u00a0', 'é🔑\u2028\u00a0'],
  ];
  for (const [text, value] of values) {
    test(JSON.stringify(text), () => {
      assert.deepEqual(read(text), { A: value });
      assert.deepEqual(read(`# before\n\n${text}\n`), { A: value });
      assert.deepEqual(read(`${text}\nB=next`), { A: value, B: 'next' });
    });
  }

  test('blank lines and comments are nothing', () => {
    assert.deepEqual(read(''), {});
    assert.deepEqual(read('\n \n\t\n# A=1\n  # B=2'), {});
    assert.deepEqual(read('export=1\n_=2\na1_B=3'), { export: '1', _: '2', a1_B: '3' });
  });

  test('lines are counted, also through values of several lines', () => {
    const { entries } = parseDotenv('# comment\nA=1\n\nB="x\ny\nz"\nC=\'\n\'\nD=4');
    assert.deepEqual(
      entries.map(({ key, line }) => [key, line]),
      [
        ['A', 2],
        ['B', 4],
        ['C', 7],
        ['D', 9],
      ],
    );
  });

  test('a file saved with CR LF and a byte order mark reads the same', () => {
    const unix = '# comment\nA=1\nB="x\ny" # c\nC=\'\n\'\n\nD=4 # d\nE=5';
    assert.deepEqual(parseDotenv(`\ufeff${unix.replaceAll('\n', '\r\n')}`), parseDotenv(unix));
    assert.deepEqual(read('A=1\r'), { A: '1' });
  });

  test('in a file of plain lines a CR LF inside quotes is part of the value', () => {
    assert.deepEqual(read("A='x\r\ny'\nB=2\r\n"), { A: 'x\r\ny', B: '2' });
  });

  test('what cannot be meant is refused with its line', () => {
    refused('A', 1, /KEY=value/);
    refused('A=1\nexport B\n', 2, /KEY=value/);
    refused('A=1\n\n=x', 3, /KEY=value/);
    for (const key of ['1A', 'A.B', 'A-B', 'A/B', 'É', 'A B', '"A"', "'A'"]) refused(`${key}=1`, 1, /KEY=value/);
    refused("A=1\nB='x\ny", 2, /never closed/);
    refused('A=1\nB="x\ny\\"', 2, /never closed/);
    refused('A="x\\', 1, /never closed/);
    refused('A="x\ny" z', 2, /behind the closing quote/);
    refused("A='it'\\''s'", 1, /behind the closing quote/);
    refused('A=1\nB=2\n\nA=3', 4, /^repeats the key of line 1$/);
    refused('A=1\nB=\0', 2, /NUL/);
    refused('A=1\nB="\ud800"', 2, /surrogate/);
  });

  test('bounds', () => {
    const lines = Array.from({ length: DOTENV_ENTRIES_MAX }, (_, index) => `K${index}=1\n`).join('');
    assert.equal(parseDotenv(lines).entries.length, DOTENV_ENTRIES_MAX);
    refused(`${lines}ONE_MORE=1`, DOTENV_ENTRIES_MAX + 1, /more than the 1000/);
    assert.equal(read(`A=${'x'.repeat(DOTENV_BYTES_MAX - 2)}`)['A']?.length, DOTENV_BYTES_MAX - 2);
    refused(`A=${'x'.repeat(DOTENV_BYTES_MAX - 1)}`, 1, /2 MiB/);
    refused(`A=${'é'.repeat(DOTENV_BYTES_MAX / 2)}`, 1, /2 MiB/);
  });

  // Read in quadratic time, these would run into the time-out of the file.
  test('hostile files take no longer than others', () => {
    const size = DOTENV_BYTES_MAX - 10;
    const many = (unit: string) => unit.repeat(Math.floor(size / unit.length));
    parseDotenv(`A=x${' '.repeat(size - 10)}y`);
    parseDotenv(many('\r\n'));
    parseDotenv(many('# \n'));
    parseDotenv(`A="${many('\\\\').slice(0, -10)}"`);
    for (const odd of [many(' '), many('export '), many('A '), `A='${many('"')}`, `A="${many('\\"')}`, many('\t\r')]) {
      try {
        parseDotenv(odd);
      } catch (error) {
        assert.ok(error instanceof DotenvError);
      }
    }
  });

  test('no error repeats the file', () => {
    const marker = 'S3cretMarker';
    for (const text of [
      marker,
      `A='${marker}`,
      `A="${marker}" ${marker}`,
      `${marker}-x=1`,
      `A=${marker}\nA=${marker}`,
    ]) {
      assert.throws(
        () => parseDotenv(text),
        (error) => error instanceof DotenvError && !JSON.stringify([error.message, error]).includes(marker),
      );
    }
  });
});

describe('writing', () => {
  const key = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,10}$/);
  const tricky = fc
    .array(
      fc.constantFrom(
        "'",
        '"',
        '\\',
        '$',
        '`',
        '\n',
        '\r',
        '\r\n',
        '\t',
        ' ',
        '#',
        ' #',
        '=',
        'n',
        '!',
        '~',
        '\ufeff',
        'é',
      ),
    )
    .map((parts) => parts.join(''));
  const any = fc.string({ unit: 'binary' }).map((text) => text.replaceAll('\0', ''));
  const entries = fc.uniqueArray(
    fc.record({ key, value: fc.oneof(tricky, any, fc.string()) }, { noNullPrototype: true }),
    {
      selector: (entry) => entry.key,
    },
  );

  test('whatever is written is read back, and nothing else', () => {
    fc.assert(
      fc.property(entries, (given) => {
        const back = parseDotenv(formatDotenv(given)).entries.map(({ key, value }) => ({ key, value }));
        assert.deepEqual(back, given);
      }),
      { numRuns: 2000 },
    );
  });

  // Node reads like the common library: it keeps the backslashes a shell needs in double quotes, and takes no CR.
  test('Node itself reads the same, unless a value has a single quote together with what a shell would expand', () => {
    fc.assert(
      fc.property(entries, (given) => {
        const isEscaped = (value: string) => value.includes("'") && /[\\"$`]/.test(value);
        const shared = given.filter(({ value }) => !isEscaped(value) && !value.includes('\r'));
        const expected = Object.fromEntries(shared.map(({ key, value }) => [key, value]));
        assert.deepEqual({ ...parseEnv(formatDotenv(shared)) }, expected);
      }),
      { numRuns: 1000 },
    );
  });

  test('plain values stay bare, others get single quotes, and only a single quote makes it double quotes', () => {
    const written = formatDotenv([
      { key: 'EMPTY', value: '' },
      { key: 'URL', value: 'https://example.com:8080/a?b' },
      { key: 'BASE64', value: 'a+b/c==' },
      { key: 'SPACED', value: 'a b' },
      { key: 'LINES', value: 'a\nb' },
      { key: 'MONEY', value: '$HOME `id` \\n "' },
      { key: 'APOSTROPHE', value: 'it\'s $5 `\\"' },
    ]);
    assert.equal(
      written,
      [
        'EMPTY=',
        "URL='https://example.com:8080/a?b'",
        'BASE64=a+b/c==',
        "SPACED='a b'",
        "LINES='a",
        "b'",
        "MONEY='$HOME `id` \\n \"'",
        'APOSTROPHE="it\'s \\$5 \\`\\\\\\""',
        '',
      ].join('\n'),
    );
  });

  test('what could not be read back is not written', () => {
    const bad: { key: string; value: string }[][] = [
      [{ key: 'a-b', value: '' }],
      [{ key: '', value: '' }],
      [{ key: 'A\nB', value: '' }],
      [
        { key: 'A', value: '' },
        { key: 'A', value: '' },
      ],
      [{ key: 'A', value: '\0' }],
      [{ key: 'A', value: '\ud800' }],
      [{ key: 'A', value: 'x'.repeat(DOTENV_BYTES_MAX) }],
      Array.from({ length: DOTENV_ENTRIES_MAX + 1 }, (_, index) => ({ key: `K${index}`, value: '' })),
    ];
    for (const given of bad) assert.throws(() => formatDotenv(given), DotenvError);
  });
});
