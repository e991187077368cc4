import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { commentsAndIdentifiers, type SourceText } from '../support/source-text.ts';

/** Names and comments use the words that an engineer would search for. Each rule has what to write instead. */
interface Rule {
  word: string;
  /** In comments. */
  phrase: RegExp;
  /** As one part of a name such as `isTaken` or `forget_at`. */
  part?: RegExp;
  instead: string;
}

const RULES: readonly Rule[] = [
  { word: 'whoever', phrase: /\bwhoever\b/gi, instead: 'anyone who, the caller, the owner' },
  { word: 'who asked', phrase: /\bwho ask(?:s|ed)\b/gi, instead: 'the requester, the caller' },
  { word: 'those who', phrase: /\bthose who\b/gi, instead: 'users who' },
  { word: 'who may not', phrase: /\bwho may not\b/gi, instead: 'a caller without the permission' },
  { word: 'what is gone', phrase: /\bwhat is gone\b/gi, instead: 'a deleted row' },
  { word: 'asked', phrase: /\basked\b/gi, part: /^asked$/i, instead: 'requested, queried, prompted' },
  { word: 'kept', phrase: /\bkept\b/gi, part: /^kept$/i, instead: 'cached, stored' },
  { word: 'remember', phrase: /\bremember(?:s|ed)?\b/gi, part: /^remember(?:s|ed)?$/i, instead: 'cache, store' },
  {
    word: 'forget',
    phrase: /\bforg[eo]t(?:s|ten)?\b/gi,
    part: /^forg[eo]t(?:s|ten)?$/i,
    instead: 'delete, evict',
  },
  { word: 'words', phrase: /\b(?:words|worded)\b/gi, part: /^(?:words|worded)$/i, instead: 'serialized, JSON, label' },
  { word: 'gather', phrase: /\bgather(?:s|ed)?\b/gi, part: /^gather(?:s|ed)?$/i, instead: 'batch, collect' },
  {
    word: 'lane',
    phrase: /\b(?:lanes?|lump(?:s|ed)?)\b/gi,
    part: /^(?:lanes?|lumps?)$/i,
    instead: 'batch, connection',
  },
  { word: 'foresee', phrase: /\bforese(?:e|es|en)\b/gi, part: /^forese(?:e|es|en)$/i, instead: 'prefetch' },
  { word: 'taken', phrase: /\btaken\b/gi, part: /^taken$/i, instead: 'acquired, leased, accepted' },
  { word: 'looked at', phrase: /\blook(?:s|ed) at\b/gi, instead: 'checked, read' },
  { word: 'mend', phrase: /\bmend(?:s|ed)?\b/gi, part: /^mend(?:s|ed)?$/i, instead: 'repair' },
  { word: 'told of', phrase: /\b(?:told|tells) of\b/gi, instead: 'notified of' },
  { word: 'factsOf', phrase: /\b(?:factsOf|pathIn)\b/g, part: /^(?!)/, instead: 'a verb: load, parse, build, check' },
];

/** Names that are right as they are, each with why. */
const NAMES = new Map([
  ['isTaken', 'a number that is in use is taken'],
  ['isNumberTaken', 'a number that is in use is taken'],
  ['refuseTakenAddress', 'an address that is in use is taken'],
  ['unlessTaken', 'a name that is in use is taken'],
  ['lanes', 'RFC 9106 names the parameter of Argon2 so'],
  ['MEMORY_PER_LANE_MIN', 'RFC 9106 names the parameter of Argon2 so'],
  ['isMadeOfWords', 'words of a language, in a text that may be a secret'],
  ['TYPE_WORDS', 'words of a language, in a text that may be a secret'],
  ['DUMMY_WORDS', 'words of a language, in a text that may be a secret'],
  ['SAMPLE_WORDS', 'words of a language, in a text that may be a secret'],
  ['forget_at', 'a column in databases of earlier releases'],
  ['operator_words', 'a table in databases of earlier releases'],
]);

/** Files in which a word is meant literally or named by a table, each with why. */
const FILES = new Map([
  ['server/src/kernel/crypto/argon2-cost.ts: lane', 'RFC 9106 names the parameter of Argon2 so'],
  ['server/src/kernel/crypto/root-key.ts: lane', 'RFC 9106 names the parameter of Argon2 so'],
  ['detection/src/common-passwords.ts: words', 'the list has words of a language'],
  ['server/src/kernel/audit/chain/archived-ranges.ts: kept', 'a column of audit_archives'],
  ['server/src/kernel/storage/tables.ts: kept', 'a column of audit_archives'],
  ['detection/src/judgement.ts: words', 'words of a language'],
  ['evaluate/detection/secret-values.ts: words', 'passwords are made of words of a language'],
]);

/** What two folders still have. A number may only go down; delete it with the last hit. */
const LEFT: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  'console/': {
    taken: 13,
    whoever: 17,
    asked: 38,
    words: 100,
    kept: 11,
    'looked at': 7,
    forget: 3,
    'who asked': 1,
    'who may not': 4,
    'those who': 2,
    remember: 1,
  },
  'server/src/features/': {
    asked: 137,
    taken: 120,
    'looked at': 7,
    kept: 39,
    'who may not': 9,
    'told of': 5,
    words: 74,
    factsOf: 5,
    remember: 2,
    forget: 19,
    'those who': 1,
    'who asked': 1,
  },
};

/** Names of files that say neither what is loaded nor what is built. */
const FILE_NAME =
  /(?:^|[/-])(?:asked|decided|words|worded|told|kept|taken|gone|facts|gathered|foreseen|look-ups|ways)(?:[-.])/;
const FILE_NAMES = new Map([
  ['test/docs/words.test.ts', 'it is about words'],
  ['server/migrations/0016-operator-words.ts', 'it creates the table of that name'],
  ['console/src/approvals/decided.ts', 'left, with the hits of its folder'],
  ['console/src/ui/facts.tsx', 'a list of facts on a page'],
  ['console/src/connections/example-facts.ts', 'left, with the hits of its folder'],
]);

const sources = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { encoding: 'utf8' })
  .split('\n')
  .filter((file) => /\.(?:ts|tsx|mjs|js)$/.test(file) && existsSync(file) && file !== 'test/docs/words.test.ts')
  .filter((file) => !/^(?:\/\/|\/\*\*) Generated from /.test(readFileSync(file, 'utf8')));

function hitsOf(rule: Rule, { kind, text }: SourceText): number {
  if (kind === 'comment') return [...text.replaceAll(/\s+(?:\* )?/g, ' ').matchAll(rule.phrase)].length;
  if (rule.part === undefined || NAMES.has(text)) return 0;
  if (text.match(rule.phrase)?.[0] === text) return 1;
  const parts = text.replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2').split('_');
  return parts.filter((part) => rule.part?.test(part)).length;
}

interface Hit {
  file: string;
  rule: Rule;
  text: string;
  count: number;
}

/** Whether a file may have the word at all, so that the others are not read piece by piece. */
function inSource({ phrase }: Rule): RegExp {
  return new RegExp(phrase.source.replaceAll('\\b', '').replaceAll(' ', '\\s+(?:\\* )?'), 'i');
}

function findHits(): Hit[] {
  const found: Hit[] = [];
  for (const file of sources) {
    const source = readFileSync(file, 'utf8');
    const rules = RULES.filter((rule) => inSource(rule).test(source));
    if (rules.length === 0) continue;
    for (const piece of commentsAndIdentifiers(source)) {
      for (const rule of rules) {
        const count = hitsOf(rule, piece);
        if (count > 0) found.push({ file, rule, text: piece.text, count });
      }
    }
  }
  return found;
}

describe('words', () => {
  const found = findHits();
  const folders = Object.keys(LEFT);
  const folderOf = (file: string) => folders.find((folder) => file.startsWith(folder));

  test('names and comments use the terms of the field', () => {
    const wrong = found
      .filter(({ file, rule }) => folderOf(file) === undefined && !FILES.has(`${file}: ${rule.word}`))
      .map(({ file, rule, text }) => `${file}: ${rule.instead}, not ${rule.word}, in ${text.slice(0, 200)}`);
    assert.deepEqual(wrong, []);
  });

  for (const folder of folders) {
    test(`${folder} has no more of them than before`, () => {
      for (const { word } of RULES) {
        const inFolder = found.filter(({ file, rule }) => rule.word === word && folderOf(file) === folder);
        const count = inFolder.reduce((sum, hit) => sum + hit.count, 0);
        const most = LEFT[folder]?.[word] ?? 0;
        assert.ok(count <= most, `${word}: ${count}, and at most ${most} were left`);
      }
    });
  }

  test('each exception is still needed', () => {
    const all = sources.map((file) => readFileSync(file, 'utf8')).join('\n');
    const unused = [...NAMES.keys()].filter((name) => !new RegExp(`\\b${name}\\b`).test(all));
    assert.deepEqual(unused, []);
    const places = new Set(found.map(({ file, rule }) => `${file}: ${rule.word}`));
    assert.deepEqual(
      [...FILES.keys()].filter((place) => !places.has(place)),
      [],
    );
  });

  test('a file is named by what it loads, parses, builds or checks', () => {
    const wrong = sources.filter((file) => FILE_NAME.test(file) && !FILE_NAMES.has(file));
    assert.deepEqual(wrong, []);
  });
});

describe('comments and identifiers', () => {
  const textsOf = (source: string) => commentsAndIdentifiers(source).map(({ text }) => text);

  test('are found between texts, templates and regular expressions', () => {
    assert.deepEqual(textsOf("const a = 'b // c'; // d"), ['const', 'a', '// d']);
    assert.deepEqual(textsOf(['`x $', '{y + `z $', '{{ k: v }.k}`} w` /* e */'].join('')), [
      'y',
      'k',
      'v',
      'k',
      '/* e */',
    ]);
    assert.deepEqual(textsOf('f(/[/]"x/g, 8 / b / c)'), ['f', 'b', 'c']);
    assert.deepEqual(textsOf('return /a/.test(b) ? "\\"q" : d_e'), ['return', 'test', 'b', 'd_e']);
  });

  test('a word counts once for each name and each place in a comment', () => {
    const rule = RULES.find(({ word }) => word === 'taken') as Rule;
    const count = (source: string) =>
      commentsAndIdentifiers(source).reduce((sum, piece) => sum + hitsOf(rule, piece), 0);
    assert.equal(count('taken; wasTaken; TAKEN_MS; mistaken; isTaken'), 3);
    assert.equal(count('/* Taken, and\n * taken. "mistaken" */ "taken"'), 2);
  });
});
