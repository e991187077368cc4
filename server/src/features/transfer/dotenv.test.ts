import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DOTENV_ASSIGNMENTS_MAX, DOTENV_BYTES_MAX, DOTENV_ENTRIES_MAX, DotenvError, parseDotenv } from './dotenv.ts';

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
    ['A=`it\'s "$X" \\n`', 'it\'s "$X" \\n'],
    ['A=`two\nlines` # comment', 'two\nlines'],
    ['A=``', ''],
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

  test('however its lines end, and with a byte order mark, a file reads the same', () => {
    const unix = '# comment\nA=1\nB="x\ny" # c\nC=\'\n\'\n\nD=4 # d\nE=5';
    for (const lineEnd of ['\r\n', '\r']) {
      assert.deepEqual(parseDotenv(`\ufeff${unix.replaceAll('\n', lineEnd)}`), parseDotenv(unix));
    }
    assert.deepEqual(parseDotenv('# comment\rA=1\r\nB="x\ry" # c\nC=\'\r\n\'\r\rD=4 # d\r\nE=5\r'), parseDotenv(unix));
    assert.deepEqual(read('A="x\\r\\ny"'), { A: 'x\r\ny' });
  });

  test('keys with dots, dashes and digits in front are those of libraries', () => {
    assert.deepEqual(read('spring.datasource.url=1\nfeature-flag=2\n2FA=3\nexport a.b-c = 4'), {
      'spring.datasource.url': '1',
      'feature-flag': '2',
      '2FA': '3',
      'a.b-c': '4',
    });
  });

  test('of lines with the same key the last one counts, and is reported once', () => {
    const { entries } = parseDotenv('A=1\nB=2\nA=$X\n\nA="3"\nC=4');
    assert.deepEqual(entries.map(({ key, value, line, warnings }) => [key, value, line, ...warnings]).sort(), [
      ['A', '3', 5, 'repeated_key'],
      ['B', '2', 2],
      ['C', '4', 6],
    ]);
    assert.equal(parseDotenv('A=1\n'.repeat(DOTENV_ASSIGNMENTS_MAX)).entries.length, 1);
  });

  test('what a shell would replace is imported as it is and reported', () => {
    const warningsOf = (text: string) => parseDotenv(text).entries.flatMap(({ warnings }) => warnings);
    const reported = [`A=\${X}`, `A=a\${X:-b}c`, 'A=$X', 'A=$(id)', `A="\${X}"`, 'A="\\$Y $X"', 'A=$_x'];
    for (const text of reported) assert.deepEqual(warningsOf(text), ['unexpanded_variable'], text);
    assert.deepEqual(read(`A=a\${X:-b}c`), { A: `a\${X:-b}c` });
    const quoted = [`A='\${X}'`, `A=\`\${X}\``, `A="\\\${X}"`];
    const plain = [...quoted, 'A=$5', 'A=a$', 'A=$$', 'A="$ {X}"', `A=1 # \${X}`, `# \${X}`];
    for (const text of plain) assert.deepEqual(warningsOf(text), [], text);
    assert.deepEqual(warningsOf('A=1\nA=$X'), ['repeated_key', 'unexpanded_variable']);
  });

  test('what cannot be meant is refused with its line', () => {
    refused('A', 1, /KEY=value/);
    refused('A=1\nexport B\n', 2, /KEY=value/);
    refused('A=1\n\n=x', 3, /KEY=value/);
    for (const key of ['A/B', 'A:B', 'É', 'A B', '"A"', "'A'"]) refused(`${key}=1`, 1, /KEY=value/);
    refused("A=1\nB='x\ny", 2, /never closed/);
    refused('A=1\nB="x\ny\\"', 2, /never closed/);
    refused('A="x\\', 1, /never closed/);
    refused('A="x\ny" z', 2, /after the closing quote/);
    refused("A='it'\\''s'", 1, /after the closing quote/);
    refused('A=`x', 1, /never closed/);
    refused('A=`x` y', 1, /after the closing quote/);
    refused('A=1\nB=\0', 2, /NUL/);
    refused('A=1\nB="\ud800"', 2, /surrogate/);
  });

  test('bounds', () => {
    const lines = Array.from({ length: DOTENV_ENTRIES_MAX }, (_, index) => `K${index}=1\n`).join('');
    assert.equal(parseDotenv(lines).entries.length, DOTENV_ENTRIES_MAX);
    refused('A=1\n'.repeat(DOTENV_ASSIGNMENTS_MAX + 1), DOTENV_ASSIGNMENTS_MAX + 1, /maximum of 10000 lines/);
    refused(`${lines}ONE_MORE=1`, DOTENV_ENTRIES_MAX + 1, /maximum of 1000 entries/);
    assert.equal(read(`A=${'x'.repeat(DOTENV_BYTES_MAX - 2)}`)['A']?.length, DOTENV_BYTES_MAX - 2);
    refused(`A=${'x'.repeat(DOTENV_BYTES_MAX - 1)}`, 1, /2 MiB/);
    refused(`A=${'é'.repeat(DOTENV_BYTES_MAX / 2)}`, 1, /2 MiB/);
  });

  // A parser with quadratic run time would exceed the timeout of this file on these inputs.
  test('hostile files take no longer than others', () => {
    const size = DOTENV_BYTES_MAX - 10;
    const many = (unit: string) => unit.repeat(Math.floor(size / unit.length));
    parseDotenv(`A=x${' '.repeat(size - 10)}y`);
    parseDotenv(many('\r\n'));
    parseDotenv(many('\r'));
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
    for (const text of [marker, `A='${marker}`, `A="${marker}" ${marker}`, `A=\`${marker}`, `${marker}/x=1`]) {
      assert.throws(
        () => parseDotenv(text),
        (error) => error instanceof DotenvError && !JSON.stringify([error.message, error]).includes(marker),
      );
    }
  });
});
