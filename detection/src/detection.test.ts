import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { CONFIDENCES, Detection, detect, detectSteps, isAtLeast, type Match, originOf } from './index.ts';
import { withoutOverlaps } from './match.ts';
import { joined, percentDecoded, unescaped, withoutInvisible, withoutNumericEscapes } from './unfolding.ts';

/** Put together here, so that this file has none. */
const TOKEN = ['ghp', 'a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8'].join('_');
const HEX = ['9f86d081', '884c7d65', '9a2feaa0', 'c55ad015'].join('');
const RANDOM = ['q7Rk2mVx', 'B91tYc4L', 'pW8sZd3H', 'nE6fJa5G'].join('');
const CHOSEN = ['Winter', '-Garden', '#27'].join('');
/** Letters alone, in no order. */
const LETTERS = ['wjXKCFzOWE', 'PRqhTmmbWt', 'VQzLpNdGhB'].join('');
/** Shorter than what looks random beside no name. */
const SHORT = ['OTM0Bp', '42sFTRB'].join('');
const BASE64 = Buffer.from(CHOSEN).toString('base64');
const UUID = ['5eb4223e', '5008', '46e5', 'be67', 'c7b8f2732305'].join('-');

const inFile = (file: string, text: string) => detect(text, { file, isThorough: false });
const sure = (matches: readonly Match[]) => matches.filter(({ confidence }) => isAtLeast(confidence, 'medium'));
const valuesIn = (file: string, text: string) =>
  sure(inFile(file, text)).map(({ start, end }) => text.slice(start, end));

describe('a value beside the name of a secret is found as a language writes it', () => {
  const cases: [file: string, text: string][] = [
    ['a.ts', `const apiToken: string = "${RANDOM}";`],
    ['a.go', `var apiToken string = "${RANDOM}"`],
    ['a.go', `apiToken := \`${RANDOM}\``],
    ['a.kt', `val apiToken: String = "${RANDOM}"`],
    ['a.rs', `const API_TOKEN: &'static str = "${RANDOM}";`],
    ['a.swift', `let apiToken: String? = "${RANDOM}"`],
    ['a.cs', `private readonly string apiToken = @"${RANDOM}";`],
    ['a.py', `API_TOKEN: Final[str] = b'${RANDOM}'`],
    ['a.php', `define('API_TOKEN', '${RANDOM}');`],
    ['a.php', `$config['api_token'] = '${RANDOM}';`],
    ['A.java', `System.setProperty("API_TOKEN", "${RANDOM}");`],
    ['a.go', `os.Setenv("API_TOKEN", "${RANDOM}")`],
    ['a.rb', `ENV["API_TOKEN"] ||= "${RANDOM}"`],
    ['Makefile', `API_TOKEN ?= ${RANDOM}`],
    ['Makefile', `API_TOKEN ::= ${RANDOM}`],
    ['Makefile', `API_TOKEN :::= "${RANDOM}"`],
    ['a.yaml', `api_token: |\n  ${RANDOM}\n`],
    ['a.yaml', `api_token: >-\n  ${RANDOM}\n`],
    ['a.yaml', `env:\n  - name: API_TOKEN\n    value: ${RANDOM}\n`],
    ['a.json', `{"name": "API_TOKEN", "value": "${RANDOM}"}`],
    ['a.json', `{"settings": "{\\"api_token\\": \\"${RANDOM}\\"}"}`],
    ['a.tf', `variable "api_token" {\n  type    = string\n  default = "${RANDOM}"\n}`],
    ['Dockerfile', `ENV API_TOKEN ${RANDOM}`],
    ['Dockerfile', `ARG API_TOKEN=${RANDOM}`],
    ['a.xml', `<apiToken>\n  ${RANDOM}\n</apiToken>`],
    ['a.config', `<add key="ApiToken" value="${RANDOM}" />`],
    ['a.plist', `<key>ApiToken</key>\n<string>${RANDOM}</string>`],
    ['.env', `DB_PASSWORD=${HEX}`],
    ['.env', `DB_PASSWORD='${CHOSEN}'`],
    ['.env', `HEROKU_API_KEY=${UUID}`],
    ['a.ini', `password = ${CHOSEN}`],
    ['a.js', `if ("${CHOSEN}" === password) {`],
    ['a.php', `$tokens[] = "${RANDOM}";`],
    ['a.ts', `const apiToken = "${LETTERS}";`],
    ['a.ts', `const session_token = "${UUID}";`],
    ['a.yaml', `client_secret: "${SHORT}"`],
    ['a.env', `Key=sk_live_mykey_${HEX}`],
  ];
  for (const [file, text] of cases) {
    test(`${file}: ${text.slice(0, 44).replaceAll('\n', '⏎')}`, () => {
      const values = valuesIn(file, text);
      assert.ok(
        values.some((value) => [RANDOM, HEX, CHOSEN, UUID, LETTERS, SHORT, `sk_live_mykey_${HEX}`].includes(value)),
        JSON.stringify(inFile(file, text)),
      );
    });
  }
});

describe('a file that lists credentials is read as its program reads it', () => {
  const cases: [file: string, text: string, value: string][] = [
    ['.pgpass', `db.example.com:5432:shop:app:${CHOSEN}`, CHOSEN],
    ['.netrc', `machine mail.example.com\n  login ann\n  password ${CHOSEN}`, CHOSEN],
    ['.npmrc', `//registry.example.com/:_authToken=${HEX}`, HEX],
    ['.git-credentials', `https://ann:${HEX}@git.example.com`, HEX],
    ['.htpasswd', `ann:$apr1$dbOz$${HEX}`, `$apr1$dbOz$${HEX}`],
    ['config/master.key', HEX, HEX],
    ['.docker/config.json', `{"auths": {"a": {"auth": "${RANDOM}"}}}`, RANDOM],
    ['run.sh', `curl -u ann:${CHOSEN} https://example.com`, CHOSEN],
    ['run.sh', `docker login r.example.com -u ann -p ${CHOSEN}`, CHOSEN],
    ['a.yaml', `kind: Secret\ndata:\n  anything: ${BASE64}\n`, BASE64],
    ['run.sh', `mysql -h db -p${CHOSEN} shop`, CHOSEN],
  ];
  for (const [file, text, value] of cases)
    test(file, () => assert.deepEqual(valuesIn(file, text).slice(0, 1), [value], JSON.stringify(inFile(file, text))));
});

test('a key of Azure is found by the mark in it, wherever it stands', () => {
  const letters = (RANDOM + LETTERS).repeat(3);
  const keys = [
    `${letters.slice(0, 42)}+ACR${RANDOM.slice(0, 6)}`,
    `${letters.slice(0, 76)}+ASt${RANDOM.slice(0, 6)}==`,
    `${letters.slice(0, 33)}+ASb${RANDOM.slice(0, 6)}=`,
    `${letters.slice(0, 52)}JQQJ99${letters.slice(0, 26)}`,
    `0.A${letters.slice(0, 40)}.AgABAA${letters.slice(0, 90)}`,
  ];
  for (const key of keys) assert.deepEqual(valuesIn('notes.txt', `the new one is ${key} for now`), [key]);
});

describe('what is no secret is not reported', () => {
  const cases: [file: string, text: string][] = [
    ['go.sum', `golang.org/x/net v0.1.0 h1:${RANDOM}AAAAAAAAAAA=`],
    ['a.md', `commit ${HEX}${HEX.slice(0, 8)}`],
    ['a.json', `{"id": "${UUID}", "session": "${UUID}"}`],
    ['a.json', '{"Action": "iam:PassedToService", "token_action": "sts:GetSessionToken"}'],
    ['.env', 'API_TOKEN=your-api-token-goes-here-123456'],
    ['.env', 'API_TOKEN=${' + 'SECRETS_API_TOKEN_1}'],
    ['a.py', 'password = os.environ["DB_PASSWORD_2"]'],
    ['a.ts', 'const tokenLength = countTokens1(input4, settings2.tokenMax16);'],
    ['a.ts', `const tokenHash = 'sha256-${RANDOM}';`],
    ['a.tf', 'password = var.db_password_2'],
    ['a.ts', "const tokenName = 'oAuth2Token1Url';"],
    ['a.ts', `const tokenId = "${UUID}";`],
    ['a.yaml', 'secretKeyRef:\n  name: shop-db-2\n  key: password'],
  ];
  for (const [file, text] of cases) test(text.slice(0, 50), () => assert.deepEqual(valuesIn(file, text), []));
});

describe('a text in pieces', () => {
  const filler = 'an ordinary line of text, which says nothing\n';
  const pem = (body: string) =>
    ['-----BEGIN', ' RSA PRIVATE KEY-----\n', body, '\n-----END', ' RSA PRIVATE KEY-----'].join('');

  const certificate = [
    '-----BEGIN',
    ` CERTIFICATE-----\n${`${RANDOM}${RANDOM}\n`.repeat(40)}-----END`,
    ' CERTIFICATE-----\n',
  ].join('');
  /** What goes on over several lines, and what a window must not see a part of. */
  const blocks = [
    `${pem(`${RANDOM}${RANDOM}\n`.repeat(40))}\n`,
    certificate,
    `token = "${TOKEN}"\n`,
    `password: |\n  ${CHOSEN}\n`,
    `env:\n  - name: API_TOKEN\n    value: ${RANDOM}\n`,
    `kind: Secret\ndata:\n  anything: ${BASE64}\n---\n`,
    `"${TOKEN.slice(0, 20)}" +\n  "${TOKEN.slice(20)}"\n`,
    `${Buffer.from(`token: ${TOKEN} and words`).toString('base64')}\n`,
    `db = "postgres://app:${CHOSEN}@db/shop"\r\n`,
    "it's an odd quote\n",
  ];

  /** As it would be without windows. */
  function atOnce(text: string): Match[] {
    const steps = detectSteps(text, { file: null, isThorough: false });
    for (let step = steps.next(); ; step = steps.next()) if (step.done === true) return withoutOverlaps(step.value);
  }

  test('has the same matches at the same positions, wherever it is cut, and wherever a window ends', () => {
    const around = fc.array(fc.constantFrom(...blocks, filler), { minLength: 20, maxLength: 60 });
    const lengths = fc.array(fc.integer({ min: 1000, max: 700_000 }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 90_000 }), around, lengths, (earlier, chosen, cuts) => {
        const before = filler.repeat(Math.floor((1_048_576 - earlier) / filler.length));
        const text = `${before}${chosen.join('')}${filler.repeat(1000)}${chosen.join('')}`;
        const detection = new Detection({ file: null, isThorough: false });
        const found: Match[] = [];
        let at = 0;
        for (let i = 0; at < text.length; i++) {
          const end = at + (cuts[i % cuts.length] ?? 1);
          found.push(...detection.push(text.slice(at, end)));
          at = end;
        }
        found.push(...detection.end());
        assert.ok(isDeepStrictEqual(found, atOnce(text)), `${JSON.stringify(found)}\n${JSON.stringify(atOnce(text))}`);
      }),
      { numRuns: 6, endOnFailure: true },
    );
  });

  test('has matches in their order, apart and inside of it, whatever it is', () => {
    const parts = [
      'password=',
      '"',
      "'",
      TOKEN,
      '://u:',
      '@h',
      pem('A'.repeat(20)),
      '\n',
      'Bearer ',
      '\\"',
      '%41',
      '<key>',
    ];
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.constantFrom(...parts), fc.string())), fc.boolean(), (chosen, isThorough) => {
        const text = chosen.join('');
        let end = 0;
        for (const match of detect(text, { file: 'any.txt', isThorough })) {
          assert.ok(match.start >= end && match.end > match.start && match.end <= text.length);
          assert.ok(CONFIDENCES.includes(match.confidence));
          end = match.end;
        }
      }),
    );
  });
});

test('every character of an unfolded text knows where it comes from', () => {
  const text = 'a%41b \\u0042 "x" + "y" \uff21\u200bz';
  for (const [unfold, part, source] of [
    [percentDecoded, 'aAb', 'a%41b'],
    [unescaped, ' B ', ' \\u0042 '],
    [withoutNumericEscapes, ' B ', ' \\u0042 '],
    [joined, '"xy"', '"x" + "y"'],
    [withoutInvisible, 'Az', '\uff21\u200bz'],
  ] as const) {
    for (const reach of [Number.POSITIVE_INFINITY, 3]) {
      const unfolded = unfold(text, reach);
      assert.ok(unfolded !== null);
      const at = unfolded.text.indexOf(part);
      const { start, end } = originOf(unfolded, at, at + part.length);
      assert.equal(text.slice(start, end), source);
    }
  }
});

describe('a secret that is encoded once is found', () => {
  const encoded: Record<string, string> = {
    'in base64': Buffer.from(`token: ${TOKEN}`).toString('base64'),
    'by its numbers': [...TOKEN].map((letter) => `\\x${letter.charCodeAt(0).toString(16)}`).join(''),
    'percent-encoded': [...TOKEN].map((letter) => `%${letter.charCodeAt(0).toString(16)}`).join(''),
    'in two literals': `"${TOKEN.slice(0, 20)}" +\n  "${TOKEN.slice(20)}"`,
    'after the escape of a line end': `"first\\n${TOKEN}"`,
  };
  for (const [how, text] of Object.entries(encoded))
    test(how, () => assert.ok(sure(inFile('a.ts', `const x = ${text};`)).some(({ rule }) => rule === 'github-token')));
});
