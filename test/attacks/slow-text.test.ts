import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parse } from 'acorn';
import { fullAncestor } from 'acorn-walk';
import { transformSync } from 'esbuild';
import { superLinear } from '../support/backtracking.ts';

/**
 * Who controls a text must not control how long a pattern takes on it: every regular expression of the service, the agent, the command line, the
 * client and the console takes linear time, or stands here with a reason.
 */

const ROOT = join(import.meta.dirname, '../..');

/** What may take longer, and why that does no harm. */
const SLOWER = new Map([
  ['cli/src/main.ts: (too many arg', 'reads the command that a person typed'],
  [
    String.raw`server/src/features/reference/example.ts: \[\n\s+([^[\]`,
    'reads examples that are made from the declarations',
  ],
]);

/** Patterns that are made in a function, and what they are made of. */
const MADE_IN_FUNCTIONS = new Map([
  ['server/src/features/app-connections/certificates.ts', 'an id in a cursor, which is a literal'],
  ['server/src/features/clusters/apply-log.ts', 'an id in a cursor, which is a literal'],
  ['server/src/features/clusters/policies.ts', 'an id in a cursor, which is a literal'],
  ['server/src/features/environments/bindings.ts', 'an id in a cursor, which is a literal'],
  ['server/src/features/federations/service.ts', 'a number in a cursor, which is a literal'],
  ['server/src/features/webhooks/service.ts', 'an id in a cursor, which is a literal'],
  ['server/src/kernel/base/ids.ts', 'the prefix of an id, and a count of letters; made on import for most'],
  ['server/src/kernel/crypto/credential-text.ts', 'the prefix of a credential, and a count of letters; made on import'],
  ['server/src/features/secrets/value/openssh-key.ts', 'a number of columns, and no repetition without a bound'],
  ['server/src/features/reference/example.ts', 'patterns of the declarations, on examples made here'],
  ['server/src/features/sign-on/providers.ts', 'the form of names; the same that the declarations have'],
  ['detection/src/formats.ts', 'the beginnings of the formats, which are literals; made on import'],
  ['detection/src/formats/format.ts', 'the formats beside this file, which are literals; made on import'],
  ['detection/src/next-match.ts', 'a copy of a pattern that is checked where it stands'],
  ['detection/src/services.ts', 'the lengths in the table of this file; made on import'],
  ['cli/src/template.ts', 'two patterns that are checked where they stand, one after the other'],
]);

interface Pattern {
  readonly source: string;
  readonly flags: string;
  readonly file: string;
}

const isSource = (file: string) => !file.endsWith('.test.ts') && !file.endsWith('.d.ts');
const files = globSync('{server/src,client/src,detection/src,cli/src,agent/src,console/src}/**/*.{ts,tsx}', {
  cwd: ROOT,
}).filter(isSource);

/** The literals of a file, and whether it makes patterns while it is loaded, or in functions. */
function patternsIn(file: string): { literals: Pattern[]; isMaking: boolean; isMakingInFunctions: boolean } {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const { code } = transformSync(text, { loader: file.endsWith('x') ? 'tsx' : 'ts', target: 'esnext' });
  const literals: Pattern[] = [];
  let [isMaking, isMakingInFunctions] = [false, false];
  fullAncestor(parse(code, { ecmaVersion: 'latest', sourceType: 'module' }), (node, _, ancestors) => {
    if (node.type === 'Literal' && 'regex' in node) {
      const { pattern: source, flags } = node.regex as { pattern: string; flags: string };
      literals.push({ source, flags, file });
    }
    if (node.type !== 'NewExpression' && node.type !== 'CallExpression') return;
    const { callee } = node as unknown as { callee: { type: string; name?: string } };
    if (callee.name !== 'RegExp') return;
    isMaking = true;
    if (ancestors.some(({ type }) => /Function|Method/.test(type))) isMakingInFunctions = true;
  });
  return { literals, isMaking, isMakingInFunctions };
}

/** The patterns that modules make while they are loaded. */
async function madeOnImport(names: readonly string[]): Promise<Pattern[]> {
  // Its patterns are those of a package, on what a database answers.
  await import('pg');
  const made: Pattern[] = [];
  const Original = RegExp;
  let file = '';
  const noted = (pattern: RegExp): RegExp => {
    made.push({ source: pattern.source, flags: pattern.flags, file });
    return pattern;
  };
  globalThis.RegExp = new Proxy(Original, {
    construct: (_, [source, flags]) => noted(new Original(source, flags)),
    apply: (_, __, [source, flags]) => noted(new Original(source, flags)),
  });
  try {
    // One after the other, so that each is noted under the file that was loaded, or one that this needs.
    for (const name of names) {
      file = name;
      await import(join(ROOT, name));
    }
  } finally {
    globalThis.RegExp = Original;
  }
  return made;
}

/** Of the schemas of all inputs: they meet text before anything else does. They are loaded after the patterns of modules were noted. */
async function declaredPatterns(): Promise<Pattern[]> {
  const { DECLARATIONS } = await import('../../server/src/tools/declarations.ts');
  const found: Pattern[] = [];
  const visit = (schema: unknown, file: string): void => {
    if (typeof schema !== 'object' || schema === null) return;
    const { pattern } = schema as { pattern?: unknown };
    if (typeof pattern === 'string') found.push({ source: pattern, flags: 'u', file });
    const { patternProperties } = schema as { patternProperties?: object };
    for (const source of Object.keys(patternProperties ?? {})) found.push({ source, flags: 'u', file });
    for (const part of Object.values(schema)) visit(part, file);
  };
  for (const { name, params, query, body } of DECLARATIONS) visit([params, query, body], `the declaration of ${name}`);
  return found;
}

test('no pattern takes more than linear time on the text of others', async () => {
  const all = files.map((file) => ({ file, ...patternsIn(file) }));
  const inFunctions = all.filter(({ isMakingInFunctions }) => isMakingInFunctions).map(({ file }) => file);
  assert.deepEqual(inFunctions.sort(), [...MADE_IN_FUNCTIONS.keys()].sort());
  const made = await madeOnImport(all.filter(({ isMaking }) => isMaking).map(({ file }) => file));
  const declared = await declaredPatterns();
  const literals = all.flatMap((one) => one.literals);
  assert.ok(literals.length > 600 && made.length > 60 && declared.length > 200, 'few patterns were found');
  const distinct = new Map<string, Pattern>();
  for (const pattern of [...literals, ...made, ...declared])
    distinct.set(`/${pattern.source}/${pattern.flags}`, pattern);
  const slow: string[] = [];
  const excused = new Set<string>();
  for (const [name, { source, flags, file }] of distinct) {
    const problem = superLinear(source, flags);
    if (problem === null) continue;
    const place = `${file}: ${source.slice(0, 13)}`;
    if (SLOWER.has(place)) excused.add(place);
    else slow.push(`${file}: ${name.slice(0, 200)}: ${problem}`);
  }
  assert.deepEqual(slow, []);
  assert.deepEqual([...excused].sort(), [...SLOWER.keys()].sort(), 'a reason is given for what needs none');
});

describe('a pattern is refused if it is slow on some text', () => {
  const slow = [
    /[^a-z]+$/,
    /\s+$/,
    /\[[^\]]*\]/g,
    /^\s*(.*?)\s*$/,
    /^(?:a|aa)+$/,
    /^(?:a*)*b/,
    /^a.*?b.*?c/,
    /^(.*)key=(.*)$/,
    /"(?:[^"\\]|\\.)*"/g,
    /a(?=[^x]*$)/g,
    /a(?:a*c)?/g,
    /[a-z]{2,500}@/i,
    /^\s+x/m,
    /(\w+)-\1/,
    /(?<=a+)b/,
    /\d{1,3}(?:,\d{3})*$/,
  ];
  for (const { source, flags } of slow) {
    test(`/${source}/${flags}`, () => {
      assert.ok(refused(source, flags));
    });
  }
});

describe('a pattern is accepted if it is fast on every text', () => {
  const fast = [
    /^[a-z]+$/,
    /[a-z]+/g,
    /"[^"]*"/g,
    /\b[a-z]+\b/g,
    /(?<![a-z])[a-z]+@/,
    /^[a-z]+(?:-[a-z]+)*$/,
    /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z]{2,63}$/,
    /#.*$/s,
    /(?:%[0-9A-F]{2})+/g,
    /[^z](?=z*$)/,
    /^(?!.*--)[a-z-]+$/,
  ];
  for (const { source, flags } of fast) {
    test(`/${source}/${flags}`, () => assert.equal(superLinear(source, flags), null));
  }
});

function refused(source: string, flags: string): boolean {
  try {
    return superLinear(source, flags) !== null;
  } catch {
    // A reference to a group, or a repetition behind, is refused with an error.
    return true;
  }
}
